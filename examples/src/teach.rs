//! Learning the couplings of a lattice from samples of it, by every method.

mod cycle;
mod method;
mod truth;

pub use cycle::{retune, settings, tuned};
pub use method::{Method, Mover, Sampleless};
pub use truth::Truth;

use crate::chains::memory;
use bitmc::energy::Boltzmann;
use bitmc::lane::LANES;
use bitmc::learn::{Adam, Contrast, CyclicalLearning, LearnError, Minibatch, Replay, lasso};
use bitmc::{LaneRng, Layout, SeedableRng};
use cpu_time::ThreadTime;
use serde::{Deserialize, Serialize};

/// How a method learns, whichever it is.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Plan {
    /// Seed of all random numbers.
    pub seed: u64,
    /// Changes of the parameters.
    pub iterations: u64,
    /// Samples, and persistent chains, of one change.
    pub batch: u32,
    /// States of the replay buffer.
    pub replay: u32,
    /// Adam's rate at the beginning; it falls to a tenth along a geometric schedule.
    pub rate: f32,
    /// ℓ1 on the couplings.
    pub lasso: f32,
}

/// What a method has learned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The method.
    pub method: String,
    /// Energies evaluated in all: of samples, neighbours and proposals.
    pub evaluations: u64,
    /// From iteration 0 to the last.
    pub series: Vec<Point>,
    /// What depends on the clock.
    pub clock: Clock,
}

/// The parameters at one iteration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Changes of the parameters so far.
    pub iteration: u64,
    /// ln of the root mean square error of the coupling matrix.
    pub log_rmse: f64,
}

/// Processor seconds of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// Up to each point of the series.
    pub seconds: Vec<f64>,
}

/// Iterations between two points.
const EVERY: u64 = 10;

/// Why a cell ends early.
#[derive(Debug, thiserror::Error)]
pub enum TeachError {
    /// The parameters are none.
    #[error("{0}")]
    Model(#[from] bitmc::energy::SparseError),
    /// The parameters of a restricted machine are none.
    #[error("{0}")]
    Machine(#[from] bitmc::energy::RbmError),
    /// The parameters of a network are none.
    #[error("{0}")]
    Network(#[from] bitmc::energy::PerceptronError),
    /// A path of annealing.
    #[error("{0}")]
    Path(#[from] bitmc::energy::PathError),
    /// A sample or a chain.
    #[error("{0}")]
    Learn(#[from] LearnError),
    /// An optimiser's rate.
    #[error("{0}")]
    Rate(#[from] bitmc::learn::RateError),
    /// A sampler's parameter.
    #[error("{0}")]
    Parameter(#[from] bitmc::step::ParameterError),
    /// A tuner's.
    #[error("{0}")]
    Tune(#[from] bitmc::tune::TuneError),
    /// A tuning chain.
    #[error("{0}")]
    Chain(#[from] bitmc::ChainError),
    /// A chain that is told its energies.
    #[error("{0}")]
    Open(#[from] bitmc::OpenError),
    /// An annealed run.
    #[error("{0}")]
    Anneal(#[from] bitmc::temper::AnnealError),
}

/// Learns a dense Ising model of spins without fields.
///
/// # Errors
/// [`TeachError`].
pub fn teach(truth: &Truth, method: &Method, plan: Plan, progress: impl Fn(u64)) -> Result<Cell, TeachError> {
    let sites = truth.sites();
    let blocks = Boltzmann::parameter_len(sites);
    let fields = Boltzmann::cache_len(sites);
    let (mut theta, mut gradient) = (vec![[0.0; LANES]; blocks], vec![[0.0; LANES]; blocks]);
    let mut moments = vec![[0.0; LANES]; 2 * blocks];
    let mut adam = Adam::new(&mut moments, plan.rate)?;
    let mut couplings = vec![[0; LANES]; Boltzmann::memory_len(sites)];
    let mut rng = LaneRng::seed_from_u64(plan.seed);
    let layout = Layout::binary(sites);
    let mut words = vec![0; layout.words() * plan.replay as usize];
    let mut replay = Replay::new(layout, &mut words)?;
    replay.randomise(&mut rng);
    let mut cycle = CyclicalLearning { period: 8, large: (2.0, 0.8, 1), small: (0.2, 1), retune: 4 };

    let look = |theta: &_, iteration| Point { iteration, log_rmse: truth.log_rmse(theta) };
    let (mut series, mut clock) = (vec![look(&theta, 0)], Clock { seconds: vec![0.0] });
    let (mut seconds, mut evaluations) = (0.0, 0);
    for iteration in 0..plan.iterations {
        let start = ThreadTime::now();
        let model = Boltzmann::spins(&theta, sites, &mut couplings)?;
        let mut room = memory(&model);
        let data = |rng: &mut LaneRng| truth.sample(rng);
        let report = match method {
            Method::Objective(objective) => {
                let mut batch = Minibatch::new(&model, &mut gradient)?;
                for _ in 0..plan.batch {
                    objective.add(&mut batch, &model, data(&mut rng), &mut room, &mut rng)?;
                }
                batch.finish()
            }
            Method::Chains(_, steps) | Method::Cyclical(steps) => {
                let (mover, steps) = match method {
                    Method::Chains(mover, steps) => (*mover, *steps),
                    _ => {
                        if cycle.is_due(iteration) {
                            evaluations += retune(&mut cycle, &model, replay.state(0), &mut rng)?;
                        }
                        (Mover::Langevin("ACS", cycle.at(iteration)?.0), *steps)
                    }
                };
                let mut contrast = Contrast::new(&model, plan.batch, plan.batch, &mut gradient)?;
                for _ in 0..plan.batch {
                    contrast.data(&model, data(&mut rng), &mut room)?;
                    let slot = replay.pick(&mut rng);
                    contrast.persist(&model, (&mut replay, slot), (&mover, steps), &mut room, &mut rng)?;
                }
                contrast.finish()
            }
        };
        evaluations += report.evaluations;
        gradient[..fields].fill([0.0; LANES]);
        lasso(plan.lasso, &theta[fields..], &mut gradient[fields..]);
        let share = iteration as f32 / plan.iterations as f32;
        adam.set_rate(plan.rate * 0.1f32.powf(share))?;
        adam.step(&gradient, &mut theta);
        seconds += start.elapsed().as_secs_f64();
        if (iteration + 1) % EVERY == 0 || iteration + 1 == plan.iterations {
            series.push(look(&theta, iteration + 1));
            clock.seconds.push(seconds);
        }
        progress(1);
    }
    Ok(Cell { method: method.name(), evaluations, series, clock })
}
