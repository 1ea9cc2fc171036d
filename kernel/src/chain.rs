//! A Markov chain in memory of fixed size: the entry point.

pub(crate) mod check;
mod error;
mod frames;
mod kernel;
mod memory;
mod ring;
pub(crate) mod snapshot;
mod unbound;

pub use error::{Buffer, ChainError, CountError};
pub use frames::{FrameChain, FrameError, Frames};
pub use kernel::Kernel;
pub use memory::{FixedMemory, Memory};
pub use ring::{Core, Point, Ring};
pub(crate) use ring::{Kept, Momenta, copy, keep, plane};
pub use snapshot::{momentum_snapshot_len, snapshot_len};
pub use unbound::Unbound;

use crate::accept::Info;
use crate::energy::{Energy, EnergyError};
use crate::lane::{Bits, Block, LANES};
use crate::layout::{Kind, Layout};
use crate::packed::{Packed, StateError, clear, clear_single};
use crate::random::{Generator, uniform_state};
use crate::stats::Observer;

/// A Markov chain over the states of one energy.
///
/// ```
/// use bitmc::{memory, torus, Chain, Ising, LaneRng, Langevin, Layout, SeedableRng, SparseMemory};
///
/// const L: Layout = Layout::binary(25);
/// let mut memory = SparseMemory::<25, 100>::new();
/// let model = Ising::spins_edges_once(25, torus(5, 5, 0.2), &[0.2; 25], memory.borrow()).unwrap();
/// let mut rng = LaneRng::seed_from_u64(1);
/// let mut chain = Chain::random(&model, memory!(L, Ising::cache_len(25)), &mut rng).unwrap();
/// let sampler = Langevin::adjusted(0.6).unwrap();
/// let moved: u32 = (0..1000).map(|_| chain.step(&sampler, &mut rng).moved()).sum();
/// assert!(moved > 2500 && moved < 4000); // about 3.2 sites a step
/// ```
#[derive(Debug)]
pub struct Chain<'e, E: ?Sized, W, C, B> {
    energy: &'e E,
    memory: Memory<W, C, B>,
    core: Core,
}

/// A chain in arrays.
pub type FixedChain<'e, E, const W: usize, const C: usize, const B: usize> =
    Chain<'e, E, [u32; W], [Bits; C], [Block; B]>;

impl<'e, E, W, C, B> Chain<'e, E, W, C, B>
where
    E: Energy + ?Sized,
    W: AsMut<[u32]> + AsRef<[u32]>,
    C: AsMut<[Bits]>,
    B: AsMut<[Block]>,
{
    /// A chain that starts at a given state, every site free. The memory may hold anything: it is cleared.
    ///
    /// # Errors
    /// [`ChainError`] where the memory is short or the start is no state of the energy. Also where the energy at the
    /// start is infinite or NaN, or the gradient there has a NaN.
    pub fn new(energy: &'e E, memory: Memory<W, C, B>, start: Packed<'_>) -> Result<Self, ChainError> {
        let mut chain = Self { energy, memory, core: Core::at(0.0) };
        chain.clear()?;
        chain.release();
        chain.restart(start)?;
        Ok(chain)
    }

    /// A chain that starts at independent uniform values.
    ///
    /// # Errors
    /// As [`Chain::new`]. Where the energy forbids most states, so does this: begin at one that it allows, by
    /// `Chain::new`.
    pub fn random<R: Generator + ?Sized>(
        energy: &'e E,
        memory: Memory<W, C, B>,
        rng: &mut R,
    ) -> Result<Self, ChainError> {
        let layout = energy.layout();
        let mut chain = Self { energy, memory, core: Core::at(0.0) };
        chain.clear()?;
        chain.release();
        uniform_state(layout, energy.arities(), rng, chain.ring().there.words);
        chain.settle()?;
        Ok(chain)
    }

    /// A chain that goes on from a state and core that were kept: bit for bit as if it had never stopped. Every site
    /// is free: clamp again with [`Chain::clamp`]. A [momentum](crate::Langevin::momentum) is drawn again. A
    /// [`Snapshot`](crate::snapshot::Snapshot) keeps both.
    ///
    /// # Errors
    /// As [`Chain::new`].
    pub fn resume(
        energy: &'e E,
        memory: Memory<W, C, B>,
        state: Packed<'_>,
        core: Core,
    ) -> Result<Self, ChainError> {
        let mut chain = Self::new(energy, memory, state)?;
        // The weights are made again from the state: they are a function of it and the parameters alone.
        let Core { there_first, estimates, .. } = chain.core;
        chain.core = Core { weights_of: None, slope: false, momentum: None, estimates, there_first, ..core };
        Ok(chain)
    }

    /// A chain put together again from its parts.
    pub(crate) fn assembled(energy: &'e E, memory: Memory<W, C, B>, core: Core) -> Self {
        Self { energy, memory, core }
    }

    /// What to keep with the state, for [`Chain::resume`].
    #[must_use]
    pub fn core(&self) -> Core {
        self.core
    }

    /// The energy.
    #[must_use]
    pub fn model(&self) -> &'e E {
        self.energy
    }

    /// The state.
    #[must_use]
    pub fn state(&self) -> Packed<'_> {
        self.core.state(self.energy.layout(), self.memory.words.as_ref())
    }

    /// The state as whole numbers: every site's value and [offset](Energy::offsets).
    pub fn integers(&self) -> impl Iterator<Item = i64> {
        let offsets = self.energy.offsets().unwrap_or_default();
        let offset = move |site| offsets.get(site).copied().map_or(0, i64::from);
        self.state().values().enumerate().map(move |(site, value)| offset(site) + i64::from(value))
    }

    /// `E` at the state: that at the start and the differences of all moves since. Each is rounded to a float, and
    /// over many steps these errors add up like a random walk's. That is up to 5·10⁻⁴ after 10⁷ steps where energies
    /// are about 10. Sweeps are not reversible, and their errors may have a mean: 10⁻⁹ a sweep was seen where energies are
    /// about 3. [`Chain::refresh`] computes the energy again.
    #[must_use]
    pub fn energy(&self) -> f32 {
        self.core.energy.value()
    }

    /// Steps that met NaN or −∞ and were rejected for it.
    #[must_use]
    pub fn faults(&self) -> u32 {
        self.core.faults
    }

    /// Transitions since the start or the last [`Chain::restart`].
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.core.steps
    }

    /// One transition.
    pub fn step<K: Kernel<E>, R: Generator + ?Sized>(&mut self, kernel: &K, rng: &mut R) -> Info {
        kernel.step(self.ring(), rng)
    }

    /// `steps` transitions, each shown to an observer. A kernel that does not fit the layout or the memory stays where it is,
    /// and every step is a fault: look at [`Chain::faults`].
    pub fn run<K: Kernel<E>, R: Generator + ?Sized>(
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

    /// Moves the chain to a state, clamped sites too. The old state stays where there is an error.
    ///
    /// # Errors
    /// [`ChainError::State`] or [`ChainError::Energy`].
    pub fn restart(&mut self, start: Packed<'_>) -> Result<(), ChainError> {
        self.ring().put(start)?;
        self.settle()
    }

    /// Computes the energy and the cache at the state from nothing. Returns the drift: the old energy less the new one.
    /// State, clamped sites and counters stay.
    ///
    /// # Errors
    /// [`EnergyError`] where the energy is infinite or NaN there, as one that has changed may be; the chain stays as it
    /// is.
    pub fn refresh(&mut self) -> Result<f32, EnergyError> {
        let (old, ring) = (self.energy(), self.ring());
        let here = Packed::trusted(ring.layout, ring.here.words);
        let new = check::start(ring.energy, here, ring.there.cache)?;
        copy(ring.here.cache, ring.there.cache);
        ring.core.temper(new);
        Ok(old - new)
    }

    /// Holds sites at their present values: those that are 1 in `sites`, a binary state.
    ///
    /// # Errors
    /// [`ChainError::State`] where `sites` is not a binary state with the energy's number of sites.
    pub fn clamp(&mut self, sites: Packed<'_>) -> Result<(), ChainError> {
        let layout = self.energy.layout();
        let held = sites.of(Layout::binary(layout.sites()))?;
        self.release();
        hold(layout, self.memory.free(layout), held);
        Ok(())
    }

    /// Frees every site.
    pub fn release(&mut self) {
        let (layout, arities) = (self.energy.layout(), self.energy.arities());
        release(layout, arities, self.memory.free(layout));
        self.core.weights_of = None;
    }

    /// The chain taken apart for a sampler.
    pub fn ring(&mut self) -> Ring<'_, E> {
        let keeps = !self.core.estimates;
        taken_apart(self.energy, &mut self.memory, &mut self.core, keeps)
    }

    /// Takes the memory back.
    #[must_use]
    pub fn into_memory(self) -> Memory<W, C, B> {
        self.memory
    }

    /// Checks the energy and the lengths, and clears the memory: bits past the last site must be zeros.
    fn clear(&mut self) -> Result<(), ChainError> {
        let layout = self.energy.layout();
        check_sites(self.energy)?;
        let cache = Memory::cache(self.energy.cache_len());
        part(Buffer::Words, self.memory.words.as_mut(), Memory::words(layout))?.fill(0);
        part(Buffer::Cache, self.memory.cache.as_mut(), cache)?.fill([0; LANES]);
        part(Buffer::Weights, self.memory.weights.as_mut(), Memory::weights(layout))?.fill([0.0; LANES]);
        Ok(())
    }

    /// Starts at the state in the ring's `there`, if the energy allows it.
    pub(crate) fn settle(&mut self) -> Result<(), ChainError> {
        let ring = self.ring();
        let there = Packed::trusted(ring.layout, ring.there.words);
        check_values(ring.energy, there)?;
        let energy = check::start(ring.energy, there, ring.there.cache)?;
        if nan_gradient(ring.energy, there, ring.there.cache, ring.there.weights) {
            return Err(EnergyError::NanGradient.into());
        }
        let there_first = !ring.core.there_first;
        let (faults, estimates) = (ring.core.faults, ring.energy.estimates());
        *ring.core = Core { there_first, faults, estimates, ..Core::at(energy) };
        Ok(())
    }
}

/// Whether an energy has sites, arities that sites can have, and an offset for each where it has any.
pub(crate) fn check_sites<E: Energy + ?Sized>(energy: &E) -> Result<(), ChainError> {
    let layout = energy.layout();
    if layout.sites() == 0 {
        return Err(ChainError::NoSites);
    }
    let sites = layout.sites();
    if let Some(got) = energy.offsets().map(<[i32]>::len).filter(|&got| got != sites) {
        return Err(ChainError::Offsets { sites, got });
    }
    let legal = |&arity: &u16| arity >= 1 && usize::from(arity) <= layout.arity();
    let fit = |arities: &[u16]| arities.len() == layout.sites() && arities.iter().all(legal);
    if energy.arities().is_none_or(fit) { Ok(()) } else { Err(ChainError::Arities) }
}

/// Whether every value of a state of the energy's layout is below the arity of its own site.
pub(crate) fn check_values<E: Energy + ?Sized>(energy: &E, x: Packed<'_>) -> Result<(), StateError> {
    let mut values = x.values().zip(energy.arities().unwrap_or_default()).enumerate();
    let illegal = values.find(|&(_, (value, &arity))| value >= u32::from(arity));
    illegal.map_or(Ok(()), |(site, (value, _))| Err(StateError::Value { site, value }))
}

/// Whether a component of the gradient is NaN, with `room` to look at it.
fn nan_gradient<E: Energy + ?Sized>(energy: &E, x: Packed<'_>, cache: &[Bits], room: &mut [Block]) -> bool {
    let layout = x.layout();
    // A number that is no slope of a value that its site has may be NaN. A single slope is that of value 1.
    let first = usize::from(layout.kind() != Kind::Categorical);
    let nan = |row: usize, blocks: &[Block]| {
        let lanes = blocks.as_flattened().iter().enumerate().filter(|(_, slope)| slope.is_nan());
        let mut slopes = lanes.filter_map(|(at, _)| layout.component(row, at / LANES, at % LANES));
        slopes.any(|(site, value)| first + value < layout.arity_at(energy.arities(), site))
    };
    if layout.row_is_site() {
        // There is room for one at a time.
        let row = room.get_mut(..layout.row_blocks()).unwrap_or_default();
        return (0..layout.rows()).any(|site| {
            energy.gradient(x, cache, site..site + 1, row);
            nan(site, row)
        });
    }
    energy.gradient(x, cache, 0..layout.rows(), room);
    let mut rows = room.chunks(layout.row_blocks()).take(layout.rows()).enumerate();
    rows.any(|(row, blocks)| nan(row, blocks))
}

/// The first `need` elements of a buffer.
pub(crate) fn part<T>(buffer: Buffer, slice: &mut [T], need: usize) -> Result<&mut [T], ChainError> {
    let got = slice.len();
    slice.get_mut(..need).ok_or(ChainError::Memory { buffer, need, got })
}

/// A chain's memory as two points and a mask. With `planes`, each point has one for its gradient where the memory has
/// room for both.
pub(crate) fn taken_apart<'r, E: Energy + ?Sized, W: AsMut<[u32]>, C: AsMut<[Bits]>, B: AsMut<[Block]>>(
    energy: &'r E,
    memory: &'r mut Memory<W, C, B>,
    core: &'r mut Core,
    planes: bool,
) -> Ring<'r, E> {
    let layout = energy.layout();
    let (words, cache, blocks) = (layout.words(), energy.cache_len(), layout.weight_blocks());
    let (first, rest) = split(memory.words.as_mut(), words);
    let (second, free) = split(rest, words);
    let (free, _) = split(free, words);
    let (first_cache, rest) = split(memory.cache.as_mut(), cache);
    let (second_cache, _) = split(rest, cache);
    let (first_weights, rest) = split(memory.weights.as_mut(), blocks);
    let (second_weights, rest) = split(rest, blocks);
    let first = Point { words: first, cache: first_cache, weights: first_weights };
    let second = Point { words: second, cache: second_cache, weights: second_weights };
    let planes = if planes { rest } else { &mut [] };
    let (here, there) = if core.there_first { (second, first) } else { (first, second) };
    Ring { energy, layout, here, there, free, planes, slope_there: false, core }
}

/// What is behind the weights: two planes for gradients, where there is room for them, and the momentum.
pub(crate) fn rooms(layout: Layout, rest: &mut [Block]) -> (&mut [Block], &mut [Block]) {
    split(rest, behind(layout, rest.len()))
}

/// The room for a momentum behind the weights.
pub(crate) fn momentum(layout: Layout, rest: &mut [Block]) -> &mut [Block] {
    rooms(layout, rest).1
}

/// Blocks of gradients among so many.
fn behind(layout: Layout, blocks: usize) -> usize {
    let planes = layout.plane_blocks().saturating_mul(2);
    if blocks < planes { 0 } else { planes }
}

pub(crate) fn split<T>(slice: &mut [T], at: usize) -> (&mut [T], &mut [T]) {
    let at = at.min(slice.len());
    slice.split_at_mut_checked(at).unwrap_or_default()
}

/// The mask in which every site is free.
pub(crate) fn release(layout: Layout, arities: Option<&[u16]>, free: &mut [u32]) {
    free.fill(u32::MAX);
    if let Some(last) = free.last_mut() {
        *last &= layout.last_word();
    }
    // A binary site of one value is a clamped one: samplers look at no arities of binary sites.
    clear_single(layout, arities, free);
}

/// Takes the sites that are 1 in `held` out of a mask.
pub(crate) fn hold(layout: Layout, free: &mut [u32], held: Packed<'_>) {
    for (site, _) in held.values().enumerate().filter(|&(_, held)| held != 0) {
        clear(layout, free, site);
    }
}
