//! The models of the benches, and chains that stand in equilibrium.

use crate::naive;
use aligned_vec::{AVec, avec};
use bitmc::energy::{CoarseRbm, Edge, Entry, SparseBuffers, pack_rows};
use bitmc::lane::{Bits, Block};
use bitmc::sliced::{SlicedChains, SlicedGibbs, SlicedIsing, SlicedLangevin};
use bitmc::step::Colouring;
use bitmc::{
    Chain, Energy, Ising, LaneRng, Langevin, Layout, Memory, Move, Packed, Potts, Rbm, Rng, SeedableRng,
};
use std::ops::Range;

/// Blocks on the heap, each on a cache line of its own: vectors start anywhere, and a register of sixteen lanes that
/// lies across two lines is loaded twice.
pub type Lines<T> = AVec<[T; 16]>;

/// So many blocks of zeros.
pub fn lines<T: Copy + Default>(blocks: usize) -> Lines<T> {
    avec![[T::default(); 16]; blocks]
}

/// A chain on the heap.
pub type HeapChain<'e> = Chain<'e, dyn Energy + 'e, Vec<u32>, Lines<u32>, Lines<f32>>;

/// The memory of a chain, on the heap.
pub fn heap_memory(energy: &dyn Energy) -> Memory<Vec<u32>, Lines<u32>, Lines<f32>> {
    let layout = energy.layout();
    Memory {
        weights: lines(Memory::weights(layout)),
        cache: lines(Memory::cache(energy.cache_len())),
        words: vec![0; Memory::words(layout)],
    }
}

/// A chain over `energy` after `steps` steps of the adjusted Langevin sampler from fair bits.
pub fn burnt_in<'e>(energy: &'e dyn Energy, step_size: f32, steps: u64, rng: &mut LaneRng) -> HeapChain<'e> {
    let mut chain =
        Chain::random(energy, heap_memory(energy), rng).expect("the bench models can start anywhere");
    let sampler = Langevin::adjusted(step_size).expect("a legal step size");
    for _ in 0..steps {
        chain.step(&sampler, rng);
    }
    chain
}

/// The state of a chain as the scalar baseline keeps it.
pub fn floats(chain: &HeapChain<'_>) -> Vec<f32> {
    chain.state().values().map(|v| v as f32).collect()
}

/// Memory for sparse couplings in vectors.
#[derive(Default)]
pub struct HeapSparse {
    ends: Vec<u32>,
    linear: Vec<i32>,
    entries: Vec<Entry>,
}

impl HeapSparse {
    /// An Ising model over spins, each edge once, and the scalar baseline's copy of it.
    pub fn ising(&mut self, edges: &[Edge], fields: &[f32]) -> (Ising<'_>, naive::Ising) {
        let lent = self.borrow(fields.len(), edges.len());
        let model =
            Ising::spins_edges_once(fields.len(), edges.iter().copied(), fields, lent).expect("legal edges");
        (model, naive::Ising::new(edges, fields))
    }

    /// A Potts model without fields.
    pub fn potts(&mut self, edges: &[Edge], sites: usize, arity: usize) -> Potts<'_> {
        let lent = self.borrow(sites, edges.len());
        Potts::new(sites, arity, edges.iter().copied(), &[], lent).expect("legal edges")
    }

    /// Room for a model.
    pub fn borrow(&mut self, sites: usize, edges: usize) -> SparseBuffers<'_> {
        self.ends.resize(sites, 0);
        self.linear.resize(sites, 0);
        self.entries.resize(2 * edges, Entry::default());
        SparseBuffers::new(&mut self.ends, &mut self.linear, &mut self.entries)
    }
}

/// The edges of an n × n torus with couplings of random size and sign, uniform in ±`largest`.
pub fn random_torus(n: u32, largest: f32, seed: u64) -> Vec<Edge> {
    let mut rng = LaneRng::seed_from_u64(seed);
    let mut coupling = || largest * (2.0 * (rng.next_u32() >> 8) as f32 / 16_777_216.0 - 1.0);
    bitmc::torus(n, n, 0.0).map(|(a, b, _)| (a, b, coupling())).collect()
}

/// The edges of an n × n torus with couplings of one size and random sign.
pub fn signed_torus(n: u32, size: f32, seed: u64) -> Vec<Edge> {
    let mut rng = LaneRng::seed_from_u64(seed);
    let mut coupling = || if rng.next_u32() >> 31 == 0 { size } else { -size };
    bitmc::torus(n, n, 0.0).map(|(a, b, _)| (a, b, coupling())).collect()
}

/// Memory for 512 chains in bits, in vectors.
pub struct HeapSliced {
    blocks: Lines<u32>,
    table: Vec<u32>,
    room: Lines<u32>,
}

impl HeapSliced {
    /// As much as a model needs.
    pub fn new(model: &SlicedIsing<'_>) -> Self {
        Self {
            blocks: lines(model.sites()),
            table: vec![0; SlicedGibbs::words(model).max(SlicedLangevin::words(model))],
            room: lines(SlicedLangevin::blocks(model)),
        }
    }

    /// Gibbs sampling after `sweeps` sweeps from fair bits.
    pub fn gibbs<'a>(&'a mut self, model: SlicedIsing<'a>, sweeps: u32, rng: &mut LaneRng) -> SlicedGibbs<'a> {
        let chains = SlicedChains::random(model, self.blocks.as_mut(), rng).expect("a block a site");
        let mut gibbs = SlicedGibbs::new(chains, &mut self.table).expect("a table for every kind of site");
        (0..sweeps).for_each(|_| gibbs.sweep(rng));
        gibbs
    }

    /// The adjusted Langevin sampler after as many sweeps of Gibbs sampling.
    pub fn langevin<'a>(
        &'a mut self,
        model: SlicedIsing<'a>,
        step_size: f32,
        sweeps: u32,
        rng: &mut LaneRng,
    ) -> SlicedLangevin<'a> {
        self.gibbs(model, sweeps, rng);
        let chains = SlicedChains::new(model, self.blocks.as_mut()).expect("a block a site");
        SlicedLangevin::adjusted(chains, step_size, &mut self.table, self.room.as_mut()).expect("enough room")
    }
}

/// The edges of an irregular graph of mean degree 6: `3 sites` pairs drawn uniformly, couplings uniform in
/// ±`largest`.
pub fn random_graph(sites: u32, largest: f32, seed: u64) -> Vec<Edge> {
    let mut rng = LaneRng::seed_from_u64(seed);
    let mut edges = std::collections::BTreeMap::new();
    while edges.len() < 3 * sites as usize {
        let mut site = || ((u64::from(rng.next_u32()) * u64::from(sites)) >> 32) as u32;
        let (a, b) = (site(), site());
        if a != b {
            let coupling = largest * (2.0 * (rng.next_u32() >> 8) as f32 / 16_777_216.0 - 1.0);
            edges.insert((a.min(b), a.max(b)), coupling);
        }
    }
    edges.into_iter().map(|((a, b), coupling)| (a, b, coupling)).collect()
}

/// The edges of a graph whose sites are numbered by the classes of its greedy colouring ([`Colouring::numbers`]).
pub fn numbered(edges: &[Edge], sites: usize) -> Vec<Edge> {
    let (mut memory, mut classes) = (HeapSparse::default(), vec![0; Colouring::words(sites, 32)]);
    let (model, _) = memory.ising(edges, &vec![0.0; sites]);
    let colouring = Colouring::greedy(model.form(), &mut classes).expect("32 colours for a degree of some ten");
    let mut number = vec![0; sites];
    colouring.numbers(&mut number).expect("a number a site");
    edges.iter().map(|&(a, b, coupling)| (number[a as usize], number[b as usize], coupling)).collect()
}

/// The float32 values of a NumPy file of version 1.
fn npy(bytes: &[u8]) -> Vec<f32> {
    let header = 10 + usize::from(bytes[8]) + 256 * usize::from(bytes[9]);
    bytes[header..].chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// The RBM 784 × 500 of `examples/data`, packed and naive.
pub struct HeapRbm {
    weights: Lines<f32>,
    hidden: Lines<f32>,
    /// The scalar baseline's copy.
    pub naive: naive::Rbm,
}

impl HeapRbm {
    /// Reads the weights.
    pub fn load() -> Self {
        let naive = naive::Rbm {
            weights: npy(include_bytes!("../../examples/data/rbm500/W.npy")),
            visible: npy(include_bytes!("../../examples/data/rbm500/a_vis.npy")),
            hidden: npy(include_bytes!("../../examples/data/rbm500/b_hid.npy")),
        };
        let units = naive.hidden.len();
        let mut weights = lines(naive.visible.len() * Rbm::row_blocks(units));
        let mut hidden = lines(Rbm::row_blocks(units));
        pack_rows(&naive.weights, units, weights.as_mut()).expect("784 rows of 500");
        pack_rows(&naive.hidden, units, hidden.as_mut()).expect("one row of 500");
        Self { weights, hidden, naive }
    }

    /// The kernel's energy.
    pub fn model(&self) -> Rbm<'_> {
        let units = self.naive.hidden.len();
        Rbm::new(self.weights.as_ref(), &self.naive.visible, self.hidden.as_ref(), units)
            .expect("finite weights")
    }

    /// The same with its columns in `room`, for block Gibbs.
    pub fn columns<'a>(&'a self, room: &'a mut Lines<u32>) -> Rbm<'a> {
        let model = self.model();
        *room = lines(Rbm::columns_len(model.visible_units(), model.hidden_units()));
        model.with_columns(room.as_mut()).expect("as much room as it needs")
    }

    /// The same with the gradient of 16-bit integers, in `room`.
    pub fn coarse<'a>(&'a self, room: &'a mut Lines<u32>) -> CoarseRbm<'a> {
        let model = self.model();
        *room = lines(CoarseRbm::room_len(model.visible_units(), model.hidden_units()));
        CoarseRbm::new(model, room.as_mut()).expect("as much room as it needs")
    }
}

/// One categorical site with a table of log weights.
pub struct Words(pub Vec<f32>);

impl Words {
    /// Weights between 0 and 13.6, in no order.
    pub fn new(values: usize) -> Self {
        Self((0..values).map(|k| ((k * 7919) % 2048) as f32 / 150.0).collect())
    }
}

impl Energy for Words {
    fn layout(&self) -> Layout {
        Layout::categorical(1, self.0.len())
    }

    fn cache_len(&self) -> usize {
        0
    }

    fn init(&self, x: Packed<'_>, _cache: &mut [Bits]) -> Result<f32, bitmc::energy::EnergyError> {
        Ok(-self.0[x.get(0) as usize])
    }

    fn gradient(&self, _x: Packed<'_>, _cache: &[Bits], _rows: Range<usize>, out: &mut [Block]) {
        for (out, weight) in out.as_flattened_mut().iter_mut().zip(&self.0) {
            *out = -weight;
        }
    }

    fn shift(&self, step: &Move<'_>, _cache: &mut [Bits]) -> f32 {
        self.0[step.before(0) as usize] - self.0[step.to().get(0) as usize]
    }

    fn differences(&self, words: &mut [u32], _cache: &[Bits], _site: usize, out: &mut [f32]) {
        let here = self.0[words[0] as usize];
        out.iter_mut().zip(&self.0).for_each(|(out, weight)| *out = here - weight);
    }
}
