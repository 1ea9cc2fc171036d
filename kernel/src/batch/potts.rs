//! Sixteen chains of one Potts model one a lane.

mod gibbs;
mod langevin;
mod site;
mod weights;

pub use site::PottsSite;

use super::core_state::{Core, Sealed};
use super::{Batch, BatchCell, BatchError, BatchRing};
use crate::energy::Potts;
use crate::lane::{Block, LANES};
use crate::layout::Layout;
use crate::random::LaneRng;
use crate::snapshot::{Reader, Snapshot, SnapshotError, Writer};

/// Sixteen chains of one [`Potts`] model, whose sites have `Q` values. `S` is the memory: [`PottsSite`]s, one a site,
/// 64·(3Q+1) bytes each (12Q+4 a chain).
///
/// A site keeps the field of each of its values, exact in fixed point. Moves change it in place and back. It also
/// keeps the weights that the next proposal is drawn from. A batch with `Langevin` pays up to about ten values. From
/// sixteen values on a site's logits do not fit in registers, and sixteen chains alone take less time. The kernels
/// are [`Langevin`](crate::Langevin), with and without its test, and [`Gibbs::systematic`](crate::Gibbs::systematic).
///
/// Chain *n* is, bit for bit, the [`Replica`](crate::temper::Replica) at its β with the same kernel and
/// `Xoshiro128PlusPlus::seed_from_u64(seed)` after *n* calls of `jump()` as its generator. By Langevin it is the
/// [`Chain`](crate::Chain) too, where β is 1. A chain by Gibbs sampling draws other numbers, which it makes ahead: sixteen chains
/// wait for nothing, and would take 1.6 times the instructions. The energies of Gibbs sampling may differ by rounding: a
/// replica adds them up flip by flip, a batch sweep by sweep.
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
pub type PottsBatch<'e, S, const Q: usize> = Batch<'e, S, PottsSite<Q>>;

/// A batch of Potts chains taken apart for a kernel.
pub type PottsRing<'a, 'e, const Q: usize> = BatchRing<'a, 'e, PottsSite<Q>>;

impl<S, const Q: usize> PottsBatch<'_, S, Q> {
    /// Bytes of a batch over `sites` sites in a snapshot.
    #[must_use]
    pub const fn snapshot_len(sites: usize) -> usize {
        sites.saturating_mul(LANES + 1).saturating_add(12 + Core::LEN)
    }
}

impl<const Q: usize> Sealed for PottsSite<Q> {}

impl<const Q: usize> BatchCell for PottsSite<Q> {
    type Model<'e> = Potts<'e>;
    type Values = [u8; LANES];
    const NAME: [u8; 4] = *b"pott";

    fn fits(layout: Layout) -> Result<(), BatchError> {
        if layout.many_values() {
            return Err(BatchError::ManyValues { arity: layout.arity() });
        }
        if layout.arity() != Q {
            return Err(BatchError::Arity { need: layout.arity(), got: Q });
        }
        Ok(())
    }

    fn in_reach(model: &Potts<'_>, beta: f32) -> bool {
        (beta * model.form().unit() * REACH).is_finite()
    }

    fn randomise(sites: &mut [Self], rng: &mut LaneRng) {
        for site in sites {
            site.values = rng.block().map(|word| ((u64::from(word) * Q as u64) >> 32) as u8);
        }
    }

    fn values(&self, _: u32) -> [u8; LANES] {
        self.values
    }

    fn value(&self, chain: usize, _: u32) -> u32 {
        self.values.get(chain).map_or(0, |&value| u32::from(value))
    }

    fn place(&mut self, chain: usize, value: u32) {
        self.values.get_mut(chain).into_iter().for_each(|slot| *slot = value as u8);
    }

    fn hold(&mut self, held: bool) {
        self.clamped = held;
    }

    fn settle(ring: &mut PottsRing<'_, '_, Q>) -> Block {
        let (model, sites) = (ring.model, &mut *ring.sites);
        for (number, site) in sites.iter_mut().enumerate() {
            for (value, field) in site.fields.iter_mut().enumerate() {
                *field = [model.field(number, value) as u32; LANES];
            }
        }
        for number in 0..sites.len() {
            site::enter(model, sites, number);
        }
        // Every edge is in two fields: −½ Σ (w + field) at the values.
        let mut terms = [0; LANES];
        for (number, site) in sites.iter().enumerate() {
            for ((chain, term), &value) in terms.iter_mut().enumerate().zip(&site.values) {
                let field = site.fields.get(usize::from(value)).and_then(|field| field.get(chain));
                let field = field.map_or(0, |&field| i64::from(field as i32));
                *term += i64::from(model.field(number, usize::from(value))) + field;
            }
        }
        terms.map(|terms| -0.5 * model.form().value(terms))
    }

    fn save_layout(layout: Layout, to: &mut Writer<'_>) {
        (layout.sites() as u32, Q as u32).save(to);
    }

    fn load_layout(from: &mut Reader<'_>) -> Result<Layout, SnapshotError> {
        let (sites, arity): (u32, u32) = from.value()?;
        Ok(Layout::categorical(sites as usize, arity as usize))
    }

    fn save(&self, _: u32, to: &mut Writer<'_>) {
        to.bytes(&self.values);
        self.clamped.save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.values = from.array()?;
        self.clamped.load(from)?;
        let legal = self.values.iter().all(|&value| usize::from(value) < Q);
        if legal { Ok(()) } else { Err(SnapshotError::Value) }
    }
}

/// Every difference of two fields is fewer units than this.
const REACH: f32 = 4_294_967_296.0;

impl<const Q: usize> PottsRing<'_, '_, Q> {
    /// What a unit of a field is at each chain's β.
    fn scales(&self) -> Block {
        self.core.betas.map(|beta| beta * self.model.form().unit())
    }
}
