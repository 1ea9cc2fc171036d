//! The temperatures of replica exchange and the kernel at each, from a short run.
//!
//! The kernels are any-scale balanced ones of first order, bolder where β is smaller.
//!
//! The ladder is short. No path is needed that ends in independent bits: at the smallest β here chains already move from
//! mode to mode, and every rung more is a share less of the work for β = 1. Sixteen rungs from β = 0 are at a squared
//! MMD of .0028 after 16,000 transitions from noise, these four at .0007.

use crate::chains::{memory, streams};
use crate::cli::Failure;
use crate::tempering::VecReplica;
use bitmc::energy::Tempered;
use bitmc::noise::{Adaptation, Parameters, guided_balance};
use bitmc::step::ParameterError;
use bitmc::temper::{Ladder, Replica, Rung};
use bitmc::{Langevin, Rbm};

/// Rounds of one run, and runs: after each but the last the ladder is spaced anew.
const ROUNDS: u32 = 1200;
const RUNS: u32 = 4;

/// Temperatures, and the smallest β.
pub(super) const RUNGS: usize = 4;
const HOTTEST: f32 = 0.75;

/// Where σ and α of a rung begin: near what the first-order sampler has at β = 1, with larger steps below.
fn start(beta: f32) -> Parameters {
    let step_size = 0.3 / beta.powi(4);
    Parameters { step_size, balance: guided_balance(step_size, 0.25), precision: 1.0 }
}

fn kernel(now: Parameters) -> Result<Langevin<'static>, ParameterError> {
    Langevin::balanced(now.step_size, now.balance)
}

/// A ladder with its kernels.
#[derive(Clone, Debug)]
pub(super) struct Rungs {
    pub(super) betas: Vec<f32>,
    pub(super) kernels: Vec<Langevin<'static>>,
    parameters: Vec<Parameters>,
    /// The smallest rate of swaps in the last run.
    rate: f32,
}

impl std::fmt::Display for Rungs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [hot, .., cold] = &self.parameters[..] else { return Ok(()) };
        write!(f, "{RUNGS} β from {HOTTEST}, swaps ≥ {:.2}, ", self.rate)?;
        write!(f, "σ = {:.2} … {:.2}, ", hot.step_size, cold.step_size)?;
        write!(f, "α = {:.2} … {:.2}", hot.balance, cold.balance)
    }
}

/// The fields of independent bits with given means, which are kept within .01 and .99 (METHODS.md §4).
pub(super) fn fields(means: &[f32]) -> Vec<f32> {
    let logit = |mean: &f32| {
        let mean = mean.clamp(0.01, 0.99);
        (mean / (1.0 - mean)).ln()
    };
    means.iter().map(logit).collect()
}

/// β up to 1 at which swaps are about equally likely, each with the σ and α of the largest jumps: replicas from
/// fair bits, in short runs.
pub(super) fn spaced(path: Tempered<'_, Rbm<'_>>, seed: u64) -> Result<Rungs, Failure> {
    let part = |rung| rung as f32 / (RUNGS - 1) as f32;
    let mut betas: Vec<f32> = (0..RUNGS).map(|rung| HOTTEST + (1.0 - HOTTEST) * part(rung)).collect();
    let mut adaptations: Vec<_> = betas.iter().map(|&beta| Adaptation::new(start(beta))).collect();
    let mut rate = 0.0;
    // Another generator than those of the chains that are shown.
    let mut rng = streams(!seed).next().expect("generators do not run out");
    let mut replica = || Replica::random(path, memory(&path), &mut rng);
    let mut replicas: Vec<VecReplica<'_, _>> =
        (0..RUNGS).map(|_| replica()).collect::<Result<_, _>>().map_err(Failure::option)?;
    for run in 0..RUNS {
        let mut ladder = Ladder::new(vec![Rung::default(); RUNGS], &betas).map_err(Failure::option)?;
        for _ in 0..ROUNDS {
            for (rung, adaptation) in adaptations.iter_mut().enumerate() {
                let standing = ladder.rungs()[rung];
                let replica = &mut replicas[standing.replica()];
                replica.set_beta(standing.beta()).map_err(Failure::option)?;
                let kernel = kernel(adaptation.parameters()).map_err(Failure::option)?;
                adaptation.observe(&replica.step(&kernel, &mut rng));
            }
            ladder.exchange(|index| replicas[index].gap(), &mut rng);
        }
        rate = ladder.rungs().iter().filter_map(Rung::rate).fold(1.0, f32::min);
        if run + 1 < RUNS {
            ladder.respaced(&mut betas);
        }
        // Replicas stay where they are; the next ladder numbers them by rung.
        let order: Vec<usize> = ladder.rungs().iter().map(Rung::replica).collect();
        let mut slots: Vec<_> = replicas.into_iter().map(Some).collect();
        replicas = order.into_iter().filter_map(|index| slots[index].take()).collect();
    }
    adaptations.iter_mut().for_each(Adaptation::freeze);
    let parameters: Vec<_> = adaptations.iter().map(Adaptation::parameters).collect();
    let kernels = parameters.iter().map(|&now| kernel(now)).collect::<Result<_, _>>();
    Ok(Rungs { betas, kernels: kernels.map_err(Failure::option)?, parameters, rate })
}
