//! A chain whose model has other fields in every frame.

use super::{Chain, ChainError, Core, Memory, copy};
use crate::energy::{Energy, Ising, SparseError};
use crate::lane::{Bits, Block};
use crate::packed::Packed;

crate::error::errors! {
    /// Why a frame could not begin.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum FrameError {
        /// The fields are not fields of the model.
        Fields(error: SparseError) from SparseError => "{error}";
        /// The model cannot go on at the state.
        Chain(error: ChainError) from ChainError => "{error}";
    }
}

/// The chain of one frame, in memory that [`Frames`] owns.
pub type FrameChain<'f, 'm> = Chain<'f, Ising<'m>, &'f mut [u32], &'f mut [Bits], &'f mut [Block]>;

/// A chain over an [`Ising`] model that takes new fields in every frame. It has the models that
/// [`Ising::with_linear`] makes, and goes on from one to the next as [`Chain::rebind`], which wants both of them to
/// outlive the chain. Cost of a frame: that of both, O(sites); no coupling is looked at.
///
/// ```
/// use bitmc::{Chain, Ising, LaneRng, Langevin, Layout, SeedableRng, SparseMemory, memory, torus};
/// const L: Layout = Layout::binary(25);
/// let mut couplings = SparseMemory::<25, 100>::new();
/// // Built with the largest fields that will come.
/// let model = Ising::spins_edges_once(25, torus(5, 5, 0.2), &[4.0; 25], couplings.borrow())?;
/// let mut rng = LaneRng::seed_from_u64(1);
/// let chain = Chain::random(&model, memory!(L, Ising::cache_len(25)), &mut rng)?;
/// let mut frames = chain.frames([[0; 25]; 2])?;
/// let sampler = Langevin::adjusted(1.0)?;
/// for frame in 0..10 {
///     let measured = [0.1 * frame as f32; 25];
///     frames.next(&measured, |chain| chain.run(&sampler, &mut rng, 20, &mut ()))?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Frames<'m, L, W, C, B> {
    /// Its couplings serve every frame.
    model: Ising<'m>,
    /// The fields of the chain, and room for the next ones.
    linear: [L; 2],
    second: bool,
    memory: Memory<W, C, B>,
    core: Core,
    /// Whether a frame has not ended: it has panicked.
    left: bool,
}

impl<'m, W, C, B> Chain<'_, Ising<'m>, W, C, B>
where
    W: AsMut<[u32]> + AsRef<[u32]>,
    C: AsMut<[Bits]>,
    B: AsMut<[Block]>,
{
    /// Lets the model have new fields in every frame. `linear` is memory of two words a site.
    ///
    /// # Errors
    /// [`SparseError::Memory`] where one of them is short.
    pub fn frames<L: AsMut<[i32]>>(self, mut linear: [L; 2]) -> Result<Frames<'m, L, W, C, B>, SparseError> {
        let Self { energy: &model, memory, core } = self;
        let now = model.form().linear();
        for room in &mut linear {
            let (need, got) = (now.len(), room.as_mut().len());
            copy(room.as_mut().get_mut(..need).ok_or(SparseError::Memory { need, got })?, now);
        }
        Ok(Frames { model, linear, second: false, memory, core, left: false })
    }
}

impl<L, W, C, B> Frames<'_, L, W, C, B>
where
    L: AsMut<[i32]>,
    W: AsMut<[u32]> + AsRef<[u32]>,
    C: AsMut<[Bits]>,
    B: AsMut<[Block]>,
{
    /// The state that the last frame left.
    #[must_use]
    pub fn state(&self) -> Packed<'_> {
        self.core.state(self.model.layout(), self.memory.words.as_ref())
    }

    /// Takes the next fields, and has `run` do a frame over them. Steps and faults are counted on, and clamped sites stay
    /// clamped.
    ///
    /// # Errors
    /// [`FrameError`]: as [`Ising::with_linear`] and [`Chain::rebind`]. Nothing runs, and the chain is as it was.
    pub fn next<T>(
        &mut self,
        fields: &[f32],
        run: impl FnOnce(&mut FrameChain<'_, '_>) -> T,
    ) -> Result<T, FrameError> {
        let [first, second] = self.linear.each_mut().map(AsMut::as_mut);
        let (now, next) = if self.second { (second, first) } else { (first, second) };
        let model = self.model.with_linear(fields, next)?;
        let mut chain = Chain { energy: &model, memory: self.memory.borrow(), core: self.core };
        let words = chain.core.words(model.layout().words(), chain.memory.words);
        if self.left || !chain.core.follow(&model, now, words, chain.memory.cache) {
            chain.refresh().map_err(ChainError::from)?;
            chain.core.momentum = None;
        }
        (self.second, self.left) = (!self.second, true);
        let result = run(&mut chain);
        (self.core, self.left) = (chain.core, false);
        Ok(result)
    }
}
