//! Chains and models of sizes that are known at run time, in vectors.

use crate::naive::{Convention, Machine, Pairwise};
use crate::used;
use bitmc::energy::{Entry, RbmError, SparseBuffers, SparseError, pack_rows};
use bitmc::lane::{Bits, Block, LANES};
use bitmc::{Chain, ChainError, Energy, Ising, Layout, Memory, Packed, Rbm, Rng};

/// The memory of a chain, in vectors.
pub type HeapMemory = Memory<Vec<u32>, Vec<Bits>, Vec<Block>>;

/// A chain in vectors.
pub type HeapChain<'e, E> = Chain<'e, E, Vec<u32>, Vec<Bits>, Vec<Block>>;

/// Memory of exactly the lengths that a chain over `energy` needs, used before.
pub fn memory<E: Energy + ?Sized>(energy: &E) -> HeapMemory {
    moving_memory(energy, 0)
}

/// The same with so many blocks more, for a momentum.
pub fn moving_memory<E: Energy + ?Sized>(energy: &E, momentum: usize) -> HeapMemory {
    let layout = energy.layout();
    Memory {
        words: used::memory(Memory::words(layout)),
        cache: used::memory(Memory::cache(energy.cache_len())),
        weights: used::memory(Memory::weights(layout) + momentum),
    }
}

/// A chain at fair bits, with so many blocks for a momentum.
///
/// # Errors
/// [`ChainError`] as [`Chain::random`].
pub fn moving_chain<'e, E: Energy + ?Sized, R: Rng + ?Sized>(
    energy: &'e E,
    momentum: usize,
    rng: &mut R,
) -> Result<HeapChain<'e, E>, ChainError> {
    Chain::random(energy, moving_memory(energy, momentum), rng)
}

/// A chain that starts at the state in `words`.
///
/// # Errors
/// [`ChainError`] as [`Chain::new`], which checks the words too.
pub fn chain<'e, E: Energy + ?Sized>(energy: &'e E, words: &[u32]) -> Result<HeapChain<'e, E>, ChainError> {
    Chain::new(energy, memory(energy), Packed::new(energy.layout(), words)?)
}

/// A chain that starts at fair bits.
///
/// # Errors
/// [`ChainError`] as [`Chain::random`].
pub fn random_chain<'e, E: Energy + ?Sized, R: Rng + ?Sized>(
    energy: &'e E,
    rng: &mut R,
) -> Result<HeapChain<'e, E>, ChainError> {
    Chain::random(energy, memory(energy), rng)
}

/// The gradient of a state, from nothing.
///
/// # Panics
/// Where the energy refuses the state.
pub fn gradient(energy: &impl Energy, x: Packed<'_>) -> Vec<Block> {
    let mut cache = used::memory(energy.cache_len());
    energy.init(x, &mut cache).unwrap();
    let mut out = used::memory(energy.layout().gradient_blocks());
    energy.gradient(x, &cache, 0..energy.layout().rows(), &mut out);
    out
}

/// Words of a binary state from its values.
#[must_use]
pub fn pack(values: &[f64]) -> Vec<u32> {
    let mut words = vec![0; Layout::binary(values.len()).words()];
    for (site, _) in values.iter().enumerate().filter(|&(_, &value)| value != 0.0) {
        words[site / 32] |= 1 << (site % 32);
    }
    words
}

/// Words of a state of any layout from its values.
///
/// # Panics
/// Where a value is not one of the layout.
#[must_use]
pub fn pack_in(layout: Layout, values: &[f64]) -> Vec<u32> {
    let mut words = vec![0; layout.words()];
    for (site, &value) in values.iter().enumerate() {
        bitmc::packed::set(layout, &mut words, site, value as u32).unwrap();
    }
    words
}

/// Values of a state on the {0,1} scale.
#[must_use]
pub fn unpack(state: Packed<'_>) -> Vec<f64> {
    state.values().map(f64::from).collect()
}

/// Memory for sparse couplings.
#[derive(Clone, Debug)]
pub struct Couplings {
    ends: Vec<u32>,
    linear: Vec<i32>,
    entries: Vec<Entry>,
}

impl Couplings {
    /// Room for `sites` sites and `edges` edges, used before.
    #[must_use]
    pub fn new(sites: usize, edges: usize) -> Self {
        let (ends, linear) = (used::memory(sites), used::memory(sites));
        Self { ends, linear, entries: used::memory(2 * edges) }
    }

    /// Passes it to a constructor.
    pub fn borrow(&mut self) -> SparseBuffers<'_> {
        SparseBuffers::new(&mut self.ends, &mut self.linear, &mut self.entries)
    }

    /// The kernel's model of a naive one, in this memory.
    ///
    /// # Errors
    /// [`SparseError`] as the constructor of the convention.
    pub fn ising(&mut self, model: &Pairwise) -> Result<Ising<'_>, SparseError> {
        compile(model, self.borrow())
    }

    /// The same, however coarsely its numbers are rounded.
    ///
    /// # Errors
    /// [`SparseError`] as the constructor of the convention.
    pub fn rounded(&mut self, model: &Pairwise) -> Result<Ising<'_>, SparseError> {
        compile(model, self.borrow().allow_rounding())
    }
}

/// The kernel's model of a naive one.
///
/// # Errors
/// [`SparseError`] as the constructor of the convention.
pub fn compile<'a>(model: &Pairwise, buffers: SparseBuffers<'a>) -> Result<Ising<'a>, SparseError> {
    let (sites, edges, fields) = (model.fields.len(), model.edges.iter().copied(), &model.fields);
    match model.convention {
        Convention::SpinsEdgesOnce => Ising::spins_edges_once(sites, edges, fields, buffers),
        Convention::SpinsEdgesTwice => Ising::spins_edges_twice(sites, edges, fields, buffers),
        Convention::BitsEdgesOnce => Ising::bits_edges_once(sites, edges, fields, buffers),
    }
}

impl Pairwise {
    /// Memory that this model fits.
    #[must_use]
    pub fn couplings(&self) -> Couplings {
        Couplings::new(self.fields.len(), self.edges.len())
    }
}

/// The parameters of an RBM in blocks.
#[derive(Clone, Debug)]
pub struct Weights {
    weights: Vec<Block>,
    visible: Vec<f32>,
    hidden: Vec<Block>,
    units: usize,
}

impl Weights {
    /// Packs a naive model.
    ///
    /// # Errors
    /// [`RbmError`] where the lengths do not fit.
    pub fn new(machine: &Machine) -> Result<Self, RbmError> {
        let units = machine.hidden.len();
        let row = Rbm::row_blocks(units);
        let mut weights = vec![[0.0; LANES]; row * machine.visible.len()];
        pack_rows(&machine.weights, units, &mut weights)?;
        let mut hidden = vec![[0.0; LANES]; row];
        pack_rows(&machine.hidden, units, &mut hidden)?;
        Ok(Self { weights, visible: machine.visible.clone(), hidden, units })
    }

    /// The kernel's model.
    ///
    /// # Errors
    /// [`RbmError`] as [`Rbm::rounded`]: the references round as the kernel does.
    pub fn rbm(&self) -> Result<Rbm<'_>, RbmError> {
        Rbm::rounded(&self.weights, &self.visible, &self.hidden, self.units)
    }
}
