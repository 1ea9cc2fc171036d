//! An energy in another process, sampled by ask and tell: here a numpy script at the other end of a pipe.
//!
//! `cargo run --release --example elsewhere` starts `energy.py` and moves sixteen chains with one request a step. It compares the
//! means with the exact ones, which it sums over all states: the script has to say the energy of each.

use bitmc::stats::{Acceptance, Means, Observer};
use bitmc::{Info, Langevin, Open, Packed};
use bitmc_examples::bits::BitRows;
use bitmc_examples::chains::{VecOpen, open_memory, streams};
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::elsewhere::{Answer, Process};
use bitmc_examples::harness::{mean, standard_error};
use bitmc_examples::progress::Progress;
use bitmc_examples::{plot, report};
use clap::Parser;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

/// An energy in another process: a numpy script, asked over a pipe
#[derive(Parser, Debug)]
#[command(name = "elsewhere", version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// The program that evaluates energies, and its words, apart by spaces [default: python3 and energy.py of this example]
    #[arg(long, value_name = "COMMAND")]
    command: Option<String>,

    /// Steps of each chain [default: 5000, with --quick 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=100_000_000))]
    steps: Option<u32>,

    /// Step size of DMALA, on the {0,1} scale
    #[arg(long, value_name = "ALPHA", default_value_t = 0.5)]
    step_size: f32,
}

/// Chains.
const CHAINS: usize = 16;
/// The most sites of which all states are summed.
const ENUMERATED: usize = 20;
/// Standard errors that a mean may be off: Student's t with fifteen degrees of freedom, one false alarm in a million.
const TOLERANCE: f64 = 7.7;

/// A site of `elsewhere.json`.
#[derive(Serialize)]
struct Site {
    mean: f64,
    standard_error: f64,
    exact: Option<f64>,
}

/// Everything that `elsewhere.json` says.
#[derive(Serialize)]
struct Report {
    example: &'static str,
    seed: u64,
    chains: usize,
    steps: u32,
    step_size: f32,
    acceptance: f64,
    faults: u64,
    sites: Vec<Site>,
    /// The largest difference to an exact mean, in standard errors.
    largest_difference: Option<f64>,
}

fn main() -> ExitCode {
    cli::main(|options: Options| run(&options))
}

fn run(options: &Options) -> Result<(), Failure> {
    let common = &options.common;
    common.pool()?; // One thread does all the work; a number that is none is refused.
    let steps = options.steps.unwrap_or(if common.quick { 1000 } else { 5000 });
    let kernel = Langevin::adjusted(options.step_size);
    let kernel = kernel.map_err(|error| Failure::Option(format!("--step-size: {error}")))?;
    let script = || format!("{}/elsewhere/energy.py", env!("CARGO_MANIFEST_DIR"));
    let words = match &options.command {
        Some(command) => command.split_whitespace().map(str::to_string).collect(),
        None => vec!["python3".to_string(), script()],
    };
    let Some((program, words)) = words.split_first() else {
        return Err(Failure::Option("--command: a program expected, found nothing".into()));
    };
    let failed = |reason: String| Failure::file(Path::new(program), reason);
    let mut process = Process::start(program, words).map_err(failed)?;
    let layout = process.layout();
    let exact = exact_means(&mut process).map_err(failed)?;

    let mut rngs: Vec<_> = streams(common.seed).take(CHAINS).collect();
    let mut starts = BitRows::new(layout);
    for rng in &mut rngs {
        let mut words = vec![0; layout.words()];
        bitmc::random::bernoulli(layout, 0.5, rng, &mut words);
        starts.push(Packed::new(layout, &words).map_err(Failure::option)?);
    }
    let of = |row| Packed::new(layout, row).expect("a row of bits");
    let mut answer = Answer::default();
    process.evaluate(starts.rows().map(of), &mut answer).map_err(failed)?;
    let told = answer.energies.iter().zip(answer.gradients.chunks(layout.sites()));
    let chain =
        |(row, (&energy, gradient))| Open::new(layout, None, open_memory(layout), of(row), energy, gradient);
    let chains: Result<Vec<VecOpen<'_>>, _> = starts.rows().zip(told).map(chain).collect();
    let mut chains = chains.map_err(|error| failed(format!("a start is refused: {error}")))?;

    let progress = Progress::new(common.quiet, u64::from(steps));
    let mut means: Vec<_> = (0..CHAINS).map(|_| Means::new(vec![0; layout.sites()])).collect();
    let (mut acceptance, mut infos) = (Acceptance::new(), [Info::default(); CHAINS]);
    for step in 0..steps {
        Open::ask_each(&mut chains, &kernel, &[], &mut rngs).map_err(Failure::option)?;
        let proposals: Vec<_> = chains.iter().filter_map(Open::asked).collect();
        process.evaluate(proposals.into_iter(), &mut answer).map_err(failed)?;
        let told = Open::tell_each(&mut chains, &answer.energies, &answer.gradients, &mut infos);
        told.map_err(Failure::option)?;
        // The first tenth is warm-up.
        if step >= steps / 10 {
            for ((chain, info), means) in chains.iter().zip(&infos).zip(&mut means) {
                (&mut acceptance, means).observe(chain.state(), chain.energy(), info);
            }
        }
        progress.advance(1);
    }
    drop(progress);

    let site = |site: usize| {
        let drawn: Vec<f64> = means.iter().filter_map(|means| means.mean(site)).map(f64::from).collect();
        let exact = exact.as_ref().map(|exact| exact[site]);
        Site { mean: mean(&drawn), standard_error: standard_error(&drawn), exact }
    };
    let sites: Vec<Site> = (0..layout.sites()).map(site).collect();
    let differences =
        sites.iter().filter_map(|site| Some((site.mean - site.exact?).abs() / site.standard_error));
    let largest_difference = differences.reduce(f64::max);
    let found = Report {
        example: "elsewhere",
        seed: common.seed,
        chains: CHAINS,
        steps,
        step_size: options.step_size,
        acceptance: f64::from(acceptance.rate()),
        faults: acceptance.faults,
        sites,
        largest_difference,
    };
    write(common, &found, &chains)?;
    match largest_difference {
        Some(difference) if difference > TOLERANCE => {
            Err(failed(format!("the means differ from the exact ones by {difference:.1} standard errors")))
        }
        _ => Ok(()),
    }
}

/// The mean of every site, from the energies of all states; `None` where they are too many.
fn exact_means(process: &mut Process) -> Result<Option<Vec<f64>>, String> {
    let layout = process.layout();
    if layout.sites() > ENUMERATED {
        return Ok(None);
    }
    let words: Vec<[u32; 1]> = (0..1 << layout.sites()).map(|bits| [bits]).collect();
    let of = |word| Packed::new(layout, word).expect("bits of the sites");
    let (mut answer, mut energies) = (Answer::default(), Vec::with_capacity(words.len()));
    for some in words.chunks(4096) {
        process.evaluate(some.iter().map(|word| of(word)), &mut answer)?;
        energies.extend_from_slice(&answer.energies);
    }
    let least = energies.iter().copied().fold(f32::INFINITY, f32::min);
    let (mut all, mut ones) = (0.0, vec![0.0; layout.sites()]);
    for (x, energy) in words.iter().map(|word| of(word)).zip(energies) {
        let weight = (f64::from(least) - f64::from(energy)).exp();
        all += weight;
        ones.iter_mut().zip(x.values()).for_each(|(sum, value)| *sum += weight * f64::from(value));
    }
    ones.iter_mut().for_each(|sum| *sum /= all);
    Ok(Some(ones))
}

fn write(common: &Common, found: &Report, chains: &[VecOpen<'_>]) -> Result<(), Failure> {
    let out = common.folder("elsewhere");
    report::make_folder(&out)?;
    let mut states = BitRows::new(chains[0].state().layout());
    chains.iter().for_each(|chain| states.push(chain.state()));
    states.write(&out.join("elsewhere.bits"))?;
    report::json(&out.join("elsewhere.json"), found)?;
    let curve = |label: &str, of: &dyn Fn(&Site) -> Option<f64>| plot::Curve {
        label: label.into(),
        points: found.sites.iter().zip(0..).filter_map(|(site, i)| Some((f64::from(i), of(site)?))).collect(),
    };
    let panel = plot::Panel {
        title: "Means by ask and tell".into(),
        x: "site".into(),
        y: "share of ones".into(),
        log_from: None,
        level: None,
        curves: vec![curve("exact", &|site| site.exact), curve("drawn", &|site| Some(site.mean))],
    };
    plot::save(&out.join("elsewhere.svg"), &[panel])?;
    let mut text = format!(
        "{} chains, {} steps, one request a step: acceptance {:.3}, {} faults\n\n| site | drawn | standard error | exact |\n|---:|---:|---:|---:|\n",
        found.chains, found.steps, found.acceptance, found.faults
    );
    for (index, site) in found.sites.iter().enumerate() {
        let exact = site.exact.map_or("unknown".into(), |exact| format!("{exact:.4}"));
        let _ = writeln!(text, "| {index} | {:.4} | {:.4} | {exact} |", site.mean, site.standard_error);
    }
    if let Some(difference) = found.largest_difference {
        let _ = writeln!(text, "\nThe largest difference is {difference:.1} standard errors.");
    }
    report::write(&out.join("elsewhere.md"), text.as_bytes())?;
    common.say(&format!("{text}\nThe same numbers are in {}.", out.display()));
    Ok(())
}
