//! Twenty-five modes in the plane, far apart: which samplers find them, beside the exact distribution.
//!
//! `cargo run --release --example multimodal` runs every sampler on two targets, from uniform starts and from one
//! corner mode, and compares all its states with the distribution summed over all 202,500 states. Each run is a cell of its own:
//! `--resume` goes on where it was stopped.

use bitmc::{LaneRng, Modes, SeedableRng};
use bitmc_examples::cells::Cells;
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::plane::{Density, Distance, Panel, Sampler, Shape, Tally, draw, drive, samplers, start};
use bitmc_examples::progress::Progress;
use bitmc_examples::{picture, report};
use clap::Parser;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

/// Which samplers find all modes of a plane
#[derive(Parser, Debug)]
#[command(name = "multimodal", version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// Independent chains of each run [default: 64, with --quick 32]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    chains: Option<u32>,

    /// Steps of each chain [default: 6000, with --quick 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    steps: Option<u64>,

    /// Step size of the first sampler, DMALA
    #[arg(long, value_name = "ALPHA", default_value_t = 53.0)]
    step_size: f32,

    /// Go on with the cells that an earlier run with the same options has saved
    #[arg(long)]
    resume: bool,
}

/// Values of a site.
const SIDE: usize = 450;

/// Where chains start: a row of the picture each.
const STARTS: [&str; 2] = ["uniform", "corner"];

/// A sampler's name as it fits over a picture.
fn short(name: &str) -> &str {
    match name {
        "DMALA, one bold step" => "bold",
        "AB, first order" => "AB1",
        "AB, second order" => "AB2",
        "random walk" => "walk",
        other => other,
    }
}

/// A mode is seen within this distance of its mean: three standard deviations of the normal modes.
const RADIUS: f32 = 30.0;

/// A target: its name, its formula in f64, the kernel's energy.
fn targets() -> Result<Vec<(&'static str, Shape, Modes<'static>)>, Failure> {
    const MEANS: &[[f32; 2]] = &Modes::FIVE_BY_FIVE;
    let normal = Modes::normal(MEANS, SIDE, 100.0).map_err(Failure::option)?;
    let pointed = Modes::exponential(MEANS, SIDE, 3.75, 1e-10).map_err(Failure::option)?;
    Ok(vec![
        ("normal", Shape::Normal(100.0), normal),
        ("exponential", Shape::Exponential(3.75, f64::from(1e-10f32)), pointed),
    ])
}

/// One row of the table.
#[derive(Serialize)]
struct Row {
    target: &'static str,
    sampler: String,
    parameters: String,
    start: &'static str,
    modes_per_chain: f64,
    least_modes: u32,
    most_modes: u32,
    acceptance: f64,
    #[serde(flatten)]
    distance: Distance,
    /// Of as many independent draws from the distribution.
    floor: Distance,
}

/// Everything that `multimodal.json` says.
#[derive(Serialize)]
struct Report {
    example: &'static str,
    seed: u64,
    chains: usize,
    steps: u64,
    mode_radius_sites: f32,
    rows: Vec<Row>,
}

fn main() -> ExitCode {
    cli::main(|options: Options| {
        let samplers = samplers(options.step_size);
        let samplers = samplers.map_err(|error| Failure::Option(format!("--step-size: {error}")))?;
        let out = options.common.folder("multimodal");
        report::make_folder(&out)?;
        let (report, picture) = options.common.pool()?.install(|| run(&options, &samplers, &out))?;
        let table = table(&report.rows);
        picture::save(&out.join("multimodal.png"), &draw(&picture, 2))?;
        report::write(&out.join("multimodal.md"), table.as_bytes())?;
        report::json(&out.join("multimodal.json"), &report)?;
        options.common.say(&format!("{table}\npictures and numbers are in {}", out.display()));
        Ok(())
    })
}

fn run(options: &Options, samplers: &[Sampler], out: &Path) -> Result<(Report, Vec<Vec<Panel>>), Failure> {
    let kept = Cells::new(out, options.resume)?;
    let (common, seed) = (&options.common, options.common.seed);
    let chains = options.chains.unwrap_or(if common.quick { 32 } else { 64 }) as usize;
    let steps = options.steps.unwrap_or(if common.quick { 1000 } else { 6000 });
    let targets = targets()?;
    let runs = (targets.len() * samplers.len() * 2 * chains) as u64;
    let progress = Progress::new(common.quiet, runs.saturating_mul(steps));
    let (mut rows, mut panels) = (Vec::new(), Vec::new());
    for (target, shape, model) in &targets {
        let density = Density::new(&Modes::FIVE_BY_FIVE, SIDE, *shape);
        // Another generator than any chain's.
        let mut rng = LaneRng::seed_from_u64(!seed);
        let floor = density.distance(&density.draw(chains as u64 * steps, &mut rng));
        let exact = || Panel { title: (*target).into(), cells: density.cells().to_vec(), side: SIDE };
        let mut lines = STARTS.map(|_| vec![exact()]);
        for sampler in samplers {
            for (place, line) in STARTS.into_iter().zip(&mut lines) {
                progress.note(format!("{target}, {}, {place}", sampler.name));
                let from = |rng: &mut LaneRng| start(place, SIDE, rng);
                let (modes, work) = ((model, &Modes::FIVE_BY_FIVE[..]), (seed, chains, steps));
                let name = format!("{target} {} {} {place}", sampler.name, sampler.parameters);
                let found = kept.answer(&name, &format!("{work:?}"), || {
                    drive(sampler, modes, work, RADIUS, from, &progress).map_err(Failure::option)
                });
                let Tally { histogram, modes, acceptance } = found?;
                rows.push(Row {
                    target,
                    sampler: sampler.name.clone(),
                    parameters: sampler.parameters.clone(),
                    start: place,
                    modes_per_chain: modes.iter().map(|&n| f64::from(n)).sum::<f64>() / chains as f64,
                    least_modes: modes.iter().copied().min().unwrap_or(0),
                    most_modes: modes.iter().copied().max().unwrap_or(0),
                    acceptance: f64::from(acceptance.rate()),
                    distance: density.distance(&histogram),
                    floor,
                });
                let title = format!("{}, {place}", short(&sampler.name));
                line.push(Panel { title, cells: histogram.shares(), side: SIDE });
            }
        }
        panels.extend(lines);
    }
    let report = Report { example: "multimodal", seed, chains, steps, mode_radius_sites: RADIUS, rows };
    Ok((report, panels))
}

fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| target | sampler | start | modes a chain | acceptance | TV | TV of exact draws | KL | KL of exact draws |\n\
         |---|---|---|---:|---:|---:|---:|---:|---:|\n",
    );
    for row in rows {
        let (far, floor) = (row.distance, row.floor);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {}, {} | {} | {:.1} ({} to {}) | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} |",
            row.target,
            row.sampler,
            row.parameters,
            row.start,
            row.modes_per_chain,
            row.least_modes,
            row.most_modes,
            row.acceptance,
            far.total_variation,
            floor.total_variation,
            far.kl_nats,
            floor.kl_nats
        );
    }
    text
}
