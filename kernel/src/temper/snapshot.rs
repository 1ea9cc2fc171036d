//! Replicas and ladders that are kept over a stop.

use super::{End, Ladder, Replica, Rung};
use crate::chain;
use crate::energy::{Ends, Energy};
use crate::lane::{Bits, Block};
use crate::layout::Layout;
use crate::snapshot::{BoundedSnapshot, Reader, Snapshot, SnapshotError, Writer, plain};

/// β, E and E₀ of the state, and the chain. Where it is refused the replica is as it was.
impl<E, W, C, B> Snapshot for Replica<'_, E, W, C, B>
where
    E: Energy + ?Sized,
    W: AsMut<[u32]> + AsRef<[u32]>,
    C: AsMut<[Bits]>,
    B: AsMut<[Block]> + AsRef<[Block]>,
{
    fn save(&self, to: &mut Writer<'_>) {
        to.name(*b"repl");
        self.path.beta().save(to);
        (self.ends.target, self.ends.base).save(to);
        let chain::Memory { words, weights, .. } = &self.memory;
        chain::snapshot::save(to, self.path.layout(), self.core, words.as_ref(), weights.as_ref());
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let (mut at, mut beta, mut ends) = (*from, 0.0, Ends::default());
        at.name(*b"repl")?;
        beta.load(&mut at)?;
        ends.target.load(&mut at)?;
        ends.base.load(&mut at)?;
        let path = self.path.at(beta).map_err(|_| SnapshotError::Value)?;
        if !(ends.target.value().is_finite() && ends.base.value().is_finite()) {
            return Err(SnapshotError::Value);
        }
        let before = core::mem::replace(&mut self.path, path);
        let loaded = self.with(|chain| {
            chain.load(&mut at)?;
            path.keep(ends, chain.ring().here.cache);
            Ok(())
        });
        match loaded {
            Ok(()) => *from = at,
            Err(_) => self.path = before,
        }
        loaded
    }
}

impl<E: ?Sized, W, C, B> Replica<'_, E, W, C, B> {
    /// Bytes in a snapshot.
    #[must_use]
    pub const fn snapshot_len(layout: Layout) -> usize {
        chain::snapshot_len(layout).saturating_add(24)
    }
}

impl BoundedSnapshot for End {
    const LEN: usize = 1;
}

impl<const RUNGS: usize> BoundedSnapshot for Ladder<[Rung; RUNGS]> {
    const LEN: usize = 4 + 16 + <[Rung; RUNGS]>::LEN;
}

impl Snapshot for End {
    fn save(&self, to: &mut Writer<'_>) {
        let number: u8 = match self {
            Self::None => 0,
            Self::First => 1,
            Self::Last => 2,
        };
        number.save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        *self = match from.array()? {
            [0] => Self::None,
            [1] => Self::First,
            [2] => Self::Last,
            _ => return Err(SnapshotError::Value),
        };
        Ok(())
    }
}

plain! { Rung, b"rung", { beta, replica, came_from, tried, sum }, |_| true }

/// The rungs with their β and replicas, and the counts. Where it is refused the ladder is as it was.
impl<T: AsMut<[Rung]> + AsRef<[Rung]>> Snapshot for Ladder<T> {
    fn save(&self, to: &mut Writer<'_>) {
        to.name(*b"ladd");
        (self.rounds, self.round_trips).save(to);
        self.rungs.as_ref().save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let (mut at, mut counts) = (*from, (0, 0));
        at.name(*b"ladd")?;
        counts.load(&mut at)?;
        if counts.1 > u64::MAX / 2 {
            return Err(SnapshotError::Value);
        }
        let mut look = at;
        let (need, got) = (self.rungs.as_ref().len(), u32::from_le_bytes(look.array()?) as usize);
        if need != got {
            return Err(SnapshotError::Length { need, got });
        }
        let (first, mut before) = (look, -1.0);
        for index in 0..need {
            let mut rung = Rung::default();
            rung.load(&mut look)?;
            // β in order, and every replica once.
            let (mut earlier, mut twice) = (first, false);
            for _ in 0..index {
                let mut other = Rung::default();
                other.load(&mut earlier)?;
                twice |= other.replica == rung.replica;
            }
            if twice
                || !(rung.beta >= 0.0 && rung.beta > before && rung.beta.is_finite())
                || rung.replica() >= need
            {
                return Err(SnapshotError::Value);
            }
            before = rung.beta;
        }
        self.rungs.as_mut().load(&mut at)?;
        (self.rounds, self.round_trips, *from) = (counts.0, counts.1, at);
        Ok(())
    }
}
