//! A neural network whose weights are bits, sampled rather than trained: who earns more than 50,000 dollars?
//!
//! `cargo run --release --example bnn` is the experiment of DLP §7.4 as its authors' program runs it, on 8,000 rows of the census
//! data: a sigmoid at the output, standardised inputs, `E = 100 · mean squared error`, chains from random weights of ±1.

use bitmc::open::Ask;
use bitmc::packed::Packed;
use bitmc::random::bernoulli;
use bitmc::stats::Acceptance;
use bitmc::{Gibbs, GibbsWithGradients, LaneRng, Langevin};
use bitmc_examples::adult::{self, Data};
use bitmc_examples::bits::BitRows;
use bitmc_examples::cells::Cells;
use bitmc_examples::chains::{VecChain, add, memory, streams};
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::harness::{mean, standard_error};
use bitmc_examples::progress::Progress;
use bitmc_examples::sigmoid_network::{SigmoidNetwork, Standard};
use bitmc_examples::told::{Chains, Evaluator};
use bitmc_examples::trace::checkpoints;
use bitmc_examples::{plot, report};
use clap::Parser;
use cpu_time::ProcessTime;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A regression network with weights of ±1 on the Adult data
#[derive(Parser, Debug)]
#[command(name = "bnn", version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// Independent chains of each sampler [default: 50, with --quick 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    chains: Option<u32>,

    /// Steps of each chain [default: 1000, with --quick 40]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    steps: Option<u64>,

    /// Hidden units [default: 500, with --quick 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    units: Option<u16>,

    /// Step size, on the {0,1} scale
    #[arg(long, value_name = "ALPHA", default_value_t = 0.1)]
    step_size: f32,

    /// Weights that the Gibbs sampler updates in a step
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    updates: u32,

    /// The samplers, all of them if none is named
    #[arg(long, value_enum)]
    sampler: Vec<Sampler>,

    /// Go on with the cells that an earlier run with the same options has saved
    #[arg(long)]
    resume: bool,

    /// Folder of the data [default: examples/data/adult of this repository]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
enum Sampler {
    /// Gibbs, one weight a step
    Gibbs,
    /// Gibbs with gradients, one index a step
    Gwg,
    /// The discrete Langevin proposal without the Metropolis test
    Dula,
    /// The discrete Langevin proposal with it
    Dmala,
    /// DULA with gradients of 10 rows
    Batch10,
    /// DULA with gradients of 100 rows
    Batch100,
    /// DULA with gradients of 500 rows
    Batch500,
}

impl Sampler {
    /// The paper's Adult row (its Tables 2 and 4): training log-likelihood and test RMSE.
    fn paper(self) -> (f64, f64) {
        match self {
            Self::Gibbs => (-0.4587, 0.4826),
            Self::Gwg => (-0.4444, 0.4709),
            Self::Dula => (-0.3287, 0.3971),
            Self::Dmala => (-0.3190, 0.3931),
            Self::Batch10 => (-0.3738, 0.4309),
            Self::Batch100 => (-0.3275, 0.3963),
            Self::Batch500 => (-0.3233, 0.3954),
        }
    }

    fn batch(self) -> Option<usize> {
        match self {
            Self::Batch10 => Some(10),
            Self::Batch100 => Some(100),
            Self::Batch500 => Some(500),
            _ => None,
        }
    }
}

/// The chains at one step.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Point {
    step: u64,
    /// Minus the mean squared error of a chain, and its standard error over the chains.
    training_log_likelihood: f64,
    standard_error: f64,
    /// Of one network.
    test_rmse: f64,
    /// Of the mean output of all chains.
    test_rmse_of_the_mean: f64,
}

/// One row of the table.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Row {
    acceptance: f64,
    flips_per_step: f64,
    faults: u64,
    series: Vec<Point>,
}

#[derive(Serialize)]
struct Named {
    sampler: Sampler,
    paper_training_log_likelihood: f64,
    paper_test_rmse: f64,
    #[serde(flatten)]
    row: Row,
}

#[derive(Serialize)]
struct Report {
    example: &'static str,
    seed: u64,
    chains: u32,
    steps: u64,
    units: u16,
    weights: usize,
    step_size: f32,
    training_rows: usize,
    test_rows: usize,
    /// The RMSE of predicting the mean.
    test_rmse_of_a_constant: f64,
    rows: Vec<Named>,
}

fn main() -> ExitCode {
    cli::main(|options: Options| {
        let pool = options.common.pool()?;
        pool.install(|| run(&options))
    })
}

struct Case<'d> {
    training: &'d Data,
    testing: &'d SigmoidNetwork,
    standard: &'d Standard,
    units: usize,
    chains: u32,
    steps: u64,
    step_size: f32,
    updates: u32,
    seed: u64,
    progress: &'d Progress,
}

fn run(options: &Options) -> Result<(), Failure> {
    let common = &options.common;
    let by = |full, quick| if common.quick { quick } else { full };
    let chains = options.chains.unwrap_or(by(50, 4));
    let steps = options.steps.unwrap_or(u64::from(by(1000, 40)));
    let units = options.units.unwrap_or(by(500, 100) as u16);
    Langevin::adjusted(options.step_size).map_err(|error| Failure::Option(format!("--step-size: {error}")))?;
    let all = <Sampler as clap::ValueEnum>::value_variants();
    let samplers = if options.sampler.is_empty() { all } else { &options.sampler };
    let folder = options.data.clone();
    let folder = folder.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("data/adult"));
    let (train, test) = adult::read(&folder, &mut LaneRng::stream(common.seed, 1 << 20))?;
    let standard = Standard::of(&train);
    let testing = SigmoidNetwork::new(&test, &standard, units.into());

    let out = common.folder("bnn");
    report::make_folder(&out)?;
    let kept = Cells::new(&out, options.resume)?;
    let progress = Progress::new(common.quiet, samplers.len() as u64 * steps);
    let clock = ProcessTime::now();
    let case = Case {
        training: &train,
        testing: &testing,
        standard: &standard,
        units: units.into(),
        chains,
        steps,
        step_size: options.step_size,
        updates: options.updates,
        seed: common.seed,
        progress: &progress.clone(),
    };
    let question = format!(
        "seed {}, α = {}, {units} units, {chains} chains, {steps} steps, {} updates",
        common.seed, options.step_size, options.updates
    );
    let row = |&sampler: &Sampler| {
        let row = kept.answer(&format!("{sampler:?}"), &question, || case.run(sampler))?;
        let (paper_training_log_likelihood, paper_test_rmse) = sampler.paper();
        Ok(Named { sampler, paper_training_log_likelihood, paper_test_rmse, row })
    };
    let rows: Vec<Named> = samplers.iter().map(row).collect::<Result<_, Failure>>()?;
    drop(progress);

    let table = table(&rows, chains, steps, units);
    plot::save(&out.join("bnn.svg"), &panels(&rows, test.variance().sqrt()))?;
    report::write(&out.join("bnn.md"), table.as_bytes())?;
    let report = Report {
        example: "bnn",
        seed: common.seed,
        chains,
        steps,
        units,
        weights: Evaluator::layout(&testing).sites(),
        step_size: options.step_size,
        training_rows: train.targets.len(),
        test_rows: test.targets.len(),
        test_rmse_of_a_constant: test.variance().sqrt(),
        rows,
    };
    report::json(&out.join("bnn.json"), &report)?;
    let clock = [("seconds", clock.elapsed().as_secs_f64())];
    report::json(&out.join("bnn.timing.json"), &std::collections::BTreeMap::from(clock))?;
    common.say(&format!("{table}\nResults: {}", out.display()));
    Ok(())
}

impl Case<'_> {
    fn run(&self, sampler: Sampler) -> Result<Row, Failure> {
        let whole = SigmoidNetwork::new(self.training, self.standard, self.units);
        let langevin = |adjusted| {
            let new = if adjusted { Langevin::adjusted } else { Langevin::unadjusted };
            new(self.step_size).map_err(Failure::model)
        };
        match (sampler, sampler.batch()) {
            (Sampler::Gibbs, _) => self.gibbs(&whole),
            (Sampler::Gwg, _) => {
                self.told(&whole, &whole, &GibbsWithGradients::new(1).map_err(Failure::model)?)
            }
            (_, Some(rows)) => {
                let parts = SigmoidNetwork::new(self.training, self.standard, self.units);
                self.told(&parts.in_batches(rows, !self.seed), &whole, &langevin(false)?)
            }
            _ => self.told(&whole, &whole, &langevin(sampler == Sampler::Dmala)?),
        }
    }

    /// Random weights, and the generators that go on.
    fn starts(&self) -> Result<(BitRows, Vec<LaneRng>), Failure> {
        let layout = Evaluator::layout(self.testing);
        let mut rngs: Vec<LaneRng> = streams(self.seed).take(self.chains as usize).collect();
        let mut states = BitRows::new(layout);
        for rng in &mut rngs {
            let mut words = vec![0; layout.words()];
            bernoulli(layout, 0.5, rng, &mut words);
            states.push(Packed::new(layout, &words).map_err(Failure::model)?);
        }
        Ok((states, rngs))
    }

    fn told(
        &self,
        network: &SigmoidNetwork,
        whole: &SigmoidNetwork,
        kernel: &(impl Ask + Sync),
    ) -> Result<Row, Failure> {
        let (states, rngs) = self.starts()?;
        let mut chains = Chains::new(network, &states, rngs)?;
        let (mut series, mut done) = (Vec::new(), 0);
        for checkpoint in std::iter::once(0).chain(checkpoints(self.steps)) {
            while done < checkpoint {
                network.next_batch();
                chains.step(kernel)?;
                self.progress.advance(1);
                done += 1;
            }
            series.push(self.point(checkpoint, whole, &chains.states()));
        }
        Ok(row(series, &chains.acceptance))
    }

    fn gibbs(&self, whole: &SigmoidNetwork) -> Result<Row, Failure> {
        let (states, mut rngs) = self.starts()?;
        let kernel = Gibbs::random(self.updates).map_err(Failure::model)?;
        let layout = states.layout();
        let open = |row| VecChain::new(whole, memory(whole), Packed::new(layout, row).expect("a state"));
        let mut chains = states.rows().map(open).collect::<Result<Vec<_>, _>>().map_err(Failure::model)?;
        let (mut series, mut done, mut total) = (Vec::new(), 0, Acceptance::new());
        for checkpoint in std::iter::once(0).chain(checkpoints(self.steps)) {
            let seen: Vec<Acceptance> = chains
                .par_iter_mut()
                .zip(&mut rngs)
                .map(|(chain, rng)| {
                    let mut seen = Acceptance::new();
                    chain.run(&kernel, rng, checkpoint - done, &mut seen);
                    seen
                })
                .collect();
            total = seen.into_iter().fold(total, add);
            self.progress.advance(checkpoint - done);
            done = checkpoint;
            let mut states = BitRows::new(layout);
            chains.iter().for_each(|chain| states.push(chain.state()));
            series.push(self.point(checkpoint, whole, &states));
        }
        Ok(row(series, &total))
    }

    fn point(&self, step: u64, whole: &SigmoidNetwork, states: &BitRows) -> Point {
        let rows: Vec<_> = states.rows().collect();
        let of = |row: &&[u32]| {
            let x = Packed::new(states.layout(), row).expect("a state");
            (-whole.error(&whole.outputs(x)), self.testing.outputs(x))
        };
        let (errors, outputs): (Vec<f64>, Vec<Vec<f32>>) = rows.par_iter().map(of).unzip();
        let rmse: Vec<f64> = outputs.iter().map(|outputs| self.testing.error(outputs).sqrt()).collect();
        let together = |row: usize| outputs.iter().map(|outputs| outputs[row]).sum::<f32>() / rows.len() as f32;
        let together: Vec<f32> = (0..outputs[0].len()).map(together).collect();
        Point {
            step,
            training_log_likelihood: mean(&errors),
            standard_error: standard_error(&errors),
            test_rmse: mean(&rmse),
            test_rmse_of_the_mean: self.testing.error(&together).sqrt(),
        }
    }
}

fn row(series: Vec<Point>, total: &Acceptance) -> Row {
    let (acceptance, flips_per_step) = (total.rate().into(), total.jump_distance().into());
    Row { acceptance, flips_per_step, faults: total.faults, series }
}

fn table(rows: &[Named], chains: u32, steps: u64, units: u16) -> String {
    let mut text = format!(
        "{chains} chains of {steps} steps, {units} hidden units\n\n\
         | sampler | acceptance | flips a step | training log-likelihood | paper | RMSE of the mean | paper | RMSE of one |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|\n"
    );
    for Named { sampler, paper_training_log_likelihood, paper_test_rmse, row } in rows {
        let Some(last) = row.series.last() else { continue };
        text.push_str(&format!(
            "| {} | {:.3} | {:.1} | {:.4} ± {:.4} | {paper_training_log_likelihood:.4} | {:.4} | {paper_test_rmse:.4} | {:.4} |\n",
            format!("{sampler:?}").to_lowercase(),
            row.acceptance,
            row.flips_per_step,
            last.training_log_likelihood,
            last.standard_error,
            last.test_rmse_of_the_mean,
            last.test_rmse
        ));
    }
    text
}

fn panels(rows: &[Named], constant: f64) -> Vec<plot::Panel> {
    let panel = |title: &str, level, value: &dyn Fn(&Point) -> f64| plot::Panel {
        title: title.into(),
        x: "steps of each chain".into(),
        y: "value".into(),
        log_from: None,
        level,
        curves: rows
            .iter()
            .map(|row| plot::Curve {
                label: format!("{:?}", row.sampler).to_lowercase(),
                points: row.row.series.iter().map(|point| (point.step as f64, value(point))).collect(),
            })
            .collect(),
    };
    let level = Some((constant, "predicting the mean".into()));
    vec![
        panel("Minus the mean squared error in training", None, &|point| point.training_log_likelihood),
        panel("Test RMSE of the mean of all networks", level, &|point| point.test_rmse_of_the_mean),
    ]
}
