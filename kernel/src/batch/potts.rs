//! Sixteen chains of one Potts model side by side: lane = chain.

mod gibbs;
mod kept;
mod langevin;
mod site;
mod weights;

pub use site::PottsSite;

use super::common::{self, Core};
use super::ring::BatchRing;
use super::{ALL, BatchError, BatchInfo};
use crate::energy::{Energy, PathError, Potts};
use crate::lane::{Block, LANES, Total};
use crate::layout::Layout;
use crate::packed::{Packed, StateError, set};
use crate::random::LaneRng;

/// Sixteen chains of one [`Potts`] model, whose sites have `Q` values. `S` is the memory: [`PottsSite`]s, one a site,
/// 64·(3Q+1) bytes each (12Q+4 a chain).
///
/// A site keeps the field of each of its values, exact in fixed point, which moves change in place and back, and the
/// weights that the next proposal is drawn from. `Langevin` pays up to about ten values: from sixteen on a site's logits no longer
/// have registers, and sixteen chains alone take less time. The kernels are [`Langevin`](crate::Langevin), with and
/// without its test, and [`Gibbs::systematic`](crate::Gibbs::systematic).
///
/// Chain *n* is, bit for bit, the [`Chain`](crate::Chain) with the same kernel and
/// `Xoshiro128PlusPlus::seed_from_u64(seed)` after *n* calls of `jump()` as its generator. At another β than 1 it is
/// the [`Replica`](crate::temper::Replica) at that β; of Gibbs sampling only the energies, which a replica adds up
/// flip by flip and these sweep by sweep, may then differ by rounding.
///
/// ```
/// use bitmc::batch::{PottsBatch, PottsSite};
/// use bitmc::{LaneRng, Langevin, Potts, SeedableRng, SparseMemory, torus};
///
/// let mut memory = SparseMemory::<9, 36>::new();
/// let model = Potts::new(9, 3, torus(3, 3, 0.5), &[], memory.borrow())?;
/// let mut rng = LaneRng::seed_from_u64(1);
/// let mut batch = PottsBatch::random(&model, [PottsSite::<3>::new(); 9], &mut rng)?;
/// let sampler = Langevin::adjusted(0.5)?;
/// let mut agree = 0;
/// for _ in 0..2000 {
///     batch.step(&sampler, &mut rng);
///     let (here, there) = (batch.values(0), batch.values(1)); // of two neighbours, one a chain
///     agree += here.iter().zip(&there).filter(|(a, b)| a == b).count();
/// }
/// assert!((agree as f32 / 32_000.0 - 0.497).abs() < 0.02);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PottsBatch<'e, S, const Q: usize> {
    model: &'e Potts<'e>,
    sites: S,
    core: Core,
}

/// A batch of Potts chains taken apart for a kernel.
pub type PottsRing<'a, const Q: usize> = BatchRing<'a, Potts<'a>, PottsSite<Q>>;

/// A transition of sixteen Potts chains, each as if it were alone.
pub trait PottsKernel {
    /// One transition.
    fn step<const Q: usize>(&self, ring: PottsRing<'_, Q>, rng: &mut LaneRng) -> BatchInfo;
}

impl<'e, S: AsMut<[PottsSite<Q>]> + AsRef<[PottsSite<Q>]>, const Q: usize> PottsBatch<'e, S, Q> {
    /// Bytes of a batch over `sites` sites in a snapshot.
    #[must_use]
    pub const fn snapshot_len(sites: usize) -> usize {
        sites.saturating_mul(LANES + 1).saturating_add(12 + Core::LEN)
    }

    /// Sixteen chains that start at independent uniform values, every site free, at β = 1.
    ///
    /// Words that [`LaneRng`] still holds from single draws are left out, here and by every kernel.
    ///
    /// # Errors
    /// [`BatchError::Sites`] where there are fewer sites in the memory than in the model; [`BatchError::Arity`] where
    /// the model's have not `Q` values, [`BatchError::ManyValues`] where they have [`Layout::MANY`] or more.
    pub fn random(model: &'e Potts<'e>, sites: S, rng: &mut LaneRng) -> Result<Self, BatchError> {
        let mut batch = Self::blank(model, sites)?;
        for site in batch.ring().sites {
            let words = rng.block();
            for (value, word) in site.values.iter_mut().zip(words) {
                *value = ((u64::from(word) * Q as u64) >> 32) as u8;
            }
        }
        batch.settle(ALL);
        Ok(batch)
    }

    /// Sixteen chains that start at one state, every site free, at β = 1.
    ///
    /// # Errors
    /// As [`PottsBatch::random`], and [`BatchError::State`] where the state is none of the model's.
    pub fn new(model: &'e Potts<'e>, sites: S, start: Packed<'_>) -> Result<Self, BatchError> {
        let mut batch = Self::blank(model, sites)?;
        (0..LANES).try_for_each(|chain| batch.place(chain, start))?;
        batch.settle(ALL);
        Ok(batch)
    }

    fn blank(model: &'e Potts<'e>, mut sites: S) -> Result<Self, BatchError> {
        let layout = model.layout();
        if layout.many_values() {
            return Err(BatchError::ManyValues { arity: layout.arity() });
        }
        if layout.arity() != Q {
            return Err(BatchError::Arity { need: layout.arity(), got: Q });
        }
        let (need, got) = (layout.sites(), sites.as_mut().len());
        if got < need {
            return Err(BatchError::Sites { need, got });
        }
        sites.as_mut().fill(PottsSite::new());
        Ok(Self { model, sites, core: Core::new() })
    }

    /// One transition of every chain.
    pub fn step<K: PottsKernel>(&mut self, kernel: &K, rng: &mut LaneRng) -> BatchInfo {
        kernel.step(self.ring(), rng)
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &'e Potts<'e> {
        self.model
    }

    /// The values of a site, one a chain; zeros where there is no such site.
    #[must_use]
    pub fn values(&self, site: usize) -> [u8; LANES] {
        self.sites.as_ref().get(site).map_or([0; LANES], |site| site.values)
    }

    /// Writes the state of a chain, zeros from chain 16 on; the memory is [`Layout::words`] words.
    ///
    /// # Errors
    /// [`StateError::Words`] where the memory is of another length.
    pub fn state<'w>(&self, chain: usize, words: &'w mut [u32]) -> Result<Packed<'w>, StateError> {
        let layout = self.model.layout();
        words.fill(0);
        Packed::new(layout, words)?;
        for site in 0..layout.sites() {
            set(layout, words, site, self.values(site).get(chain).map_or(0, |&value| u32::from(value)))?;
        }
        Packed::new(layout, words)
    }

    /// `E` of a chain at its state, at β = 1; NaN from chain 16 on.
    /// Errors of rounding add up as in [`Chain::energy`](crate::Chain::energy).
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

    /// Gives every chain an inverse temperature β, `p ∝ e^(−βE)`; the states stay. O(1).
    ///
    /// # Errors
    /// [`PathError::Beta`] where one is negative or not finite, [`PathError::BetaTooLarge`] where differences of βE could
    /// be infinite.
    pub fn set_betas(&mut self, betas: Block) -> Result<(), PathError> {
        let large = |&beta: &f32| common::legal(beta) && !legal(self.model, beta);
        match betas.into_iter().find(large) {
            Some(beta) if betas.into_iter().all(common::legal) => Err(PathError::BetaTooLarge(beta)),
            _ => self.core.set_betas(betas),
        }
    }

    /// Holds sites at their present values in every chain: those that are 1 in `sites`, a binary state.
    ///
    /// # Errors
    /// [`BatchError::State`] where `sites` is not a binary state of as many sites.
    pub fn clamp(&mut self, sites: Packed<'_>) -> Result<(), BatchError> {
        let held = sites.of(Layout::binary(self.model.layout().sites()))?;
        for (site, held) in self.ring().sites.iter_mut().zip(held.values()) {
            site.clamped = held != 0;
        }
        self.core.weights_of = None;
        Ok(())
    }

    /// Frees every site.
    pub fn release(&mut self) {
        self.ring().sites.iter_mut().for_each(|site| site.clamped = false);
        self.core.weights_of = None;
    }

    /// Moves one chain to a state, clamped sites too.
    ///
    /// # Errors
    /// [`BatchError`] where it is no state of the model, or there is no such chain.
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
        common::chain_bit(chain)?;
        for (site, value) in self.ring().sites.iter_mut().zip(start.values()) {
            if let Some(slot) = site.values.get_mut(chain) {
                *slot = value as u8;
            }
        }
        Ok(())
    }

    /// The batch taken apart for a kernel.
    pub fn ring(&mut self) -> PottsRing<'_, Q> {
        let sites = self.sites.as_mut().get_mut(..self.model.layout().sites()).unwrap_or_default();
        BatchRing { model: self.model, sites, core: &mut self.core }
    }

    /// Takes the memory back.
    #[must_use]
    pub fn into_memory(self) -> S {
        self.sites
    }

    /// Makes fields from the values, and energies in the chains of `chains`.
    fn settle(&mut self, chains: u32) {
        let ring = self.ring();
        let (model, sites) = (ring.model, ring.sites);
        ring.core.weights_of = None;
        for (number, site) in sites.iter_mut().enumerate() {
            for (value, field) in site.fields.iter_mut().enumerate() {
                *field = [model.field(number, value) as u32; LANES];
            }
        }
        for number in 0..sites.len() {
            site::enter(model, sites, number);
        }
        // Every edge stands in two fields: −½ Σ (w + field) at the values.
        let mut terms = [0; LANES];
        for (number, site) in sites.iter().enumerate() {
            for ((chain, term), &value) in terms.iter_mut().enumerate().zip(&site.values) {
                let field = site.fields.get(usize::from(value)).and_then(|field| field.get(chain));
                let field = field.map_or(0, |&field| i64::from(field as i32));
                *term += i64::from(model.field(number, usize::from(value))) + field;
            }
        }
        let energies = ring.core.energies.iter_mut().zip(terms).enumerate();
        for (_, (energy, terms)) in energies.filter(|(chain, _)| (chains >> chain) & 1 != 0) {
            *energy = Total::new(-0.5 * model.form().value(terms));
        }
    }
}

/// No difference of two fields has as many units.
const REACH: f32 = 4_294_967_296.0;

/// Whether differences of βE stay finite.
fn legal(model: &Potts<'_>, beta: f32) -> bool {
    common::legal(beta) && (beta * model.form().unit() * REACH).is_finite()
}

impl<const Q: usize> PottsRing<'_, Q> {
    /// What a unit of a field is at each chain's β.
    fn scales(&self) -> Block {
        self.core.betas.map(|beta| beta * self.model.form().unit())
    }

    /// Differences of energies at β = 1.
    fn plain(&self, units: [i64; LANES]) -> Block {
        units.map(|units| self.model.form().value(units))
    }
}
