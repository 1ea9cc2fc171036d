//! A channel plan that needs no coordinator: what it is worth, beside the optimum of small offices and greedy plans of large ones.
//!
//! `cargo run --release --example channels` prints the plan of 24 access points that every processor makes, with the confidence of
//! each channel. Then it makes plans of small offices, whose optimum is enumerated, and of large ones. It writes `channels.json`.

use bitmc::energy::{Factor, Factors, FactorsBuffers, Tempered};
use bitmc::{Energy, Layout, Memory};
use bitmc_chains::plan::{self, CHANNELS, Heard, OVERLAP, SEARCH, Search, TABLES, measure, search};
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::report;
use clap::Parser;
use rayon::prelude::*;
use serde::Serialize;
use std::fmt::Write;
use std::process::ExitCode;
use std::time::Instant;

/// A channel plan that needs no coordinator
#[derive(Parser, Debug)]
#[command(name = "channels", version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// Seeds of each office
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,

    /// Sweeps of annealing of a large office
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u64).range(2..=1_000_000))]
    sweeps: u64,
}

/// What the access points of an office measured.
struct Office {
    sites: usize,
    heard: Vec<Heard>,
}

impl Office {
    fn new(sites: u32, place: u32) -> Self {
        let mut heard = Vec::new();
        measure(sites, place, |one| heard.push(one));
        Self { sites: sites as usize, heard }
    }

    /// The harm of an access point on each channel, beside those that have one.
    fn harms(&self, around: &[Heard], site: usize, plan: &[Option<u32>]) -> [u32; CHANNELS] {
        let mut harms = [0; CHANNELS];
        for &heard in around {
            let (other, level) = match heard {
                Heard::Pair(a, b, level) => (plan[if a as usize == site { b } else { a } as usize], level),
                Heard::Other(_, channel, level) => (Some(channel), level),
            };
            let Some(other) = other else { continue };
            for (channel, harm) in (0..).zip(&mut harms) {
                *harm += level * overlap(channel, other);
            }
        }
        harms
    }

    /// What each access point hears.
    fn around(&self) -> Vec<Vec<Heard>> {
        let mut around = vec![Vec::new(); self.sites];
        for &heard in &self.heard {
            match heard {
                Heard::Pair(a, b, _) => {
                    around[a as usize].push(heard);
                    around[b as usize].push(heard);
                }
                Heard::Other(site, ..) => around[site as usize].push(heard),
            }
        }
        around
    }

    /// The harm of a plan.
    fn harm(&self, plan: &[u32]) -> u32 {
        let each = self.heard.iter().map(|&heard| match heard {
            Heard::Pair(a, b, level) => level * overlap(plan[a as usize], plan[b as usize]),
            Heard::Other(site, channel, level) => level * overlap(plan[site as usize], channel),
        });
        each.sum()
    }

    /// Greedy: one after the other, those that hear most first, each takes its best channel. Then, where `moves` says so, each
    /// takes a better channel until none finds one.
    fn greedy(&self, moves: bool) -> u32 {
        let around = self.around();
        let weight = |site: usize| -> u32 {
            around[site].iter().map(|&(Heard::Pair(_, _, level) | Heard::Other(_, _, level))| level).sum()
        };
        let mut order: Vec<usize> = (0..self.sites).collect();
        order.sort_by_key(|&site| (u32::MAX - weight(site), site));
        let mut plan = vec![None; self.sites];
        loop {
            let mut changed = false;
            for &site in &order {
                let harms = self.harms(&around[site], site, &plan);
                let best = (0..CHANNELS).min_by_key(|&channel| harms[channel]).unwrap_or(0);
                let here: Option<u32> = plan[site];
                if here.is_none_or(|here| harms[best] < harms[here as usize]) {
                    plan[site] = Some(best as u32);
                    changed = true;
                }
            }
            if !moves || !changed {
                return self.harm(&plan.into_iter().flatten().collect::<Vec<_>>());
            }
        }
    }

    /// The least harm of all plans, one after the other.
    fn optimum(&self) -> u32 {
        let all = (CHANNELS as u32).pow(self.sites as u32);
        let harm = |number: u32| {
            let mut rest = number;
            let mut plan = [0; 8];
            for channel in plan.iter_mut().take(self.sites) {
                (*channel, rest) = (rest % CHANNELS as u32, rest / CHANNELS as u32);
            }
            self.harm(&plan[..self.sites])
        };
        (0..all).into_par_iter().map(harm).min().unwrap_or(0)
    }

    /// The harm of the plan that annealing finds.
    fn annealed(&self, how: &Search, seed: u64) -> Result<f32, Failure> {
        let arities = vec![CHANNELS as u16; self.sites];
        let factors: Vec<Factor> = self.heard.iter().map(|heard| heard.factor()).collect();
        let (mut ends, mut members) = (vec![0; self.sites], vec![0; 2 * factors.len()]);
        let buffers = FactorsBuffers::new(&mut ends, &mut members);
        let model = Factors::new(&arities, &factors, &TABLES, buffers).map_err(Failure::model)?;
        let layout = Layout::categorical(self.sites, CHANNELS);
        let memory = Memory {
            words: vec![0; Memory::words(layout)],
            cache: vec![[0; 16]; Memory::cache(Tempered::cache_len(model.cache_len()))],
            weights: vec![[0.0; 16]; Memory::weights(layout)],
        };
        let (mut words, mut counts) = (vec![0; layout.words()], vec![0; self.sites * CHANNELS]);
        let plan = search(&model, memory, (&mut words, &mut counts), how, seed, || ());
        plan.map(|plan| plan.harm).ok_or_else(|| Failure::option("the model cannot be annealed"))
    }
}

/// In quarters.
fn overlap(a: u32, b: u32) -> u32 {
    OVERLAP.get(a.abs_diff(b) as usize).copied().unwrap_or(0)
}

/// Plans of an office.
#[derive(Debug, Serialize)]
struct Row {
    sites: usize,
    place: u32,
    measurements: usize,
    optimum: Option<u32>,
    greedy: u32,
    greedy_and_moves: u32,
    /// Of each seed.
    annealed: Vec<f32>,
}

fn row(sites: u32, place: u32, how: &Search, seeds: std::ops::Range<u64>) -> Result<Row, Failure> {
    let office = Office::new(sites, place);
    let annealed = seeds.into_par_iter().map(|seed| office.annealed(how, seed)).collect::<Result<_, _>>()?;
    Ok(Row {
        sites: office.sites,
        place,
        measurements: office.heard.len(),
        optimum: (sites <= 6).then(|| office.optimum()),
        greedy: office.greedy(false),
        greedy_and_moves: office.greedy(true),
        annealed,
    })
}

/// The plan that every processor makes.
fn everywhere() -> Result<String, Failure> {
    let show = |plan: &plan::Plan<'_>| {
        let mut text =
            format!("plan of {} access points, harm {}, hash {:08x}\n", plan::SITES, plan.harm, plan.hash);
        text += "site  channel  confidence\n";
        let state = bitmc::Packed::new(plan::LAYOUT, plan.words).expect("a state");
        for site in 0..plan::SITES {
            let channel = state.get(site);
            let share = f32::from(plan.counts[site * CHANNELS + channel as usize]) / f32::from(SEARCH.samples);
            let _ = writeln!(text, "{site:4}  {:7}  {share:10.2}", channel + 1);
        }
        text
    };
    plan::case(plan::CASES[0], || (), show).ok_or_else(|| Failure::option("no plan"))
}

fn compare(options: &Options) -> Result<(), Failure> {
    let common = &options.common;
    let out = common.folder("channels");
    report::make_folder(&out)?;
    common.say(&everywhere()?);
    let seeds = common.seed..common.seed + options.seeds;
    let (places, large): (u32, &[u32]) = if common.quick { (4, &[100]) } else { (20, &[24, 100, 300, 1000]) };
    let mut rows = Vec::new();
    let few = Search { samples: 4, ..SEARCH };
    for place in 1..=places {
        rows.push(row(6, place, &few, seeds.clone())?);
    }
    let (mut found, mut runs) = (0, 0);
    for row in &rows {
        runs += row.annealed.len();
        found += row.annealed.iter().filter(|&&harm| Some(harm as u32) == row.optimum).count();
    }
    let best = |of: fn(&Row) -> u32| rows.iter().filter(|row| Some(of(row)) == row.optimum).count();
    common.say(&format!(
        "6 access points, {places} offices: the optimum is found by annealing in {found} of {runs} runs, \
         by greedy in {} of {places}, with moves in {}",
        best(|row| row.greedy),
        best(|row| row.greedy_and_moves),
    ));
    let many = Search { sweeps: options.sweeps, samples: 4, ..SEARCH };
    common.say("sites  measured  greedy  and moves  annealed: mean  best  worst  seconds a run");
    for &sites in large {
        for place in 1..=3 {
            let (start, row) = (Instant::now(), row(sites, place, &many, seeds.clone())?);
            let seconds = start.elapsed().as_secs_f64() / options.seeds as f64;
            let mean = row.annealed.iter().sum::<f32>() / row.annealed.len() as f32;
            let (best, worst) = row.annealed.iter().fold((f32::MAX, 0.0f32), |(a, b), &h| (a.min(h), b.max(h)));
            common.say(&format!(
                "{sites:5}  {:8}  {:6}  {:9}  {mean:14.1}  {best:4}  {worst:5}  {seconds:13.2}",
                row.measurements, row.greedy, row.greedy_and_moves
            ));
            rows.push(row);
        }
    }
    report::json(&out.join("channels.json"), &rows)
}

fn main() -> ExitCode {
    cli::main(|options: Options| options.common.pool()?.install(|| compare(&options)))
}
