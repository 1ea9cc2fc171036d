//! Seven densities in the plane, learned as energies over Gray-coded bits by every form of ratio matching.
//!
//! `cargo run --release --example learn_density` learns a network by Eq. 2 and Eq. 3 of RMwGGIS, by RMwGGIS on Eq. 2,
//! RMwRAND, and the paper's basic and advanced forms with 5 to 100 draws. Every network is a cell of its own:
//! `--resume` goes on where a run was stopped.

use bitmc_desktop::learn::{Objective, Plan};
use bitmc_examples::cells::Cells;
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::plane;
use bitmc_examples::progress::Progress;
use bitmc_examples::teach;
use bitmc_examples::toy::{Cell, Distances, Look, Shape, Subject};
use bitmc_examples::{picture, plot, report};
use clap::Parser;
use rayon::prelude::*;
use serde::Serialize;
use std::fmt::Write;
use std::process::ExitCode;

/// Learn densities in the plane by every form of ratio matching
#[derive(Parser, Debug)]
#[command(name = "learn_density", version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// Densities with 32 bits [default: all, with --quick 8gaussians]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAMES")]
    density: Vec<Shape>,

    /// Draws of the forms that draw [default: 5,10,50,100, with --quick 10]
    #[arg(long, value_delimiter = ',', value_name = "NUMBERS", value_parser = cli::draws)]
    draws: Vec<usize>,

    /// Changes of the parameters [default: 4000, with --quick 250]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    iterations: Option<u64>,

    /// Changes of the parameters for 2spirals with 256 bits; 0 leaves that out [default: 200, with --quick 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=10_000_000))]
    large: Option<u64>,

    /// Units of each of three hidden layers [default: 64, with --quick 32]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    hidden: Option<u16>,

    /// Samples of one change
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    batch: u32,

    /// Adam's learning rate; it falls to a tenth
    #[arg(long, value_name = "RATE", default_value_t = 0.01, value_parser = cli::rate())]
    rate: f32,

    /// Go on with the cells that an earlier run with the same options has saved
    #[arg(long)]
    resume: bool,
}

/// A network's row of `learn_density.json`.
#[derive(Serialize)]
struct Row<'c> {
    density: &'static str,
    bits: usize,
    objective: &'c str,
    energies_per_sample: f64,
    distribution: Distances,
    fourfold_energy: Distances,
    log_loss: Vec<(u64, f64)>,
}

/// What samples of a density itself have.
#[derive(Serialize)]
struct Own {
    density: &'static str,
    bits: usize,
    own: Distances,
}

/// Everything that `learn_density.json` says.
#[derive(Serialize)]
struct Report<'c> {
    example: &'static str,
    hidden: [usize; 3],
    plan: Plan,
    iterations_with_256_bits: u64,
    look: Look,
    densities: Vec<Own>,
    rows: Vec<Row<'c>>,
}

/// A row of `learn_density.timing.json`.
#[derive(Serialize)]
struct Timing<'c> {
    density: &'static str,
    bits: usize,
    objective: &'c str,
    milliseconds_per_iteration: f64,
}

/// Samples held out.
const HELD_OUT: usize = 4000;

fn main() -> ExitCode {
    cli::main(|options: Options| options.common.pool()?.install(|| run(&options)))
}

/// Every form, the consistent ones first.
fn objectives(draws: &[usize]) -> Vec<Objective> {
    let each = |form: fn(usize) -> Objective| draws.iter().map(move |&draws| form(draws));
    let consistent = std::iter::once(Objective::RatioMatching).chain(each(Objective::Guided));
    let others = each(Objective::Uniform).chain(each(Objective::Basic)).chain(each(Objective::Advanced));
    consistent.chain([Objective::Equation3]).chain(others).collect()
}

fn run(options: &Options) -> Result<(), Failure> {
    let common = &options.common;
    let (seed, quick) = (common.seed, common.quick);
    let plan = Plan {
        seed,
        iterations: options.iterations.unwrap_or(if quick { 250 } else { 4000 }),
        batch: options.batch,
        rate: options.rate,
        ..teach::NETWORK
    };
    let large = options.large.unwrap_or(if quick { 0 } else { 200 });
    let hidden = [usize::from(options.hidden.unwrap_or(if quick { 32 } else { 64 })); 3];
    let (chains, sweeps, grid) = if quick { (500, 20, 64) } else { (2000, 50, 128) };
    let look = Look { chains, sweeps, grid };
    let given = !options.density.is_empty();
    let shapes: &[Shape] = match (given, quick) {
        (true, _) => &options.density,
        (false, true) => &[Shape::EightGaussians],
        (false, false) => &Shape::ALL,
    };
    let draws: &[usize] = match (options.draws.is_empty(), quick) {
        (false, _) => &options.draws,
        (true, true) => &[10],
        (true, false) => &[5, 10, 50, 100],
    };
    let objectives = objectives(draws);
    let mut subjects: Vec<(Subject, Plan, Look)> =
        shapes.iter().map(|&shape| (Subject::new(shape, 32, HELD_OUT, look, !seed), plan, look)).collect();
    if large > 0 {
        // Gibbs is too slow there, as in the paper.
        let look = Look { chains: 0, ..look };
        let plan = Plan { iterations: large, ..plan };
        subjects.push((Subject::new(Shape::TwoSpirals, 256, HELD_OUT, look, !seed), plan, look));
    }
    let out = common.folder("learn_density");
    let kept = Cells::new(&out, options.resume)?;

    let work: u64 = subjects.iter().map(|(_, plan, _)| plan.iterations).sum();
    let progress = Progress::new(common.quiet, work * objectives.len() as u64);
    let tasks: Vec<_> =
        subjects.iter().flat_map(|task| objectives.iter().map(move |form| (task, form))).collect();
    let cells = tasks.par_iter().map(|((subject, plan, look), form)| {
        let name = format!("{}, {} bits, {}", subject.shape.name(), subject.bits(), form);
        let mut made = 0;
        let cell = kept.answer(&name, &format!("{hidden:?}, {plan:?}, {look:?}, {HELD_OUT}"), || {
            made = plan.iterations;
            subject.learn(**form, &hidden, (*plan, *look), |work| progress.advance(work))
        });
        progress.advance(plan.iterations - made);
        cell
    });
    let cells: Vec<Cell> = cells.collect::<Result<_, Failure>>()?;
    drop(progress);

    let of = |index: usize| &subjects[index / objectives.len()];
    let rows = cells.iter().enumerate().map(|(index, cell)| {
        let (subject, plan, _) = of(index);
        Row {
            density: subject.shape.name(),
            bits: subject.bits(),
            objective: &cell.objective,
            energies_per_sample: cell.lesson.evaluations as f64
                / (plan.iterations as f64 * f64::from(plan.batch)),
            distribution: cell.distribution,
            fourfold_energy: cell.fourfold,
            log_loss: cell.lesson.losses.clone(),
        }
    });
    let own = |(subject, ..): &(Subject, Plan, Look)| Own {
        density: subject.shape.name(),
        bits: subject.bits(),
        own: subject.own,
    };
    let result = Report {
        example: "learn_density",
        hidden,
        plan,
        iterations_with_256_bits: large,
        look,
        densities: subjects.iter().map(own).collect(),
        rows: rows.collect(),
    };
    report::json(&out.join("learn_density.json"), &result)?;
    let timing = cells.iter().enumerate().map(|(index, cell)| {
        let (subject, plan, _) = of(index);
        let milliseconds_per_iteration = 1e3 * cell.lesson.seconds / plan.iterations as f64;
        Timing {
            density: subject.shape.name(),
            bits: subject.bits(),
            objective: &cell.objective,
            milliseconds_per_iteration,
        }
    });
    let timing: Vec<Timing<'_>> = timing.collect();
    report::json(&out.join("learn_density.timing.json"), &timing)?;
    let table = table(&result);
    report::write(&out.join("learn_density.md"), table.as_bytes())?;
    plot::save(&out.join("learn_density.svg"), &panels(&result))?;
    let pictures: Vec<Vec<plane::Panel>> = subjects
        .iter()
        .zip(cells.chunks(objectives.len()))
        .map(|((subject, ..), cells)| {
            let data = shown(subject.shape.name(), &subject.picture(look.grid), look.grid);
            let learned = cells.iter().map(|cell| shown(&cell.objective, &cell.picture, look.grid));
            std::iter::once(data).chain(learned).collect()
        })
        .collect();
    picture::save(&out.join("learn_density.png"), &plane::draw(&pictures, 1))?;
    common.say(&format!("{table}\nResults: {}", out.display()));
    Ok(())
}

/// A picture of ink, enlarged so that its title fits: low energies are dark.
fn shown(title: &str, inks: &[u8], grid: usize) -> plane::Panel {
    let times = 256 / grid;
    let side = times * grid;
    let ink = |place: usize| {
        let paleness = inks[place / side / times * grid + place % side / times];
        // The panel shows square roots.
        (1.0 - f64::from(paleness) / 255.0).powi(2)
    };
    plane::Panel { title: title.replace(" draws", ""), cells: (0..side * side).map(ink).collect(), side }
}

fn table(report: &Report<'_>) -> String {
    let mut text = format!(
        "Networks of three layers of {}, {} iterations of {} samples ({} with 256 bits)\n\n\
         | density | objective | energies a sample | MMD² · 10³ | linear MMD² · 10³ | TV of samples | TV of e^(−E) | MMD² · 10³ of 4E | linear MMD² · 10³ of 4E | TV of samples of 4E | TV of e^(−4E) |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
        report.hidden[0], report.plan.iterations, report.plan.batch, report.iterations_with_256_bits
    );
    let number = |value: Option<f64>, scale: f64, digits| {
        value.map_or("–".into(), |value| format!("{:.digits$}", scale * value))
    };
    let three = |distribution: &Distances| {
        [
            number(distribution.mmd2, 1e3, 2),
            number(distribution.linear_mmd2, 1e3, 2),
            number(distribution.of_samples, 1.0, 3),
            number(distribution.of_energy, 1.0, 3),
        ]
        .join(" | ")
    };
    for own in &report.densities {
        let name =
            if own.bits == 32 { own.density.into() } else { format!("{}, {} bits", own.density, own.bits) };
        let _ = writeln!(text, "| {name} | its own samples | | {} | | | | |", three(&own.own));
        for row in report.rows.iter().filter(|row| (row.density, row.bits) == (own.density, own.bits)) {
            let _ = writeln!(
                text,
                "| {name} | {} | {:.0} | {} | {} |",
                row.objective,
                row.energies_per_sample,
                three(&row.distribution),
                three(&row.fourfold_energy)
            );
        }
    }
    text
}

/// The losses of every objective on the first density, those of Eq. 2 and those of Eq. 3.
fn panels(report: &Report<'_>) -> Vec<plot::Panel> {
    let first = report.rows.first().map(|row| (row.density, row.bits));
    let second = |row: &Row<'_>| row.objective.starts_with("ratio") || row.objective.starts_with("RMwGGIS");
    [("On Eq. 2", true), ("On Eq. 3", false)]
        .map(|(title, on_second)| plot::Panel {
            title: format!("{title}, {}", first.map_or("", |(name, _)| name)),
            x: "iterations".into(),
            y: "ln J".into(),
            log_from: None,
            level: None,
            curves: report
                .rows
                .iter()
                .filter(|row| Some((row.density, row.bits)) == first && second(row) == on_second)
                .map(|row| plot::Curve {
                    label: row.objective.into(),
                    points: row.log_loss.iter().map(|&(iteration, loss)| (iteration as f64, loss)).collect(),
                })
                .collect(),
        })
        .into()
}
