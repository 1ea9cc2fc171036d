//! ESS over (σ, α).

use super::{Chosen, Driver, Known, Room, Which};
use crate::cli::Failure;
use crate::harness::{Cell, Plan, Sampler, Target, compare};
use crate::heat;
use crate::progress::Progress;
use bitmc::{Energy, Langevin};
use std::path::Path;

/// A grid of step sizes and balances.
#[derive(Clone, Copy, Debug)]
pub struct Scan<'s> {
    /// The target's name.
    pub name: &'s str,
    /// Step sizes, ascending.
    pub step_sizes: &'s [f32],
    /// Balances, ascending.
    pub balances: &'s [f32],
    /// Chains and steps of each point.
    pub plan: Plan,
    /// Whether points of an earlier run are kept.
    pub resume: bool,
}

/// AB-trace at every point of the grid, from where the driver's chain ended: effective samples for 10⁴ queries, the
/// mean over the chains of the median over the sites, with the adapted point marked.
///
/// # Errors
/// As [`compare`] and [`Driver::second_order`].
pub fn scan<E: Energy + Sync>(
    energy: &E,
    w: Known<'_>,
    driver: Driver,
    grid: Scan<'_>,
    out: &Path,
    progress: &Progress,
) -> Result<(heat::Panel, Vec<Cell>, Chosen), Failure> {
    let mut room = Room::default();
    let (kernel, chosen) = driver.second_order(energy, w, Which::Trace, &mut room, progress)?;
    let mut samplers = Vec::new();
    for &balance in grid.balances {
        for &step_size in grid.step_sizes {
            let point = Langevin::second_order(*kernel.noise(), step_size, balance).map_err(Failure::option)?;
            samplers.push(Sampler::kernel(format!("σ={step_size} α={balance}"), "", point));
        }
    }
    let end = chosen.end.clone();
    let target = [Target::new(format!("scan {}", grid.name), energy).starting(move |_, _| end.clone())];
    let cells = compare(grid.plan, &target, &samplers, out, grid.resume, progress)?;
    let value = |cell: &Cell| {
        let alone = &cell.numbers.ess_of_chains_per_10000_queries;
        alone.iter().sum::<f64>() / alone.len().max(1) as f64
    };
    let rows = cells.chunks(grid.step_sizes.len()).map(|row| row.iter().map(value).collect());
    let panel = heat::Panel {
        title: format!("{}, AB-trace", grid.name),
        x: "σ".into(),
        y: "α".into(),
        columns: grid.step_sizes.iter().map(|&size| f64::from(size)).collect(),
        rows: grid.balances.iter().map(|&balance| f64::from(balance)).collect(),
        values: rows.collect(),
        mark: (f64::from(chosen.step_size), f64::from(chosen.balance)),
    };
    Ok((panel, cells, chosen))
}
