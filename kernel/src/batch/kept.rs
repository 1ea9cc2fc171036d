//! Batches that are kept over a stop.

use super::common::{Core, legal};
use super::{ALL, Batch, BatchSite};
use crate::lane::LANES;
use crate::layout::Layout;
use crate::snapshot::{Reader, Snapshot, SnapshotError, Writer};

/// Bytes of a batch over `sites` sites in a snapshot.
#[must_use]
pub const fn snapshot_len(sites: usize) -> usize {
    sites.saturating_mul(4).saturating_add(8 + Core::LEN)
}

/// The states, their energies, the inverse temperatures, the sites that are clamped. The model is not in it: a batch
/// over the same one goes on bit for bit. Bytes: [`snapshot_len`].
///
/// Where it is refused the batch is as it was.
impl<S: AsMut<[BatchSite]> + AsRef<[BatchSite]>> Snapshot for Batch<'_, S> {
    fn save(&self, to: &mut Writer<'_>) {
        to.name(*b"btch");
        let sites = self.model.form().sites();
        (sites as u32).save(to);
        self.core.save(to);
        for site in self.sites.as_ref().iter().take(sites) {
            (site.values(self.core.accepted) | (site.free() << LANES)).save(to);
        }
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let mut at = *from;
        at.name(*b"btch")?;
        let sites = u32::from_le_bytes(at.array()?);
        let (need, got) = (self.layout(), Layout::binary(sites as usize));
        if need != got {
            return Err(SnapshotError::Layout { need, got });
        }
        let core = Core::loaded(&mut at, legal)?;
        let mut look = at;
        (0..sites).try_for_each(|_| look.array::<4>().map(|_| ()))?;
        for site in self.ring().sites {
            let word = u32::from_le_bytes(at.array()?);
            site.set(ALL, word & ALL);
            site.hold(!(word >> LANES));
        }
        self.settle(ALL);
        self.core = Core { level: self.core.level, ..core };
        *from = at;
        Ok(())
    }
}
