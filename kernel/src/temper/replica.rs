//! A chain whose temperature can be changed.

use super::{Ladder, Rung};
use crate::accept::Info;
use crate::chain::{Chain, ChainError, Core, Memory};
use crate::energy::{Ends, Energy, PathError, Tempered};
use crate::lane::{Bits, Block};
use crate::packed::{Packed, set};
use crate::stats::Observer;
use crate::step::Kernel;
use rand_core::Rng;

/// A chain on a [`Tempered`] path that knows E and E₀ of its state, so that β can be changed at any time.
#[derive(Debug)]
pub struct Replica<'e, E: ?Sized, W, C, B> {
    pub(super) path: Tempered<'e, E>,
    pub(super) memory: Memory<W, C, B>,
    pub(super) core: Core,
    pub(super) ends: Ends,
}

/// What to keep of a replica beside its state: plain data.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Kept {
    core: Core,
    ends: Ends,
    beta: f32,
}

/// A chain over the memory of a replica.
type Lent<'a, 'e, E> = Chain<'a, Tempered<'e, E>, &'a mut [u32], &'a mut [Bits], &'a mut [Block]>;

impl<'e, E, W, C, B> Replica<'e, E, W, C, B>
where
    E: Energy + ?Sized,
    W: AsMut<[u32]> + AsRef<[u32]>,
    C: AsMut<[Bits]>,
    B: AsMut<[Block]>,
{
    /// A replica that starts at a given state, at the path's β. The memory is that of a chain over the path:
    /// one block of cache more than the energy's.
    ///
    /// # Errors
    /// As [`Chain::new`].
    pub fn new(path: Tempered<'e, E>, memory: Memory<W, C, B>, start: Packed<'_>) -> Result<Self, ChainError> {
        let mut memory = memory;
        let (core, ends) = parts(&mut Chain::new(&path, memory.borrow(), start)?);
        Ok(Self { path, memory, core, ends })
    }

    /// A replica that starts at independent uniform values.
    ///
    /// # Errors
    /// As [`Chain::random`].
    pub fn random<R: Rng + ?Sized>(
        path: Tempered<'e, E>,
        mut memory: Memory<W, C, B>,
        rng: &mut R,
    ) -> Result<Self, ChainError> {
        let (core, ends) = parts(&mut Chain::random(&path, memory.borrow(), rng)?);
        Ok(Self { path, memory, core, ends })
    }

    /// A replica that goes on from a state and what was kept with it: bit for bit as if it had never stopped.
    /// Every site is free: [`Replica::clamp`] again what was clamped. A [`Snapshot`](crate::snapshot::Snapshot)
    /// keeps that too.
    ///
    /// # Errors
    /// As [`Chain::new`].
    pub fn resume(
        path: Tempered<'e, E>,
        mut memory: Memory<W, C, B>,
        state: Packed<'_>,
        kept: Kept,
    ) -> Result<Self, ChainError> {
        // What was kept came from a path: its β is legal.
        let path = path.at(kept.beta).unwrap_or(path);
        let mut chain = Chain::resume(&path, memory.borrow(), state, kept.core)?;
        path.keep(kept.ends, chain.ring().here.cache);
        let (core, ends) = parts(&mut chain);
        Ok(Self { path, memory, core, ends })
    }

    /// What to keep beside the state, for [`Replica::resume`].
    #[must_use]
    pub fn kept(&self) -> Kept {
        Kept { core: self.core, ends: self.ends, beta: self.path.beta() }
    }

    /// β.
    #[must_use]
    pub fn beta(&self) -> f32 {
        self.path.beta()
    }

    /// The path, at the replica's β.
    #[must_use]
    pub fn path(&self) -> Tempered<'e, E> {
        self.path
    }

    /// Moves to another β, the state as it is. O(1).
    ///
    /// # Errors
    /// [`PathError::Beta`].
    pub fn set_beta(&mut self, beta: f32) -> Result<(), PathError> {
        if beta != self.path.beta() {
            self.path = self.path.at(beta)?;
            self.core.temper(self.ends.at(beta));
        }
        Ok(())
    }

    /// The state.
    #[must_use]
    pub fn state(&self) -> Packed<'_> {
        self.core.state(self.path.layout(), self.memory.words.as_ref())
    }

    /// `E(x)`, at any β.
    /// Errors of rounding add up as in [`Chain::energy`](crate::Chain::energy).
    #[must_use]
    pub fn energy(&self) -> f32 {
        self.ends.target.value()
    }

    /// `E(x) − E₀(x)`: what [`Ladder::exchange`] asks for.
    #[must_use]
    pub fn gap(&self) -> f32 {
        self.ends.gap()
    }

    /// Steps that met NaN or −∞ and were rejected for it.
    #[must_use]
    pub fn faults(&self) -> u32 {
        self.core.faults
    }

    /// One transition at β.
    pub fn step<K: Kernel<Tempered<'e, E>>, R: Rng + ?Sized>(&mut self, kernel: &K, rng: &mut R) -> Info {
        self.with(|chain| chain.step(kernel, rng))
    }

    /// `steps` transitions at β, each shown to an observer with `E(x)`, the energy's own, at any β.
    pub fn run<K: Kernel<Tempered<'e, E>>, R: Rng + ?Sized>(
        &mut self,
        kernel: &K,
        rng: &mut R,
        steps: u64,
        observer: &mut impl Observer,
    ) {
        for _ in 0..steps {
            let info = self.step(kernel, rng);
            observer.observe(self.state(), self.energy(), &info);
        }
    }

    /// Moves the replica to a state. The old state stays where there is an error.
    ///
    /// # Errors
    /// As [`Chain::restart`].
    pub fn restart(&mut self, start: Packed<'_>) -> Result<(), ChainError> {
        self.with(|chain| chain.restart(start))
    }

    /// Moves the free sites to an exact draw from the base.
    pub(super) fn draw_base<R: Rng + ?Sized>(&mut self, rng: &mut R) -> Result<(), ChainError> {
        let base = self.path.base();
        self.with(|chain| {
            let ring = chain.ring();
            base.draw(rng, ring.there.words);
            for site in 0..ring.layout.sites() {
                if !ring.free(site) {
                    // A value of the state here.
                    let _ = set(ring.layout, ring.there.words, site, ring.here_state().get(site));
                }
            }
            chain.settle()
        })
    }

    /// `ln Z₀` over the states that agree with the clamped sites: [`BaseDistribution::log_z`](crate::energy::BaseDistribution::log_z) where every
    /// site is free.
    pub fn base_log_z(&mut self) -> f32 {
        let base = self.path.base();
        self.with(|chain| {
            let ring = chain.ring();
            base.log_z_given(|site| (!ring.free(site)).then(|| ring.here_state().get(site)))
        })
    }

    /// Holds sites at their present values, as [`Chain::clamp`].
    ///
    /// # Errors
    /// As [`Chain::clamp`].
    pub fn clamp(&mut self, sites: Packed<'_>) -> Result<(), ChainError> {
        self.with(|chain| chain.clamp(sites))
    }

    /// Does something with the replica as a chain.
    pub(super) fn with<T>(&mut self, act: impl FnOnce(&mut Lent<'_, 'e, E>) -> T) -> T {
        let mut chain = Chain::assembled(&self.path, self.memory.borrow(), self.core);
        let result = act(&mut chain);
        (self.core, self.ends) = parts(&mut chain);
        result
    }
}

/// One round of replica exchange for replicas in one slice. Each takes `steps` local steps, by the kernel of its rung
/// (`kernels` has one a rung). An exchange follows. Returns the number of swaps.
///
/// Replicas that have changed places take the β of their new rung in the next round: for steps in between, call
/// [`Replica::set_beta`] first.
///
/// Replicas past the ladder, and rungs without a replica in `replicas`, are left out. On a rung past `kernels` a replica
/// takes no step, and changes places as others do.
pub fn round<'e, E, W, C, B, T, K, R>(
    ladder: &mut Ladder<T>,
    replicas: &mut [Replica<'e, E, W, C, B>],
    kernels: &[K],
    steps: u64,
    rng: &mut R,
) -> u32
where
    E: Energy + ?Sized,
    W: AsMut<[u32]> + AsRef<[u32]>,
    C: AsMut<[Bits]>,
    B: AsMut<[Block]>,
    T: AsMut<[Rung]> + AsRef<[Rung]>,
    K: Kernel<Tempered<'e, E>>,
    R: Rng + ?Sized,
{
    for (index, replica) in replicas.iter_mut().enumerate() {
        let rung = ladder.rung_of(index).and_then(|rung| Some((ladder.rungs().get(rung)?, kernels.get(rung)?)));
        let Some((rung, kernel)) = rung else { continue };
        // A ladder's β are legal.
        if replica.set_beta(rung.beta()).is_ok() {
            replica.run(kernel, rng, steps, &mut ());
        }
    }
    ladder.exchange(|index| replicas.get(index).map_or(f32::NAN, Replica::gap), rng)
}

/// What a replica keeps of a chain over its memory.
fn parts<E: Energy + ?Sized>(chain: &mut Lent<'_, '_, E>) -> (Core, Ends) {
    let path = *chain.model();
    (chain.core(), path.ends(chain.ring().here.cache))
}
