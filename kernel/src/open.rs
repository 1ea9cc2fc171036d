//! A chain whose energy is evaluated elsewhere: a step in two halves, ask and tell.

mod ask;
mod each;
mod snapshot;
mod told;

pub use ask::Ask;
pub(crate) use ask::Half;
pub use snapshot::open_snapshot_len;
pub use told::OpenError;
pub(crate) use told::{Told, spread};

use crate::accept::Info;
use crate::chain::{
    Buffer, ChainError, Core, Memory, check_sites, check_values, hold, part, plane, release, rooms, taken_apart,
};
use crate::energy::{EnergyError, checked};
use crate::lane::{Bits, Block, Total};
use crate::layout::Layout;
use crate::packed::Packed;
use rand_core::Rng;

/// A Markov chain that is told its energies: by a network, another process, a GPU, the next tick.
///
/// A step has two halves. [`Open::ask`] draws the proposed state y. You evaluate `E(y)` and `∂E/∂x` at y, wherever you like.
/// [`Open::tell`] accepts or rejects y. The step is that of a [`Chain`](crate::Chain) over [`Plain`](crate::Plain), bit for
/// bit.
///
/// ```
/// use bitmc::{LaneRng, Langevin, Layout, Open, Packed, SeedableRng, State, open_memory};
///
/// const L: Layout = Layout::binary(10);
/// // E(x) = ½ (ones − 3)², evaluated anywhere: here, in a function.
/// fn evaluate(x: Packed<'_>) -> (f32, [f32; 10]) {
///     let excess = x.ones() as f32 - 3.0;
///     (0.5 * excess * excess, [excess; 10])
/// }
///
/// let (mut rng, sampler) = (LaneRng::seed_from_u64(1), Langevin::adjusted(1.0)?);
/// let start = State::<{ L.words() }>::zeros(L)?;
/// let (energy, gradient) = evaluate(start.view());
/// let mut chain = Open::new(L, None, open_memory!(L), start.view(), energy, &gradient)?;
/// let mut ones = 0;
/// for _ in 0..1000 {
///     let (energy, gradient) = evaluate(chain.ask(&sampler, &mut rng)?);
///     chain.tell(energy, &gradient)?;
///     ones += chain.state().ones();
/// }
/// assert!((ones as f32 / 1000.0 - 3.4).abs() < 0.2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Gradients
/// A gradient is a slice of `∂E/∂x` in the order of the sites, `f32`. Binary and ordinal sites: one number a site, `[site]`.
/// Categorical sites: `[site][value]`, the layout's [`arity`](Layout::arity) of values a site; those past a site's own arity
/// are ignored. [`gradient_len`] is its length.
///
/// An empty slice says that there is none. [`RandomWalk`](crate::RandomWalk) needs none, and a state with `E = +∞` needs none.
/// The other kernels need the gradient at the state and, with a Metropolis test, the one at y.
///
/// The chain keeps the gradient of its state, so any kernel may take the next step. A [`Cycle`](crate::step::Cycle), an
/// adaptation or a second-order sampler takes one gradient a step. From [`Layout::MANY`] categorical values on, the chain keeps
/// none. Then [`Open::ask_with`] takes the gradient of the state again, which the caller keeps.
///
/// # Between the halves
/// A proposal stays until it is told: another [`Open::ask`] returns it again, whatever kernel it is given. A
/// [`Snapshot`](crate::snapshot::Snapshot) can be taken. [`Open::restart`], [`Open::clamp`], [`Open::release`] and
/// [`Open::rebind`] cancel it.
///
/// # Many chains
/// Ask each, evaluate all at once, tell each: [`Open::ask_each`] and [`Open::tell_each`]. No sum crosses chains. N chains
/// together equal N chains alone, bit for bit, if the evaluator gives a state the same bits in any batch. Most matrix
/// products do not.
#[derive(Clone, Debug)]
pub struct Open<'a, W, C, B> {
    told: Told<'a>,
    memory: Memory<W, C, B>,
    core: Core,
    /// `E` at the state, as it was told.
    energy: f32,
    /// What was asked and is not told.
    pending: Option<Half>,
}

/// The length of a gradient: sites, times arity where they are categorical.
#[must_use]
pub const fn gradient_len(layout: Layout) -> usize {
    layout.sites().saturating_mul(layout.slopes())
}

impl<'a, W, C, B> Open<'a, W, C, B>
where
    W: AsMut<[u32]> + AsRef<[u32]>,
    C: AsMut<[Bits]>,
    B: AsMut<[Block]> + AsRef<[Block]>,
{
    /// A chain at a state whose energy and gradient are told, every site free. `arities` has the arity of every site
    /// where they differ. Memory: [`Memory::words`], no cache, [`Memory::weights_and_gradients`]; it may hold anything.
    ///
    /// # Errors
    /// [`OpenError`] where the memory is short or the start is no state of the layout. Also where the energy is infinite or
    /// NaN, or the gradient has another length or a NaN.
    pub fn new(
        layout: Layout,
        arities: Option<&'a [u16]>,
        mut memory: Memory<W, C, B>,
        start: Packed<'_>,
        energy: f32,
        gradient: &[f32],
    ) -> Result<Self, OpenError> {
        let told = Told { layout, arities, slopes: &[] };
        check_sites(&told)?;
        part(Buffer::Words, memory.words.as_mut(), Memory::words(layout))?.fill(0);
        let blocks = Memory::weights_and_gradients(layout);
        part(Buffer::Weights, memory.weights.as_mut(), blocks)?.fill(Block::default());
        let mut chain = Self { told, memory, core: Core::at(0.0), energy: 0.0, pending: None };
        chain.release();
        chain.restart(start, energy, gradient)?;
        Ok(chain)
    }

    /// The state.
    #[must_use]
    pub fn state(&self) -> Packed<'_> {
        self.core.state(self.told.layout, self.memory.words.as_ref())
    }

    /// The proposed state that was asked and is not told.
    #[must_use]
    pub fn asked(&self) -> Option<Packed<'_>> {
        self.pending.as_ref()?;
        Some(self.core.other_state(self.told.layout, self.memory.words.as_ref()))
    }

    /// `E` at the state: as [`Chain::energy`](crate::Chain::energy) the sum of all changes. After one of 2¹⁴ or more, which has rounded
    /// it, it is what was told.
    #[must_use]
    pub fn energy(&self) -> f32 {
        self.core.energy.value()
    }

    /// Steps that met NaN or −∞ and were rejected for it.
    #[must_use]
    pub fn faults(&self) -> u32 {
        self.core.faults
    }

    /// Steps since the start or the last [`Open::restart`].
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.core.steps
    }

    /// The first half of a step: draws a proposed state y and the uniform of its test.
    ///
    /// Where the kernel does not fit the chain, or its weights at the state are NaN, y is the state. In that case
    /// [`Open::tell`] ends the step as a fault.
    ///
    /// # Errors
    /// [`OpenError::NoGradient`] where the kernel needs the gradient at the state and the chain has none.
    pub fn ask<K: Ask, R: Rng + ?Sized>(&mut self, kernel: &K, rng: &mut R) -> Result<Packed<'_>, OpenError> {
        self.ask_with(kernel, &[], rng)
    }

    /// As [`Open::ask`], with the gradient at the state: where the chain keeps none.
    ///
    /// # Errors
    /// As [`Open::ask`], and [`OpenError::Gradient`] where the gradient has another length.
    pub fn ask_with<K: Ask, R: Rng + ?Sized>(
        &mut self,
        kernel: &K,
        gradient: &[f32],
        rng: &mut R,
    ) -> Result<Packed<'_>, OpenError> {
        if self.pending.is_none() {
            self.can_ask::<K>(gradient)?;
            self.pending = Some(self.propose(kernel, gradient, rng));
        }
        Ok(self.core.other_state(self.told.layout, self.memory.words.as_ref()))
    }

    fn can_ask<K: Ask>(&self, gradient: &[f32]) -> Result<(), OpenError> {
        self.told.check(gradient)?;
        let known = self.core.slope || !gradient.is_empty();
        if known || !K::GRADIENT { Ok(()) } else { Err(OpenError::NoGradient) }
    }

    fn propose<K: Ask, R: Rng + ?Sized>(&mut self, kernel: &K, gradient: &[f32], rng: &mut R) -> Half {
        let told = Told { slopes: gradient, ..self.told };
        let mut ring = taken_apart(&told, &mut self.memory, &mut self.core, true);
        if told.keep(plane(told.layout, ring.planes, ring.core.there_first)) {
            ring.core.slope = true;
            ring.core.weights_of = None;
        }
        let half = kernel.ask(&mut ring, rng);
        half.unwrap_or_else(|| {
            ring.copy_words();
            Half::Failed
        })
    }

    /// The second half of a step: tells `E(y)` and `∂E/∂x` at y, and accepts or rejects y. Draws nothing.
    ///
    /// # Errors
    /// [`OpenError::NotAsked`]; [`OpenError::Gradient`] where the gradient has another length, or the test needs it and it is
    /// empty. The proposal stays.
    pub fn tell(&mut self, energy: f32, gradient: &[f32]) -> Result<Info, OpenError> {
        self.can_tell(energy, gradient)?;
        let Some(half) = self.pending.take() else { return Err(OpenError::NotAsked) };
        let told = Told { slopes: gradient, ..self.told };
        let mut ring = taken_apart(&told, &mut self.memory, &mut self.core, true);
        // Until now it has held the curvatures.
        let (planes, momentum) = rooms(told.layout, core::mem::take(&mut ring.planes));
        // A plane alone is a momentum.
        ring.planes = momentum.get_mut(..told.layout.plane_blocks()).unwrap_or_default();
        let plane = plane(told.layout, planes, !ring.core.there_first);
        let info = half.tell(ring, plane, energy - self.energy);
        if info.accepted {
            self.core.slope = told.keep(plane);
            self.energy = energy;
            if Total::coarse(info.difference) {
                self.core.energy = Total::new(energy);
            }
        }
        Ok(info)
    }

    fn can_tell(&self, energy: f32, gradient: &[f32]) -> Result<(), OpenError> {
        let Some(half) = &self.pending else { return Err(OpenError::NotAsked) };
        self.told.check(gradient)?;
        let needed = half.needs_gradient(self.told.layout) && energy != f32::INFINITY;
        if needed && gradient.is_empty() {
            return Err(OpenError::Gradient { need: gradient_len(self.told.layout), got: 0 });
        }
        Ok(())
    }

    /// Moves the chain to a state, clamped sites too, with its energy and gradient. The old state stays where there is an
    /// error.
    ///
    /// # Errors
    /// As [`Open::new`].
    pub fn restart(&mut self, start: Packed<'_>, energy: f32, gradient: &[f32]) -> Result<(), OpenError> {
        let start = start.of(self.told.layout).map_err(ChainError::from)?;
        check_values(&self.told, start).map_err(ChainError::from)?;
        let faults = self.core.faults;
        self.begin(Core { faults, ..Core::at(0.0) }, energy, gradient)?;
        let ring = taken_apart(&self.told, &mut self.memory, &mut self.core, true);
        ring.here.words.iter_mut().zip(start.words()).for_each(|(slot, &word)| *slot = word);
        Ok(())
    }

    /// Tells the energy and the gradient at the state again: the model has changed, and the chain goes on. Steps and faults
    /// are counted on, clamped sites stay clamped.
    ///
    /// # Errors
    /// [`OpenError`] where the energy is infinite or NaN, or the gradient has another length or a NaN. Then the chain is as it
    /// was.
    pub fn rebind(&mut self, energy: f32, gradient: &[f32]) -> Result<(), OpenError> {
        self.begin(Core { weights_of: None, slope: false, momentum: None, ..self.core }, energy, gradient)
    }

    /// Puts an energy and a gradient in place of those at the state.
    fn begin(&mut self, core: Core, energy: f32, gradient: &[f32]) -> Result<(), OpenError> {
        let told = Told { slopes: gradient, ..self.told };
        told.check(gradient)?;
        let energy = checked(energy).map_err(ChainError::from)?;
        if energy == f32::INFINITY {
            return Err(ChainError::from(EnergyError::Forbidden).into());
        }
        if told.has_nan() {
            return Err(ChainError::from(EnergyError::NanGradient).into());
        }
        (self.core, self.energy, self.pending) = (Core { energy: Total::new(energy), ..core }, energy, None);
        let ring = taken_apart(&told, &mut self.memory, &mut self.core, true);
        ring.core.slope = told.keep(plane(told.layout, ring.planes, ring.core.there_first));
        Ok(())
    }

    /// Holds sites at their present values: those that are 1 in `sites`, a binary state.
    ///
    /// # Errors
    /// [`ChainError::State`] where `sites` is not a binary state of as many sites.
    pub fn clamp(&mut self, sites: Packed<'_>) -> Result<(), OpenError> {
        let layout = self.told.layout;
        let held = sites.of(Layout::binary(layout.sites())).map_err(ChainError::from)?;
        self.release();
        hold(layout, self.memory.free(layout), held);
        Ok(())
    }

    /// Frees every site.
    pub fn release(&mut self) {
        let (layout, arities) = (self.told.layout, self.told.arities);
        release(layout, arities, self.memory.free(layout));
        self.core.weights_of = None;
        self.pending = None;
    }

    /// Takes the memory back.
    #[must_use]
    pub fn into_memory(self) -> Memory<W, C, B> {
        self.memory
    }
}
