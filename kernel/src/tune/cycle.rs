//! The schedule of the cyclical sampler, found by trying.

mod kept;

use super::{Rate, TuneError, bound, share};
use crate::accept::Info;
use crate::schedule::Schedule;
use crate::step::{Curvature, Langevin, ParameterError};

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

/// What a [`CycleTuner`] works with. The defaults are the paper's for a single chain, with a hundred steps
/// where the paper takes one step of a hundred chains.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CycleSettings {
    /// Chains whose steps are observed in turn.
    pub chains: u32,
    /// Steps of every chain for one candidate.
    pub steps: u32,
    /// Steps of every chain in each of the two parts of burn-in.
    pub burn_in: u32,
    /// Rounds of the search for each end of the step sizes (the paper's budget of 500 steps: 21).
    pub rounds: u32,
    /// Candidates a round for a step size.
    pub step_sizes: u32,
    /// Candidates for a balance.
    pub balances: u32,
    /// Wished acceptance rate ρ*, in (0, 1).
    pub target: f32,
    /// ζ, in (0, 1): how far one round may go.
    pub learning_rate: f32,
    /// β of the smallest and of the largest step size, from ½ to 1.
    pub balance: (f32, f32),
    /// Where the searches for the smallest and for the largest step size begin.
    pub step_size: (f32, f32),
}

impl Default for CycleSettings {
    fn default() -> Self {
        Self {
            chains: 1,
            steps: 100,
            burn_in: 50,
            rounds: 21,
            step_sizes: 5,
            balances: 10,
            target: 0.5,
            learning_rate: 0.5,
            balance: (0.5, 0.95),
            step_size: (0.05, 60.0),
        }
    }
}

/// The part of the algorithm that is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Phase {
    /// Burn-in without the Metropolis test, at the largest step size and balance.
    Unadjusted,
    /// Burn-in with the test, along the untuned cycle.
    Adjusted,
    Smallest,
    Largest,
    /// The balance of a position.
    Balance(u32),
    Frozen,
}

/// Finds the cycle of ACS (Pynadath, Bhattacharya, Hariharan, Zhang 2024, Algorithms 2–5; METHODS.md §4):
/// burn-in; the smallest step size, rising from its floor at β = ½, and the largest, falling from its
/// ceiling at β_max, at which about ρ* of the proposals are accepted, each by rounds of candidates between
/// the best so far and `α(1 ± ζ|ρ* − ρ|)`; then for each position of the cycle the balance, from ½ to that
/// of the position before, with the highest rate. The last position keeps β = ½.
///
/// Where no step size has the rate ρ* at β_max, the search goes on to small ones or stays at the best:
/// [`CycleTuner::ends`] says so by the rate found, and a β_max lower by .05 is the paper's advice.
///
/// Unlike the paper, which judges a candidate by one step of a hundred chains and puts every chain back for
/// the next one, a candidate here is a [`Rate`] over [`CycleSettings::steps`] steps of every chain, with its
/// standard error, and chains flow through: right for a single chain and for a batch. With many chains,
/// give all of them a step by [`CycleTuner::kernel`] and observe what they report in a fixed order. Equal
/// candidates: the one farther from the start of the search wins. Step sizes stay between floor and ceiling.
///
/// `T` is a buffer of one [`Trial`] a position, such as `[Trial; 20]`; there need to be two or more.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CycleTuner<T> {
    positions: T,
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
        let mut tuner = Self {
            positions,
            settings,
            phase: Phase::Unadjusted,
            smallest: end(step_size.0, balance.0),
            largest: end(step_size.1, balance.1),
            round: 0,
            candidate: 0,
            best: None,
            rate: Rate::default(),
            observed: 0,
            total: 0,
            tried: 0,
        };
        tuner.lay_out();
        tuner.enter(Phase::Unadjusted);
        Ok(tuner)
    }

    /// The kernel for the next step of every chain; `None` once it is frozen.
    #[must_use]
    pub fn kernel(&self) -> Option<Langevin<'static>> {
        let trial = match self.phase {
            Phase::Frozen => return None,
            Phase::Unadjusted => return kernel(self.largest, false).ok(),
            Phase::Adjusted => {
                let step = self.observed.checked_div(u64::from(self.settings.chains)).unwrap_or(0);
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
        if self.phase == Phase::Frozen {
            return None;
        }
        self.total = self.total.saturating_add(1);
        self.observed += 1;
        match self.phase {
            Phase::Unadjusted | Phase::Adjusted => {
                if self.observed >= self.burn_in() {
                    self.enter(if self.phase == Phase::Unadjusted { Phase::Adjusted } else { Phase::Smallest });
                }
                return None;
            }
            _ => self.rate.observe(info),
        }
        if self.observed < u64::from(self.settings.chains) * u64::from(self.settings.steps) {
            return None;
        }
        let tried = Trial { rate: self.rate.mean(), error: self.rate.standard_error(), ..self.trial() };
        self.tried = self.tried.saturating_add(1);
        self.judge(tried);
        self.next_candidate();
        Some(tried)
    }

    /// Stops tuning; positions that were not reached keep the untuned balance between those that were.
    /// A finished tuner has frozen itself.
    pub fn freeze(&mut self) {
        if !matches!(self.phase, Phase::Balance(_) | Phase::Frozen) {
            self.lay_out();
        }
        self.phase = Phase::Frozen;
    }

    /// Whether it has stopped adapting: say so beside samples.
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        self.phase == Phase::Frozen
    }

    /// The cycle: step size and balance of each position, with the acceptance rate measured for it.
    #[must_use]
    pub fn positions(&self) -> &[Trial] {
        self.positions.as_ref()
    }

    /// The smallest and largest step size found, with their rates.
    #[must_use]
    pub fn ends(&self) -> (Trial, Trial) {
        (self.smallest, self.largest)
    }

    /// Candidates tried.
    #[must_use]
    pub fn tried(&self) -> u32 {
        self.tried
    }

    /// Steps observed, of all chains together.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.total
    }

    /// The kernel of a position; the last one's past the cycle.
    ///
    /// # Errors
    /// None: what was tuned within legal bounds is legal.
    pub fn kernel_at(&self, position: usize) -> Result<Langevin<'static>, ParameterError> {
        let trial = self.positions().get(position).or(self.positions().last());
        kernel(trial.copied().unwrap_or(self.smallest), true)
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
        let steps = u64::from(self.settings.burn_in);
        let length = self.positions.as_ref().len() as u64;
        let rest = if self.phase == Phase::Adjusted { steps.checked_rem(length).unwrap_or(0) } else { 0 };
        (steps - rest) * u64::from(self.settings.chains)
    }

    /// The candidate that is being tried.
    fn trial(&self) -> Trial {
        let end = match self.phase {
            Phase::Smallest => self.smallest,
            Phase::Largest => self.largest,
            Phase::Balance(position) => {
                let at = |position: u32| self.positions().get(position as usize).copied().unwrap_or_default();
                let (here, before) = (at(position), at(position.saturating_sub(1)));
                let least = self.settings.balance.0;
                let balance = least + (before.balance - least) * self.part(self.settings.balances);
                return Trial { balance, ..here };
            }
            Phase::Unadjusted | Phase::Adjusted | Phase::Frozen => self.largest,
        };
        let sign = if self.phase == Phase::Largest { -1.0 } else { 1.0 };
        let reach = sign * self.settings.learning_rate * (self.settings.target - end.rate).abs();
        let part = self.part(self.settings.step_sizes);
        let step_size = end.step_size * (1.0 + reach * part);
        let (floor, ceiling) = self.settings.step_size;
        Trial { step_size: step_size.max(floor).min(ceiling), ..end }
    }

    /// Where the candidate stands between the first, 0, and the last, 1.
    fn part(&self, candidates: u32) -> f32 {
        self.candidate as f32 / candidates.saturating_sub(1).max(1) as f32
    }

    /// Keeps a trial where it is the best of its round.
    fn judge(&mut self, tried: Trial) {
        let target = self.settings.target;
        let better = |best: Trial| match self.phase {
            // Later candidates are farther from the start of the search.
            Phase::Smallest | Phase::Largest => (tried.rate - target).abs() <= (best.rate - target).abs(),
            _ => tried.rate > best.rate,
        };
        if self.best.is_none_or(better) {
            self.best = Some(tried);
        }
    }

    fn next_candidate(&mut self) {
        let (chains, steps) = (self.settings.chains, self.settings.steps);
        (self.rate, self.observed) = (Rate::new(chains.saturating_mul(steps)), 0);
        self.candidate += 1;
        let balance = matches!(self.phase, Phase::Balance(_));
        if self.candidate < if balance { self.settings.balances } else { self.settings.step_sizes } {
            return;
        }
        self.candidate = 0;
        let Some(best) = self.best.take() else { return };
        self.round += 1;
        let more = self.round < self.settings.rounds;
        match self.phase {
            Phase::Smallest => {
                self.smallest = best;
                if !more {
                    self.enter(Phase::Largest);
                }
            }
            Phase::Largest => {
                self.largest = best;
                if !more {
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

    /// Begins a part, or the one after it where there is nothing to do in it.
    fn enter(&mut self, phase: Phase) {
        if phase != self.phase {
            self.round = 0;
        }
        self.phase = phase;
        (self.candidate, self.best, self.observed) = (0, None, 0);
        self.rate = Rate::new(self.settings.chains.saturating_mul(self.settings.steps));
        match phase {
            Phase::Unadjusted if self.burn_in() == 0 => self.enter(Phase::Adjusted),
            Phase::Adjusted if self.burn_in() == 0 => self.enter(Phase::Smallest),
            Phase::Smallest if self.settings.rounds == 0 => self.enter(Phase::Largest),
            Phase::Largest if self.settings.rounds == 0 => self.enter(Phase::Balance(1)),
            // The last position has the smallest balance by definition.
            Phase::Balance(position) if position as usize + 1 >= self.positions.as_ref().len() => {
                self.phase = Phase::Frozen;
            }
            _ => {}
        }
    }

    /// The untuned cycle between the ends found so far.
    fn lay_out(&mut self) {
        let (smallest, largest) = (self.smallest, self.largest);
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

/// Whether a tuner can work with settings and so many positions.
fn check(settings: &CycleSettings, positions: usize) -> Result<(), TuneError> {
    let CycleSettings { balance, step_size, .. } = *settings;
    let length = u32::try_from(positions).unwrap_or(0);
    let few = length < 2 || settings.balances < 2 || settings.step_sizes < 2;
    if few || settings.chains == 0 || settings.steps == 0 {
        return Err(TuneError::Count);
    }
    [settings.target, settings.learning_rate].into_iter().try_for_each(share)?;
    for value in [balance.0, balance.1] {
        if !(0.5..=1.0).contains(&value) || balance.0 > balance.1 {
            return Err(TuneError::Share(value));
        }
    }
    [step_size.0, step_size.1].into_iter().try_for_each(bound)?;
    if step_size.0 > step_size.1 {
        return Err(TuneError::Bound(step_size.0));
    }
    Ok(())
}
