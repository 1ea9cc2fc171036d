//! Replica exchange among the chains of a batch.

use super::{Batch, BatchKernel, BatchSite};
use crate::lane::LANES;
use crate::random::LaneRng;
use crate::temper::{Ladder, Rung};

/// A round of replica exchange with the chains of a batch as replicas. Every chain makes `steps` transitions at the β
/// of its rung. Then comes an exchange by `swaps`, the ladder's own generator. `kernels` has one kernel a rung,
/// sixteen of them. Returns the swaps.
///
/// Chains past the ladder stay at their β and are moved by the kernel of their number. A ladder has at most sixteen
/// rungs here: where it has more, replicas from 16 on are no chains, are not moved and never swap.
pub fn round<'k, S, T, K, R>(
    ladder: &mut Ladder<T>,
    batch: &mut Batch<'_, S>,
    kernels: &[K; LANES],
    steps: u64,
    rng: &mut LaneRng,
    swaps: &mut R,
) -> u32
where
    S: AsMut<[BatchSite]> + AsRef<[BatchSite]>,
    T: AsMut<[Rung]> + AsRef<[Rung]>,
    K: Copy + 'k,
    [K; LANES]: BatchKernel,
    R: rand_core::Rng + ?Sized,
{
    let mut betas = batch.betas();
    let mut own = *kernels;
    for (chain, (beta, kernel)) in betas.iter_mut().zip(&mut own).enumerate() {
        let rung = ladder.rung_of(chain);
        if let Some((rung, of_rung)) = rung.and_then(|r| Some((ladder.rungs().get(r)?, kernels.get(r)?))) {
            (*beta, *kernel) = (rung.beta(), *of_rung);
        }
    }
    // A ladder's β are legal.
    let _ = batch.set_betas(betas);
    for _ in 0..steps {
        batch.step(&own, rng);
    }
    batch.mend();
    ladder.exchange(|chain| batch.energy(chain), swaps)
}
