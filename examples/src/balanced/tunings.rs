//! How much a tuning decides: samplers tuned from several seeds, by the rule of this library and by the printed one. Each is
//! tuned as long as here, and as long as in the paper.

use super::{Chosen, Driver, Known, Room, Which, settled};
use crate::cli::Failure;
use crate::harness::{Counted, Plan, Sampler, Target, mean, measure, median};
use crate::progress::Progress;
use bitmc::noise::guided_balance;
use bitmc::stats::Observer;
use bitmc::tune::RateTuner;
use bitmc::{Energy, Gibbs, Info, Kernel, LaneRng, Langevin, Packed, SeedableRng};
use rayon::prelude::*;
use serde::Serialize;

/// A rule: whether it is the printed one, and the thousands of steps that adapt.
pub type Rule = (bool, u64);

/// Samplers of a target that are adapted by every rule.
const ADAPTED: [(&str, Option<Which>); 3] =
    [("AB-1st", None), ("AB-shift", Some(Which::Shift)), ("AB-trace", Some(Which::Trace))];
/// And those that are tuned by their acceptance: LB, and AB-1st with the balance of Eq. 6.
const BY_RATE: usize = 2;

/// How much there is to do on each target.
#[derive(Clone, Copy, Debug)]
pub struct Study<'s> {
    /// Seeds of tunings, from 1 on.
    pub seeds: u32,
    /// The chains that are measured with what was tuned.
    pub plan: Plan,
    /// Gibbs sweeps before everything, and steps of first order before the sampler itself adapts.
    pub start: (u32, u64),
    /// The rules.
    pub rules: &'s [Rule],
}

/// A sampler by a rule, a number a seed.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    target: String,
    sampler: &'static str,
    rule: String,
    step_size: Vec<f64>,
    balance: Vec<f64>,
    acceptance: Vec<f64>,
    /// ESS for 10⁴ queries: of the chains the mean, of the sites the median.
    ess: Vec<f64>,
}

/// What a tuning chose and what it is worth: σ, α, acceptance, ESS.
type Found = [f64; 4];

impl Study<'_> {
    /// Tunings of a target: what [`Progress`] is told.
    #[must_use]
    pub fn work(&self) -> u64 {
        u64::from(self.seeds) * (self.rules.len() * ADAPTED.len() + BY_RATE) as u64
    }

    /// All samplers on a target by all rules.
    ///
    /// # Errors
    /// [`Failure::Option`] where a chain cannot start.
    pub fn on<E: Energy + Sync>(
        &self,
        name: &str,
        energy: &E,
        w: Known<'_>,
        progress: &Progress,
    ) -> Result<Vec<Row>, Failure> {
        let mut rows = Vec::new();
        let mut add = |sampler, rule: &str, found: Result<Vec<Found>, Failure>| -> Result<(), Failure> {
            let found = found?;
            let [step_size, balance, acceptance, ess] =
                [0, 1, 2, 3].map(|which| found.iter().map(|of| of[which]).collect());
            rows.push(Row {
                target: name.into(),
                sampler,
                rule: rule.into(),
                step_size,
                balance,
                acceptance,
                ess,
            });
            Ok(())
        };
        let variance = self.variance(energy)?;
        add("LB", "to .574", self.each(name, progress, |seed| self.by_rate(name, energy, seed, None)))?;
        add(
            "AB-1st",
            "Eq. 6, to .574",
            self.each(name, progress, |seed| self.by_rate(name, energy, seed, Some(variance))),
        )?;
        for (sampler, which) in ADAPTED {
            for &(as_printed, thousands) in self.rules {
                let ((sweeps, burn_in), adapt) = (self.start, 1000 * thousands);
                let rule = format!("{}, {thousands},000 steps", if as_printed { "as printed" } else { "here" });
                let driver =
                    Driver { seed: 0, sweeps, burn_in, adapt, precision: false, far: false, as_printed };
                let tuned = |seed| self.adapted(name, energy, w, Driver { seed, ..driver }, which);
                add(sampler, &rule, self.each(name, progress, tuned))?;
            }
        }
        Ok(rows)
    }

    fn each(
        &self,
        name: &str,
        progress: &Progress,
        tune: impl Fn(u64) -> Result<Found, Failure> + Sync,
    ) -> Result<Vec<Found>, Failure> {
        progress.note(format!("tuning on {name}"));
        let seeds = (1..=u64::from(self.seeds)).into_par_iter();
        seeds.map(|seed| tune(seed).inspect(|_| progress.advance(1))).collect()
    }

    /// One tuning by jump distance, and its chains.
    fn adapted<E: Energy + Sync>(
        &self,
        name: &str,
        energy: &E,
        w: Known<'_>,
        driver: Driver,
        which: Option<Which>,
    ) -> Result<Found, Failure> {
        let (quiet, mut room) = (Progress::new(true, 0), Room::default());
        let Some(which) = which else {
            let (kernel, chosen) = driver.first_order(energy, &quiet)?;
            return self.measured(name, energy, kernel, (driver.seed, &chosen));
        };
        let (kernel, chosen) = driver.second_order(energy, w, which, &mut room, &quiet)?;
        self.measured(name, energy, kernel, (driver.seed, &chosen))
    }

    fn measured<'k, E: Energy + Sync + 'k, K>(
        &self,
        name: &str,
        energy: &E,
        kernel: K,
        (seed, chosen): (u64, &Chosen),
    ) -> Result<Found, Failure>
    where
        K: for<'e> Kernel<Counted<'e, E>> + Sync + 'k,
    {
        let (size, balance) = (f64::from(chosen.step_size), f64::from(chosen.balance));
        self.worth(name, energy, kernel, (seed, size, balance))
    }

    /// Effective samples of chains of a kernel, from other random numbers for every seed.
    fn worth<'k, E: Energy + Sync + 'k, K>(
        &self,
        name: &str,
        energy: &E,
        kernel: K,
        (seed, size, balance): (u64, f64, f64),
    ) -> Result<Found, Failure>
    where
        K: for<'e> Kernel<Counted<'e, E>> + Sync + 'k,
    {
        let start = |_, rng: &mut LaneRng| match settled(energy, self.start.0, rng) {
            Ok(chain) => chain.state().words().to_vec(),
            Err(_) => vec![0; energy.layout().words()],
        };
        let plan = Plan { seed: self.plan.seed + seed, ..self.plan };
        let target = Target::new(name, energy).starting(start);
        let sampler = Sampler::kernel("tuned", "", kernel);
        let numbers = measure(&target, &sampler, plan, &Progress::new(true, 0))?.numbers;
        Ok([size, balance, numbers.acceptance, mean(&numbers.ess_of_chains_per_10000_queries)])
    }

    /// The step size that accepts .574: of DMALA, or with the α that Eq. 6 gives it for a target of this variance.
    fn by_rate<E: Energy + Sync>(
        &self,
        name: &str,
        energy: &E,
        seed: u64,
        variance: Option<f32>,
    ) -> Result<Found, Failure> {
        let kernel = |size: f32| match variance {
            Some(variance) => Langevin::balanced(size, guided_balance(size, variance)),
            None => Langevin::adjusted(size),
        };
        let mut tuner =
            RateTuner::new(0.1, (1e-4, 1e4), RateTuner::LOCALLY_BALANCED).map_err(Failure::option)?;
        let mut rng = LaneRng::seed_from_u64(seed);
        let mut chain = settled(energy, self.start.0, &mut rng)?;
        for _ in 0..2 * self.start.1 {
            let now = kernel(tuner.parameter()).map_err(Failure::option)?;
            tuner.observe(&chain.step(&now, &mut rng));
        }
        tuner.freeze();
        let size = tuner.parameter();
        let balance = variance.map_or(0.5, |variance| guided_balance(size, variance));
        let kernel = kernel(size).map_err(Failure::option)?;
        self.worth(name, energy, kernel, (seed, size.into(), balance.into()))
    }

    /// The variance of a coordinate, on average over the sites, from Gibbs sweeps.
    fn variance<E: Energy + ?Sized>(&self, energy: &E) -> Result<f32, Failure> {
        let mut rng = LaneRng::seed_from_u64(0);
        let mut chain = settled(energy, self.start.0, &mut rng)?;
        let mut sums = Sums { steps: 0, of: vec![[0; 2]; energy.layout().sites()] };
        chain.run(&Gibbs::systematic(), &mut rng, self.start.1 / 10, &mut sums);
        let steps = sums.steps.max(1) as f64;
        let each: Vec<f64> = sums
            .of
            .iter()
            .map(|&[sum, squares]| squares as f64 / steps - (sum as f64 / steps).powi(2))
            .collect();
        Ok(mean(&each) as f32)
    }
}

/// Sums of values and of their squares.
struct Sums {
    steps: u64,
    of: Vec<[u64; 2]>,
}

impl Observer for Sums {
    fn observe(&mut self, state: Packed<'_>, _: f32, _: &Info) {
        self.steps += 1;
        for (sums, value) in self.of.iter_mut().zip(state.values()) {
            sums[0] += u64::from(value);
            sums[1] += u64::from(value).pow(2);
        }
    }
}

/// Targets and samplers by rules: the median over the seeds, least and most.
#[must_use]
pub fn table(rows: &[Row]) -> String {
    let digits = |value: f64| match value {
        value if value >= 1e3 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    };
    let range = |values: &[f64]| {
        let (least, most) = values.iter().fold((f64::MAX, f64::MIN), |(a, b), &x| (a.min(x), b.max(x)));
        format!("{} ({} to {})", digits(median(values).unwrap_or(f64::NAN)), digits(least), digits(most))
    };
    let mut text = String::from(
        "| target | sampler | rule | σ | α | acceptance | ESS for 10⁴ queries |\n|---|---|---|---:|---:|---:|---:|\n",
    );
    for row in rows {
        let values = [&row.step_size, &row.balance, &row.acceptance, &row.ess].map(|values| range(values));
        text += &format!("| {} | {} | {} | {} |\n", row.target, row.sampler, row.rule, values.join(" | "));
    }
    text
}
