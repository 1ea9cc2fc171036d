//! What is told of a run: numbers for JSON, curves, and a line of a table.

use crate::plot::{self, Curve};
use crate::trace::{Point, Trace};
use serde::Serialize;

/// A run with its name and parameters.
#[derive(Clone, Debug)]
pub struct Run {
    /// The sampler, as on the command line.
    pub sampler: String,
    /// Its parameters, for tables.
    pub parameters: String,
    /// Its step size, where it has one that can be chosen.
    pub step_size: Option<f32>,
    /// Gradients, or products with W of that size, that a step costs at least: one, or one a replica.
    pub gradients_per_step: u32,
    /// Independent chains.
    pub chains: u32,
    /// Seconds that finding the parameters took.
    pub tuning_seconds: f64,
    /// What happened.
    pub trace: Trace,
}

/// The numbers of a run that do not depend on the clock.
#[derive(Clone, Debug, Serialize)]
pub struct Numbers<'r> {
    sampler: &'r str,
    chains: u32,
    steps: u64,
    parameters: &'r str,
    step_size: Option<f32>,
    gradients_per_step: u32,
    acceptance: f32,
    proposed_flips_per_step: f32,
    accepted_flips_per_step: f32,
    faults: u64,
    mean_energy: f64,
    mmd2: Option<f64>,
    series: &'r [Point],
}

/// The numbers of a run that depend on the clock.
#[derive(Clone, Debug, Serialize)]
pub struct Clock<'r> {
    sampler: &'r str,
    tuning_seconds: f64,
    seconds: f64,
    chain_steps_per_second: f64,
    series: Vec<Tick>,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Tick {
    step: u64,
    seconds: f64,
}

/// What the x axis of curves is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// Steps.
    Steps,
    /// Seconds of sampling.
    Seconds,
}

impl Run {
    /// The numbers that are the same at every repetition.
    #[must_use]
    pub fn numbers(&self) -> Numbers<'_> {
        let (end, total) = (self.trace.end(), &self.trace.total);
        Numbers {
            sampler: &self.sampler,
            chains: self.chains,
            steps: end.step,
            parameters: &self.parameters,
            step_size: self.step_size,
            gradients_per_step: self.gradients_per_step,
            acceptance: total.rate(),
            proposed_flips_per_step: total.proposed(),
            accepted_flips_per_step: total.jump_distance(),
            faults: total.faults,
            mean_energy: end.mean_energy,
            mmd2: end.mmd2,
            series: &self.trace.points,
        }
    }

    /// The numbers that are not.
    #[must_use]
    pub fn clock(&self) -> Clock<'_> {
        let ticks = self.trace.points.iter().zip(&self.trace.seconds);
        Clock {
            sampler: &self.sampler,
            tuning_seconds: self.tuning_seconds,
            seconds: self.trace.elapsed(),
            chain_steps_per_second: self.trace.chain_steps_per_second(),
            series: ticks.map(|(point, &seconds)| Tick { step: point.step, seconds }).collect(),
        }
    }

    /// The name with the step size.
    fn name(&self) -> String {
        let size = self.step_size.map_or(String::new(), |_| format!(", {}", self.parameters));
        format!("{}{size}", self.sampler)
    }

    /// The name with the step size and the number of chains.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{}, {} chains", self.name(), self.chains)
    }

    fn curve(&self, against: Against, y: impl Fn(&Point) -> Option<f64>) -> Curve {
        let points = self.trace.points.iter().zip(&self.trace.seconds);
        let points = points.filter_map(|(point, &seconds)| {
            let x = if against == Against::Steps { point.step as f64 } else { seconds };
            Some((x, y(point)?))
        });
        Curve { label: self.label(), points: points.collect() }
    }
}

/// What samples of the distribution itself would show.
#[derive(Clone, Copy, Debug)]
pub struct Exact {
    /// Their mean energy.
    pub mean_energy: f64,
    /// The squared MMD that they stay below 99 times in 100.
    pub mmd2: f64,
}

/// Mean energy of several runs; where samples of the distribution are known, squared MMD too.
#[must_use]
pub fn panels(runs: &[Run], against: Against, exact: Option<Exact>) -> Vec<plot::Panel> {
    let x = if against == Against::Steps {
        "steps of each chain"
    } else {
        "seconds of sampling, all chains together"
    };
    let panel = |title: &str, y: &str, value: &dyn Fn(&Point) -> Option<f64>| plot::Panel {
        title: title.into(),
        x: x.into(),
        y: y.into(),
        log_from: None,
        level: None,
        curves: runs.iter().map(|run| run.curve(against, value)).collect(),
    };
    // The first steps from noise fall so far that nothing could be seen of the others.
    let shown = |point: &Point| (point.step >= 10).then_some(point.mean_energy);
    let long = runs.iter().all(|run| run.trace.end().step >= 20);
    let mut energy = if long {
        panel("Mean energy of the chains from step 10 on", "mean E", &shown)
    } else {
        panel("Mean energy of the chains", "mean E", &|point| Some(point.mean_energy))
    };
    energy.level = exact.map(|exact| (exact.mean_energy, "mean of the reference samples".into()));
    let distance = exact.map(|exact| plot::Panel {
        log_from: Some(exact.mmd2 / 10.0),
        level: Some((exact.mmd2, "noise of exact samples (99 %)".into())),
        ..panel("Distance to the model's distribution", "squared MMD", &|point| point.mmd2)
    });
    std::iter::once(energy).chain(distance).collect()
}

/// A Markdown table of the runs' ends.
#[must_use]
pub fn table(runs: &[Run]) -> String {
    let mut text = String::from("| sampler | chains | steps | acceptance | mean E | squared MMD |\n");
    text.push_str("|---|---:|---:|---:|---:|---:|\n");
    for run in runs {
        let numbers = run.numbers();
        let mmd2 = numbers.mmd2.map_or("–".into(), |mmd2| format!("{mmd2:.5}"));
        text.push_str(&format!(
            "| {} | {} | {} | {:.3} | {:.1} | {mmd2} |\n",
            run.name(),
            run.chains,
            numbers.steps,
            numbers.acceptance,
            numbers.mean_energy
        ));
    }
    text
}
