//! A neural energy trained by maximum likelihood, its samples from short chains that start in noise.

use super::targets::Target;
use bitmc::flow::{Esh, Hmc, HmcChain, Mlp, Potential, StepSize, blocks, log_weight};
use bitmc::lane::{Block, LANES};
use bitmc::random::uniform;
use bitmc::{LaneRng, SeedableRng};
use rayon::prelude::*;

/// Layers, inputs first (Ver Steeg and Galstyan 2021, Table 3 with n_f = 32).
pub const WIDTHS: [usize; 5] = [2, 32, 64, 64, 64];
/// Noise is uniform on [−SPAN, SPAN]².
pub const SPAN: f32 = 2.0;
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
}

/// The parameters after training.
///
/// # Panics
/// Never: the shapes are legal.
#[must_use]
pub fn train(method: Method, iterations: u64, seed: u64, each: &(dyn Fn() + Sync)) -> Vec<Block> {
    let mut rng = LaneRng::seed_from_u64(seed);
    let mut parameters = start(&mut rng);
    for iteration in 0..iterations {
        let model = Mlp::new(&WIDTHS, &parameters).expect("a legal network");
        let pieces: Vec<Piece> = (0..BATCH / PIECE)
            .into_par_iter()
            .map(|piece| {
                sample(method, &model, &mut LaneRng::seed_from_u64(mix(seed, iteration, piece as u64)))
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
    parameters
}

/// Some chains of one iteration.
struct Piece {
    states: Vec<[Block; 1]>,
    weights: Vec<f32>,
    data: Vec<[Block; 1]>,
}

fn sample(method: Method, model: &Mlp<'_>, rng: &mut LaneRng) -> Piece {
    let size = StepSize::new(STEP_SIZE).expect("a legal step size");
    let mut piece = Piece { states: Vec::new(), weights: Vec::new(), data: Vec::new() };
    let mut room = vec![[0.0; LANES]; 5 * blocks(2) + model.scratch_len()];
    for _ in 0..PIECE {
        let start = [uniform(rng), uniform(rng)].map(|u| SPAN * (2.0 * u - 1.0));
        let mut end = [[0.0; LANES]];
        let weight = match method {
            Method::Esh => {
                let mut chain = Esh::random(model, &mut room[..], &start, rng).expect("a legal start");
                for _ in 0..GRADIENTS {
                    chain.step(size);
                }
                end[0][..2].copy_from_slice(chain.position());
                // The noise has one density everywhere: E₀ is constant.
                log_weight(0.0, &chain)
            }
            Method::Ula => {
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
        data[0][..2].copy_from_slice(&Target::Mog.draw(rng));
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
    let place = |index: usize| span * ((2 * index + 1) as f32 / side as f32 - 1.0);
    let points = (0..side * side).map(|at| (place(at % side), -place(at / side)));
    points
        .map(|(x, y)| {
            let mut at = vec![[0.0; LANES]; blocks(potential.dim())];
            (at[0][0], at[0][1]) = (x, y);
            f64::from(potential.gradient(&at, &mut scratch, &mut gradient))
        })
        .collect()
}

/// Probabilities of the cells of a surface.
#[must_use]
pub fn normalise(surface: &[f64]) -> Vec<f64> {
    let least = surface.iter().copied().fold(f64::INFINITY, f64::min);
    let weights: Vec<f64> = surface.iter().map(|energy| (least - energy).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / total).collect()
}

/// KL(p ‖ q) of two grids of probabilities, in nats.
#[must_use]
pub fn divergence(p: &[f64], q: &[f64]) -> f64 {
    let terms = p.iter().zip(q).filter(|(p, _)| **p > 0.0);
    terms.map(|(p, q)| p * (p / q.max(f64::MIN_POSITIVE)).ln()).sum()
}

fn mix(seed: u64, iteration: u64, piece: u64) -> u64 {
    seed ^ iteration.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (piece + 1).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}
