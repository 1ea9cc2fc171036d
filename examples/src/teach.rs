//! Curves and processor time of learning with the loop of `bitmc_desktop::learn`.

mod truth;

pub use truth::Truth;

use crate::bits::BitRows;
use crate::chains::{memory, streams};
use crate::cli::Failure;
use bitmc::energy::Tempered;
use bitmc::lane::Block;
use bitmc::{Chain, Energy, Gibbs, LaneRng, Packed, SeedableRng};
use bitmc_desktop::learn::{
    Data, Family, Learned, Learner, Look, Method, Mover, NetworkFamily, Objective, Plan,
};
use cpu_time::ThreadTime;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// A method, with its name in tables.
pub type Named = (String, Method);

/// Persistent contrastive divergence with so many steps of a sampler.
#[must_use]
pub fn chains(name: &str, mover: Mover, steps: u64) -> Named {
    (format!("PCD, {name}, {steps} steps"), Method::Chains(mover, steps))
}

/// Objectives of the samples alone.
pub fn objectives<const N: usize>(all: [Objective; N]) -> impl Iterator<Item = Named> {
    all.into_iter().map(|objective| (objective.to_string(), Method::Objective(objective)))
}

/// Learns, and looks after each change of the parameters, at the processor seconds of learning alone.
///
/// # Errors
/// As [`Learner::watched`].
pub fn watch<F: Family, D: Data>(
    learner: Learner<'_, F, D>,
    mut look: impl FnMut(&Look<'_>, f64) -> Result<(), Failure>,
) -> Result<Learned, Failure> {
    let (mut clock, mut seconds) = (ThreadTime::now(), 0.0);
    learner.watched(|at| {
        seconds += clock.elapsed().as_secs_f64();
        look(at, seconds)?;
        clock = ThreadTime::now();
        Ok(true)
    })
}

/// What learning a network has shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lesson {
    /// Energies evaluated in all.
    pub evaluations: u64,
    /// (iteration, mean since the point before) of the loss: of its logarithm where a sample's loss may be any number.
    pub losses: Vec<(u64, f64)>,
    /// Processor seconds.
    pub seconds: f64,
}

/// The plan of a network. The paper's forms have rare terms of any size: gradients are cut.
pub const NETWORK: Plan = Plan {
    seed: 1,
    iterations: 0,
    batch: 100,
    replay: 0,
    rate: 0.01,
    lasso: 0.0,
    decay: 0.0,
    clip: 10.0,
    biases: true,
    parts: 1,
};

/// Points of a loss curve.
const POINTS: u64 = 40;

/// Learns a network from parameters, or from those that the plan's seed draws.
///
/// # Errors
/// As [`Learner::run`].
pub fn learn(
    family: &NetworkFamily,
    theta: Option<Vec<Block>>,
    data: impl Data,
    (method, plan): (Method, Plan),
    progress: impl Fn(u64),
) -> Result<(Vec<Block>, Lesson), Failure> {
    let start = || family.start(&[], &mut LaneRng::seed_from_u64(plan.seed));
    let learner = Learner::new(family, data, method, plan).theta(theta.unwrap_or_else(start));
    let objective = matches!(method, Method::Objective(_));
    let (mut lesson, mut sum, mut since) = (Lesson::default(), 0.0, 0);
    let learned = watch(learner, |look, seconds| {
        sum += if objective { look.log_loss } else { look.loss };
        since += 1;
        if look.iteration % plan.iterations.div_ceil(POINTS) == 0 || look.iteration == plan.iterations {
            lesson.losses.push((look.iteration, sum / f64::from(since)));
            (sum, since) = (0.0, 0);
        }
        lesson.seconds = seconds;
        progress(1);
        Ok(())
    })?;
    lesson.evaluations = learned.evaluations;
    Ok((learned.theta, lesson))
}

/// Draws from `p ∝ e^(−βE)`: the ends of chains of Gibbs sweeps from uniform bits.
///
/// # Errors
/// [`Failure`] where β or the model is illegal.
pub fn sample(
    model: &(impl Energy + Sync),
    beta: f32,
    (chains, sweeps): (u32, u64),
    seed: u64,
) -> Result<BitRows, Failure> {
    let path = Tempered::new(model, beta)?;
    let one = |mut rng: LaneRng| -> Result<Vec<u32>, Failure> {
        let mut chain = Chain::random(&path, memory(&path), &mut rng)?;
        chain.run(&Gibbs::systematic(), &mut rng, sweeps, &mut ());
        Ok(chain.state().words().to_vec())
    };
    let streams: Vec<LaneRng> = streams(seed).take(chains as usize).collect();
    let states: Vec<Vec<u32>> = streams.into_par_iter().map(one).collect::<Result<_, _>>()?;
    let mut rows = BitRows::new(model.layout());
    for words in states {
        rows.push(Packed::new(model.layout(), &words)?);
    }
    Ok(rows)
}
