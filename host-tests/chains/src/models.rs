//! The models that the chains run on, as constant tables: on a microcontroller they stay in flash.

use crate::used::borrowed;
use bitmc::lane::{Block, LANES};
use bitmc::{
    Factor, FactorsMemory, Function, Ising, Layout, Packed, PolynomialMemory, Rbm, SparseMemory, torus,
};

/// Sites of the 5×5 torus.
pub const ISING: Layout = Layout::binary(25);
/// The coupling a and field b of `f = a sᵀAs + bΣs` (DLP §7.1: every edge counts twice).
pub const ISING_COUPLING: f32 = 0.1;
/// One field a site.
pub const ISING_FIELDS: [f32; 25] = [0.2; 25];
/// ⟨s⟩ of that model, by transfer matrix (METHODS.md §8).
pub const ISING_MEAN_SPIN: f32 = 0.482_970;
/// ⟨s s′⟩ over its edges.
pub const ISING_EDGE: f32 = 0.368_767;
/// Memory for its couplings: two entries an edge.
pub type IsingMemory = SparseMemory<25, 100>;

/// Passes the model, with a coupling, to `run`; its memory is on the stack for so long.
pub fn with_ising<T>(coupling: f32, run: impl FnOnce(&Ising<'_>) -> Option<T>) -> Option<T> {
    let mut memory = IsingMemory::new();
    run(&Ising::spins_edges_twice(25, torus(5, 5, coupling), &ISING_FIELDS, borrowed(&mut memory)).ok()?)
}

/// One curvature a site, from 1.5 to 2.5.
pub const CURVATURES: [Block; 2] = curvatures();

const fn curvatures() -> [Block; 2] {
    let mut blocks = [[0.0; LANES]; 2];
    let mut site = 0;
    while site < 25 {
        blocks[site / LANES][site % LANES] = 1.5 + site as f32 * (1.0 / 24.0);
        site += 1;
    }
    blocks
}

/// Pixels of the RBM (`examples/data/rbm64`).
pub const RBM: Layout = Layout::binary(64);
/// Its hidden units.
pub const RBM_HIDDEN: usize = 16;
static RBM_WEIGHTS: [Block; 64] = rows(include_bytes!("../../../examples/data/rbm64/W.npy"), RBM_HIDDEN);
static RBM_PIXELS: [f32; 64] = floats(include_bytes!("../../../examples/data/rbm64/a_vis.npy"));
static RBM_BIASES: [Block; 1] = rows(include_bytes!("../../../examples/data/rbm64/b_hid.npy"), RBM_HIDDEN);
/// Its exact marginals P(vᵢ = 1), from sums over all hidden states.
pub static RBM_MARGINALS: [f32; 64] =
    doubles(include_bytes!("../../../examples/data/rbm64/exact_marginals_v.npy"));

/// The RBM; `None` only if its tables were broken.
#[must_use]
pub fn digits() -> Option<Rbm<'static>> {
    Rbm::new(&RBM_WEIGHTS, &RBM_PIXELS, &RBM_BIASES, RBM_HIDDEN).ok()
}

/// Log odds of 40 independent sites.
pub const LOGITS: [f32; 40] = {
    let mut logits = [0.0; 40];
    let mut site = 0;
    while site < logits.len() {
        logits[site] = (site as f32 - 20.0) * 0.15;
        site += 1;
    }
    logits
};

/// `wᵢ(k)` of the Potts model: value 0 is liked a little more at every other site.
pub static POTTS_FIELDS: [f32; 100] = {
    let mut fields = [0.0; 100];
    let mut site = 0;
    while site < 25 {
        fields[4 * site] = 0.25 * (site % 2) as f32;
        site += 1;
    }
    fields
};

/// Sites of a polynomial.
pub const CUBIC: Layout = Layout::binary(24);
/// Its terms: cubic ones, and some in which a site stands twice.
pub static CUBIC_TERMS: [([u32; 3], f32); 40] = {
    let mut terms = [([0; 3], 0.0); 40];
    let mut term = 0;
    while term < 40 {
        let sites = [term % 24, (7 * term + 3) % 24, (5 * term * term + 1) % 24];
        terms[term as usize] = (sites, ((term * term + 3 * term) % 13) as f32 * 0.25 - 1.5);
        term += 1;
    }
    terms
};
/// Memory for its terms.
pub type CubicMemory = PolynomialMemory<24, 40, 120>;

/// The arities of a factor graph of 16 sites.
pub const GRAPH_ARITIES: [u16; 16] = [2, 3, 4, 2, 3, 4, 2, 3, 4, 2, 3, 4, 2, 3, 4, 2];
/// Its layout.
pub const GRAPH: Layout = Layout::categorical(16, 4);
/// Memory for its factors.
pub type GraphMemory = FactorsMemory<16, 57>;
/// Triples along the line share their tables (2 × 3 × 4 values, in three orders), and the ends are tied.
pub const GRAPH_FACTORS: [Factor; 20] = {
    let mut factors = [Factor::one(0, 0); 20];
    let mut site = 0;
    while site < 14 {
        factors[site as usize] = Factor::three(site, site + 1, site + 2, 24 * (site % 3));
        site += 1;
    }
    factors[14] = Factor::two(0, 15, 72);
    factors[15] = Factor::two(2, 14, 3);
    factors[16] = Factor::two(1, 10, 11);
    factors[17] = Factor::three(3, 7, 11, 24);
    factors[18] = Factor::three(0, 4, 8, 48);
    factors[19] = Factor::one(5, 30);
    factors
};
/// Log values; one in 24 is forbidden, and so are two of the four values of the ends. All sites at 0 is not.
pub const GRAPH_TABLES: [f32; 76] = {
    let mut tables = [0.0; 76];
    let mut entry = 0;
    while entry < 72 {
        tables[entry] = ((entry * entry + 7 * entry) % 29) as f32 * 0.125 - 1.0;
        if entry % 24 == 17 {
            tables[entry] = f32::NEG_INFINITY;
        }
        entry += 1;
    }
    tables[73] = f32::NEG_INFINITY;
    tables[74] = f32::NEG_INFINITY;
    tables
};

/// Sites of [`Ladder`].
pub const LADDER: Layout = Layout::ordinal(20, 5);

/// Whole numbers with neighbours that like to be near: `E = ½ Σ (xᵢ − xᵢ₊₁)² + ¼ Σ (xᵢ − 2)²`.
#[derive(Clone, Copy, Debug)]
pub struct Ladder;

fn rung(x: Packed<'_>, site: usize) -> f32 {
    x.get(site) as f32
}

impl Function for Ladder {
    fn layout(&self) -> Layout {
        LADDER
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        let square = |v: f32| v * v;
        let near = (1..20).map(|site| 0.5 * square(rung(x, site) - rung(x, site - 1)));
        let middle = (0..20).map(|site| 0.25 * square(rung(x, site) - 2.0));
        near.chain(middle).sum()
    }

    fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
        let here = rung(x, site);
        let below = if site == 0 { 0.0 } else { here - rung(x, site - 1) };
        let above = if site == 19 { 0.0 } else { here - rung(x, site + 1) };
        below + above + 0.5 * (here - 2.0)
    }
}

/// Sites of [`Circle`].
pub const CIRCLE: Layout = Layout::categorical(3, 70);

/// Three hands of a clock of 70 hours that like to be a third of the way apart: `E = Σ_pairs t(xᵢ − xⱼ)`, with a
/// table t.
#[derive(Clone, Copy, Debug)]
pub struct Circle;

impl Circle {
    fn pair(a: u32, b: u32) -> f32 {
        let apart = a.abs_diff(b) as f32;
        let miss = (apart - 23.0).abs().min((apart - 47.0).abs());
        0.125 * miss
    }
}

impl Function for Circle {
    fn layout(&self) -> Layout {
        CIRCLE
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        Self::pair(x.get(0), x.get(1)) + Self::pair(x.get(1), x.get(2)) + Self::pair(x.get(0), x.get(2))
    }

    fn gradient(&self, _x: Packed<'_>, _site: usize) -> f32 {
        0.0
    }

    fn component(&self, x: Packed<'_>, site: usize, value: usize) -> f32 {
        let others = (0..3).filter(|&other| other != site);
        others.map(|other| Self::pair(value as u32, x.get(other))).sum()
    }
}

/// Sites of [`Heights`].
pub const HEIGHTS: Layout = Layout::ordinal(3, 300);

/// Whole numbers around 150: `E = Σ (xᵢ − 150)²/512`.
#[derive(Clone, Copy, Debug)]
pub struct Heights;

impl Function for Heights {
    fn layout(&self) -> Layout {
        HEIGHTS
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        let height = |site| rung(x, site) - 150.0;
        (0..3).map(|site| height(site) * height(site) / 512.0).sum()
    }

    fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
        (rung(x, site) - 150.0) / 256.0
    }
}

/// Independent sets of a ring of 40 sites: `E = −½Σx`, and +∞ where two neighbours are 1.
#[derive(Clone, Copy, Debug)]
pub struct IndependentSet;

impl Function for IndependentSet {
    fn layout(&self) -> Layout {
        Layout::binary(40)
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        let pairs = (0..40).map(|site| (x.get(site), x.get(if site == 39 { 0 } else { site + 1 })));
        if pairs.filter(|&pair| pair == (1, 1)).count() > 0 { f32::INFINITY } else { -0.5 * x.ones() as f32 }
    }

    fn gradient(&self, _x: Packed<'_>, _site: usize) -> f32 {
        -0.5
    }
}

/// Rows of a data set, as in a regression on bits: `E(x) = ½ Σ (d·x − 1)²` over its rows d.
pub const DATA: [[f32; 20]; 8] = {
    let mut data = [[0.0; 20]; 8];
    let mut row = 0;
    while row < 8 {
        let mut site = 0;
        while site < 20 {
            data[row][site] = ((7 * site + 5 * row + site * row) % 11) as f32 * 0.1 - 0.5;
            site += 1;
        }
        row += 1;
    }
    data
};

/// Three columns of three rows, and a target for each row.
pub const NETWORK_INPUTS: [f32; 9] = [0.0, 0.5, 1.0, 1.0, 0.0, 0.25, -0.5, 0.75, 0.0];
/// One a row.
pub const NETWORK_TARGETS: [f32; 3] = [0.25, 0.5, -0.125];
/// Hidden units: the weights of an input do not begin a block.
pub const NETWORK_UNITS: usize = 12;
/// One bit a weight.
pub const NETWORK: Layout = Layout::binary(5 * NETWORK_UNITS);

/// Where the numbers of a NumPy file (version 1) start.
const fn start(npy: &[u8]) -> usize {
    assert!(npy[0] == 0x93 && npy[1] == b'N' && npy[6] == 1, "not a NumPy file of version 1");
    10 + npy[8] as usize + 256 * npy[9] as usize
}

const fn float(npy: &[u8], index: usize) -> f32 {
    let at = start(npy) + 4 * index;
    f32::from_le_bytes([npy[at], npy[at + 1], npy[at + 2], npy[at + 3]])
}

/// The f32 of a NumPy file.
const fn floats<const N: usize>(npy: &[u8]) -> [f32; N] {
    assert!(npy.len() == start(npy) + 4 * N, "another length");
    let mut out = [0.0; N];
    let mut index = 0;
    while index < N {
        out[index] = float(npy, index);
        index += 1;
    }
    out
}

/// The f64 of a NumPy file, rounded to f32.
const fn doubles<const N: usize>(npy: &[u8]) -> [f32; N] {
    assert!(npy.len() == start(npy) + 8 * N, "another length");
    let mut out = [0.0; N];
    let mut index = 0;
    while index < N {
        let mut bytes = [0; 8];
        let mut byte = 0;
        while byte < 8 {
            bytes[byte] = npy[start(npy) + 8 * index + byte];
            byte += 1;
        }
        out[index] = f64::from_le_bytes(bytes) as f32;
        index += 1;
    }
    out
}

/// The rows of a matrix as whole blocks, zero past the last column.
const fn rows<const N: usize>(npy: &[u8], columns: usize) -> [Block; N] {
    let blocks = columns.div_ceil(LANES);
    let mut out = [[0.0; LANES]; N];
    assert!(npy.len() == start(npy) + 4 * (N / blocks) * columns, "another shape");
    let mut index = 0;
    while index < (N / blocks) * columns {
        let (row, column) = (index / columns, index % columns);
        out[row * blocks + column / LANES][column % LANES] = float(npy, index);
        index += 1;
    }
    out
}
