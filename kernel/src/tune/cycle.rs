//! The schedule of the cyclical sampler, found by trying.

mod settings;
mod snapshot;

pub use settings::CycleSettings;

use super::{Rate, TuneError};
use crate::accept::Info;
use crate::schedule::Schedule;
use crate::step::{Curvature, Langevin, ParameterError};
use settings::check;

/// A step size and balance that were tried, and the acceptance rate that they had.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Trial {
    /// α, on the {0,1} scale.
    pub step_size: f32,
    /// β.
    pub balance: f32,
    /// The acceptance rate; 0 where none was measured.
    pub rate: f32,
    /// Its standard error; 1 where none is known.
    pub error: f32,
}

/// The part of the algorithm that is at work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Phase {
    /// Burn-in without the Metropolis test, at the largest step size and balance.
    #[default]
    Unadjusted,
    /// Burn-in with the test, along the untuned cycle.
    Adjusted,
    Smallest,
    Largest,
    /// The balance of a position.
    Balance(u32),
    Frozen,
}

/// Finds the cycle of ACS (Pynadath, Bhattacharya, Hariharan, Zhang 2024, Algorithms 2–5; METHODS.md §4). Burn-in is first.
/// Then come the smallest step size, rising from its floor at β = ½, and the largest, falling from its ceiling at β_max. At
/// each about ρ* of the proposals are accepted. Both are found by rounds of candidates between the best so far and `α(1 ± ζ|ρ*
/// − ρ|)`. The smallest goes back where ρ is less than ρ* by two standard errors. Last, each position of the cycle gets the
/// balance with the highest rate, from ½ to that of the position before. The last position keeps β = ½.
///
/// Where no step size has the rate ρ* at β_max, the search goes on down to the smallest, or stays at the best. The
/// rate found, in [`CycleTuner::ends`], says so. The paper's advice is then a β_max lower by .05:
/// [`CycleSettings::lower_balance`].
///
/// The paper rates a candidate by one step, its authors' program by one step of a hundred chains. Every chain is put back for
/// the next one. Here a candidate is
/// a [`Rate`] over [`CycleSettings::steps`] steps of every chain, with its standard error, and chains flow through. That is
/// right for a single chain and for a batch. With many chains, give all of them a step by [`CycleTuner::kernel`] and observe
/// what they report in a fixed order. Of equal step sizes the one farther from the start of the search wins, of equal balances
/// the smallest. Step sizes stay between floor and ceiling.
///
/// `T` is a buffer of one [`Trial`] a position, such as `[Trial; 20]`; there need to be two or more.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CycleTuner<T> {
    positions: T,
    now: Progress,
}

/// What changes, apart from the positions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Progress {
    settings: CycleSettings,
    phase: Phase,
    /// The ends of the step sizes: what was chosen so far.
    smallest: Trial,
    largest: Trial,
    round: u32,
    candidate: u32,
    best: Option<Trial>,
    rate: Rate,
    /// Steps observed in this part or for this candidate, chain by chain.
    observed: u64,
    total: u64,
    tried: u32,
}

impl<T: AsMut<[Trial]> + AsRef<[Trial]>> CycleTuner<T> {
    /// A tuner at its beginning; the buffer is overwritten.
    ///
    /// # Errors
    /// [`TuneError`] where a setting is out of its range.
    pub fn new(positions: T, settings: CycleSettings) -> Result<Self, TuneError> {
        check(&settings, positions.as_ref().len())?;
        let CycleSettings { balance, step_size, .. } = settings;
        let end = |step_size, balance| Trial { step_size, balance, rate: 0.0, error: 1.0 };
        let now = Progress {
            settings,
            smallest: end(step_size.0, balance.0),
            largest: end(step_size.1, balance.1),
            ..Progress::default()
        };
        let mut tuner = Self { positions, now };
        tuner.lay_out();
        tuner.enter(Phase::Unadjusted);
        Ok(tuner)
    }

    /// The kernel for the next step of every chain; `None` once it is frozen.
    #[must_use]
    pub fn kernel(&self) -> Option<Langevin<'static>> {
        let trial = match self.now.phase {
            Phase::Frozen => return None,
            Phase::Unadjusted => return kernel(self.now.largest, false).ok(),
            Phase::Adjusted => {
                let step = self.now.observed.checked_div(u64::from(self.now.settings.chains)).unwrap_or(0);
                let length = self.positions.as_ref().len() as u64;
                self.positions().get(step.checked_rem(length).unwrap_or(0) as usize).copied()?
            }
            Phase::Smallest | Phase::Largest | Phase::Balance(_) => self.trial(),
        };
        kernel(trial, true).ok()
    }

    /// Looks at a step of one chain that was made with [`CycleTuner::kernel`]. Where it was the last of a
    /// candidate, returns what was tried and how it did.
    pub fn observe(&mut self, info: &Info) -> Option<Trial> {
        let after_burn_in = match self.now.phase {
            Phase::Frozen => return None,
            Phase::Unadjusted => Some(Phase::Adjusted),
            Phase::Adjusted => Some(Phase::Smallest),
            Phase::Smallest | Phase::Largest | Phase::Balance(_) => None,
        };
        self.now.total = self.now.total.saturating_add(1);
        self.now.observed += 1;
        if let Some(phase) = after_burn_in {
            if self.now.observed >= self.burn_in() {
                self.enter(phase);
            }
            return None;
        }
        self.now.rate.observe(info);
        if self.now.observed < u64::from(self.now.settings.chains) * u64::from(self.now.settings.steps) {
            return None;
        }
        let tried = Trial { rate: self.now.rate.mean(), error: self.now.rate.standard_error(), ..self.trial() };
        self.now.tried = self.now.tried.saturating_add(1);
        self.judge(tried);
        self.next_candidate();
        Some(tried)
    }

    /// Stops tuning; positions that were not reached keep the untuned balance between those that were.
    /// A finished tuner has frozen itself.
    pub fn freeze(&mut self) {
        if !matches!(self.now.phase, Phase::Balance(_) | Phase::Frozen) {
            self.lay_out();
        }
        self.now.phase = Phase::Frozen;
    }

    /// Whether it has stopped adapting: say so beside samples.
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        self.now.phase == Phase::Frozen
    }

    /// The cycle: step size and balance of each position, with the acceptance rate measured for it.
    #[must_use]
    pub fn positions(&self) -> &[Trial] {
        self.positions.as_ref()
    }

    /// The smallest and largest step size found, with their rates.
    #[must_use]
    pub fn ends(&self) -> (Trial, Trial) {
        (self.now.smallest, self.now.largest)
    }

    /// Candidates tried.
    #[must_use]
    pub fn tried(&self) -> u32 {
        self.now.tried
    }

    /// Steps observed, of all chains together.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.now.total
    }

    /// The kernel of a position; the last one's past the cycle.
    ///
    /// # Errors
    /// None: what was tuned within legal bounds is legal.
    pub fn kernel_at(&self, position: usize) -> Result<Langevin<'static>, ParameterError> {
        let trial = self.positions().get(position).or(self.positions().last());
        kernel(trial.copied().unwrap_or(self.now.smallest), true)
    }

    /// The kernels of the first S positions, for [`Cycle`](crate::step::Cycle).
    ///
    /// # Errors
    /// None, as [`CycleTuner::kernel_at`].
    pub fn kernels<const S: usize>(&self) -> Result<[Langevin<'static>; S], ParameterError> {
        let mut kernels = [self.kernel_at(0)?; S];
        for (position, kernel) in kernels.iter_mut().enumerate() {
            *kernel = self.kernel_at(position)?;
        }
        Ok(kernels)
    }

    /// Steps of all chains in a part of burn-in; the second part takes whole cycles.
    fn burn_in(&self) -> u64 {
        let steps = u64::from(self.now.settings.burn_in);
        let length = self.positions.as_ref().len() as u64;
        let rest = if self.now.phase == Phase::Adjusted { steps.checked_rem(length).unwrap_or(0) } else { 0 };
        (steps - rest) * u64::from(self.now.settings.chains)
    }

    /// The candidate that is being tried.
    fn trial(&self) -> Trial {
        let end = match self.now.phase {
            Phase::Smallest => self.now.smallest,
            Phase::Largest => self.now.largest,
            Phase::Balance(position) => {
                let at = |position: u32| self.positions().get(position as usize).copied().unwrap_or_default();
                let (here, before) = (at(position), at(position.saturating_sub(1)));
                let least = self.now.settings.balance.0;
                let balance = least + (before.balance - least) * self.part(self.now.settings.balances);
                return Trial { balance, ..here };
            }
            Phase::Unadjusted | Phase::Adjusted | Phase::Frozen => self.now.largest,
        };
        let falls = self.now.phase == Phase::Largest;
        // The rising search has gone past ρ*, and no chance made it look so: without a way back, every round's noise would
        // carry it further.
        let past = !falls && end.rate + 2.0 * end.error < self.now.settings.target;
        let sign = if falls || past { -1.0 } else { 1.0 };
        let reach = sign * self.now.settings.learning_rate * (self.now.settings.target - end.rate).abs();
        let part = self.part(self.now.settings.step_sizes);
        let step_size = end.step_size * (1.0 + reach * part);
        let (floor, ceiling) = self.now.settings.step_size;
        // The largest step size is not less than the smallest.
        let floor = if falls { floor.max(self.now.smallest.step_size) } else { floor };
        Trial { step_size: step_size.max(floor).min(ceiling), ..end }
    }

    /// Where the candidate is between the first, 0, and the last, 1.
    fn part(&self, candidates: u32) -> f32 {
        self.now.candidate as f32 / candidates.saturating_sub(1).max(1) as f32
    }

    /// Keeps a trial where it is the best of its round.
    fn judge(&mut self, tried: Trial) {
        let target = self.now.settings.target;
        let better = |best: Trial| match self.now.phase {
            // Later candidates are farther from the start of the search.
            Phase::Smallest | Phase::Largest => (tried.rate - target).abs() <= (best.rate - target).abs(),
            _ => tried.rate > best.rate,
        };
        if self.now.best.is_none_or(better) {
            self.now.best = Some(tried);
        }
    }

    fn next_candidate(&mut self) {
        let (chains, steps) = (self.now.settings.chains, self.now.settings.steps);
        (self.now.rate, self.now.observed) = (Rate::new(chains.saturating_mul(steps)), 0);
        self.now.candidate += 1;
        let balance = matches!(self.now.phase, Phase::Balance(_));
        if self.now.candidate < if balance { self.now.settings.balances } else { self.now.settings.step_sizes }
        {
            return;
        }
        self.now.candidate = 0;
        let Some(best) = self.now.best.take() else { return };
        self.now.round += 1;
        let more = self.now.round < self.now.settings.rounds;
        match self.now.phase {
            Phase::Smallest => {
                self.now.smallest = best;
                if !more {
                    self.enter(Phase::Largest);
                }
            }
            Phase::Largest => {
                self.now.largest = best;
                if !more && !self.lower_balance() {
                    self.lay_out();
                    self.enter(Phase::Balance(1));
                }
            }
            Phase::Balance(position) => {
                if let Some(slot) = self.positions.as_mut().get_mut(position as usize) {
                    *slot = best;
                }
                self.enter(Phase::Balance(position + 1));
            }
            Phase::Unadjusted | Phase::Adjusted | Phase::Frozen => {}
        }
    }

    /// Begins the search for the largest step size anew with a smaller balance, where one is wanted and there is one.
    fn lower_balance(&mut self) -> bool {
        let CycleSettings { lower_balance, target, balance: (least, _), step_size: (_, ceiling), .. } =
            self.now.settings;
        let Trial { balance, rate, .. } = self.now.largest;
        let lower = lower_balance && rate < 0.75 * target && balance > least;
        if lower {
            let balance = (balance - 0.05).max(least);
            self.now.largest = Trial { step_size: ceiling, balance, rate: 0.0, error: 1.0 };
            self.now.round = 0;
        }
        lower
    }

    /// Begins a part, or the one after it where there is nothing to do in it.
    fn enter(&mut self, phase: Phase) {
        if phase != self.now.phase {
            self.now.round = 0;
        }
        self.now.phase = phase;
        (self.now.candidate, self.now.best, self.now.observed) = (0, None, 0);
        self.now.rate = Rate::new(self.now.settings.chains.saturating_mul(self.now.settings.steps));
        match phase {
            Phase::Unadjusted if self.burn_in() == 0 => self.enter(Phase::Adjusted),
            Phase::Adjusted if self.burn_in() == 0 => self.enter(Phase::Smallest),
            Phase::Smallest if self.now.settings.rounds == 0 => self.enter(Phase::Largest),
            Phase::Largest if self.now.settings.rounds == 0 => self.enter(Phase::Balance(1)),
            // The last position has the smallest balance by definition.
            Phase::Balance(position) if position as usize + 1 >= self.positions.as_ref().len() => {
                self.now.phase = Phase::Frozen;
            }
            _ => {}
        }
    }

    /// The untuned cycle between the ends found so far.
    fn lay_out(&mut self) {
        let (smallest, largest) = (self.now.smallest, self.now.largest);
        let positions = self.positions.as_mut();
        let length = positions.len() as u64;
        let step_size = Schedule::cyclical_step_size(largest.step_size, smallest.step_size, length);
        let balance = Schedule::cosine(largest.balance, smallest.balance, length);
        let (Ok(step_size), Ok(balance)) = (step_size, balance) else { return };
        let last = positions.len().saturating_sub(1);
        for (position, slot) in positions.iter_mut().enumerate() {
            let step = position as u64;
            let end = Trial { step_size: step_size.at(step), balance: balance.at(step), rate: 0.0, error: 1.0 };
            *slot = match position {
                0 => largest,
                _ if position == last && end.step_size == smallest.step_size => smallest,
                _ if position == last => Trial { balance: smallest.balance, ..end },
                _ => end,
            };
        }
    }
}

fn kernel(trial: Trial, adjusted: bool) -> Result<Langevin<'static>, ParameterError> {
    Langevin::new(trial.balance, Curvature::Same(1.0 / trial.step_size), adjusted)
}
