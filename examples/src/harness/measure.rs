//! Running the chains of one cell, and what they say.

use super::cell::{Cell, Clock, Numbers, Plan, Point};
use super::target::{Component, components};
use super::{Counted, Queries, Sampler, Target};
use crate::bits::BitRows;
use crate::chains::{add, streams};
use crate::cli::Failure;
use crate::progress::Progress;
use crate::trace::checkpoints;
use bitmc::layout::Kind;
use bitmc::stats::{Acceptance, Observer};
use bitmc::{Energy, LaneRng, Layout, Packed};
use bitmc_desktop::diagnose::{Sizes, log_rmse, mean, median, split_r_hat};
use cpu_time::ThreadTime;
use rayon::prelude::*;

/// What one chain leaves behind.
struct Trace {
    states: Vec<u32>,
    energies: Vec<f64>,
    acceptance: Acceptance,
    queries: Queries,
    seconds: f64,
}

/// Steps between two looks at the progress bar.
const STRIDE: u64 = 256;

/// Runs the chains of one cell over the cores of the present pool.
///
/// # Errors
/// [`Failure::Option`] where a chain cannot start.
pub fn measure<E: Energy + Sync + ?Sized>(
    target: &Target<'_, E>,
    sampler: &Sampler<'_, E>,
    plan: Plan,
    progress: &Progress,
) -> Result<Cell, Failure> {
    let seed = seed(plan.seed, &target.name, &sampler.name);
    let streams: Vec<LaneRng> = streams(seed).take(plan.chains as usize).collect();
    let traces: Result<Vec<Trace>, Failure> = streams
        .into_par_iter()
        .enumerate()
        .map(|(chain, rng)| walk(target, sampler, plan, chain, rng, progress))
        .collect();
    Ok(summarise(target, sampler, plan, &traces?))
}

fn walk<E: Energy + Sync + ?Sized>(
    target: &Target<'_, E>,
    sampler: &Sampler<'_, E>,
    plan: Plan,
    chain: usize,
    mut rng: LaneRng,
    progress: &Progress,
) -> Result<Trace, Failure> {
    let layout = target.energy.layout();
    let from = target.start(chain, &mut rng);
    let counted = Counted::new(target.energy);
    let refused = |error: String| Failure::option(format!("{} on {}: {error}", sampler.name, target.name));
    let from = Packed::new(layout, &from).map_err(|error| refused(error.to_string()))?;
    let mut walk = sampler.start.start(&counted, from).map_err(|error| refused(error.to_string()))?;
    let all = plan.burn_in + plan.steps;
    let mut trace = Trace {
        states: Vec::with_capacity(all as usize * layout.words()),
        energies: Vec::with_capacity(plan.steps as usize),
        acceptance: Acceptance::new(),
        queries: Queries::default(),
        seconds: 0.0,
    };
    for (first, last) in [(0, plan.burn_in), (plan.burn_in, all)] {
        trace.acceptance = Acceptance::new();
        counted.take();
        let (start, mut done) = (ThreadTime::now(), first);
        while done < last {
            let stride = STRIDE.min(last - done);
            for _ in 0..stride {
                let info = walk.step(&mut rng);
                trace.acceptance.observe(walk.state(), 0.0, &info);
                trace.states.extend_from_slice(walk.state().words());
                if first == plan.burn_in {
                    trace.energies.push(f64::from(walk.energy()));
                }
            }
            done += stride;
            progress.advance(stride);
        }
        trace.seconds = start.elapsed().as_secs_f64();
    }
    trace.queries = counted.take();
    Ok(trace)
}

fn summarise<E: Energy + Sync + ?Sized>(
    target: &Target<'_, E>,
    sampler: &Sampler<'_, E>,
    plan: Plan,
    traces: &[Trace],
) -> Cell {
    let (layout, count) = (target.energy.layout(), components(target.energy));
    let width = layout.words();
    let after = plan.burn_in as usize * width;
    let series = |index: usize| -> Vec<Vec<f64>> {
        let component = Component::new(layout, index);
        let of = |trace: &Trace| trace.states[after..].chunks_exact(width).map(|x| component.at(x)).collect();
        traces.iter().map(of).collect()
    };
    struct One {
        mean: f64,
        ess: Option<f64>,
        alone: Vec<Option<f64>>,
        r_hat: Option<f64>,
    }
    let sizes_of = Sizes::new(plan.steps as usize);
    let judged: Vec<One> = (0..count)
        .into_par_iter()
        .map(|index| {
            let chains = series(index);
            let means: Vec<f64> = chains.iter().map(|chain| mean(chain)).collect();
            let (ess, alone) = sizes_of.of(&chains);
            One { mean: mean(&means), ess, alone, r_hat: split_r_hat(&chains) }
        })
        .collect();

    let sizes: Vec<f64> = judged.iter().filter_map(|one| one.ess).collect();
    let (least, middle) = (sizes.iter().copied().reduce(f64::min), median(&sizes));
    let queries = traces.iter().fold(Queries::default(), |sum, trace| sum + trace.queries);
    let acceptance = traces.iter().fold(Acceptance::new(), |sum, trace| add(sum, trace.acceptance));
    let seconds: f64 = traces.iter().map(|trace| trace.seconds).sum();
    let energies: Vec<Vec<f64>> = traces.iter().map(|trace| trace.energies.clone()).collect();
    let per_query = |ess: Option<f64>| ess.map(|ess| ess / queries.total() * 1e4);
    let of_chains = traces.iter().enumerate().map(|(chain, trace)| {
        let alone: Vec<f64> = judged.iter().filter_map(|one| one.alone[chain]).collect();
        median(&alone).map_or(0.0, |ess| ess / trace.queries.total() * 1e4)
    });
    let all = acceptance.steps.max(1) as f64;
    let means: Vec<f64> = judged.iter().map(|one| one.mean).collect();
    let sampled = thinned(layout, traces, after);
    let numbers = Numbers {
        target: target.name.clone(),
        sampler: sampler.name.clone(),
        parameters: sampler.parameters.clone(),
        exact: sampler.exact,
        chains: plan.chains,
        burn_in: plan.burn_in,
        steps: plan.steps,
        acceptance: acceptance.accepted as f64 / all,
        proposed_sites_per_step: acceptance.proposed_flips as f64 / all,
        moved_sites_per_step: acceptance.accepted_flips as f64 / all,
        faults: acceptance.faults,
        queries,
        ess_min: least,
        ess_median: middle,
        ess_energy: sizes_of.of(&energies).0,
        constant_components: count - sizes.len(),
        ess_min_per_10000_queries: per_query(least),
        ess_median_per_10000_queries: per_query(middle),
        ess_of_chains_per_10000_queries: of_chains.collect(),
        split_r_hat_max: judged.iter().filter_map(|one| one.r_hat).reduce(f64::max),
        mean_energy: mean(&energies.iter().map(|chain| mean(chain)).collect::<Vec<f64>>()),
        log_rmse: target.exact.as_ref().map(|exact| log_rmse(&means, exact)),
        mmd2: target.reference.as_ref().and_then(|mmd| mmd.squared(&sampled)),
        series: target.exact.as_ref().map_or(Vec::new(), |exact| falling(target, traces, exact)),
    };
    let clock = Clock {
        target: target.name.clone(),
        sampler: sampler.name.clone(),
        seconds,
        microseconds_per_step: seconds / all * 1e6,
        ess_min_per_second: least.map(|ess| ess / seconds),
        ess_median_per_second: middle.map(|ess| ess / seconds),
    };
    Cell { numbers, clock }
}

/// How the error of a chain's means falls.
fn falling<E: Energy + Sync + ?Sized>(target: &Target<'_, E>, traces: &[Trace], exact: &[f64]) -> Vec<Point> {
    let layout = target.energy.layout();
    let rows = traces.first().map_or(0, |trace| trace.states.len() / layout.words());
    let looks = checkpoints(rows as u64);
    let components: Vec<Component> = (0..exact.len()).map(|index| Component::new(layout, index)).collect();
    let squares = |trace: &Trace| -> Vec<f64> {
        let (mut sums, mut squares) = (vec![0.0; exact.len()], Vec::new());
        for (words, step) in trace.states.chunks_exact(layout.words()).zip(1u64..) {
            for (component, sum) in components.iter().zip(&mut sums) {
                *sum += component.at(words);
            }
            if looks.get(squares.len()) == Some(&step) {
                let error = sums.iter().zip(exact).map(|(sum, exact)| (sum / step as f64 - exact).powi(2));
                squares.push(error.sum::<f64>() / exact.len() as f64);
            }
        }
        squares
    };
    let squares: Vec<Vec<f64>> = traces.par_iter().map(squares).collect();
    let point = |(index, &step): (usize, &u64)| {
        let all: Vec<f64> = squares.iter().map(|squares| squares[index]).collect();
        Point { step, log_rmse: 0.5 * mean(&all).ln() }
    };
    looks.iter().enumerate().map(point).collect()
}

/// Up to 1,000 states of all chains, equally far apart; none of sites that are not binary.
fn thinned(layout: Layout, traces: &[Trace], after: usize) -> BitRows {
    let mut rows = BitRows::new(layout);
    if layout.kind() != Kind::Binary {
        return rows;
    }
    let each = (1000 / traces.len().max(1)).max(1);
    for trace in traces {
        let states: Vec<&[u32]> = trace.states[after..].chunks_exact(layout.words()).collect();
        let stride = states.len().div_ceil(each).max(1);
        for words in states.iter().rev().step_by(stride) {
            rows.push(row(layout, words));
        }
    }
    rows
}

/// A seed for one cell: FNV-1a over the names, so that it does not depend on the other cells.
fn seed(seed: u64, target: &str, sampler: &str) -> u64 {
    let bytes = seed.to_le_bytes().into_iter().chain(target.bytes()).chain([0]).chain(sampler.bytes());
    bytes.fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3))
}

/// Words that a chain stood at, as a state.
fn row(layout: Layout, words: &[u32]) -> Packed<'_> {
    Packed::new(layout, words).expect("a state of the layout")
}
