//! What proposes, and what tunes it, by the name of a sampler.

use crate::second_order::{Failure, SecondOrderSampler};
use crate::wrong;
use bitmc::step::{Cycle, ParameterError};
use bitmc::tune::{CycleSettings, CycleTuner, RateTuner, Trial};
use bitmc::{GibbsWithGradients, LaneRng, Langevin, Layout, Open, PathAuxiliary, RandomWalk};
use bitmc_desktop::chains::VecOpen;
use bitmc_desktop::{Choice, Plan};
use pyo3::prelude::*;

/// What proposes.
pub(crate) enum Kernel {
    Langevin(Langevin<'static>),
    Cycle(Vec<Langevin<'static>>),
    GibbsWithGradients(GibbsWithGradients),
    PathAuxiliary(PathAuxiliary),
    RandomWalk(RandomWalk),
    SecondOrder(Box<SecondOrderSampler>),
}

/// What is still being tuned.
pub(crate) enum Tuner {
    Nothing,
    Rate(RateTuner),
    Cycle(Box<CycleTuner<Vec<Trial>>>),
}

const NAMES: &str = "langevin[:STEP], balanced[:STEP:BALANCE], balanced:tuned:BALANCE, second-order[:STEP:BALANCE], \
    cyclical[:POSITIONS[:SMALLEST:LARGEST]], gwg[:INDICES], \
    pas[:INDICES] or random-walk[:RADIUS] is needed";

/// The plan of a sampler's name, and what tunes it.
pub(crate) fn parsed(sampler: &str, chains: usize, sites: usize) -> PyResult<(Plan, Tuner)> {
    let bad = || wrong(format!("sampler {sampler:?}: {NAMES}"));
    if let Some(rest) = sampler.strip_prefix("cyclical") {
        let numbers: Vec<f32> =
            rest.split(':').skip(1).map(str::parse).collect::<Result<_, _>>().map_err(|_| bad())?;
        let ends = |ends| CycleSettings {
            chains: u32::try_from(chains).unwrap_or(u32::MAX),
            steps: (100 / chains.max(1)).max(1) as u32,
            step_size: ends,
            ..CycleSettings::default()
        };
        let (positions, settings) = match numbers[..] {
            [] => (20.0, ends((0.05, 5.0))),
            [positions] => (positions, ends((0.05, 5.0))),
            [positions, smallest, largest] => (positions, ends((smallest, largest))),
            _ => return Err(bad()),
        };
        if !rest.is_empty() && !rest.starts_with(':') || !(2.0..=1000.0).contains(&positions) {
            return Err(bad());
        }
        let tuner = CycleTuner::new(vec![Trial::default(); positions as usize], settings);
        let tuner = tuner.map_err(|error| wrong(format!("sampler {sampler:?}: {error}")))?;
        return Ok((cycle(&tuner), Tuner::Cycle(Box::new(tuner))));
    }
    // A balance by hand, with the step size tuned.
    let choice = match sampler.strip_prefix("balanced:tuned:").map(str::parse) {
        Some(balance) => Choice::Tuned(Plan::Balanced { step_size: 0.2, balance: balance.map_err(|_| bad())? }),
        None => sampler.parse().map_err(|_| bad())?,
    };
    match choice {
        Choice::Auto => Err(bad()),
        Choice::Exactly(plan) => Ok((plan, Tuner::Nothing)),
        Choice::Tuned(plan) => {
            let (first, bounds, rate) = match plan {
                Plan::RandomWalk { .. } => {
                    let most = (sites as f32 / 4.0).max(1.0);
                    (1.0, (0.5, most), RateTuner::RANDOM_WALK)
                }
                _ => (0.2, (1e-3, 1e3), RateTuner::LOCALLY_BALANCED),
            };
            let tuner = RateTuner::new(first, bounds, rate).map_err(wrong)?;
            Ok((plan, Tuner::Rate(tuner)))
        }
    }
}

/// Ordinal sites may be kept from moving far.
pub(crate) fn near(kernel: Langevin<'static>, window: Option<u32>) -> Langevin<'static> {
    window.map_or(kernel, |distance| kernel.within(distance))
}

/// The kernel of a sampler.
pub(crate) fn kernel(plan: &Plan, window: Option<u32>) -> PyResult<Kernel> {
    let balanced = |step_size: f32, balance: f32| -> Result<_, ParameterError> {
        Ok(near(Langevin::balanced(step_size, balance)?, window))
    };
    let one = || -> Result<Option<Kernel>, ParameterError> {
        Ok(Some(match plan {
            &Plan::Langevin { step_size } => balanced(step_size, 0.5).map(Kernel::Langevin)?,
            &Plan::Balanced { step_size, balance } => Kernel::Langevin(balanced(step_size, balance)?),
            &Plan::GibbsWithGradients { indices } => {
                Kernel::GibbsWithGradients(GibbsWithGradients::new(indices)?)
            }
            &Plan::PathAuxiliary { indices } => Kernel::PathAuxiliary(PathAuxiliary::new(indices)?),
            &Plan::RandomWalk { radius } => Kernel::RandomWalk(RandomWalk::new(radius)?),
            Plan::Cyclical { positions } => {
                let each = positions.iter().map(|&(step_size, balance)| balanced(step_size, balance));
                Kernel::Cycle(each.collect::<Result<_, _>>()?)
            }
            _ => return Ok(None),
        }))
    };
    one().map_err(|error| wrong(format!("sampler: {error}")))?.ok_or_else(|| wrong(format!("sampler: {NAMES}")))
}

/// The cycle that a tuner has come to.
pub(crate) fn cycle(tuner: &CycleTuner<Vec<Trial>>) -> Plan {
    let positions = tuner.positions().iter().map(|trial| (trial.step_size, trial.balance));
    Plan::Cyclical { positions: positions.collect() }
}

/// A plan with another value of its parameter that is tuned.
pub(crate) fn with(plan: &Plan, value: f32) -> Plan {
    match *plan {
        Plan::Langevin { .. } => Plan::Langevin { step_size: value },
        Plan::Balanced { balance, .. } => Plan::Balanced { step_size: value, balance },
        Plan::RandomWalk { .. } => Plan::RandomWalk { radius: value },
        ref other => other.clone(),
    }
}

/// The step size and balance of a second-order sampler by hand, where it is one.
pub(crate) fn second_order(sampler: &str) -> PyResult<Option<Option<(f32, f32)>>> {
    let Some(rest) = sampler.strip_prefix("second-order") else { return Ok(None) };
    let bad = || wrong(format!("sampler {sampler:?}: {NAMES}"));
    if !rest.is_empty() && !rest.starts_with(':') {
        return Err(bad());
    }
    let numbers: Vec<f32> =
        rest.split(':').skip(1).map(str::parse).collect::<Result<_, _>>().map_err(|_| bad())?;
    match numbers[..] {
        [] => Ok(Some(None)),
        [step_size, balance] => Ok(Some(Some((step_size, balance)))),
        _ => Err(bad()),
    }
}

impl Kernel {
    /// Asks each chain. `gradients` are those at the states, where chains do not keep them.
    pub(crate) fn ask_each(
        &self,
        chains: &mut [VecOpen<'static>],
        gradients: &[f32],
        rngs: &mut [LaneRng],
        window: Option<u32>,
    ) -> Result<(), Failure> {
        match self {
            Self::Langevin(kernel) => Open::ask_each(chains, kernel, gradients, rngs)?,
            Self::GibbsWithGradients(kernel) => Open::ask_each(chains, kernel, gradients, rngs)?,
            Self::PathAuxiliary(kernel) => Open::ask_each(chains, kernel, gradients, rngs)?,
            Self::RandomWalk(kernel) => Open::ask_each(chains, kernel, gradients, rngs)?,
            Self::SecondOrder(sampler) => sampler.ask_each(chains, rngs, window)?,
            Self::Cycle(kernels) => {
                // A cycle has at least two positions.
                if let Some(cycle) = Cycle::new(kernels) {
                    Open::ask_each(chains, &cycle, gradients, rngs)?;
                }
            }
        }
        Ok(())
    }
}

/// Whether chains of this layout keep no gradients of their own.
pub(crate) fn keeps_none(layout: Layout) -> bool {
    layout.many_values() && layout.kind() == bitmc::Kind::Categorical
}
