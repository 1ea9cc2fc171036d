//! Samplers over a convolutional energy of digits, told their energies in batches by a tensor library.
//!
//! `sample` runs Gibbs with gradients, DMALA, AB of both orders and ACS from noise and from one state, with several seeds.

mod chains;
mod network;

use bitmc::chain::Ask;
use bitmc::lane::{Block, LANES};
use bitmc::noise::{Adaptation, Diagonal, Parameters};
use bitmc::random::bernoulli;
use bitmc::step::Cycle;
use bitmc::tune::{CycleSettings, CycleTuner, Trial};
use bitmc::{GibbsWithGradients, Langevin, Packed};
use bitmc_desktop::cells::Cells;
use bitmc_examples::bits::BitRows;
use bitmc_examples::chains::streams;
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::mmd::Mmd;
use bitmc_examples::model::{DIGIT, SIDE};
use bitmc_examples::plot::{self, Curve};
use bitmc_examples::progress::Progress;
use bitmc_examples::{picture, report};
use chains::Chains;
use clap::{Parser, ValueEnum};
use cpu_time::ProcessTime;
use network::{BITS, Network};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

/// Samplers over a convolutional energy of digits: mean energy and squared MMD against steps
#[derive(Parser)]
#[command(name = "bitmc-deep", version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// The samplers, all of them if none is named
    #[arg(long, value_enum)]
    sampler: Vec<Sampler>,

    /// Independent chains of a run
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    chains: u32,

    /// Steps of each chain [default: 1000, with --quick 60]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    steps: Option<u32>,

    /// Seeds, from --seed on [default: 4, with --quick 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    seeds: Option<u16>,

    /// Take the runs that an earlier call of the same command has finished
    #[arg(long)]
    resume: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
enum Sampler {
    /// Gibbs with gradients, one index a step
    Gwg,
    /// The discrete Langevin proposal with the Metropolis test
    Dmala,
    /// Any-scale balanced, first order
    Ab,
    /// Any-scale balanced, second order, with a diagonal W from the variances of the pixels
    AbDiagonal,
    /// Automatic cyclical scheduling, its cycle found by its tuner
    Acs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
enum Start {
    /// Fair bits
    Noise,
    /// All chains at one state
    One,
}

/// Steps of a cycle of ACS.
const CYCLE: usize = 20;

/// What a run was found to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Run {
    parameters: String,
    tuning_gradients: u64,
    /// (step, mean E, squared MMD to the reference states).
    curve: Vec<(u32, f64, f64)>,
    acceptance: f64,
    flips: f64,
    gradients_a_step: f64,
    seconds: f64,
    states: Vec<u8>,
}

struct Case<'d> {
    /// Whether tuning is cut short, too.
    quick: bool,
    network: &'d Network,
    reference: &'d BitRows,
    chains: u32,
    steps: u32,
    start: Start,
    seed: u64,
    progress: &'d Progress,
}

fn main() -> ExitCode {
    cli::main(|options: Options| options.common.pool()?.install(|| run(&options)))
}

fn run(options: &Options) -> Result<(), Failure> {
    let common = &options.common;
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let network = Network::read(&data)?;
    let reference = BitRows::read(&data.join("from_data_500.bits"), BITS)?;
    let all = Sampler::value_variants();
    let samplers = if options.sampler.is_empty() { all } else { &options.sampler };
    let by = |full, quick| if common.quick { quick } else { full };
    let steps = options.steps.unwrap_or(by(1000, 60));
    let seeds = u64::from(options.seeds.unwrap_or(by(4, 1) as u16));
    let out = common.folder("deep");
    let cells = Cells::new(&out, options.resume)?;
    let runs = samplers.len() as u64 * 2 * seeds;
    let progress = Progress::new(common.quiet, runs * u64::from(steps));
    let mut found = Vec::new();
    for &start in Start::value_variants() {
        for &sampler in samplers {
            let one = |seed| -> Result<Run, Failure> {
                let case = Case {
                    quick: common.quick,
                    network: &network,
                    reference: &reference,
                    chains: options.chains,
                    steps,
                    start,
                    seed,
                    progress: &progress,
                };
                let question = format!(
                    "quick {}, chains {}, steps {steps}, start {start:?}, seed {seed}",
                    common.quick, options.chains
                );
                cells.answer(&format!("{sampler:?}"), &question, || case.run(sampler))
            };
            let seeds = (common.seed..common.seed + seeds).map(one).collect::<Result<Vec<_>, _>>()?;
            found.push((sampler, start, seeds));
        }
    }
    drop(progress);
    let table = table(&found);
    plot::save(&out.join("deep.svg"), &panels(&found))?;
    report::write(&out.join("deep.md"), table.as_bytes())?;
    report::json(&out.join("deep.json"), &found)?;
    for (sampler, start, runs) in &found {
        let states = BitRows::from_bytes(&runs[0].states).map_err(Failure::option)?;
        let name = format!("{sampler:?}.{start:?}.png").to_lowercase();
        picture::save(&out.join(name), &picture::sampled(&states, &reference, SIDE))?;
    }
    common.say(&format!("{table}\nPictures and numbers are in {}.", out.display()));
    Ok(())
}

impl Case<'_> {
    /// Chains from the start, with generators that no other run has: those that tune have the other half of the seeds.
    fn chains(&self, seed: u64, count: u32) -> Result<Chains<'_>, Failure> {
        let mut rngs: Vec<_> = streams(seed).take(count as usize).collect();
        let mut states = BitRows::new(DIGIT);
        for rng in &mut rngs {
            let mut words = vec![0; DIGIT.words()];
            match self.start {
                Start::Noise => bernoulli(DIGIT, 0.5, rng, &mut words),
                Start::One => words.copy_from_slice(self.reference.row(0)),
            }
            states.push(Packed::new(DIGIT, &words).map_err(Failure::option)?);
        }
        Chains::new(self.network, &states, rngs)
    }

    fn run(&self, sampler: Sampler) -> Result<Run, Failure> {
        let mut tuning = self.chains(!self.seed, TUNERS)?;
        match sampler {
            Sampler::Gwg => {
                let kernel = GibbsWithGradients::new(1).map_err(Failure::model)?;
                self.drawn(&kernel, "one index".into(), 0)
            }
            Sampler::Dmala => {
                let at = |now: Parameters| Langevin::adjusted(now.step_size);
                let now = adapted(&mut tuning, self.quick, at)?;
                self.drawn(
                    &at(now).map_err(Failure::model)?,
                    format!("α = {:.3}", now.step_size),
                    tuning.gradients_asked,
                )
            }
            Sampler::Ab => {
                let at = |now: Parameters| Langevin::balanced(now.step_size, now.balance);
                let now = adapted(&mut tuning, self.quick, at)?;
                let words = format!("σ = {:.3}, α = {:.2}", now.step_size, now.balance);
                self.drawn(&at(now).map_err(Failure::model)?, words, tuning.gradients_asked)
            }
            Sampler::AbDiagonal => {
                let d = diagonal(&self.reference.means());
                let noise = Diagonal::new(&d).map_err(Failure::model)?;
                let at = |now: Parameters| Langevin::second_order(noise, now.step_size, now.balance);
                let now = adapted(&mut tuning, self.quick, at)?;
                let words = format!("σ = {:.3}, α = {:.2}, W = 1/(1 + var)", now.step_size, now.balance);
                self.drawn(&at(now).map_err(Failure::model)?, words, tuning.gradients_asked)
            }
            Sampler::Acs => {
                let settings = CycleSettings {
                    chains: TUNERS,
                    steps: 1,
                    step_size: (0.05, 5.0),
                    rounds: if self.quick { 2 } else { 21 },
                    balances: if self.quick { 2 } else { 10 },
                    ..CycleSettings::default()
                };
                let mut tuner = CycleTuner::new([Trial::default(); CYCLE], settings).map_err(Failure::model)?;
                while let Some(kernel) = tuner.kernel() {
                    tuning.step(&kernel)?;
                    tuning.infos.iter().for_each(|info| _ = tuner.observe(info));
                }
                let (smallest, largest) = tuner.ends();
                let words = format!(
                    "α = {:.2} (rate {:.2}) … {:.2} (rate {:.2})",
                    largest.step_size, largest.rate, smallest.step_size, smallest.rate
                );
                let kernels = tuner.kernels::<CYCLE>().map_err(Failure::model)?;
                let cycle = Cycle::new(&kernels).ok_or_else(|| Failure::model("a cycle without kernels"))?;
                self.drawn(&cycle, words, tuning.gradients_asked)
            }
        }
    }

    /// The run itself, with parameters that stand still.
    fn drawn(
        &self,
        kernel: &(impl Ask + Sync),
        parameters: String,
        tuning_gradients: u64,
    ) -> Result<Run, Failure> {
        let clock = ProcessTime::now();
        let mut chains = self.chains(self.seed, self.chains)?;
        let before = chains.gradients_asked;
        let mmd = Mmd::new(self.reference);
        let mut curve = Vec::new();
        let mut next = 1;
        for step in 1..=self.steps {
            chains.step(kernel)?;
            self.progress.advance(1);
            if step == next || step == self.steps {
                let distance = mmd.squared(&chains.states()).unwrap_or(f64::NAN);
                curve.push((step, chains.mean_energy(), distance));
                next = step + (step / 4).max(1);
            }
        }
        let steps = f64::from(self.steps) * f64::from(self.chains);
        Ok(Run {
            parameters,
            tuning_gradients,
            curve,
            acceptance: f64::from(chains.acceptance.rate()),
            flips: f64::from(chains.acceptance.jump_distance()),
            gradients_a_step: (chains.gradients_asked - before) as f64 / steps,
            seconds: clock.elapsed().as_secs_f64(),
            states: chains.states().to_bytes(),
        })
    }
}

/// Chains that tune. The adaptation looks at 100 steps of each candidate: four of each of these.
const TUNERS: u32 = 25;
/// Candidates that the adaptation looks at.
const CANDIDATES: usize = 120;

/// Adapts σ and α by the jump distance.
fn adapted<K: Ask + Sync, X: ToString>(
    chains: &mut Chains<'_>,
    quick: bool,
    kernel: impl Fn(Parameters) -> Result<K, X>,
) -> Result<Parameters, Failure> {
    let mut adaptation = Adaptation::new(Parameters::START);
    let mut seen = 0;
    while seen < if quick { CANDIDATES / 10 } else { CANDIDATES } {
        chains.step(&kernel(adaptation.parameters()).map_err(Failure::model)?)?;
        seen += chains.infos.iter().filter(|info| adaptation.observe(info)).count();
    }
    adaptation.freeze();
    Ok(adaptation.parameters())
}

/// D = −W of the diagonal variant for deep energies, `W = 1/(1 + variance)` (AB §5.4).
fn diagonal(means: &[f32]) -> Vec<Block> {
    let mut d = vec![[0.0; LANES]; DIGIT.blocks()];
    for (slot, mean) in d.as_flattened_mut().iter_mut().zip(means) {
        *slot = -1.0 / (1.0 + mean * (1.0 - mean));
    }
    d
}

type Found = [(Sampler, Start, Vec<Run>)];

/// The mean over the seeds, and half the distance of the largest to the smallest.
fn spread(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count() as f64;
    let (least, most) =
        values.clone().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
    (values.sum::<f64>() / count, (most - least) / 2.0)
}

fn table(found: &Found) -> String {
    let mut text = String::from(
        "| sampler | start | parameters (first seed) | acceptance | flips a step | mean E | squared MMD | gradients to tune | ms a step and chain |\n\
        |---|---|---|---:|---:|---:|---:|---:|---:|\n",
    );
    for (sampler, start, runs) in found {
        let last = |at: fn(&(u32, f64, f64)) -> f64| {
            let (mean, spread) = spread(runs.iter().filter_map(|run| run.curve.last()).map(at));
            format!("{mean:.4} ± {spread:.4}")
        };
        let (acceptance, _) = spread(runs.iter().map(|run| run.acceptance));
        let (flips, _) = spread(runs.iter().map(|run| run.flips));
        let steps = runs.iter().filter_map(|run| run.curve.last()).map(|point| f64::from(point.0));
        let chains = |run: &Run| BitRows::from_bytes(&run.states).map_or(1, |rows| rows.len()) as f64;
        let (ms, _) =
            spread(runs.iter().zip(steps).map(|(run, steps)| 1000.0 * run.seconds / steps / chains(run)));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {acceptance:.3} | {flips:.2} | {} | {} | {} | {ms:.2} |",
            name(sampler),
            name(start),
            runs[0].parameters,
            last(|point| point.1),
            last(|point| point.2),
            runs[0].tuning_gradients
        );
    }
    text
}

fn name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().into())
}

fn panels(found: &Found) -> Vec<plot::Panel> {
    let panel = |start: Start, what: &str, log_from, at: fn(&(u32, f64, f64)) -> f64| plot::Panel {
        title: format!("{what}, from {}", name(&start)),
        x: "steps".into(),
        y: what.into(),
        log_from,
        level: None,
        curves: found
            .iter()
            .filter(|found| found.1 == start)
            .map(|(sampler, _, runs)| {
                let point = |index: usize| {
                    let (mean, _) = spread(runs.iter().map(|run| at(&run.curve[index])));
                    (f64::from(runs[0].curve[index].0), mean)
                };
                Curve { label: name(sampler), points: (0..runs[0].curve.len()).map(point).collect() }
            })
            .collect(),
    };
    let both = |start| {
        [
            panel(start, "mean E", None, |point| point.1),
            panel(start, "squared MMD", Some(1e-4), |point| point.2),
        ]
    };
    Start::value_variants().iter().flat_map(|&start| both(start)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn golden() -> (Network, BitRows, Vec<f64>, Vec<f64>) {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
        let numbers = |name: &str| {
            let tensor = candle_core::Tensor::read_npy(data.join(name)).unwrap();
            tensor.flatten_all().unwrap().to_vec1::<f64>().unwrap()
        };
        let states = BitRows::read(&data.join("golden_x.bits"), BITS).unwrap();
        (Network::read(&data).unwrap(), states, numbers("golden_f.npy"), numbers("golden_grad.npy"))
    }

    fn bits(states: &BitRows) -> Vec<f32> {
        let of = |row| Packed::new(DIGIT, row).unwrap().values().map(|value| value as f32).collect::<Vec<_>>();
        states.rows().flat_map(of).collect()
    }

    /// Energies and gradients of another program, in float64, to 1e-4.
    #[test]
    fn energies_and_gradients_are_the_golden_ones() {
        let (network, states, f, gradient) = golden();
        let count = states.len();
        let (mut energies, mut gradients) = (vec![0.0; count], vec![0.0; count * BITS]);
        network.evaluate(&bits(&states), &mut energies, &mut gradients).unwrap();
        for (energy, f) in energies.iter().zip(f) {
            assert!((f64::from(*energy) + f).abs() < 1e-4 * f.abs(), "{energy}, {f}");
        }
        let worst = |gradients: &[f32]| {
            let pairs = gradients.iter().zip(&gradient);
            pairs.map(|(a, b)| (f64::from(*a) + b).abs()).fold(0.0, f64::max)
        };
        assert!(worst(&gradients) < 1e-4, "{}", worst(&gradients));
        // The gradient of another state is far from it.
        gradients.rotate_left(BITS);
        assert!(worst(&gradients) > 0.1);
    }

    /// Rows do not depend on how many chains there are, since blocks have a fixed size.
    #[test]
    fn a_run_is_the_same_again_and_with_one_thread() {
        let (network, states, ..) = golden();
        let progress = Progress::new(true, 1);
        let case = Case {
            quick: true,
            network: &network,
            reference: &states,
            chains: 20,
            steps: 3,
            start: Start::Noise,
            seed: 1,
            progress: &progress,
        };
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let kernel = Langevin::adjusted(0.2).unwrap();
            pool.install(|| case.drawn(&kernel, String::new(), 0)).unwrap()
        };
        let (one, two) = (with(1), with(2));
        assert_eq!(one.states, two.states);
        assert_eq!(one.curve, two.curve);
        assert_eq!(one.gradients_a_step, 1.0);
        let other =
            Case { seed: 2, ..case }.drawn(&Langevin::adjusted(0.2).unwrap(), String::new(), 0).unwrap();
        assert_ne!(one.states, other.states);
    }
}
