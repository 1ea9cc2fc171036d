//! Annealed importance sampling: the normaliser of a distribution, by a walk from one that is known.

use super::Replica;
use crate::chain::ChainError;
use crate::energy::{Energy, EnergyError, PathError, Tempered};
use crate::lane::{Bits, Block, Total};
use crate::step::Kernel;
use rand_core::Rng;

crate::error::errors! {
    /// Why an annealed run cannot go on.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum AnnealError {
        /// The energy is faulty at a draw from the base.
        Chain(error: ChainError) from ChainError => "{error}";
        /// A β is none.
        Path(error: PathError) from PathError => "{error}";
    }
}

/// One run of annealed importance sampling (Neal 2001; METHODS.md §4), from the base to the target. It draws x from the base.
/// For each β in turn it adds `(β′ − β)(E(x) − E₀(x))` to −ln w, β′ the one before, and takes `steps` transitions at β. Returns
/// ln w, where `⟨w⟩ = Z/Z₀` exactly, for any β and steps.
///
/// `betas` rises to 1 from above 0; where they end at another β, Z is that of β. The kernel may depend on β; it must keep the distribution at β. A draw that the
/// energy forbids has weight 0: ln w = −∞, and the run ends. The replica ends near the target's distribution. Clamped
/// sites keep their values, and Z and Z₀ are sums over the states that agree with them.
///
/// Collect many runs in an [`Evidence`](crate::stats::Evidence): `ln Z = ln Z₀ + log_z()`, with
/// [`Replica::base_log_z`] for ln Z₀.
///
/// # Errors
/// * [`AnnealError::Chain`] where the energy is faulty at a draw from the base.
/// * [`AnnealError::Path`] at a β that is negative or not finite, where the walk ends.
pub fn forward<'e, E, W, C, B, K, R>(
    replica: &mut Replica<'e, E, W, C, B>,
    betas: impl IntoIterator<Item = f32>,
    steps: u64,
    mut kernel: impl FnMut(f32) -> K,
    rng: &mut R,
) -> Result<f32, AnnealError>
where
    E: Energy + ?Sized,
    W: AsMut<[u32]> + AsRef<[u32]>,
    C: AsMut<[Bits]>,
    B: AsMut<[Block]>,
    K: Kernel<Tempered<'e, E>>,
    R: Rng + ?Sized,
{
    replica.set_beta(0.0)?;
    match replica.draw_base(rng) {
        Err(ChainError::Energy(EnergyError::Forbidden)) => return Ok(f32::NEG_INFINITY),
        other => other?,
    }
    let mut log_weight = Total::new(0.0);
    for beta in betas {
        let fall = replica.beta() - beta;
        replica.set_beta(beta)?;
        log_weight.add(fall * replica.gap());
        replica.run(&kernel(beta), rng, steps, &mut ());
    }
    Ok(log_weight.value())
}

/// One run the other way, from the replica's present state to the base. That state must be a draw from the target's
/// distribution. The β are those of [`forward`], and `betas` is walked backwards. Returns ln w, where `⟨w⟩ = Z₀/Z`:
/// so `ln Z = ln Z₀ − log_z()`. Where the energy forbids states, no walk ends in them, and Z₀ is that of the allowed
/// ones alone: then only [`forward`] is right.
///
/// Forward runs tend to say too little of ln Z and reverse runs too much: where both agree, both are right
/// (Grosse, Ghahramani, Adams 2015). The kernel must be reversible, as every kernel with a Metropolis test
/// is, or be the reversal of the one that goes forward.
///
/// # Errors
/// [`PathError::Beta`] at a β that is negative or not finite, where the walk ends.
pub fn reverse<'e, E, W, C, B, K, R>(
    replica: &mut Replica<'e, E, W, C, B>,
    betas: impl IntoIterator<Item = f32, IntoIter: DoubleEndedIterator>,
    steps: u64,
    mut kernel: impl FnMut(f32) -> K,
    rng: &mut R,
) -> Result<f32, PathError>
where
    E: Energy + ?Sized,
    W: AsMut<[u32]> + AsRef<[u32]>,
    C: AsMut<[Bits]>,
    B: AsMut<[Block]>,
    K: Kernel<Tempered<'e, E>>,
    R: Rng + ?Sized,
{
    let mut log_weight = Total::new(0.0);
    let mut betas = betas.into_iter().rev().peekable();
    while let Some(beta) = betas.next() {
        replica.set_beta(beta)?;
        replica.run(&kernel(beta), rng, steps, &mut ());
        let below = betas.peek().copied().unwrap_or(0.0);
        log_weight.add((beta - below) * replica.gap());
    }
    Ok(log_weight.value())
}
