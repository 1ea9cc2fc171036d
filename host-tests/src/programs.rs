//! Random programs: small models, samplers and sequences of operations, against enumeration in float64.
//!
//! A program is a function of its seed alone. Its chains start at exact draws, in memory that is full of random words.
//! It takes steps, clamps sites, restarts, loads snapshots, changes samplers and uses memory again. Each of these leaves the
//! distribution of the state as it is. So many replicas of a program end in independent draws from that distribution, and a
//! test of their counts decides.
//!
//! Two more checks see what counts cannot. Where a sampler says its probabilities, detailed balance is checked move by move.
//! After every step, the state must be legal and allowed, held sites must be where they were, and nothing may be a fault or NaN.
//!
//! All comparisons of a run together raise a false alarm with probability 10⁻⁶ at most. Negative controls do one thing
//! wrong on purpose ([`Defect`]).

mod kernel;
mod landscape;
mod many;
mod memory;
mod model;
mod open;
mod pointwise;
mod run;
mod table;
mod verdict;

use crate::models::Source;
use crate::passes_on;
use bitmc::lane::{Bits, Block};
use bitmc::{Energy, Move, Packed};
use kernel::{OfIsing, OfPotts, OfRbm, Recipe, Room, Sampler};
use model::{Built, Model};
use rayon::prelude::*;
use run::{Exact, Plan, Player};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::time::{Duration, Instant};

pub use run::Defect;
pub use verdict::{ALARM, p_value};

/// What a program found.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its seed.
    pub seed: u64,
    /// Samplers.
    pub samplers: String,
    /// The kind of model.
    pub model: &'static str,
    /// All of it in words.
    pub description: String,
    /// Comparisons made, or what is wrong.
    pub result: Result<usize, String>,
}

impl Outcome {
    /// Whether the kernel refused the model or sampler, so that there was nothing to see.
    #[must_use]
    pub fn refused(&self) -> bool {
        self.result.as_ref().is_err_and(|error| error.starts_with("refused"))
    }

    /// Whether something is wrong.
    #[must_use]
    pub fn found(&self) -> bool {
        self.result.is_err() && !self.refused()
    }
}

/// The program of a seed. A panic in it is a finding.
#[must_use]
pub fn program(seed: u64, defect: Defect) -> Outcome {
    let lost = |error: Box<dyn std::any::Any + Send>| {
        let text = error.downcast_ref::<String>().cloned();
        text.or_else(|| error.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
    };
    let mut source = Source::new(seed);
    if defect == Defect::None && source.one_in(5) {
        let said = catch_unwind(|| many::play(seed));
        let (sampler, model, result) = match said {
            Ok(outcome) => (outcome.sampler, outcome.model, outcome.result),
            Err(error) => ("chains side by side", "any", Err(format!("a panic: {}", lost(error)))),
        };
        let description = format!("{sampler}, {model}");
        return Outcome { seed, samplers: sampler.into(), model, description, result };
    }
    let model = Model::random(&mut source);
    let mut plan = Plan::random(&model, &mut source, defect);
    let result = catch_unwind(AssertUnwindSafe(|| chains(seed, &model, &mut plan, &mut source)));
    let result = result.unwrap_or_else(|error| Err(format!("a panic: {}", lost(error))));
    let mut names: Vec<&str> = plan.recipes.iter().map(|recipe| recipe.name).collect();
    names.sort_unstable();
    names.dedup();
    let description = format!("{}; {}", model.describe(), plan.describe());
    Outcome { seed, samplers: names.join(" + "), model: model.kind, description, result }
}

/// A program of isoenergetic moves, population annealing or replica exchange whose moves are wrong: what it is, and whether it says so.
#[must_use]
pub fn wrong_landscape(seed: u64) -> (&'static str, bool) {
    let outcome = landscape::play(seed, &mut Source::new(seed), true);
    (outcome.sampler, outcome.result.is_err())
}

/// Builds the samplers of a plan over an energy and runs it.
macro_rules! go {
    ($model:expr, $energy:expr, $plan:expr, $seed:expr, $make:expr) => {{
        for recipe in &mut $plan.recipes {
            // What does not fit this model gives way to what fits all.
            if $make(recipe, &mut Room::default()).is_err() {
                recipe.name = "Gibbs";
            }
        }
        let plan = &*$plan;
        let mut rooms: Vec<Room> = plan.recipes.iter().map(|_| Room::default()).collect();
        let kernels = plan.recipes.iter().zip(&mut rooms).map(|(recipe, room)| $make(recipe, room));
        play($model, $energy, &kernels.collect::<Result<Vec<_>, _>>()?, plan, $seed)
    }};
}

fn chains(seed: u64, model: &Model, plan: &mut Plan, source: &mut Source) -> Result<usize, String> {
    let played = model.with(source, |built| {
        let own = plan.recipes.iter().any(Recipe::own);
        let broken = Broken { energy: built.any(), defect: plan.defect, before: RefCell::default() };
        match built {
            Built::Ising(energy) if own => {
                go!(model, energy, plan, seed, |recipe: &Recipe, room| OfIsing::new(recipe, energy, room))
            }
            Built::Potts(energy) if own => {
                go!(model, energy, plan, seed, |recipe: &Recipe, room| OfPotts::new(recipe, energy, room))
            }
            Built::Rbm(energy) if own => {
                go!(model, energy, plan, seed, |recipe: &Recipe, room| OfRbm::new(recipe, energy, room))
            }
            _ => {
                let defect = matches!(plan.defect, Defect::HalfEnergy | Defect::StaleGradient);
                let energy: &dyn Energy = if defect { &broken } else { built.any() };
                go!(model, energy, plan, seed, |recipe: &Recipe, room| recipe.any(energy.layout(), room))
            }
        }
    });
    played.map_err(|error| format!("refused: {error}"))?
}

fn play<E: Energy + ?Sized, K: Sampler<E>>(
    model: &Model,
    energy: &E,
    kernels: &[K],
    plan: &Plan,
    seed: u64,
) -> Result<usize, String> {
    let exact = Exact::of(&model.energies);
    let mut comparisons = 0;
    let mut source = Source::new(seed ^ 0xBA1A);
    if model.shape.states() <= pointwise::MOST_STATES && source.one_in(2) {
        for (kernel, recipe) in kernels.iter().zip(&plan.recipes) {
            let paths = matches!(recipe.name, "GWG" | "PAS" | "locally balanced");
            for mask in [0, source.word() & source.word()] {
                let seen =
                    pointwise::moves(model, energy, (kernel, paths), &exact.distribution, mask, &mut source);
                comparisons += usize::from(seen.map_err(|error| format!("{}: {error}", recipe.name))?);
            }
            if recipe.name.starts_with("Gibbs") {
                pointwise::conditionals(model, energy, &exact.distribution, &mut source)?;
            }
        }
    }
    Ok(comparisons + Player::new((model, energy), kernels, (plan, &exact), seed).play(seed)?)
}

/// An energy with a defect.
struct Broken<'e> {
    energy: &'e dyn Energy,
    defect: Defect,
    /// The gradient of the call before this one.
    before: RefCell<Vec<Block>>,
}

impl Broken<'_> {
    fn share(&self) -> f32 {
        if self.defect == Defect::HalfEnergy { 0.5 } else { 1.0 }
    }
}

impl Energy for Broken<'_> {
    passes_on!(energy: layout, cache_len, arities, init);

    fn gradient(&self, x: Packed<'_>, cache: &[Bits], blocks: Range<usize>, out: &mut [Block]) {
        self.energy.gradient(x, cache, blocks, out);
        if self.defect == Defect::StaleGradient {
            let mut before = self.before.borrow_mut();
            let now = out.to_vec();
            if before.len() == out.len() {
                out.copy_from_slice(&before);
            }
            *before = now;
        }
    }

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        self.share() * self.energy.shift(step, cache)
    }

    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        self.energy.differences(words, cache, site, out);
        out.iter_mut().for_each(|difference| *difference *= self.share());
    }
}

/// What a run found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Programs.
    pub programs: usize,
    /// Programs whose model was refused.
    pub refused: usize,
    /// Comparisons.
    pub comparisons: usize,
    /// Programs by sampler.
    pub samplers: BTreeMap<String, usize>,
    /// Programs by model.
    pub models: BTreeMap<&'static str, usize>,
    /// What is wrong.
    pub findings: Vec<Outcome>,
}

impl Report {
    fn add(&mut self, outcome: Outcome) {
        self.programs += 1;
        self.refused += usize::from(outcome.refused());
        self.comparisons += *outcome.result.as_ref().unwrap_or(&0);
        *self.models.entry(outcome.model).or_default() += 1;
        for sampler in outcome.samplers.split(" + ") {
            *self.samplers.entry(sampler.to_owned()).or_default() += 1;
        }
        if outcome.found() {
            self.findings.push(outcome);
        }
    }

    /// What was run, in Markdown, and what is wrong: by samplers and model, with the first seeds of each.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!(
            "{} programs, {} comparisons, {} refused models, {} findings.\n\n",
            self.programs,
            self.comparisons,
            self.refused,
            self.findings.len()
        );
        let list = |name: &str, counts: Vec<(&str, usize)>| {
            let items: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
            format!("{name}: {}.\n\n", items.join(", "))
        };
        text += &list("Programs by sampler", self.samplers.iter().map(|(a, b)| (a.as_str(), *b)).collect());
        text += &list("Programs by model", self.models.iter().map(|(a, b)| (*a, *b)).collect());
        let mut groups: BTreeMap<(&str, &str), Vec<&Outcome>> = BTreeMap::new();
        for outcome in &self.findings {
            groups.entry((&outcome.samplers, outcome.model)).or_default().push(outcome);
        }
        for ((samplers, model), outcomes) in groups {
            _ = writeln!(text, "- {samplers} over {model}: {} programs", outcomes.len());
            for outcome in outcomes.iter().take(3) {
                let what = outcome.result.as_ref().err().map_or("", String::as_str);
                _ = writeln!(text, "  - BITMC_PROGRAM={}: {what}\n    ({})", outcome.seed, outcome.description);
            }
        }
        text
    }
}

thread_local! {
    static IN_A_PROGRAM: Cell<bool> = const { Cell::new(false) };
}

/// A panic in a program is told in the report, and not on the way.
fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !IN_A_PROGRAM.get() {
                loud(info);
            }
        }));
    });
}

/// Runs programs from a first seed on over all cores: a given number of them, or as many as fit into a time.
///
/// # Panics
/// Where there are more comparisons than the false-alarm rate allows for.
#[must_use]
pub fn run(first: u64, programs: usize, time: Option<Duration>, defect: Defect) -> Report {
    const BATCH: usize = 128;
    let start = Instant::now();
    let mut report = Report::default();
    silence();
    let quietly = |seed| {
        IN_A_PROGRAM.set(true);
        let outcome = program(seed, defect);
        IN_A_PROGRAM.set(false);
        outcome
    };
    let goes_on = |report: &Report| match time {
        Some(time) => start.elapsed() < time,
        None => report.programs < programs,
    };
    while goes_on(&report) {
        let from = first + report.programs as u64;
        let seeds: Vec<u64> = (from..from + BATCH as u64).collect();
        let outcomes: Vec<Outcome> = seeds.into_par_iter().map(quietly).with_max_len(1).collect();
        outcomes.into_iter().for_each(|outcome| report.add(outcome));
    }
    assert!((report.comparisons as f64) < verdict::COMPARISONS, "too many comparisons for one run");
    report
}
