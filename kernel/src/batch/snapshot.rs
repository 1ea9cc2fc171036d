//! Snapshots of batches.

use super::core_state::{Core, legal};
use super::{ALL, Batch, BatchCell};
use crate::energy::Energy;
use crate::snapshot::{Reader, Snapshot, SnapshotError, Writer};

/// Bytes of a batch of an Ising model over `sites` sites in a snapshot.
#[must_use]
pub const fn snapshot_len(sites: usize) -> usize {
    sites.saturating_mul(4).saturating_add(8 + Core::LEN)
}

/// The states, their energies, the inverse temperatures, the sites that are clamped. The model is not in it: a batch
/// over the same one goes on bit for bit. Bytes: [`snapshot_len`], or
/// [`PottsBatch::snapshot_len`](super::PottsBatch::snapshot_len).
///
/// Where it is refused the batch is as it was.
impl<S: AsMut<[T]> + AsRef<[T]>, T: BatchCell> Snapshot for Batch<'_, S, T> {
    fn save(&self, to: &mut Writer<'_>) {
        to.name(T::NAME);
        let layout = self.model.layout();
        T::save_layout(layout, to);
        self.core.save(to);
        self.sites.as_ref().iter().take(layout.sites()).for_each(|site| site.save(self.core.accepted, to));
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        from.part(T::NAME, |at| {
            let (need, got) = (self.model.layout(), T::load_layout(at)?);
            if need != got {
                return Err(SnapshotError::Layout { need, got });
            }
            let core = Core::loaded(at, |beta| legal(beta) && T::in_reach(self.model, beta))?;
            let mut look = *at;
            (0..need.sites()).try_for_each(|_| T::default().load(&mut look))?;
            self.ring().sites.iter_mut().try_for_each(|site| site.load(at))?;
            self.settle(ALL);
            self.core = Core { level: self.core.level, ..core };
            Ok(())
        })
    }
}
