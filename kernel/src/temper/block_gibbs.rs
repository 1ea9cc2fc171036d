//! Replica exchange over an RBM by block Gibbs.

use super::{Ladder, Rung};
use crate::chain::Chain;
use crate::energy::Rbm;
use crate::lane::{Bits, Block};
use crate::step::TemperedBlockGibbs;
use rand_core::Rng;

/// One round of replica exchange over an RBM: `sweeps` sweeps of each chain by [`TemperedBlockGibbs`] at the β of its rung, and
/// an exchange. Returns the swaps.
///
/// Along this path all weights and biases are scaled by β (Desjardins et al. 2010). States change places by the energies of
/// the visible units alone, `F_β(v) = −β a·v − Σⱼ ln(1 + e^{βpⱼ})`, with probability
/// `min(1, e^{F_β(u) + F_β′(v) − F_β(v) − F_β′(u)})` for u at β and v at β′ (METHODS.md §2). The chain at β = 1 has the
/// model's distribution. Where the ladder ends at β = 1, that chain is [`Ladder::coldest`].
///
/// Chains past the ladder are left out, and so is a swap of chains over two models. Cost: the sweeps, and two exponentials a
/// hidden unit and chain. Chains and ladder have snapshots of their own.
///
/// ```
/// use bitmc::energy::pack_rows;
/// use bitmc::temper::{Ladder, Rung, block_gibbs_round};
/// use bitmc::{Chain, LaneRng, Layout, Rbm, SeedableRng, memory};
///
/// let (mut weights, mut hidden) = ([[0.0; 16]; 3], [[0.0; 16]]);
/// pack_rows(&[5.0, -9.0, 2.5, 6.0, 1.5, -5.0], 2, &mut weights)?;
/// pack_rows(&[1.0, -2.0], 2, &mut hidden)?;
/// let mut room = [[0; 16]; Rbm::columns_len(3, 2)];
/// let model = Rbm::new(&weights, &[-3.0, -4.0, 0.0], &hidden, 2)?.with_columns(&mut room)?;
///
/// const L: Layout = Layout::binary(3);
/// let mut rng = LaneRng::seed_from_u64(1);
/// let mut start = || Chain::random(&model, memory!(L, Rbm::cache_len_with_columns(3, 2)), &mut rng);
/// let mut chains = [start()?, start()?, start()?];
/// let mut ladder = Ladder::new([Rung::default(); 3], &[0.0, 0.5, 1.0])?;
/// for _ in 0..1000 {
///     block_gibbs_round(&mut ladder, &mut chains, 1, &mut rng);
/// }
/// assert!(ladder.round_trips() > 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn block_gibbs_round<'m, T, W, C, B, R>(
    ladder: &mut Ladder<T>,
    chains: &mut [Chain<'_, Rbm<'m>, W, C, B>],
    sweeps: u64,
    rng: &mut R,
) -> u32
where
    T: AsMut<[Rung]> + AsRef<[Rung]>,
    W: AsMut<[u32]> + AsRef<[u32]>,
    C: AsMut<[Bits]>,
    B: AsMut<[Block]>,
    R: Rng,
{
    for (index, chain) in chains.iter_mut().enumerate() {
        let rung = ladder.rung_of(index).and_then(|rung| ladder.rungs().get(rung));
        // A ladder's β are legal.
        if let Some(Ok(kernel)) = rung.map(|rung| TemperedBlockGibbs::new(rung.beta())) {
            (0..sweeps).for_each(|_| _ = chain.step(&kernel, rng));
        }
    }
    ladder.exchange_by(
        |betas, (low, high)| {
            let Ok([low, high]) = chains.get_disjoint_mut([low, high]) else { return f32::NAN };
            let (low, high) = (low.ring(), high.ring());
            if core::ptr::eq(low.energy, high.energy) {
                low.energy.log_swap_ratio(betas, low.here.cache, high.here.cache)
            } else {
                f32::NAN
            }
        },
        rng,
    )
}
