//! A chain whose model changes.

use super::{Buffer, Chain, ChainError, Core, Memory, check_sites, part};
use crate::energy::Energy;
use crate::lane::{Bits, Block};
use crate::layout::Layout;
use crate::packed::{clear_single, free_single};

/// A chain without its model: its memory, state, clamped sites and counters ([`Chain::unbind`]). Between two frames
/// the model can be made again in place; [`Unbound::bind`] goes on over it.
///
/// ```
/// use bitmc::{Bernoulli, Chain, LaneRng, Langevin, Layout, SeedableRng, memory};
/// const L: Layout = Layout::binary(40);
/// let (mut rng, mut logits) = (LaneRng::seed_from_u64(1), [0.0; 40]);
/// let start = Bernoulli::new(&logits).ok_or("no sites")?;
/// let mut rest = Chain::random(&start, memory!(L, 0), &mut rng)?.unbind();
/// for frame in 0..10 {
///     logits = [0.1 * frame as f32; 40]; // as measured
///     let model = Bernoulli::new(&logits).ok_or("no sites")?;
///     let mut chain = rest.bind(&model).map_err(|(error, _)| error)?;
///     chain.run(&Langevin::adjusted(1.0)?, &mut rng, 20, &mut ());
///     rest = chain.unbind();
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Unbound<W, C, B> {
    layout: Layout,
    memory: Memory<W, C, B>,
    core: Core,
}

impl<'e, E, W, C, B> Chain<'e, E, W, C, B>
where
    E: Energy + ?Sized,
    W: AsMut<[u32]> + AsRef<[u32]>,
    C: AsMut<[Bits]>,
    B: AsMut<[Block]>,
{
    /// Goes on over another model of the same type: [`Unbound::bind`], but the chain is as it was where there is an
    /// error. Between two [`Ising`](crate::Ising) models with the same couplings in the same memory, as
    /// [`with_linear`](crate::Ising::with_linear) makes them, no coupling is looked at: O(sites).
    /// Both models outlive the chain: [`Chain::frames`] makes them in a loop.
    ///
    /// # Errors
    /// As [`Unbound::bind`], and where the models have caches of different lengths.
    pub fn rebind(&mut self, energy: &'e E) -> Result<(), ChainError> {
        if let Some((new, old)) =
            energy.ising().zip(self.energy.ising()).filter(|(new, old)| new.couples_as(old))
        {
            let words = self.core.words(energy.layout().words(), self.memory.words.as_ref());
            if self.core.follow(new, old.form().linear(), words, self.memory.cache.as_mut()) {
                self.energy = energy;
                return Ok(());
            }
        }
        let (need, got) = (energy.cache_len(), self.energy.cache_len());
        if need != got {
            return Err(ChainError::Memory { buffer: Buffer::Cache, need, got });
        }
        let before = core::mem::replace(&mut self.energy, energy);
        let layout = before.layout();
        free_single(layout, before.arities(), self.memory.free(layout));
        let bound = self.bound(layout);
        if bound.is_err() {
            clear_single(layout, before.arities(), self.memory.free(layout));
            self.energy = before;
        }
        bound
    }

    /// Lets go of the model.
    #[must_use]
    pub fn unbind(mut self) -> Unbound<W, C, B> {
        let layout = self.energy.layout();
        free_single(layout, self.energy.arities(), self.memory.free(layout));
        Unbound { layout, memory: self.memory, core: self.core }
    }

    /// Computes everything again at the state, which another model has left.
    fn bound(&mut self, layout: Layout) -> Result<(), ChainError> {
        check_sites(self.energy)?;
        self.core.state(layout, self.memory.words.as_ref()).of(self.energy.layout())?;
        part(Buffer::Cache, self.memory.cache.as_mut(), Memory::cache(self.energy.cache_len()))?;
        let steps = self.core.steps;
        self.ring().copy_words();
        self.settle()?;
        self.core.steps = steps;
        clear_single(layout, self.energy.arities(), self.memory.free(layout));
        Ok(())
    }
}

impl<W: AsMut<[u32]> + AsRef<[u32]>, C: AsMut<[Bits]>, B: AsMut<[Block]>> Unbound<W, C, B> {
    /// A chain over a model of the same layout that goes on at the state. Energy, cache and gradient are computed
    /// again. Steps and faults are counted on, and clamped sites stay clamped. A binary site that had one value is free where
    /// it has two now. Cost: that of a start.
    ///
    /// # Errors
    /// [`ChainError`] where the layout is another one, the cache is short, or the model cannot start at the state.
    /// The unbound chain is returned with it.
    pub fn bind<E: Energy + ?Sized>(self, energy: &E) -> Result<Chain<'_, E, W, C, B>, (ChainError, Self)> {
        let Self { layout, memory, core } = self;
        let mut chain = Chain { energy, memory, core };
        match chain.bound(layout) {
            Ok(()) => Ok(chain),
            Err(error) => Err((error, Self { layout, memory: chain.memory, core })),
        }
    }
}
