//! Sixteen chains of one Ising or Potts model, one chain per SIMD lane.
//!
//! A [`Chain`](crate::Chain) puts sixteen sites into a register. A [`Batch`] puts the same site of sixteen chains
//! there. A site's neighbours are then whole registers at known places. Nothing is gathered, couplings are any, and
//! small models fill the lanes as well as large ones.
//!
//! # The same chains
//! Chain *n* of a batch is, bit for bit, the [`Chain`](crate::Chain) with the same kernel; by Gibbs sampling of a Potts model it
//! is the [`Replica`](crate::temper::Replica). Its generator is
//! `Xoshiro128PlusPlus::seed_from_u64(seed)` after *n* calls of `jump()`. Its steps do not depend on the other chains
//! of the batch. For more than sixteen take more batches, with [`LaneRng::stream`] a batch.
//!
//! ```
//! use bitmc::batch::{Batch, BatchSite};
//! use bitmc::{Ising, LaneRng, Langevin, SeedableRng, SparseMemory, torus};
//!
//! let mut memory = SparseMemory::<25, 100>::new();
//! let model = Ising::spins_edges_once(25, torus(5, 5, 0.2), &[0.2; 25], memory.borrow())?;
//! let mut rng = LaneRng::seed_from_u64(1);
//! let mut batch = Batch::random(&model, [BatchSite::new(); 25], &mut rng)?;
//! let sampler = Langevin::adjusted(0.6)?;
//! let mut ones = 0;
//! for _ in 0..1000 {
//!     batch.step(&sampler, &mut rng);
//!     ones += batch.values(0).count_ones(); // site 0 of all chains, one bit each
//! }
//! assert!((ones as f32 / 16_000.0 - 0.741).abs() < 0.02);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Cost
//! A step reads every edge from both its ends, and weighs every site, whatever flips. In sixteen chains most sites
//! see a flip in one of them. [`Langevin`](crate::Langevin) does so twice a step,
//! [`IsingLangevin`](crate::step::IsingLangevin) once.
//!
//! # Replica exchange
//! Every chain has its own inverse temperature ([`Batch::set_betas`]). A [`round`] is a round of replica exchange.
//! Its replicas, those of a [`Ladder`](crate::temper::Ladder), are the chains of a batch.
//!
//! # Potts models
//! [`PottsBatch`] is a batch of a Potts model.
//!
//! Chains of other energies: [`Langevin::step_together`](crate::Langevin::step_together).

mod cell;
mod core_state;
mod error;
mod exchange;
mod gibbs;
mod group;
mod ising_langevin;
mod isoenergetic;
mod langevin;
mod log_product;
mod potts;
mod products;
mod ring;
mod site;
mod snapshot;
mod sums;

pub use cell::BatchCell;
pub use error::BatchError;
pub use exchange::round;
pub use potts::{PottsBatch, PottsRing, PottsSite};
pub use ring::BatchRing;
pub use site::BatchSite;
pub use snapshot::snapshot_len;

use crate::accept::Info;
use crate::energy::{Energy, PathError};
use crate::lane::{Bits, Block, LANES, Mask, Total, U32s};
use crate::layout::Layout;
use crate::packed::{Packed, StateError, set};
use crate::random::LaneRng;
use core_state::{Core, chain_bit, legal};

/// All chains.
const ALL: u32 = (1 << LANES) - 1;

/// What a step of a batch did.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct BatchInfo {
    /// Which chains accepted, one bit each.
    pub accepted: u32,
    /// Sites that each proposal changed.
    pub proposed: Bits,
    /// ln A of each chain.
    pub log_ratios: Block,
    /// `E(y) − E(x)` of each proposal, at the chain's β.
    pub differences: Block,
    /// Whether the kernel does not fit the model: nothing moved.
    pub fault: bool,
}

impl BatchInfo {
    /// What chain `chain` did; `None` from 16 on.
    #[must_use]
    pub fn of(&self, chain: usize) -> Option<Info> {
        Some(Info {
            accepted: self.accepted & chain_bit(chain).ok()? != 0,
            proposed: *self.proposed.get(chain)?,
            log_ratio: *self.log_ratios.get(chain)?,
            difference: *self.differences.get(chain)?,
            fault: self.fault,
        })
    }
}

/// Sixteen chains of one model. `S` is the memory: one [`BatchCell`] a site. Those of an Ising model are
/// [`BatchSite`]s, 64 bytes each (4 a chain).
#[derive(Debug)]
pub struct Batch<'e, S, T: BatchCell = BatchSite> {
    model: &'e T::Model<'e>,
    sites: S,
    core: Core,
}

/// A transition of sixteen chains, each as if it were alone. Kernels of an Ising model are
/// [`Langevin`](crate::Langevin), [`IsingLangevin`](crate::step::IsingLangevin) and
/// [`SequentialGibbs`](crate::step::SequentialGibbs). An array of one of them is a kernel for each chain. For a Potts
/// model see [`PottsBatch`].
pub trait BatchKernel<T: BatchCell = BatchSite> {
    /// One transition.
    fn step(&self, ring: BatchRing<'_, '_, T>, rng: &mut LaneRng) -> BatchInfo;
}

impl<'e, S: AsMut<[T]> + AsRef<[T]>, T: BatchCell> Batch<'e, S, T> {
    /// Sixteen chains that start at independent uniform values, every site free, at β = 1.
    ///
    /// Words that [`LaneRng`] still holds from single draws are left out, here and by every kernel.
    ///
    /// # Errors
    /// * [`BatchError::Sites`] where there are fewer sites in the memory than in the model.
    /// * [`BatchError::Arity`] where the memory is for another number of values.
    /// * [`BatchError::ManyValues`] where the values are [`Layout::MANY`] or more.
    pub fn random(model: &'e T::Model<'e>, sites: S, rng: &mut LaneRng) -> Result<Self, BatchError> {
        let mut batch = Self::blank(model, sites)?;
        T::randomise(batch.ring().sites, rng);
        batch.settle(ALL);
        Ok(batch)
    }

    /// Sixteen chains that start at one state, every site free, at β = 1.
    ///
    /// # Errors
    /// As [`Batch::random`], and [`BatchError::State`] where the state is none of the model's.
    pub fn new(model: &'e T::Model<'e>, sites: S, start: Packed<'_>) -> Result<Self, BatchError> {
        let mut batch = Self::blank(model, sites)?;
        (0..LANES).try_for_each(|chain| batch.place(chain, start))?;
        batch.settle(ALL);
        Ok(batch)
    }

    fn blank(model: &'e T::Model<'e>, mut sites: S) -> Result<Self, BatchError> {
        let layout = model.layout();
        T::fits(layout)?;
        let (need, got) = (layout.sites(), sites.as_mut().len());
        if got < need {
            return Err(BatchError::Sites { need, got });
        }
        sites.as_mut().fill(T::default());
        Ok(Self { model, sites, core: Core::new() })
    }

    /// One transition of every chain.
    pub fn step<K: BatchKernel<T> + ?Sized>(&mut self, kernel: &K, rng: &mut LaneRng) -> BatchInfo {
        let info = kernel.step(self.ring(), rng);
        if core::mem::take(&mut self.core.coarse) {
            self.mend();
        }
        info
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &'e T::Model<'e> {
        self.model
    }

    /// The values of a site: one bit a chain in an Ising model, one byte a chain in a Potts model. Zeros for a site
    /// past the last one.
    #[must_use]
    pub fn values(&self, site: usize) -> T::Values {
        self.sites.as_ref().get(site).map_or_else(T::Values::default, |site| site.values(self.core.accepted))
    }

    /// Writes the state of a chain, zeros from chain 16 on; the memory is [`Layout::words`] words.
    ///
    /// # Errors
    /// [`StateError::Words`] where the memory is of another length.
    pub fn state<'w>(&self, chain: usize, words: &'w mut [u32]) -> Result<Packed<'w>, StateError> {
        let layout = self.model.layout();
        words.fill(0);
        Packed::new(layout, words)?;
        for (number, site) in self.sites.as_ref().iter().enumerate().take(layout.sites()) {
            set(layout, words, number, site.value(chain, self.core.accepted))?;
        }
        Packed::new(layout, words)
    }

    /// `E` of a chain at its state, at β = 1; NaN from chain 16 on.
    /// Errors of rounding add up as in [`Chain::energy`](crate::Chain::energy), but for those of differences from 16,384 on. After
    /// these the energies are computed from the states: in Ising models in O(1), in Potts models in O(edges).
    #[must_use]
    pub fn energy(&self, chain: usize) -> f32 {
        self.core.energy(chain)
    }

    /// The inverse temperatures.
    #[must_use]
    pub fn betas(&self) -> Block {
        self.core.betas
    }

    /// Transitions since the start.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.core.steps
    }

    /// Gives every chain an inverse temperature β, `p ∝ e^(−βE)`; the states stay. O(1), and a step afterwards
    /// computes its weights again where a β changed.
    ///
    /// # Errors
    /// [`PathError::Beta`] where one is negative or not finite, [`PathError::BetaTooLarge`] where differences of βE
    /// of a Potts model could be infinite.
    pub fn set_betas(&mut self, betas: Block) -> Result<(), PathError> {
        if let Some(&beta) = betas.iter().find(|&&beta| !legal(beta)) {
            return Err(PathError::Beta(beta));
        }
        if let Some(&beta) = betas.iter().find(|&&beta| !T::in_reach(self.model, beta)) {
            return Err(PathError::BetaTooLarge(beta));
        }
        if betas != self.core.betas {
            self.core.betas = betas;
            self.core.weights_of = None;
        }
        Ok(())
    }

    /// Holds sites at their present values in every chain: those that are 1 in `sites`, a binary state.
    ///
    /// # Errors
    /// [`BatchError::State`] where `sites` is not a binary state with the model's number of sites.
    pub fn clamp(&mut self, sites: Packed<'_>) -> Result<(), BatchError> {
        let held = sites.of(Layout::binary(self.model.layout().sites()))?;
        self.ring().sites.iter_mut().zip(held.values()).for_each(|(site, held)| site.hold(held != 0));
        self.core.weights_of = None;
        Ok(())
    }

    /// Frees every site.
    pub fn release(&mut self) {
        self.ring().sites.iter_mut().for_each(|site| site.hold(false));
        self.core.weights_of = None;
    }

    /// Moves one chain to a state, clamped sites too.
    ///
    /// # Errors
    /// [`BatchError`] where `start` is no state of the model, or `chain` is past the last one.
    pub fn restart(&mut self, chain: usize, start: Packed<'_>) -> Result<(), BatchError> {
        self.place(chain, start)?;
        self.settle(1 << chain);
        Ok(())
    }

    /// Computes energies and fields from the values. Returns the drift of every chain: its old energy less the new one.
    pub fn refresh(&mut self) -> Block {
        let old = self.core.energies;
        self.settle(ALL);
        core::array::from_fn(|chain| old.get(chain).map_or(0.0, |old| old.value() - self.energy(chain)))
    }

    fn place(&mut self, chain: usize, start: Packed<'_>) -> Result<(), BatchError> {
        let start = start.of(self.model.layout())?;
        chain_bit(chain)?;
        self.ring().sites.iter_mut().zip(start.values()).for_each(|(site, value)| site.place(chain, value));
        Ok(())
    }

    /// The batch taken apart for a kernel.
    pub fn ring(&mut self) -> BatchRing<'_, 'e, T> {
        let sites = self.sites.as_mut().get_mut(..self.model.layout().sites()).unwrap_or_default();
        BatchRing { model: self.model, sites, core: &mut self.core }
    }

    /// Takes the memory back.
    #[must_use]
    pub fn into_memory(self) -> S {
        self.sites
    }

    /// Takes the energies anew where moves between energies far apart have left errors, which would add up.
    fn mend(&mut self) {
        let exact = T::energies(&mut self.ring());
        self.core.energies.iter_mut().zip(exact).for_each(|(energy, exact)| energy.mend(exact, 0.0));
    }

    /// Makes fields and energies from the values, energies in the chains of `chains`.
    fn settle(&mut self, chains: u32) {
        let mut ring = self.ring();
        ring.core.weights_of = None;
        let energies = T::settle(&mut ring);
        let slots = self.core.energies.iter_mut().zip(energies).enumerate();
        for (_, (slot, energy)) in slots.filter(|(chain, _)| (chains >> chain) & 1 != 0) {
            *slot = Total::new(energy);
        }
    }
}

/// All ones where set.
#[inline(always)]
fn full(mask: Mask) -> U32s {
    mask.keep(U32s::splat(u32::MAX))
}
