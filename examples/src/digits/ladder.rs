//! The temperatures of replica exchange and the kernel at each, from a short run.
//!
//! The kernels are any-scale balanced ones of first order, for their two limits: at β = 0, over independent bits,
//! step size ∞ and balance 1 draw a new state, while at β = 1 small steps with balances near ½ are accepted.

use crate::chains::{memory, streams};
use crate::cli::Failure;
use crate::tempering::VecReplica;
use bitmc::energy::Tempered;
use bitmc::noise::{Adaptation, Parameters};
use bitmc::step::ParameterError;
use bitmc::temper::{Ladder, Replica, Rung};
use bitmc::{Langevin, Rbm};

/// Rounds of one run, and runs: after each but the last the ladder is spaced anew.
const ROUNDS: u32 = 1200;
const RUNS: u32 = 4;

/// Where σ and α of a rung begin: geometric and straight between the independent limit and what the first-order
/// sampler has at β = 1.
fn start(rung: usize, rungs: usize) -> Parameters {
    let part = rung as f32 / (rungs - 1) as f32;
    let (hot, cold) = (1000.0f32, 0.25f32);
    Parameters { step_size: hot * (cold / hot).powf(part), balance: 1.0 - 0.4 * part, precision: 1.0 }
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
        write!(f, "{} β from 0, swaps ≥ {:.2}, ", self.betas.len(), self.rate)?;
        write!(f, "σ = {:.0} … {:.2}, ", hot.step_size, cold.step_size)?;
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

/// So many β from 0 to 1 at which swaps are about equally likely, each with the σ and α of the largest jumps:
/// replicas from fair bits, in short runs.
pub(super) fn spaced(path: Tempered<'_, Rbm<'_>>, rungs: usize, seed: u64) -> Result<Rungs, Failure> {
    let mut betas: Vec<f32> = (0..rungs).map(|rung| rung as f32 / (rungs - 1) as f32).collect();
    let mut adaptations: Vec<_> = (0..rungs).map(|rung| Adaptation::new(start(rung, rungs))).collect();
    let mut rate = 0.0;
    // Another generator than those of the chains that are shown.
    let mut rng = streams(!seed).next().expect("generators do not run out");
    let mut replica = || Replica::random(path, memory(&path), &mut rng);
    let mut replicas: Vec<VecReplica<'_, _>> =
        (0..rungs).map(|_| replica()).collect::<Result<_, _>>().map_err(Failure::option)?;
    for run in 0..RUNS {
        let mut ladder = Ladder::new(vec![Rung::default(); rungs], &betas).map_err(Failure::option)?;
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
