//! The choice of a sampler: a short list by the class of the model, pilot runs, and replica exchange where chains disagree.
//!
//! Pilot runs of all candidates double in length until one says enough. That one has chains that agree, and
//! [`ENOUGH`] effective samples of the energy and of the slowest site. Only the last part, half of it all, is looked
//! at. After [`SLOW`] steps replica exchange joins the candidates. The most effective samples for the cost win, of
//! samplers whose chains agree, if any do. Costs come from the table in `cost.rs`, so that the choice is a function
//! of the model, the seed and the settings. Models of [`FEW`] states need no pilot run: all states are enumerated.

use crate::diagnose::{Diagnosis, Scalar, rounding};
use crate::model::Form;
use crate::parts::Ready;
use crate::plan::{Ground, POTTS_BATCH, Plan};
use crate::progress::Progress;
use crate::run::{Report, Trial, WARMUP, Watch, advance, draw};
use crate::sampler::Sampler;
use crate::unit::{Track, Unit};
use crate::{Error, cost, ladder};
use bitmc::energy::Edge;
use bitmc::lane::LANES;
use bitmc::stats::Acceptance;
use bitmc::{HammingBall, Layout};
use rayon::prelude::*;

/// Effective samples at which a pilot run says enough.
const ENOUGH: f64 = 150.0;
/// The same where replica exchange is a candidate. Its pilot runs are most of what its run costs, and chains that
/// agree have about as many.
const ENOUGH_OF_SLOW: f64 = 100.0;
/// An R̂ up to which the chains of a pilot run agree. With 150 effective samples in 32 half chains the largest R̂ of
/// many sites is near it by chance. The run itself is held to 1.05.
pub(crate) const AGREE: f64 = 1.1;
/// Sites whose effective sample size a pilot looks at, at most.
const LOOKED_AT: usize = 128;
/// Steps of the first look at a sampler, at least. Where they cost more than the first look at the first candidate, the sampler
/// waits until that one has spent as much.
const LEAST: u64 = 16;
/// Draws of a chain that a pilot records, at most.
const RECORDED: u64 = 512;
/// An R̂ above which chains do not leave the modes that they are in.
const APART: f64 = 10.0;
/// Steps of each of sixteen chains after which those that have not said enough are slow: replica exchange is tried, too. Fewer
/// chains make as many steps together.
const SLOW: u64 = 2048;
/// A sampler with so many times more effective samples for its cost is waited for, until it has made as many steps.
const AHEAD: f64 = 2.0;
/// A sampler with so many times fewer effective samples for its cost is out of the race.
const BEHIND: f64 = 4.0;
/// Microseconds that a pilot of slow chains may always cost.
const PATIENCE: f64 = 1e6;
/// What such a pilot may cost over what the run itself will.
const EXCHANGE: f64 = 8.0;
/// Standard errors from which on two samplers say different things.
const DIFFERENT: f64 = 4.0;
/// Effective samples that a run is to have, where it chooses the steps between its draws.
const WANTED: f64 = 1000.0;
/// Steps between draws that it chooses, at most.
const MOST_THIN: f64 = 256.0;

/// A sampler with its chains under way.
pub(crate) struct Chosen<'e> {
    pub(crate) report: Report,
    pub(crate) units: Vec<Box<dyn Unit + 'e>>,
    /// Steps that its chains have made.
    pub(crate) steps: u64,
}

impl<'e> Chosen<'e> {
    /// The winner of pilot runs, which goes on.
    fn of(pilot: Pilot<'e>, why: String, tried: Vec<Trial>, sampler: &Sampler<'_>) -> Self {
        let thin = sampler.thin.unwrap_or(pilot.thin(sampler.draws));
        let report = Report { tried, warmup: pilot.steps, thin, ..Report::new(pilot.plan, why) };
        Self { report, units: pilot.units, steps: pilot.steps }
    }

    /// The sampler of a run that is taken up again.
    pub(crate) fn again(report: Report, ground: &Ground<'e>) -> Result<Self, Error> {
        let (units, steps) = (report.sampler.units(ground)?, report.warmup);
        Ok(Self { report, units, steps })
    }

    /// A sampler with its parameters.
    pub(crate) fn by_hand(
        plan: Plan,
        why: &str,
        thin: Option<u64>,
        ground: &Ground<'e>,
    ) -> Result<Self, Error> {
        let thin = thin.unwrap_or(1);
        let units = plan.units(ground)?;
        Ok(Self { report: Report { thin, ..Report::new(plan, why.into()) }, units, steps: 0 })
    }

    /// A sampler whose parameters are tuned.
    pub(crate) fn tuned(
        plan: &Plan,
        sampler: &Sampler<'_>,
        ground: &Ground<'e>,
        watch: &Watch<'_>,
    ) -> Result<Self, Error> {
        let plan = match plan {
            Plan::Exchange { .. } => Plan::Exchange { betas: ladder::build(sampler, ground, 1, watch)? },
            Plan::Isoenergetic { .. } => {
                Plan::Isoenergetic { betas: ladder::build(sampler, ground, 2, watch)? }
            }
            plan => plan.tuned(ground)?,
        };
        Self::by_hand(plan, "chosen by hand, its parameters tuned", sampler.thin, ground)
    }
}

/// States of a model up to which they are all enumerated at each step: its draws are independent.
const FEW: usize = 256;

/// Steps of an enumeration after which one state is the only one.
const ALONE: u64 = 64;

/// Enumeration of all states at each step, and how many states there are; where there are not too many. Of an energy of the
/// caller's each may be expensive: there it is only for [`FEW`] states.
fn enumeration(sampler: &Sampler<'_>, layout: Layout) -> Option<(Plan, usize)> {
    let sites = layout.sites();
    let fits = HammingBall::new(layout, sites, sites).is_ok();
    let states = || (0..sites).map(|site| sampler.model.arity_of(site)).product();
    let all = fits.then(|| (Plan::HammingBall { sites, radius: sites }, states()));
    all.filter(|&(_, states)| states <= FEW || !sampler.model.is_own())
}

/// Whether a plan is that enumeration.
fn whole(plan: &Plan, layout: Layout) -> bool {
    matches!(plan, Plan::HammingBall { sites, radius } if *sites == layout.sites() && radius == sites)
}

/// The candidates for a model, the likeliest first.
fn candidates(sampler: &Sampler<'_>, ready: &Ready<'_>, special: bool) -> Vec<Plan> {
    let langevin = Plan::Langevin { step_size: 0.2 };
    match &sampler.model.form {
        Form::Rbm { .. } if special && matches!(ready, Ready::Rbm(..)) => vec![Plan::BlockGibbs],
        Form::Spins { edges, fields }
            if special && matches!(ready, Ready::Ising(_)) && !frustrated(edges, fields) =>
        {
            vec![Plan::Gibbs, Plan::SwendsenWang, Plan::Wolff]
        }
        Form::Potts { arity, edges, fields, .. }
            if special && matches!(ready, Ready::Potts(_)) && !frustrated_values(*arity, edges, fields) =>
        {
            vec![Plan::Gibbs, Plan::SwendsenWang, Plan::Wolff]
        }
        Form::Spins { .. } | Form::Bits { .. } | Form::Potts { .. } => vec![Plan::Gibbs],
        // Changes of single sites may not connect what hard constraints leave.
        Form::Factors { .. } if sampler.model.forbids() => {
            let blocks = ball(sampler.model.layout());
            std::iter::once(Plan::Gibbs).chain(blocks).collect()
        }
        Form::Factors { .. } => vec![Plan::Gibbs],
        Form::Polynomial { .. } => vec![Plan::Gibbs, langevin],
        Form::Gaussian { .. } => vec![Plan::Gibbs, langevin],
        Form::Logistic { .. } => vec![Plan::Balanced { step_size: 0.2, balance: 0.6 }, Plan::Gibbs],
        Form::Rbm { .. } => vec![langevin, Plan::Gibbs],
        Form::Own(_) => vec![langevin, Plan::Gibbs, Plan::GibbsWithGradients { indices: 1 }],
    }
}

/// Blocks of four sites of which two change. Where these have too many states, smaller ones; none where two sites have too many.
fn ball(layout: Layout) -> Option<Plan> {
    let radius = layout.sites().min(2);
    let fits = |sites: &usize| HammingBall::new(layout, *sites, radius).is_ok();
    let sites = (radius..=layout.sites().min(4)).rev().find(fits)?;
    Some(Plan::HammingBall { sites, radius })
}

/// Whether no state of the spins satisfies all couplings and fields: then clusters grow over nearly all sites.
fn frustrated(edges: &[Edge], fields: &[f32]) -> bool {
    // A node for each sign of each spin, and of a ghost spin that fields couple to; joined are those that go together.
    let ghost = fields.len();
    let mut parents: Vec<usize> = (0..2 * (ghost + 1)).collect();
    fn root(parents: &mut [usize], mut node: usize) -> usize {
        while parents[node] != node {
            parents[node] = parents[parents[node]];
            node = parents[node];
        }
        node
    }
    let couplings = edges.iter().map(|&(a, b, j)| (a as usize, b as usize, j));
    let all = couplings.chain(fields.iter().enumerate().map(|(site, &h)| (site, ghost, h)));
    for (a, b, j) in all.filter(|&(.., j)| j != 0.0) {
        let flip = usize::from(j < 0.0);
        for sign in [0, 1] {
            let (a, b) = (root(&mut parents, 2 * a + sign), root(&mut parents, 2 * b + (sign ^ flip)));
            parents[a] = b;
        }
    }
    (0..=ghost).any(|site| root(&mut parents, 2 * site) == root(&mut parents, 2 * site + 1))
}

/// Whether some two values are frustrated as the two values of spins: their couplings, and the differences of their fields.
/// Fields over many values are not looked at, and count as frustrated.
fn frustrated_values(arity: usize, edges: &[Edge], fields: &[f32]) -> bool {
    let rows = || fields.chunks(arity);
    if rows().all(|row| row.iter().all(|w| *w == row[0])) {
        let sites = edges.iter().map(|&(a, b, _)| a.max(b) as usize + 1).max().unwrap_or(0);
        return frustrated(edges, &vec![0.0; sites]);
    }
    let between = |a: usize, b: usize| -> Vec<f32> { rows().map(|row| row[a] - row[b]).collect() };
    arity > POTTS_BATCH || (0..arity).any(|a| (0..a).any(|b| frustrated(edges, &between(a, b))))
}

/// A pilot run.
pub(crate) struct Pilot<'e> {
    pub(crate) plan: Plan,
    pub(crate) units: Vec<Box<dyn Unit + 'e>>,
    pub(crate) steps: u64,
    /// Microseconds of one core.
    pub(crate) cost: f64,
    pub(crate) ess: Option<f64>,
    pub(crate) r_hat: Option<f64>,
    /// What the sites said, those that were looked at.
    sites: Vec<Scalar>,
    /// Steps, and microseconds, of the part that was looked at.
    window: (u64, f64),
}

impl<'e> Pilot<'e> {
    pub(crate) fn new(plan: Plan, ground: &Ground<'e>) -> Result<Self, Error> {
        let units = plan.units(ground)?;
        Ok(Self {
            plan,
            units,
            steps: 0,
            cost: 0.0,
            ess: None,
            r_hat: None,
            sites: Vec::new(),
            window: (0, 0.0),
        })
    }

    /// Microseconds of a step of all chains, as far as it is known how many sites a step changes.
    fn each(&mut self, sampler: &Sampler<'_>) -> f64 {
        let moved: f64 = self.units.iter_mut().map(|unit| f64::from(unit.acceptance().jump_distance())).sum();
        let moved = moved / self.units.len() as f64;
        cost::of(sampler.model, &self.plan, sampler.chains, moved) * sampler.chains as f64 / 1000.0
    }

    /// So many more steps, and what their states say.
    pub(crate) fn go(
        &mut self,
        sampler: &Sampler<'_>,
        steps: u64,
        layout: Layout,
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        let (thin, mut tracks) = (steps.div_ceil(RECORDED), Vec::new());
        let draws = steps / thin;
        let hidden = Progress::new(true, 0);
        self.units.iter_mut().for_each(|unit| unit.refresh());
        draw(&mut self.units, &mut tracks, (draws, thin, 0), watch, &hidden, |_, _, _| Ok(()))?;
        self.window = (draws * thin, self.each(sampler) * (draws * thin) as f64);
        self.steps += self.window.0;
        self.cost += self.window.1;
        (self.sites, self.ess, self.r_hat) = looked_at(&tracks, layout);
        Ok(())
    }

    /// Effective samples for a microsecond.
    fn rate(&self) -> f64 {
        self.ess.unwrap_or(0.0) / self.window.1.max(1e-9)
    }

    /// Steps from one draw to the next with which so many draws have [`WANTED`] effective samples.
    fn thin(&self, draws: usize) -> u64 {
        // Of chains that stand still at different states more steps make no others.
        if self.still() || self.r_hat.is_some_and(|r_hat| r_hat > APART) {
            return 1;
        }
        let each = self.ess.unwrap_or(0.0) / self.window.0.max(1) as f64;
        (WANTED / (each * draws as f64)).clamp(1.0, MOST_THIN).ceil() as u64
    }

    pub(crate) fn agrees(&self) -> bool {
        self.r_hat.is_none_or(|r_hat| r_hat <= AGREE)
    }

    /// Whether all chains stayed in one state, the same one.
    fn stays(&self) -> bool {
        self.steps > 0 && self.ess.is_none() && self.r_hat.is_none()
    }

    /// The same for long.
    fn still(&self) -> bool {
        self.stays() && self.steps >= SLOW
    }

    fn trial(&self) -> Trial {
        Trial {
            sampler: self.plan.to_string(),
            steps: self.steps,
            cost: self.cost,
            ess: self.ess,
            r_hat: self.r_hat,
        }
    }
}

/// Whether a site has another mean in the chains of one sampler than in those of another, by the effective samples of each where
/// the site says none. What one draw more or less makes of a rare value is no difference.
fn differ((a, fewest): (&[Scalar], f64), (b, other): (&[Scalar], f64), range: f64) -> bool {
    let size = |site: &Scalar, all: f64| site.mcse.map_or(all, |mcse| (site.sd / mcse).powi(2)).max(1.0);
    a.iter().zip(b).any(|(a, b)| {
        let (m, n) = (size(a, fewest), size(b, other));
        let variance = a.sd.min(b.sd).powi(2) + range * range / m.min(n);
        (a.mean - b.mean).abs() > DIFFERENT * (variance * (1.0 / m + 1.0 / n)).sqrt()
    })
}

/// What some sites say, and the smallest effective sample size and the largest R̂ of them and of the energy; a scalar that
/// never changes says nothing.
fn looked_at(tracks: &[Track], layout: Layout) -> (Vec<Scalar>, Option<f64>, Option<f64>) {
    let draws = tracks.first().map_or(0, |track| track.energies.len());
    if draws < 8 {
        return (Vec::new(), None, None);
    }
    let diagnosis = Diagnosis::new(draws);
    let energies: Vec<Vec<f64>> =
        tracks.iter().map(|track| track.energies.iter().map(|&energy| energy.into()).collect()).collect();
    let (bits, each, words) = (layout.field_bits(), layout.fields_per_word(), layout.words());
    let site = |site: usize| -> Vec<Vec<f64>> {
        let (word, shift, mask) = (site / each, (site % each) as u32 * bits, (1u64 << bits) as u32 - 1);
        let value = |row: &[u32]| f64::from(row[word] >> shift & mask);
        tracks.iter().map(|track| track.words.chunks_exact(words).map(value).collect()).collect()
    };
    let every = layout.sites().div_ceil(LOOKED_AT);
    let sites = (0..layout.sites()).into_par_iter().step_by(every).map(|index| diagnosis.of(&site(index)));
    let sites: Vec<_> = sites.collect();
    let energy = diagnosis.of_energy(&energies, rounding(tracks));
    let all = || sites.iter().chain([&energy]);
    let ess = all().filter_map(|scalar| scalar.ess_bulk).reduce(f64::min);
    let r_hat = all().filter_map(|scalar| scalar.r_hat).reduce(f64::max);
    (sites, ess, r_hat)
}

/// The best sampler for a model.
pub(crate) fn choose<'e>(
    sampler: &Sampler<'_>,
    ready: &Ready<'_>,
    ground: &Ground<'e>,
    watch: &Watch<'_>,
) -> Result<Chosen<'e>, Error> {
    let layout = ground.energy.layout();
    let all = enumeration(sampler, layout);
    if let Some((plan, states)) = &all
        && *states <= FEW
    {
        let why = format!("all {states} states are enumerated at each step: draws are independent");
        let mut chosen = Chosen::by_hand(plan.clone(), &why, sampler.thin, ground)?;
        settle(&mut chosen.units, 1, watch)?;
        return Ok(Chosen { steps: 1, ..chosen });
    }
    let mut plans = candidates(sampler, ready, ground.special.is_some());
    plans.extend(all.map(|(plan, _)| plan));
    let mut pilots = Vec::new();
    for plan in &plans {
        pilots.push(Pilot::new(plan.tuned(ground)?, ground)?);
    }
    // A first look at one of them may cost more than all the rest.
    let mut first = true;
    pilots.retain_mut(|pilot| std::mem::take(&mut first) || LEAST as f64 * pilot.each(sampler) <= PATIENCE);
    let each = pilots[0].each(sampler).max(1e-6);
    let run =
        each * (sampler.warmup.unwrap_or(WARMUP) + sampler.draws as u64 * sampler.thin.unwrap_or(1)) as f64;
    let has = |pilot: &Pilot<'_>, enough: f64| pilot.agrees() && pilot.ess.is_some_and(|ess| ess >= enough);
    let first = each * 64.0;
    let (mut level, mut spent) = (first, 0.0);
    let (mut tried, mut aside): (Vec<Trial>, Option<Pilot<'e>>) = (Vec::new(), None);
    let mut race = |pilots: &mut Vec<Pilot<'e>>,
                    enough: f64,
                    until: &dyn Fn(&[Pilot<'_>]) -> bool|
     -> Result<(), Error> {
        loop {
            for pilot in &mut *pilots {
                let each = pilot.each(sampler).max(1e-9);
                let least = LEAST as f64 * each;
                if pilot.steps > 0 || least <= first.max(spent) {
                    pilot.go(sampler, ((level / each) as u64).max(LEAST), layout, watch)?;
                }
            }
            spent += level;
            // Who is far behind one whose chains agree costs no more: before that its effective samples are not to be trusted.
            let best = pilots.iter().filter(|pilot| pilot.agrees()).map(Pilot::rate).fold(0.0, f64::max);
            // Who has not moved has said nothing.
            let behind = |pilot: &Pilot<'_>| pilot.ess.is_some() && pilot.rate() * BEHIND < best;
            // What replica exchange has seen is compared with the others at the end.
            for pilot in pilots.extract_if(.., |pilot| behind(pilot)) {
                match pilot.plan {
                    Plan::Exchange { .. } => aside = Some(pilot),
                    _ => tried.push(pilot.trial()),
                }
            }
            // What enumerates all states and stays in one has found the only one that counts.
            let only = |pilot: &Pilot<'_>| whole(&pilot.plan, layout) && pilot.stays() && pilot.steps >= ALONE;
            let still = pilots.iter().all(Pilot::still) || pilots.iter().any(only);
            if still || pilots.iter().any(|pilot| has(pilot, enough)) || until(pilots) || watch.over().is_some()
            {
                return Ok(());
            }
            level *= 2.0;
        }
    };
    let long = SLOW * (LANES / sampler.chains.min(LANES)) as u64;
    let slow = |pilots: &[Pilot<'_>]| {
        let (late, short): (Vec<_>, Vec<_>) = pilots.iter().partition(|pilot| pilot.steps >= long);
        let best = late.iter().map(|pilot| pilot.rate()).reduce(f64::max);
        // Who has made no step has said nothing.
        best.is_some_and(|best| short.iter().all(|pilot| pilot.steps > 0 && pilot.rate() < AHEAD * best))
    };
    race(&mut pilots, ENOUGH, &slow)?;
    pilots.retain(|pilot| pilot.steps > 0);
    let kind = sampler.model.kind();
    let slow = !pilots.iter().any(|pilot| has(pilot, ENOUGH) && pilot.steps < long) && watch.over().is_none();
    if slow {
        let betas = ladder::build(sampler, ground, 1, watch)?;
        pilots.push(Pilot::new(Plan::Exchange { betas }, ground)?);
        race(&mut pilots, ENOUGH_OF_SLOW, &|pilots| pilots[0].cost >= (EXCHANGE * run).max(PATIENCE))?;
    }
    pilots.extend(aside);
    tried.extend(pilots.iter().map(Pilot::trial));
    // Of equal ones the first; one that has said enough before others, and one whose chains agree before one whose
    // chains do not.
    let enough = if slow { ENOUGH_OF_SLOW } else { ENOUGH };
    // Chains that agree may all have missed what replica exchange has seen.
    let seen: Vec<bool> = {
        let exchange =
            pilots.iter().find(|pilot| matches!(pilot.plan, Plan::Exchange { .. }) && pilot.agrees());
        let said = |pilot: &'_ Pilot<'_>| pilot.ess.unwrap_or(1.0);
        let range = layout.arity() as f64 - 1.0;
        let misses = |pilot: &Pilot<'_>| {
            exchange
                .is_some_and(|other| differ((&pilot.sites, said(pilot)), (&other.sites, said(other)), range))
        };
        pilots.iter().map(|pilot| !misses(pilot)).collect()
    };
    let key = |index: usize| {
        let pilot = &pilots[index];
        (has(pilot, enough) && seen[index], pilot.agrees() && seen[index], pilot.rate())
    };
    let order = |a: &usize, b: &usize| {
        let (a, b) = (key(*a), key(*b));
        (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2))
    };
    let winner = (0..pilots.len()).rev().max_by(order).unwrap_or(0);
    let winner = pilots.swap_remove(winner);
    let count = tried.len();
    let why = match (winner.agrees(), winner.r_hat) {
        (false, Some(r_hat)) => {
            format!(
                "no sampler that was tried has chains that agree (R̂ = {r_hat:.2}): {} has the most effective samples for its cost",
                winner.plan
            )
        }
        _ if winner.stays() => format!(
            "{} is the first choice for this class ({kind}): no chain of any sampler left the one state that all are in",
            winner.plan
        ),
        _ if count == 1 && sampler.chains == 1 => format!(
            "{} is the first choice for this class ({kind}); one chain does not see a mode that it does not meet",
            winner.plan
        ),
        _ if count == 1 => {
            format!("{} is the first choice for this class ({kind}), and its chains agree", winner.plan)
        }
        _ => format!(
            "{} has the most effective samples for its cost, of {count} samplers whose pilot runs were compared ({kind})",
            winner.plan
        ),
    };
    Ok(Chosen::of(winner, why, tried, sampler))
}

/// Moves the chains of a pilot on, without looking.
pub(crate) fn settle(units: &mut [Box<dyn Unit + '_>], steps: u64, watch: &Watch<'_>) -> Result<(), Error> {
    advance(units, steps, watch, &Progress::new(true, 0), |_, _| Ok(()))?;
    units.iter_mut().for_each(|unit| *unit.acceptance() = Acceptance::new());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::differ;
    use crate::diagnose::Scalar;

    /// A bit that is 1 in a share of so many effective samples.
    fn bit(mean: f64, size: f64) -> Vec<Scalar> {
        let sd = (mean * (1.0 - mean)).sqrt();
        let (mcse, ess) = ((sd > 0.0).then(|| sd / size.sqrt()), (sd > 0.0).then_some(size));
        vec![Scalar { mean, sd, mcse, ess_bulk: ess, ess_tail: ess, r_hat: Some(1.0) }]
    }

    /// Chains that all missed a mode of 4 % agree with each other, and differ from those that saw it.
    #[test]
    fn a_mode_that_chains_missed_is_a_difference_and_a_rare_value_is_none() {
        let differs = |a: &[Scalar], b: &[Scalar]| differ((a, 7843.0), (b, 257.0), 1.0);
        assert!(differs(&bit(0.0026, 7843.0), &bit(0.045, 257.0)));
        assert!(differs(&bit(0.0, 7843.0), &bit(0.045, 257.0)));
        // One draw of 257, where the others have none, or 1 in 1,000; and what chance makes of 4 %.
        assert!(!differs(&bit(0.0, 7843.0), &bit(1.0 / 257.0, 257.0)));
        assert!(!differs(&bit(0.001, 7843.0), &bit(1.0 / 257.0, 257.0)));
        assert!(!differs(&bit(0.04, 7843.0), &bit(0.04 + 3.0 * 0.0122, 257.0)));
    }
}
