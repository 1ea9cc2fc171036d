//! Every sampler from one start, in one table.

use super::{Case, Choice, Keeper};
use crate::cli::Failure;
use crate::summary::Run;
use crate::trace::Enough;
use clap::ValueEnum;
use std::fmt::Write;

/// Steps at which squared MMDs stand in the table, and squared MMDs whose time stands in the other.
const STEPS: [u64; 3] = [300, 1000, 3000];
const LEVELS: [f64; 3] = [1e-3, 5e-4, 1.8e-4];

/// A run of every sampler.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The runs.
    pub runs: Vec<Run>,
}

/// The samplers that are compared, DULA at the step size of its paper.
fn choices() -> impl Iterator<Item = (Choice, Option<f32>)> {
    let step_size = |choice| (choice == Choice::LangevinUnadjusted).then_some(0.1);
    Choice::value_variants().iter().map(move |&choice| (choice, step_size(choice)))
}

/// Steps of a sampler: replica exchange, which pays for all of its replicas, makes a third of them.
fn steps(choice: Choice, steps: u64) -> u64 {
    if choice == Choice::Replica { steps.div_ceil(3) } else { steps }
}

/// Runs every sampler with parameters of its own, beyond the last of the steps in the table only while it has not
/// reached all levels.
///
/// # Errors
/// As [`Case::run`].
pub fn compare(case: &Case<'_>, keeper: &mut Keeper<'_>) -> Result<Comparison, Failure> {
    let enough = Some(Enough { mmd2: LEVELS[2], from: STEPS[2] });
    let run = |(choice, step_size)| {
        Case { steps: steps(choice, case.steps), enough, ..case.clone() }.run(choice, step_size, keeper)
    };
    let runs = choices().map(run).collect::<Result<_, _>>()?;
    Ok(Comparison { runs })
}

impl Comparison {
    /// Steps of all samplers together, for one chain of each.
    #[must_use]
    pub fn work(all: u64) -> u64 {
        choices().map(|(choice, _)| steps(choice, all)).sum()
    }

    /// Squared MMD after some steps.
    #[must_use]
    pub fn table(&self) -> String {
        let mut text = String::from(
            "| sampler | parameters | acceptance | flips a step | gradients a step | mean E | squared MMD after 300 | 1,000 | 3,000 |\n\
             |---|---|---:|---:|---:|---:|---:|---:|---:|\n",
        );
        for run in &self.runs {
            let (total, end) = (&run.trace.total, run.trace.end());
            let at = STEPS.map(|step| {
                let point = run.trace.points.iter().find(|point| point.step == step);
                point.and_then(|point| point.mmd2).map_or("–".into(), |mmd2| format!("{mmd2:.5}"))
            });
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "| {} | {} | {:.3} | {:.2} | {} | {:.1} | {} |",
                run.sampler,
                run.parameters,
                total.rate(),
                total.jump_distance(),
                run.gradients_per_step,
                end.mean_energy,
                at.join(" | ")
            );
        }
        text
    }

    /// Seconds to a squared MMD.
    #[must_use]
    pub fn timing_table(&self) -> String {
        let mut text = String::from(
            "| sampler | seconds to tune | µs a step and chain | seconds to 1e-3 | to 5e-4 | to 1.8e-4 |\n\
             |---|---:|---:|---:|---:|---:|\n",
        );
        for run in &self.runs {
            let trace = &run.trace;
            let reached = LEVELS.map(|level| {
                let mut points = trace.points.iter().zip(&trace.seconds);
                let first = points.find(|(point, _)| point.mmd2.is_some_and(|mmd2| mmd2 <= level));
                let never =
                    || format!("> {:.0}, at {:.5}", trace.elapsed(), trace.end().mmd2.unwrap_or(f64::NAN));
                first.map_or_else(never, |(point, seconds)| format!("{seconds:.1} (step {})", point.step))
            });
            let _ = writeln!(
                text,
                "| {} | {:.1} | {:.0} | {} |",
                run.sampler,
                run.tuning_seconds,
                1e6 / trace.chain_steps_per_second(),
                reached.join(" | ")
            );
        }
        text
    }
}
