//! Several open chains at once.

use super::{Ask, Open, OpenError, gradient_len};
use crate::accept::Info;
use crate::chain::CountError;
use crate::lane::{Bits, Block};
use rand_core::Rng;

impl<W: AsMut<[u32]> + AsRef<[u32]>, C: AsMut<[Bits]>, B: AsMut<[Block]> + AsRef<[Block]>> Open<'_, W, C, B> {
    /// Asks each of several chains with its own generator, as [`Open::ask_with`] does. The slice `gradients` has
    /// those at the states, one after the other. It is empty where the chains keep them. The proposals are in
    /// [`Open::asked`].
    ///
    /// # Errors
    /// As [`Open::ask_with`], and [`OpenError::Count`] where there is not one generator a chain. Then no chain was asked.
    pub fn ask_each<K: Ask, R: Rng>(
        chains: &mut [Self],
        kernel: &K,
        gradients: &[f32],
        rngs: &mut [R],
    ) -> Result<(), OpenError> {
        CountError::check(chains.len(), [rngs.len()])?;
        check(chains, gradients)?;
        let mut left = gradients;
        for chain in &*chains {
            let gradient = first(&mut left, chain);
            if chain.pending.is_none() {
                chain.can_ask::<K>(gradient)?;
            }
        }
        let mut left = gradients;
        for (chain, rng) in chains.iter_mut().zip(rngs) {
            let gradient = first(&mut left, chain);
            chain.ask_with(kernel, gradient, rng)?;
        }
        Ok(())
    }

    /// Tells each of several chains its energy and its gradient, as [`Open::tell`] does: `gradients` are one after the other,
    /// or empty.
    ///
    /// # Errors
    /// As [`Open::tell`], and [`OpenError::Count`] where there is not one energy and one place for an [`Info`] a chain. Then
    /// no chain was told.
    pub fn tell_each(
        chains: &mut [Self],
        energies: &[f32],
        gradients: &[f32],
        infos: &mut [Info],
    ) -> Result<(), OpenError> {
        CountError::check(chains.len(), [energies.len(), infos.len()])?;
        check(chains, gradients)?;
        let mut left = gradients;
        for (chain, &energy) in chains.iter().zip(energies) {
            chain.can_tell(energy, first(&mut left, chain))?;
        }
        let mut left = gradients;
        for ((chain, &energy), info) in chains.iter_mut().zip(energies).zip(infos) {
            let gradient = first(&mut left, chain);
            *info = chain.tell(energy, gradient)?;
        }
        Ok(())
    }
}

/// Whether there are as many numbers as the chains' gradients have, or none.
fn check<W, C, B>(chains: &[Open<'_, W, C, B>], gradients: &[f32]) -> Result<(), OpenError> {
    let need = chains.iter().fold(0, |sum: usize, chain| sum.saturating_add(gradient_len(chain.told.layout)));
    let got = gradients.len();
    if got == need || got == 0 { Ok(()) } else { Err(OpenError::Gradient { need, got }) }
}

/// The gradient of the next chain.
fn first<'g, W, C, B>(left: &mut &'g [f32], chain: &Open<'_, W, C, B>) -> &'g [f32] {
    let (first, rest) = left.split_at_checked(gradient_len(chain.told.layout)).unwrap_or_default();
    *left = rest;
    first
}
