//! Groups of chains that step together.

use crate::accept::Info;
use crate::chain::{Chain, Ring};
use crate::energy::Energy;
use crate::lane::{Bits, Block};
use rand_core::Rng;

/// Chains, a generator a chain, and a place for the outcome of its step.
pub(super) type Together<'s, 'e, E, W, C, B, R> =
    (&'s mut [Chain<'e, E, W, C, B>], &'s mut [R], &'s mut [Info]);

/// Steps groups of M chains; what is left over.
pub(super) fn groups<'s, 'e, E, W, C, B, R, const M: usize>(
    (chains, rngs, infos): Together<'s, 'e, E, W, C, B, R>,
    step: impl Fn([Ring<'_, E>; M], &mut [R; M]) -> [Info; M],
) -> Together<'s, 'e, E, W, C, B, R>
where
    E: Energy + ?Sized,
    W: AsMut<[u32]> + AsRef<[u32]>,
    C: AsMut<[Bits]>,
    B: AsMut<[Block]>,
    R: Rng,
{
    let (chains, rest_chains) = chains.as_chunks_mut::<M>();
    let (rngs, rest_rngs) = rngs.as_chunks_mut::<M>();
    let (infos, rest_infos) = infos.as_chunks_mut::<M>();
    for ((chains, rngs), infos) in chains.iter_mut().zip(rngs).zip(infos) {
        *infos = step(chains.each_mut().map(Chain::ring), rngs);
    }
    (rest_chains, rest_rngs, rest_infos)
}
