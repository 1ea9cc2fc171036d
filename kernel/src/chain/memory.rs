//! The memory of one chain, and its lengths.

use crate::lane::{Bits, Block, LANES};
use crate::layout::Layout;

/// The memory of one chain. It has two points (here and there), each a state, a cache and weights. It also has the
/// mask of the sites that may move. Arrays, slices and vectors all serve.
///
/// [`memory!`](crate::memory) makes one of arrays. Lengths: [`Memory::words`], [`Memory::cache`],
/// [`Memory::weights`].
///
/// Where sizes are known at run time only, vectors take the arrays' place, for the model's couplings too. Use an
/// `AVec` of the crate `aligned-vec` where speed matters: see [`Line`](crate::lane::Line).
/// ```
/// use bitmc::energy::{Entry, SparseBuffers};
/// use bitmc::{Chain, Energy, Ising, LaneRng, Memory, SeedableRng, stats::Means, step::SequentialGibbs};
///
/// let edges = vec![(0, 1, 0.5), (1, 2, -0.25), (2, 3, 1.0)]; // from a file, say
/// let fields = vec![0.1; 4];
/// let sites = fields.len();
/// let (mut ends, mut linear) = (vec![0; sites], vec![0; sites]);
/// let mut entries = vec![Entry::default(); 2 * edges.len()];
/// let buffers = SparseBuffers::new(&mut ends, &mut linear, &mut entries);
/// let model = Ising::spins_edges_once(sites, edges.iter().copied(), &fields, buffers)?;
/// let layout = model.layout();
/// let memory = Memory {
///     words: vec![0; Memory::words(layout)],
///     cache: vec![[0; 16]; Memory::cache(model.cache_len())],
///     weights: vec![[0.0; 16]; Memory::weights(layout)],
/// };
/// let (mut rng, mut means) = (LaneRng::seed_from_u64(1), Means::new(vec![0; sites]));
/// let mut chain = Chain::random(&model, memory, &mut rng)?;
/// chain.run(&SequentialGibbs, &mut rng, 10_000, &mut means);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Memory<W, C, B> {
    /// [`Memory::weights`] blocks.
    pub weights: B,
    /// [`Memory::cache`] blocks.
    pub cache: C,
    /// [`Memory::words`] words.
    pub words: W,
}

impl Memory<(), (), ()> {
    /// Words that a chain needs: two states and a mask.
    #[must_use]
    pub const fn words(layout: Layout) -> usize {
        3 * layout.words()
    }

    /// Blocks of cache that a chain needs, for an energy with caches of `cache_len`.
    #[must_use]
    pub const fn cache(cache_len: usize) -> usize {
        cache_len.saturating_mul(2)
    }

    /// Blocks of weights that a chain needs.
    #[must_use]
    pub const fn weights(layout: Layout) -> usize {
        layout.weight_blocks().saturating_mul(2)
    }

    /// Blocks of weights with which a chain keeps its gradient too. A step whose parameters are not those of the step
    /// before then asks the energy for one gradient instead of two. Examples are the steps of a
    /// [`Cycle`](crate::step::Cycle), an adaptation or a noise. Same draws. The two planes more take 4 bytes a site
    /// each, and a value where sites are categorical. From [`Layout::MANY`] categorical values on nothing is kept.
    #[must_use]
    pub const fn weights_and_gradients(layout: Layout) -> usize {
        Self::weights(layout).saturating_add(layout.plane_blocks().saturating_mul(2))
    }

    /// Blocks of weights with which a chain has a [momentum](crate::Langevin::momentum): 4 bytes a site more, and a
    /// value where sites are categorical.
    #[must_use]
    pub const fn weights_and_momentum(layout: Layout) -> usize {
        Self::weights(layout).saturating_add(layout.plane_blocks())
    }

    /// Blocks of weights with which a chain keeps its gradient and has a momentum.
    #[must_use]
    pub const fn weights_gradients_and_momentum(layout: Layout) -> usize {
        Self::weights_and_gradients(layout).saturating_add(layout.plane_blocks())
    }
}

impl<W: AsMut<[u32]>, C: AsMut<[Bits]>, B: AsMut<[Block]>> Memory<W, C, B> {
    /// Its buffers. A chain over them leaves the memory to its owner: a constructor's error loses nothing, and the
    /// memory serves again when the chain is gone.
    ///
    /// ```
    /// use bitmc::{Bernoulli, Chain, Layout, State, memory, memory_type};
    /// const L: Layout = Layout::binary(3);
    /// struct Device {
    ///     memory: memory_type!(L, 0),
    /// }
    /// let mut device = Device { memory: memory!(L, 0) };
    /// let (model, start) = (Bernoulli::new(&[0.1, 0.2, 0.3]).unwrap(), State::<1>::zeros(L)?);
    /// for _ in 0..2 {
    ///     let chain = Chain::new(&model, device.memory.borrow(), start.view())?;
    ///     assert_eq!(chain.state(), start.view());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn borrow(&mut self) -> Memory<&mut [u32], &mut [Bits], &mut [Block]> {
        Memory { weights: self.weights.as_mut(), cache: self.cache.as_mut(), words: self.words.as_mut() }
    }

    /// The mask of free sites.
    pub(crate) fn free(&mut self, layout: Layout) -> &mut [u32] {
        self.words.as_mut().get_mut(2 * layout.words()..3 * layout.words()).unwrap_or_default()
    }
}

/// Memory in arrays; [`memory!`](crate::memory) computes the lengths.
pub type FixedMemory<const W: usize, const C: usize, const B: usize> = Memory<[u32; W], [Bits; C], [Block; B]>;

impl<const W: usize, const C: usize, const B: usize> FixedMemory<W, C, B> {
    /// Zeros.
    #[must_use]
    pub const fn new() -> Self {
        Self { weights: [[0.0; LANES]; B], cache: [[0; LANES]; C], words: [0; W] }
    }
}

impl<const W: usize, const C: usize, const B: usize> Default for FixedMemory<W, C, B> {
    fn default() -> Self {
        Self::new()
    }
}

/// Memory for one [`Open`](crate::Open) chain in arrays: `open_memory!(LAYOUT)`, with a
/// [momentum](crate::Langevin::momentum) `open_memory!(LAYOUT, momentum)`.
#[macro_export]
macro_rules! open_memory {
    ($layout:expr) => {
        $crate::memory!($layout, 0, gradients)
    };
    ($layout:expr, momentum) => {
        $crate::memory!($layout, 0, gradients, momentum)
    };
}

/// Memory for one chain in arrays: `memory!(LAYOUT, cache_len)`, both constant.
///
/// ```
/// use bitmc::{memory, Ising, Layout};
/// const L: Layout = Layout::binary(25);
/// let memory = memory!(L, Ising::cache_len(25));
/// assert_eq!(size_of_val(&memory), 576); // bytes, for a chain of 25 sites
/// ```
///
/// `memory!(LAYOUT, cache_len, gradients)` has room for the gradients too:
/// [`Memory::weights_and_gradients`](crate::Memory::weights_and_gradients). `momentum` in its place or behind it has
/// room for a [momentum](crate::Langevin::momentum).
#[macro_export]
macro_rules! memory {
    ($($arguments:tt)*) => {
        <$crate::memory_type!($($arguments)*)>::new()
    };
}

/// The type of [`memory!`](crate::memory) of the same arguments, for statics and the fields of structs.
///
/// ```
/// use bitmc::{Ising, Layout, memory, memory_type};
/// const L: Layout = Layout::binary(25);
/// static MEMORY: memory_type!(L, Ising::cache_len(25)) = memory!(L, Ising::cache_len(25));
/// assert_eq!(size_of_val(&MEMORY), 576);
/// ```
#[macro_export]
macro_rules! memory_type {
    (@ $layout:expr, $cache_len:expr, $weights:ident) => {
        $crate::chain::FixedMemory<
            { $crate::chain::Memory::words($layout) },
            { $crate::chain::Memory::cache($cache_len) },
            { $crate::chain::Memory::$weights($layout) },
        >
    };
    ($layout:expr, $cache_len:expr, gradients) => {
        $crate::memory_type!(@ $layout, $cache_len, weights_and_gradients)
    };
    ($layout:expr, $cache_len:expr, momentum) => {
        $crate::memory_type!(@ $layout, $cache_len, weights_and_momentum)
    };
    ($layout:expr, $cache_len:expr, gradients, momentum) => {
        $crate::memory_type!(@ $layout, $cache_len, weights_gradients_and_momentum)
    };
    ($layout:expr, $cache_len:expr) => {
        $crate::memory_type!(@ $layout, $cache_len, weights)
    };
}
