//! A neural energy trained by maximum likelihood, its samples from short chains that start in noise. Sizes are those of
//! the authors' program (`ebm-anatomy-esh`).

use super::targets::normal_vector;
use bitmc::flow::{Esh, Hmc, HmcChain, Mlp, Potential, StepSize, blocks, log_weight};
use bitmc::lane::{Block, LANES};
use bitmc::random::uniform;
use bitmc::{LaneRng, SeedableRng};
use rayon::prelude::*;
use std::f64::consts::TAU;

/// Layers, inputs first (Ver Steeg and Galstyan 2021, Table 3 with n_f = 32).
pub const WIDTHS: [usize; 5] = [2, 32, 64, 64, 64];
/// Chains, and data, of one iteration.
const BATCH: usize = 100;
/// Gradients of a chain.
pub const GRADIENTS: u64 = 50;
const STEP_SIZE: f32 = 0.1;
const RATE: f32 = 0.1;
/// Chains that one task moves.
const PIECE: usize = 10;

/// Where the samples of training come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Energy-sampling trajectories with Jarzynski weights.
    Esh,
    /// Unadjusted Langevin chains.
    Ula,
    /// The same as the authors run them: `x − ∇f + εn`. They sample `E = 2f/ε²`, which is the model; its training takes
    /// steps along f.
    UlaDrift1,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Ula, Self::UlaDrift1, Self::Esh];

    /// For tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Esh => "ESH, Jarzynski",
            Self::Ula => "ULA",
            Self::UlaDrift1 => "ULA, drift 1",
        }
    }

    /// E over the function that is trained.
    fn steepness(self) -> f32 {
        if self == Self::UlaDrift1 { 2.0 / (STEP_SIZE * STEP_SIZE) } else { 1.0 }
    }
}

/// Data in the plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toy {
    /// Eight Gaussians of deviation .15 on a circle of radius 1. Chains start uniformly on [−2, 2]².
    Mixture,
    /// Four rings of radius 1 to 4, the radius with deviation .15. Chains start from N(0, 4).
    Rings,
}

/// The deviation of the Gaussians, and across a ring.
const SIGMA: f64 = 0.15;
/// Noise is uniform to this, or has this deviation.
const NOISE: f32 = 2.0;

impl Toy {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Mixture, Self::Rings];

    /// For tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mixture => "mixture",
            Self::Rings => "rings",
        }
    }

    /// Half the side of a square that holds the density.
    #[must_use]
    pub fn span(self) -> f32 {
        match self {
            Self::Mixture => 2.0,
            Self::Rings => 5.0,
        }
    }

    /// The density at a point, up to a factor.
    fn density(self, [x, y]: [f64; 2]) -> f64 {
        let bell = |square: f64| (-0.5 * square / (SIGMA * SIGMA)).exp();
        match self {
            Self::Mixture => (0..8)
                .map(|which| (TAU * f64::from(which) / 8.0).sin_cos())
                .map(|(sin, cos)| bell((x - cos).powi(2) + (y - sin).powi(2)))
                .sum(),
            Self::Rings => {
                let radius = x.hypot(y);
                (1..=4).map(|ring| bell((radius - f64::from(ring)).powi(2)) / radius).sum()
            }
        }
    }

    /// One of the data.
    pub fn draw(self, rng: &mut LaneRng) -> [f32; 2] {
        let (pick, normal) = (uniform(rng), normal_vector(2, rng));
        let sigma = SIGMA as f32;
        match self {
            Self::Mixture => {
                let (sin, cos) = ((8.0 * pick).floor() * TAU as f32 / 8.0).sin_cos();
                [cos + sigma * normal[0], sin + sigma * normal[1]]
            }
            Self::Rings => {
                let radius = 1.0 + (4.0 * pick).floor() + sigma * normal[0];
                let (sin, cos) = (TAU as f32 * uniform(rng)).sin_cos();
                [radius * cos, radius * sin]
            }
        }
    }

    /// Noise, and E₀ of it.
    fn start(self, rng: &mut LaneRng) -> ([f32; 2], f32) {
        match self {
            Self::Mixture => ([uniform(rng), uniform(rng)].map(|u| NOISE * (2.0 * u - 1.0)), 0.0),
            Self::Rings => {
                let normal = normal_vector(2, rng);
                ([NOISE * normal[0], NOISE * normal[1]], 0.5 * normal.iter().map(|x| x * x).sum::<f32>())
            }
        }
    }

    /// Probabilities of the cells of a grid as of [`surface`].
    #[must_use]
    pub fn truth(self, side: usize) -> Vec<f64> {
        normalise(&grid(self.span(), side).map(|at| -self.density(at.map(f64::from)).ln()).collect::<Vec<_>>())
    }
}

/// The parameters of E after training.
///
/// # Panics
/// Never: the starts are legal.
#[must_use]
pub fn train(toy: Toy, method: Method, iterations: u64, seed: u64, each: &(dyn Fn() + Sync)) -> Vec<Block> {
    let mut rng = LaneRng::seed_from_u64(seed);
    let mut parameters = start(&mut rng);
    for iteration in 0..iterations {
        let steep = steeper(&parameters, method.steepness());
        // An error: the training ran away.
        let (Ok(model), Ok(sampled)) = (Mlp::new(&WIDTHS, &parameters), Mlp::new(&WIDTHS, &steep)) else {
            break;
        };
        let pieces: Vec<Piece> = (0..BATCH / PIECE)
            .into_par_iter()
            .map(|piece| {
                let mut rng = LaneRng::seed_from_u64(mix(seed, iteration, piece as u64));
                sample(toy, method, &sampled, &mut rng)
            })
            .collect();
        // Self-normalised weights over the whole batch, in the order of the chains.
        let logs: Vec<f32> = pieces.iter().flat_map(|piece| piece.weights.iter().copied()).collect();
        let most = logs.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let total: f32 = logs.iter().map(|log| (log - most).exp()).sum();
        let slopes: Vec<Vec<Block>> = pieces
            .par_iter()
            .map(|piece| {
                let mut into = vec![[0.0; LANES]; parameters.len()];
                let mut scratch = vec![[0.0; LANES]; model.scratch_len()];
                for ((x, log), data) in piece.states.iter().zip(&piece.weights).zip(&piece.data) {
                    model.accumulate(x, -(log - most).exp() / total, &mut scratch, &mut into);
                    model.accumulate(data, 1.0 / BATCH as f32, &mut scratch, &mut into);
                }
                into
            })
            .collect();
        for slope in &slopes {
            for (parameter, slope) in parameters.as_flattened_mut().iter_mut().zip(slope.as_flattened()) {
                *parameter -= RATE * slope;
            }
        }
        each();
    }
    steeper(&parameters, method.steepness())
}

/// The parameters of so many times the energy: the last layer is linear.
fn steeper(parameters: &[Block], factor: f32) -> Vec<Block> {
    let mut parameters = parameters.to_vec();
    let last = parameters.len() - WIDTHS.last().map_or(0, |inputs| inputs + 1);
    parameters[last..].as_flattened_mut().iter_mut().for_each(|value| *value *= factor);
    parameters
}

/// Some chains of one iteration.
struct Piece {
    states: Vec<[Block; 1]>,
    weights: Vec<f32>,
    data: Vec<[Block; 1]>,
}

fn sample(toy: Toy, method: Method, model: &Mlp<'_>, rng: &mut LaneRng) -> Piece {
    let size = StepSize::new(STEP_SIZE).expect("a legal step size");
    let mut piece = Piece { states: Vec::new(), weights: Vec::new(), data: Vec::new() };
    let mut room = vec![[0.0; LANES]; 5 * blocks(2) + model.scratch_len()];
    for _ in 0..PIECE {
        let (start, start_energy) = toy.start(rng);
        let mut end = [[0.0; LANES]];
        let weight = match method {
            Method::Esh => {
                let mut chain = Esh::random(model, &mut room[..], &start, rng).expect("a legal start");
                for _ in 0..GRADIENTS {
                    chain.step(size);
                }
                end[0][..2].copy_from_slice(chain.position());
                log_weight(start_energy, &chain)
            }
            Method::Ula | Method::UlaDrift1 => {
                let mut chain = HmcChain::new(model, &mut room[..], &start).expect("a legal start");
                for _ in 0..GRADIENTS {
                    chain.step(&Hmc::unadjusted_langevin(size), rng);
                }
                end[0][..2].copy_from_slice(chain.position());
                0.0
            }
        };
        piece.states.push(end);
        piece.weights.push(weight);
        let mut data = [[0.0; LANES]];
        data[0][..2].copy_from_slice(&toy.draw(rng));
        piece.data.push(data);
    }
    piece
}

/// Uniform weights within ±1/√inputs, as usual.
fn start(rng: &mut LaneRng) -> Vec<Block> {
    let mut parameters = vec![[0.0; LANES]; Mlp::parameter_len(&WIDTHS)];
    let mut at = 0;
    for (layer, &inputs) in WIDTHS.iter().enumerate() {
        let outputs = WIDTHS.get(layer + 1).copied().unwrap_or(1);
        for _ in 0..=inputs {
            for slot in &mut parameters.as_flattened_mut()[at..at + outputs] {
                *slot = (2.0 * uniform(rng) - 1.0) / (inputs as f32).sqrt();
            }
            at += blocks(outputs) * LANES;
        }
    }
    parameters
}

/// E on a square grid of `side` points over [−span, span]², row by row from the top.
#[must_use]
pub fn surface(potential: &dyn Potential, span: f32, side: usize) -> Vec<f64> {
    let mut scratch = vec![[0.0; LANES]; potential.scratch_len()];
    let mut gradient = vec![[0.0; LANES]; blocks(potential.dim())];
    grid(span, side)
        .map(|[x, y]| {
            let mut at = vec![[0.0; LANES]; blocks(potential.dim())];
            (at[0][0], at[0][1]) = (x, y);
            f64::from(potential.gradient(&at, &mut scratch, &mut gradient))
        })
        .collect()
}

/// The middles of `side`² cells of [−span, span]², row by row from the top.
fn grid(span: f32, side: usize) -> impl Iterator<Item = [f32; 2]> {
    let place = move |index: usize| span * ((2 * index + 1) as f32 / side as f32 - 1.0);
    (0..side * side).map(move |at| [place(at % side), -place(at / side)])
}

/// Probabilities of the cells of a surface.
#[must_use]
pub fn normalise(surface: &[f64]) -> Vec<f64> {
    let least = surface.iter().copied().fold(f64::INFINITY, f64::min);
    let weights: Vec<f64> = surface.iter().map(|energy| (least - energy).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / total).collect()
}

/// KL(p ‖ q) of two grids of probabilities, in nats; NaN where there are none.
#[must_use]
pub fn divergence(p: &[f64], q: &[f64]) -> f64 {
    if p.iter().chain(q).any(|value| value.is_nan()) {
        return f64::NAN;
    }
    let terms = p.iter().zip(q).filter(|(p, _)| **p > 0.0);
    terms.map(|(p, q)| p * (p / q.max(f64::MIN_POSITIVE)).ln()).sum()
}

fn mix(seed: u64, iteration: u64, piece: u64) -> u64 {
    seed ^ iteration.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (piece + 1).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}
