//! Statistics that are kept over a stop.

use super::{Acceptance, Best, Every, Means, Pairs};
use crate::snapshot::{BoundedSnapshot, Reader, Snapshot, SnapshotError, Writer, data_and_list, plain};

plain! {
    Acceptance, b"acce", { steps, accepted, proposed_flips, accepted_flips, faults },
    |kept| {
        let counts = [kept.steps, kept.accepted, kept.proposed_flips, kept.accepted_flips, kept.faults];
        counts.iter().all(|&count| count <= u64::MAX / 2)
    }
}
plain! { Pairs<const N: usize>, b"pair", { pairs, equal, count }, |_| true }

/// The sums, and how many states they are of.
impl<T: AsMut<[u32]> + AsRef<[u32]>> Snapshot for Means<T> {
    fn save(&self, to: &mut Writer<'_>) {
        to.name(*b"mean");
        self.count.save(to);
        self.sums.as_ref().save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        data_and_list(*b"mean", (&mut self.count, self.sums.as_mut()), |_, _| true, from)
    }
}

impl<const SITES: usize> BoundedSnapshot for Means<[u32; SITES]> {
    const LEN: usize = 8 + <[u32; SITES]>::LEN;
}

impl<const WORDS: usize> BoundedSnapshot for Best<[u32; WORDS]> {
    const LEN: usize = 8 + <[u32; WORDS]>::LEN;
}

impl<O: BoundedSnapshot> BoundedSnapshot for Every<O> {
    const LEN: usize = 20 + O::LEN;
}

impl<T: AsMut<[u32]> + AsRef<[u32]>> Snapshot for Best<T> {
    fn save(&self, to: &mut Writer<'_>) {
        to.name(*b"best");
        self.energy.save(to);
        self.words.as_ref().save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        data_and_list(*b"best", (&mut self.energy, self.words.as_mut()), |_, _| true, from)
    }
}

impl<O: Snapshot> Snapshot for Every<O> {
    fn save(&self, to: &mut Writer<'_>) {
        to.name(*b"ever");
        (self.period, self.left).save(to);
        self.observer.save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let (mut at, mut counts) = (*from, (0, 0));
        at.name(*b"ever")?;
        counts.load(&mut at)?;
        if counts.1 == 0 || counts.1 > counts.0 {
            return Err(SnapshotError::Value);
        }
        self.observer.load(&mut at)?;
        (self.period, self.left, *from) = (counts.0, counts.1, at);
        Ok(())
    }
}
