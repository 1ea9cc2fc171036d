//! Batches of Potts chains that are kept over a stop.

use super::super::ALL;
use super::super::common::Core;
use super::{PottsBatch, PottsSite, legal};
use crate::energy::Energy;
use crate::lane::LANES;
use crate::layout::Layout;
use crate::snapshot::{Reader, Snapshot, SnapshotError, Writer};

/// The states, their energies, the inverse temperatures, the sites that are clamped. The model is not in it: a batch
/// over the same one goes on bit for bit. Bytes: [`PottsBatch::snapshot_len`].
///
/// Where it is refused the batch is as it was.
impl<S: AsMut<[PottsSite<Q>]> + AsRef<[PottsSite<Q>]>, const Q: usize> Snapshot for PottsBatch<'_, S, Q> {
    fn save(&self, to: &mut Writer<'_>) {
        to.name(*b"pott");
        let sites = self.model.layout().sites();
        (sites as u32, Q as u32).save(to);
        self.core.save(to);
        for site in self.sites.as_ref().iter().take(sites) {
            to.bytes(&site.values);
            site.clamped.save(to);
        }
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let mut at = *from;
        at.name(*b"pott")?;
        let (sites, arity) = (u32::from_le_bytes(at.array()?), u32::from_le_bytes(at.array()?));
        let (need, got) = (self.model.layout(), Layout::categorical(sites as usize, arity as usize));
        if need != got {
            return Err(SnapshotError::Layout { need, got });
        }
        let core = Core::loaded(&mut at, |beta| legal(self.model, beta))?;
        let mut look = at;
        for _ in 0..sites {
            let (values, [clamped]): ([u8; LANES], [u8; 1]) = (look.array()?, look.array()?);
            if clamped > 1 || values.iter().any(|&value| usize::from(value) >= Q) {
                return Err(SnapshotError::Value);
            }
        }
        for site in self.ring().sites {
            site.values = at.array()?;
            site.clamped = at.array()? == [1];
        }
        self.settle(ALL);
        self.core = core;
        *from = at;
        Ok(())
    }
}
