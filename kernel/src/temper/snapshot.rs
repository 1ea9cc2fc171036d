//! Replicas and ladders that are kept over a stop.

use super::ladder::rises;
use super::{End, Ladder, Replica, Rung};
use crate::chain;
use crate::energy::{Ends, Energy};
use crate::lane::{Bits, Block, Total};
use crate::layout::Layout;
use crate::snapshot::{BoundedSnapshot, Reader, Snapshot, SnapshotError, Writer, lists, plain};

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
        from.part(*b"repl", |at| {
            let (beta, target, base): (f32, Total, Total) = at.value()?;
            let path = self.path.at(beta).map_err(|_| SnapshotError::Value)?;
            if !(target.value().is_finite() && base.value().is_finite()) {
                return Err(SnapshotError::Value);
            }
            let before = core::mem::replace(&mut self.path, path);
            let loaded = self.with(|chain| {
                chain.load(at)?;
                path.keep(Ends { target, base }, chain.ring().here.cache);
                Ok(())
            });
            if loaded.is_err() {
                self.path = before;
            }
            loaded
        })
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
        (*self as u8).save(to);
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
        from.part(*b"ladd", |at| {
            let (rounds, round_trips) = at.value()?;
            if round_trips > u64::MAX / 2 {
                return Err(SnapshotError::Value);
            }
            let (need, mut first, mut before) = (self.rungs.as_ref().len(), *at, -1.0);
            first.array::<4>()?;
            // β in order, and every replica once.
            let legal = |index: usize, rung: &Rung| {
                let (mut earlier, above) = (first, rises(before, rung.beta));
                before = rung.beta;
                let differs = |other: Rung| other.replica != rung.replica;
                above && rung.replica() < need && (0..index).all(|_| earlier.value().is_ok_and(differs))
            };
            lists([self.rungs.as_mut()], legal, at)?;
            (self.rounds, self.round_trips) = (rounds, round_trips);
            Ok(())
        })
    }
}
