//! A tuner of cycles that is kept over a stop.

use super::{CycleSettings, CycleTuner, Phase, Progress, Trial, check, kernel};
use crate::snapshot::{BoundedSnapshot, Reader, Snapshot, SnapshotError, Writer, lists, plain};

plain! { Trial, b"tria", { step_size, balance, rate, error }, |_| true }

/// The name says whether the balance is lowered: bytes from before there was a choice are read as before.
impl Snapshot for CycleSettings {
    fn save(&self, to: &mut Writer<'_>) {
        to.name(if self.lower_balance { *LOWERS } else { *b"cset" });
        ((self.chains, self.steps, self.burn_in), (self.rounds, self.step_sizes, self.balances)).save(to);
        ((self.target, self.learning_rate), (self.balance, self.step_size)).save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let (mut at, mut next) = (*from, *self);
        next.lower_balance = at.name(*LOWERS).is_ok();
        if !next.lower_balance {
            at = *from;
            at.name(*b"cset")?;
        }
        (next.chains, next.steps, next.burn_in) = at.value()?;
        (next.rounds, next.step_sizes, next.balances) = at.value()?;
        (next.target, next.learning_rate) = at.value()?;
        (next.balance, next.step_size) = at.value()?;
        (*self, *from) = (next, at);
        Ok(())
    }
}

const LOWERS: &[u8; 4] = b"csel";

impl BoundedSnapshot for CycleSettings {
    const LEN: usize = 4 + 6 * u32::LEN + 6 * f32::LEN;
}

impl Snapshot for Phase {
    fn save(&self, to: &mut Writer<'_>) {
        let (number, position): (u8, u32) = match *self {
            Self::Unadjusted => (0, 0),
            Self::Adjusted => (1, 0),
            Self::Smallest => (2, 0),
            Self::Largest => (3, 0),
            Self::Balance(position) => (4, position),
            Self::Frozen => (5, 0),
        };
        (number, position).save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        *self = match from.value::<(u8, u32)>()? {
            (0, 0) => Self::Unadjusted,
            (1, 0) => Self::Adjusted,
            (2, 0) => Self::Smallest,
            (3, 0) => Self::Largest,
            (4, position) => Self::Balance(position),
            (5, 0) => Self::Frozen,
            _ => return Err(SnapshotError::Value),
        };
        Ok(())
    }
}

plain! {
    Progress, b"cycl",
    { settings, phase, smallest, largest, round, candidate, best, rate, observed, total, tried },
    |kept| {
        let CycleSettings { chains, steps, burn_in, rounds, step_sizes, balances, .. } = kept.settings;
        let most = u64::from(chains) * u64::from(steps.max(burn_in));
        let trials = [Some(kept.smallest), Some(kept.largest), kept.best];
        let legal = trials.iter().flatten().all(|trial| can_be_tried(trial, &kept.settings));
        legal && kept.observed <= most && kept.round <= rounds && kept.candidate < step_sizes.max(balances)
    }
}

/// Whether a tuner with these settings can have tried this.
fn can_be_tried(trial: &Trial, CycleSettings { step_size: (floor, ceiling), .. }: &CycleSettings) -> bool {
    (floor..=ceiling).contains(&&trial.step_size)
        && kernel(*trial, true).is_ok()
        && (0.0..=1.0).contains(&trial.rate)
        && (0.0..=1.0).contains(&trial.error)
}

impl BoundedSnapshot for Phase {
    const LEN: usize = 5;
}

impl<const TRIALS: usize> BoundedSnapshot for CycleTuner<[Trial; TRIALS]> {
    const LEN: usize = Progress::LEN + <[Trial; TRIALS]>::LEN;
}

/// Settings, positions and how far it is. Where it is refused the tuner is as it was.
impl<T: AsMut<[Trial]> + AsRef<[Trial]>> Snapshot for CycleTuner<T> {
    fn save(&self, to: &mut Writer<'_>) {
        self.now.save(to);
        self.positions.as_ref().save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let (length, mut at) = (self.positions.as_ref().len(), *from);
        let mut kept = self.now;
        kept.load(&mut at)?;
        let beyond = matches!(kept.phase, Phase::Balance(position) if position as usize >= length);
        if check(&kept.settings, length).is_err() || beyond {
            return Err(SnapshotError::Value);
        }
        lists([self.positions.as_mut()], |_, trial| can_be_tried(trial, &kept.settings), &mut at)?;
        (self.now, *from) = (kept, at);
        Ok(())
    }
}
