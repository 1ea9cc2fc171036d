//! Many independent chains on all cores, in vectors.

use crate::Error;
use crate::bits::BitRows;
use crate::progress::Progress;
use crate::unit::Start;
use aligned_vec::{AVec, avec};
use bitmc::chain::{ChainError, Memory};
use bitmc::energy::EnergyError;
use bitmc::lane::{Bits, Block, LANES};
use bitmc::snapshot::{Reader, Snapshot, SnapshotError, Writer};
use bitmc::stats::Acceptance;
use bitmc::temper::{Ladder, Rung};
use bitmc::{Chain, Energy, Kernel, LaneRng, Layout, Open, Packed, SeedableRng};
use rayon::prelude::*;

/// Memory of a chain in vectors. Blocks begin on cache lines, because a register of sixteen lanes that lies across two lines is
/// loaded twice.
pub type VecMemory = Memory<Vec<u32>, AVec<Bits>, AVec<Block>>;

/// A chain in vectors.
pub type VecChain<'e, E> = Chain<'e, E, Vec<u32>, AVec<Bits>, AVec<Block>>;

/// A chain in vectors that is told its energies.
pub type VecOpen<'a> = Open<'a, Vec<u32>, AVec<Bits>, AVec<Block>>;

/// Memory for one chain that is told its energies.
#[must_use]
pub fn open_memory(layout: Layout) -> VecMemory {
    Memory {
        words: vec![0; Memory::words(layout)],
        cache: avec![],
        weights: avec![[0.0; LANES]; Memory::weights_and_gradients(layout)],
    }
}

/// Memory for one chain of an energy.
pub fn memory(energy: &(impl Energy + ?Sized)) -> VecMemory {
    let layout = energy.layout();
    Memory {
        words: vec![0; Memory::words(layout)],
        cache: avec![[0; LANES]; Memory::cache(energy.cache_len())],
        weights: avec![[0.0; LANES]; Memory::weights(layout)],
    }
}

/// Looks whether there is memory for so many pieces of so many bytes; it is given back.
///
/// # Errors
/// [`Error::Option`] where there is not, with the name of what asks for it.
pub(crate) fn room(what: &str, pieces: usize, bytes: usize) -> Result<(), Error> {
    Vec::<u8>::new().try_reserve_exact(pieces.saturating_mul(bytes)).map_err(|_| {
        let giga = pieces as f64 * bytes as f64 / 1e9;
        Error::option(format!("{what}: {giga:.1} GB of memory are needed, and there is less"))
    })
}

/// Bytes that a chain of an energy takes.
pub(crate) fn bytes(energy: &(impl Energy + ?Sized)) -> usize {
    let layout = energy.layout();
    let blocks = Memory::cache(energy.cache_len()).saturating_add(Memory::weights(layout));
    blocks.saturating_mul(4 * LANES).saturating_add(4 * Memory::words(layout))
}

/// Random states that are tried where the energy forbids some.
const TRIES: usize = 10_000;

/// The first chain whose random start is possible.
pub(crate) fn possible<C>(
    mut random: impl FnMut(&mut LaneRng) -> Result<C, ChainError>,
    rng: &mut LaneRng,
) -> Result<C, Error> {
    for _ in 0..TRIES {
        match random(rng) {
            Err(ChainError::Energy(EnergyError::Forbidden)) => {}
            other => return other.map_err(Error::model),
        }
    }
    Err(Error::model(format!(
        "the energy is infinite at {TRIES} random states: no start is found; a large finite energy in place of infinity leads to one"
    )))
}

/// A chain that tunes, at a random state, or at this start where the energy forbids that.
pub(crate) fn tuning<'e, E: Energy + ?Sized>(
    energy: &'e E,
    start: Option<&Start>,
    rng: &mut LaneRng,
) -> Result<VecChain<'e, E>, Error> {
    let random = |rng: &mut LaneRng| Chain::random(energy, keeping_memory(energy), rng);
    match (random(rng), start) {
        (Err(ChainError::Energy(EnergyError::Forbidden)), Some(start)) => {
            let state = Packed::new(energy.layout(), &start.words).map_err(Error::model)?;
            Chain::new(energy, keeping_memory(energy), state).map_err(Error::model)
        }
        (Err(ChainError::Energy(EnergyError::Forbidden)), None) => possible(random, rng),
        (chain, _) => chain.map_err(Error::model),
    }
}

/// Memory for one chain that keeps its gradient. Steps whose parameters change take one gradient then, not two: a cycle, an
/// adaptation, second order.
pub fn keeping_memory(energy: &(impl Energy + ?Sized)) -> VecMemory {
    let blocks = Memory::weights_and_gradients(energy.layout());
    VecMemory { weights: avec![[0.0; LANES]; blocks], ..memory(energy) }
}

/// Memory for one chain that keeps its gradient and has a momentum.
pub fn moving_memory(energy: &(impl Energy + ?Sized)) -> VecMemory {
    let blocks = Memory::weights_gradients_and_momentum(energy.layout());
    VecMemory { weights: avec![[0.0; LANES]; blocks], ..memory(energy) }
}

/// The generators of chain 0, 1, 2, …: equal to [`LaneRng::stream`], one long jump each instead of n.
pub fn streams(seed: u64) -> impl Iterator<Item = LaneRng> {
    let mut next = LaneRng::seed_from_u64(seed);
    std::iter::repeat_with(move || {
        let stream = next.clone();
        next.long_jump();
        stream
    })
}

/// What moves on its own, so that it does not matter who moves it when: a chain, or a ladder of replicas. Its snapshot
/// has all but the kernels, and goes on bit for bit.
pub trait Moving: Send + Snapshot {
    /// Makes so many steps.
    fn advance(&mut self, steps: u64);

    /// The state.
    fn state(&self) -> Packed<'_>;

    /// `E` at the state.
    fn energy(&self) -> f32;

    /// Computes its energy anew, so that those of equal states are equal.
    fn refresh(&mut self) {}

    /// Its statistics since they were last cleared.
    fn acceptance(&mut self) -> &mut Acceptance;

    /// The ladder, where it is one of replicas.
    fn ladder(&self) -> Option<&Ladder<Vec<Rung>>> {
        None
    }
}

/// A chain with its own generator and its own statistics.
#[derive(Debug)]
pub struct Walker<'e, E: ?Sized, K> {
    /// The chain.
    pub chain: VecChain<'e, E>,
    /// What moves it.
    pub kernel: &'e K,
    /// Its generator.
    pub rng: LaneRng,
    /// Its statistics.
    pub acceptance: Acceptance,
}

impl<E, K> Moving for Walker<'_, E, K>
where
    E: Energy + Sync + ?Sized,
    K: Kernel<E> + Sync,
{
    fn advance(&mut self, steps: u64) {
        self.chain.run(self.kernel, &mut self.rng, steps, &mut self.acceptance);
    }

    fn state(&self) -> Packed<'_> {
        self.chain.state()
    }

    fn energy(&self) -> f32 {
        self.chain.energy()
    }

    fn refresh(&mut self) {
        // One that cannot be computed stays.
        let _ = self.chain.refresh();
    }

    fn acceptance(&mut self) -> &mut Acceptance {
        &mut self.acceptance
    }
}

impl<E: Energy + ?Sized, K> Snapshot for Walker<'_, E, K> {
    fn save(&self, to: &mut Writer<'_>) {
        self.chain.save(to);
        self.rng.save(to);
        self.acceptance.save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.chain.load(from)?;
        self.rng.load(from)?;
        self.acceptance.load(from)
    }
}

/// Moves every chain by so many steps.
pub fn advance(walkers: &mut [impl Moving], steps: u64, progress: &Progress) {
    walkers.par_iter_mut().for_each(|walker| {
        walker.advance(steps);
        progress.advance(steps);
    });
}

/// The mean energy, summed in the order of the chains.
#[must_use]
pub fn mean_energy(walkers: &[impl Moving]) -> f64 {
    let sum: f64 = walkers.iter().map(|walker| f64::from(walker.energy())).sum();
    sum / walkers.len() as f64
}

/// The mean energy of some states, summed in their order; NaN where one has none.
#[must_use]
pub fn mean_energy_of<E: Energy + ?Sized>(energy: &E, rows: &BitRows) -> f64 {
    let mut cache = memory(energy).cache;
    let total = |row| Packed::new(energy.layout(), row).ok().and_then(|x| energy.init(x, &mut cache).ok());
    rows.rows().map(total).map(|total| total.map_or(f64::NAN, f64::from)).sum::<f64>() / rows.len() as f64
}

/// The statistics of all chains together, which begin anew.
pub fn acceptance(walkers: &mut [impl Moving]) -> Acceptance {
    let taken = walkers.iter_mut().map(|walker| std::mem::replace(walker.acceptance(), Acceptance::new()));
    taken.fold(Acceptance::new(), add)
}

/// Two statistics together.
#[must_use]
pub fn add(a: Acceptance, b: Acceptance) -> Acceptance {
    Acceptance {
        steps: a.steps + b.steps,
        accepted: a.accepted + b.accepted,
        proposed_flips: a.proposed_flips + b.proposed_flips,
        accepted_flips: a.accepted_flips + b.accepted_flips,
        faults: a.faults + b.faults,
    }
}

/// The present states, in the order of the chains; no rows without chains.
#[must_use]
pub fn states(layout: Layout, walkers: &[impl Moving]) -> BitRows {
    let mut rows = BitRows::new(layout);
    for walker in walkers {
        rows.push(walker.state());
    }
    rows
}
