//! The table of a comparison: every target with every sampler, each cell saved as it ends.

use super::cell::{Cell, Clock, Numbers, Plan};
use super::differ;
use super::measure::measure;
use super::{Sampler, Target};
use crate::cells;
use crate::cli::Failure;
use crate::progress::Progress;
use crate::report;
use bitmc::Energy;
use bitmc_desktop::diagnose::{mean, standard_error};
use std::cmp::Ordering;
use std::path::{Path, PathBuf};

/// Runs every sampler on every target, targets first. Each cell is written to the folder `cells` in `out` as
/// it ends: `TARGET.SAMPLER.HASH.json`, the hash of its question, and `….timing.json` for what depends on the clock. With
/// `resume`, cells found there that answer the same question (plan, names and parameters) are not made again.
///
/// # Errors
/// [`Failure::File`] where a cell cannot be written, or one that is kept was altered; [`Failure::Option`] where a chain cannot start.
pub fn compare<E: Energy + Sync + ?Sized>(
    plan: Plan,
    targets: &[Target<'_, E>],
    samplers: &[Sampler<'_, E>],
    out: &Path,
    resume: bool,
    progress: &Progress,
) -> Result<Vec<Cell>, Failure> {
    let folder = out.join("cells");
    report::make_folder(&folder)?;
    let mut cells = Vec::new();
    for target in targets {
        for sampler in samplers {
            let question = format!(
                "bitmc {}: {plan:?}, {}, {}, {}",
                env!("CARGO_PKG_VERSION"),
                target.name,
                sampler.name,
                sampler.parameters
            );
            let (numbers, clock) = files(&folder, &target.name, &sampler.name, &question);
            let kept = if resume { find(&numbers, &clock, &question)? } else { None };
            let cell = match kept {
                Some(cell) => {
                    progress.advance(work(plan));
                    cell
                }
                None => {
                    progress.note(format!("{} on {}", sampler.name, target.name));
                    let cell = measure(target, sampler, plan, progress)?;
                    // The numbers come last: a cell is there when they are.
                    cells::write(&clock, &question, &cell.clock)?;
                    cells::write(&numbers, &question, &cell.numbers)?;
                    cell
                }
            };
            cells.push(cell);
        }
    }
    Ok(cells)
}

/// The work of one cell, for a [`Progress`].
#[must_use]
pub fn work(plan: Plan) -> u64 {
    u64::from(plan.chains) * (plan.burn_in + plan.steps)
}

/// The two files of a cell.
fn files(folder: &Path, target: &str, sampler: &str, question: &str) -> (PathBuf, PathBuf) {
    let plain = |name: &str| -> String {
        name.chars().map(|c| if c.is_alphanumeric() || "-_=.".contains(c) { c } else { '_' }).collect()
    };
    let stem = cells::file_name(&format!("{}.{}", plain(target), plain(sampler)), question);
    (folder.join(format!("{stem}.json")), folder.join(format!("{stem}.timing.json")))
}

fn find(numbers: &Path, clock: &Path, question: &str) -> Result<Option<Cell>, Failure> {
    let numbers: Option<Numbers> = cells::read(numbers, question, |_| Ok(()))?;
    let clock: Option<Clock> = cells::read(clock, question, |_| Ok(()))?;
    Ok(numbers.zip(clock).map(|(numbers, clock)| Cell { numbers, clock }))
}

/// A Markdown table of what does not depend on the clock. The error of ESS is a standard error over the chains. "Differs" tells
/// whether the ESS of a chain is more or less than that of the target's first sampler, which is the reference.
#[must_use]
pub fn table(cells: &[Cell]) -> String {
    let mut text = String::from(
        "| target | sampler | | acceptance | sites moved | queries a step | ESS / 10⁴ queries, min | median | of a chain | differs | split R̂ | log RMSE | MMD² |\n\
         |---|---|---|---:|---:|---:|---:|---:|---:|---|---:|---:|---:|\n",
    );
    for (Cell { numbers, .. }, differs) in cells.iter().zip(differing(cells)) {
        let steps = f64::from(numbers.chains) * numbers.steps as f64;
        text.push_str(&format!(
            "| {} | {} | {} | {:.3} | {:.2} | {:.2} | {} | {} | {} | {differs} | {} | {} | {} |\n",
            numbers.target,
            numbers.sampler,
            numbers.parameters,
            numbers.acceptance,
            numbers.moved_sites_per_step,
            numbers.queries.total() / steps,
            shown(numbers.ess_min_per_10000_queries, 1),
            shown(numbers.ess_median_per_10000_queries, 1),
            with_error(&numbers.ess_of_chains_per_10000_queries, 1),
            shown(numbers.split_r_hat_max, 4),
            shown(numbers.log_rmse, 2),
            shown(numbers.mmd2, 5),
        ));
    }
    text
}

/// A Markdown table of what depends on the clock. Nothing is tested: what else the machine does is no chance that chains share.
#[must_use]
pub fn timing_table(cells: &[Cell]) -> String {
    let mut text = String::from(
        "| target | sampler | µs a step | ESS a second, min | median |\n|---|---|---:|---:|---:|\n",
    );
    for Cell { clock, .. } in cells {
        text.push_str(&format!(
            "| {} | {} | {:.3} | {} | {} |\n",
            clock.target,
            clock.sampler,
            clock.microseconds_per_step,
            shown(clock.ess_min_per_second, 0),
            shown(clock.ess_median_per_second, 0),
        ));
    }
    text
}

/// How the effective samples of each cell differ from those of the first cell of its target. All comparisons of the table count.
fn differing(cells: &[Cell]) -> Vec<&'static str> {
    let first = |cell: &Cell| cells.iter().find(|other| other.numbers.target == cell.numbers.target);
    let reference = |cell: &Cell| first(cell).filter(|first| !std::ptr::eq(*first, cell));
    let comparisons = cells.iter().filter(|cell| cell.numbers.exact && reference(cell).is_some()).count();
    let alone = |cell: &Cell| cell.numbers.ess_of_chains_per_10000_queries.clone();
    let told = |cell: &Cell| match reference(cell) {
        None => "reference",
        _ if !cell.numbers.exact => "not exact",
        Some(first) => match differ(&alone(cell), &alone(first), comparisons) {
            Some(Ordering::Greater) => "more",
            Some(Ordering::Less) => "less",
            Some(Ordering::Equal) => "no",
            None => "–",
        },
    };
    cells.iter().map(told).collect()
}

/// The exact sampler of one target with the most effective samples a query, and the same for a step, each with those that the test
/// of [`differ`] does not tell from it. Any sampler might have had the most: all pairs count as comparisons.
#[must_use]
pub fn leaders(cells: &[Cell]) -> String {
    let exact: Vec<&Numbers> = cells.iter().map(|cell| &cell.numbers).filter(|numbers| numbers.exact).collect();
    let pairs = exact.len() * exact.len().saturating_sub(1) / 2;
    let line = |what: &str, queries: fn(&Numbers) -> f64| {
        let scored = |numbers: &&Numbers| -> Vec<f64> {
            numbers.ess_of_chains_per_10000_queries.iter().map(|ess| ess * queries(numbers)).collect()
        };
        let scored: Vec<Vec<f64>> = exact.iter().map(scored).collect();
        let most = (0..exact.len()).max_by(|&a, &b| mean(&scored[a]).total_cmp(&mean(&scored[b])));
        most.map_or(String::new(), |most| {
            let behind = |index: usize| differ(&scored[index], &scored[most], pairs) == Some(Ordering::Less);
            let level = (0..exact.len()).filter(|&index| index != most && !behind(index));
            let level: Vec<&str> = level.map(|index| exact[index].sampler.as_str()).collect();
            let level =
                if level.is_empty() { String::new() } else { format!("; level with it: {}", level.join(", ")) };
            format!("most effective samples a {what}: {}{level}\n", exact[most].sampler)
        })
    };
    let a_step =
        |numbers: &Numbers| numbers.queries.total() / (f64::from(numbers.chains) * numbers.steps as f64);
    line("query", |_| 1.0) + &line("step", a_step)
}

fn with_error(values: &[f64], digits: usize) -> String {
    format!("{:.digits$} ± {:.digits$}", mean(values), standard_error(values))
}

/// What is not finite is null in a file, and no number here.
fn shown(value: Option<f64>, digits: usize) -> String {
    value.filter(|value| value.is_finite()).map_or("–".into(), |value| format!("{value:.digits$}"))
}
