//! The network and its batches.

use crate::model::DIGIT;
use bitmc::lane::{Block, LANES};
use bitmc::random::normals;
use bitmc::{Function, LaneRng, Layout, Packed};
use nalgebra::{DMatrix, DMatrixView};
use rayon::prelude::*;

/// Sites.
const BITS: usize = DIGIT.sites();
/// Units of the first layer.
const FIRST: usize = 256;
/// Units of the second layer.
const SECOND: usize = 64;
/// Numbers of W₁, b₁, W₂, b₂, u and b: all multiples of sixteen.
const PARTS: [usize; 6] = [FIRST * BITS, FIRST, SECOND * FIRST, SECOND, SECOND, BITS];
/// Blocks of all parameters.
const BLOCKS: usize = (FIRST * BITS + FIRST + SECOND * FIRST + 2 * SECOND + BITS) / LANES;

/// All parameters, or a gradient of them: W₁, b₁, W₂, b₂, u, b; a matrix column by column.
#[derive(Clone, Debug)]
pub struct Theta(pub Vec<Block>);

impl Theta {
    /// Zeros.
    #[must_use]
    pub fn zeros() -> Self {
        Self(vec![[0.0; LANES]; BLOCKS])
    }

    /// Independent pixels of the given means, but for small random weights.
    #[must_use]
    pub fn start(means: &[f32], rng: &mut LaneRng) -> Self {
        let mut theta = Self::zeros();
        let noise: Vec<Block> = (0..BLOCKS).map(|_| normals(rng)).collect();
        let [w1, _, w2, _, u, b] = theta.parts_mut();
        let deviation = |inputs: usize| 1.0 / (inputs as f32).sqrt();
        let weights = w1.iter_mut().map(|slot| (slot, deviation(BITS)));
        let weights = weights.chain(w2.iter_mut().map(|slot| (slot, deviation(FIRST))));
        let weights = weights.chain(u.iter_mut().map(|slot| (slot, deviation(SECOND))));
        weights.zip(noise.as_flattened()).for_each(|((slot, deviation), noise)| *slot = deviation * noise);
        for (slot, mean) in b.iter_mut().zip(means) {
            let mean = mean.clamp(0.01, 0.99);
            *slot = (mean / (1.0 - mean)).ln();
        }
        theta
    }

    fn parts(&self) -> [&[f32]; 6] {
        let mut left = self.0.as_flattened();
        PARTS.map(|len| left.split_off(..len).expect("the lengths of the parts"))
    }

    fn parts_mut(&mut self) -> [&mut [f32]; 6] {
        let mut left = self.0.as_flattened_mut();
        PARTS.map(|len| left.split_off_mut(..len).expect("the lengths of the parts"))
    }
}

/// A network, with its matrices and their transposes.
#[derive(Clone, Debug)]
pub struct Network {
    w1: DMatrix<f32>,
    w1_back: DMatrix<f32>,
    b1: Vec<f32>,
    w2: DMatrix<f32>,
    w2_back: DMatrix<f32>,
    b2: Vec<f32>,
    u: Vec<f32>,
    b: Vec<f32>,
}

/// What a pass leaves: one column for each state.
struct Pass {
    /// φ of the first layer, and ∂E/∂z there.
    first: (DMatrix<f32>, DMatrix<f32>),
    /// The same of the second layer.
    second: (DMatrix<f32>, DMatrix<f32>),
}

/// φ(z) and φ′(z).
fn swish(z: f32) -> (f32, f32) {
    let gate = 1.0 / (1.0 + (-z).exp());
    (z * gate, gate + z * gate * (1.0 - gate))
}

/// φ of `z + bias`, and φ′ in place of z.
fn activate(z: &mut DMatrix<f32>, bias: &[f32]) -> DMatrix<f32> {
    let mut out = z.clone();
    for (z, out) in z.as_mut_slice().chunks_mut(bias.len()).zip(out.as_mut_slice().chunks_mut(bias.len())) {
        for ((z, out), bias) in z.iter_mut().zip(out).zip(bias) {
            (*out, *z) = swish(*z + bias);
        }
    }
    out
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl Network {
    /// A network of these parameters.
    #[must_use]
    pub fn new(theta: &Theta) -> Self {
        let [w1, b1, w2, b2, u, b] = theta.parts();
        let w1 = DMatrix::from_column_slice(FIRST, BITS, w1);
        let w2 = DMatrix::from_column_slice(SECOND, FIRST, w2);
        let (w1_back, w2_back) = (w1.transpose(), w2.transpose());
        let [b1, b2, u, b] = [b1, b2, u, b].map(<[f32]>::to_vec);
        Self { w1, w1_back, b1, w2, w2_back, b2, u, b }
    }

    /// Two products forward, and the first one back.
    fn pass(&self, x: &DMatrixView<'_, f32>) -> Pass {
        let mut slope1 = &self.w1 * x;
        let first = activate(&mut slope1, &self.b1);
        let mut slope2 = &self.w2 * &first;
        let second = activate(&mut slope2, &self.b2);
        // ∂E/∂A₂ = −u
        slope2.as_mut_slice().chunks_mut(SECOND).for_each(|column| {
            column.iter_mut().zip(&self.u).for_each(|(slope, u)| *slope *= -u);
        });
        slope1.component_mul_assign(&(&self.w2_back * &slope2));
        Pass { first: (first, slope1), second: (second, slope2) }
    }

    /// Energies and gradients of states, a column of `x` each.
    fn evaluate(&self, x: &[f32], energies: &mut [f32], gradients: &mut [f32]) {
        let states = DMatrixView::from_slice(x, BITS, energies.len());
        let Pass { first, second } = self.pass(&states);
        for ((energy, x), second) in
            energies.iter_mut().zip(x.chunks(BITS)).zip(second.0.as_slice().chunks(SECOND))
        {
            *energy = -dot(&self.b, x) - dot(&self.u, second);
        }
        let slopes = &self.w1_back * &first.1;
        for (gradient, slopes) in gradients.chunks_mut(BITS).zip(slopes.as_slice().chunks(BITS)) {
            let terms = slopes.iter().zip(&self.b);
            gradient.iter_mut().zip(terms).for_each(|(out, (slope, b))| *out = slope - b);
        }
    }

    /// The mean of ∂E/∂θ over states.
    #[must_use]
    pub fn mean_gradient<'x>(&self, states: impl ExactSizeIterator<Item = Packed<'x>>) -> Theta {
        let count = states.len();
        let mut x = vec![0.0; count * BITS];
        states.zip(x.chunks_mut(BITS)).for_each(|(state, x)| unpack(state, x));
        let x = DMatrixView::from_slice(&x, BITS, count);
        let Pass { first, second } = self.pass(&x);
        let mut theta = Theta::zeros();
        let [w1, b1, w2, b2, u, b] = theta.parts_mut();
        let scale = 1.0 / count as f32;
        w1.copy_from_slice((&first.1 * x.transpose() * scale).as_slice());
        w2.copy_from_slice((&second.1 * first.0.transpose() * scale).as_slice());
        for (out, matrix, scale) in [
            (b1, first.1.as_view(), scale),
            (b2, second.1.as_view(), scale),
            (u, second.0.as_view(), -scale),
            (b, x, -scale),
        ] {
            out.copy_from_slice((matrix.column_sum() * scale).as_slice());
        }
        theta
    }
}

/// The bits of a state as numbers.
fn unpack(x: Packed<'_>, out: &mut [f32]) {
    out.iter_mut().zip(x.values()).for_each(|(out, value)| *out = value as f32);
}

/// One state at a time: for [`Plain`](bitmc::Plain), and what looks at energies.
impl Function for Network {
    fn layout(&self) -> Layout {
        DIGIT
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        let mut batch = Batch::new(1, 1);
        batch.evaluate(self, [x]);
        batch.energies[0]
    }

    fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
        let mut gradient = [0.0; BITS];
        self.gradient_all(x, &mut gradient);
        gradient[site]
    }

    fn gradient_all(&self, x: Packed<'_>, out: &mut [f32]) {
        let mut batch = Batch::new(1, 1);
        batch.evaluate(self, [x]);
        out.copy_from_slice(&batch.gradients);
    }
}

/// Room for a batch of states, its energies and its gradients.
#[derive(Clone, Debug)]
pub struct Batch {
    /// States in one product.
    block: usize,
    x: Vec<f32>,
    /// One energy for each state.
    energies: Vec<f32>,
    /// The gradients, one after the other.
    gradients: Vec<f32>,
}

impl Batch {
    /// Room for so many states, of which `block` are in one product.
    #[must_use]
    pub fn new(states: usize, block: usize) -> Self {
        let gradients = vec![0.0; states * BITS];
        Self { block, x: gradients.clone(), energies: vec![0.0; states], gradients }
    }

    /// States in one product.
    #[must_use]
    pub fn block(&self) -> usize {
        self.block
    }

    /// Evaluates as many states as there is room for. Its blocks are shared among the threads.
    pub fn evaluate<'x>(&mut self, network: &Network, states: impl IntoIterator<Item = Packed<'x>>) {
        states.into_iter().zip(self.x.chunks_mut(BITS)).for_each(|(state, x)| unpack(state, x));
        let numbers = self.block * BITS;
        let blocks = self.x.par_chunks(numbers).zip(self.energies.par_chunks_mut(self.block));
        let blocks = blocks.zip(self.gradients.par_chunks_mut(numbers));
        blocks.for_each(|((x, energies), gradients)| network.evaluate(x, energies, gradients));
    }

    /// The energies and the gradients of each block.
    pub fn answers_by_block(&self) -> impl IndexedParallelIterator<Item = (&[f32], &[f32])> {
        self.energies.par_chunks(self.block).zip(self.gradients.par_chunks(self.block * BITS))
    }

    /// The energy and the gradient of each state.
    pub fn answers(&self) -> impl Iterator<Item = (f32, &[f32])> {
        self.energies.iter().copied().zip(self.gradients.chunks(BITS))
    }
}
