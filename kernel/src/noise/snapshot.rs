//! Regressions that are kept over a stop.

use super::{Regression, SparseRegression};
use crate::energy::Sparse;
use crate::lane::Block;
use crate::snapshot::{Reader, Same, Snapshot, SnapshotError, Writer, lists};

fn save(to: &mut Writer<'_>, name: [u8; 4], moves: u32, sums: [&[Block]; 2]) {
    to.name(name);
    moves.save(to);
    sums.iter().for_each(|sums| sums.as_flattened().save(to));
}

/// How many moves there were; the sums are loaded.
fn load(from: &mut Reader<'_>, name: [u8; 4], sums: [&mut [Block]; 2]) -> Result<u32, SnapshotError> {
    let (mut at, mut moves) = (*from, 0);
    at.name(name)?;
    moves.load(&mut at)?;
    lists(sums.map(|sums| sums.as_flattened_mut()), |_, _| true, &mut at)?;
    *from = at;
    Ok(moves)
}

impl Regression<'_> {
    /// Bytes in a snapshot.
    #[must_use]
    pub const fn snapshot_len(sites: usize) -> usize {
        Self::blocks(sites).saturating_mul(64).saturating_add(16)
    }
}

impl SparseRegression<'_> {
    /// Bytes in a snapshot.
    #[must_use]
    pub fn snapshot_len(pattern: Sparse<'_>) -> usize {
        Self::blocks(pattern).saturating_mul(64).saturating_add(28)
    }
}

/// The moments so far, of the same number of sites. Its length is that of the memory. Where it is refused nothing is
/// changed.
impl Snapshot for Regression<'_> {
    fn save(&self, to: &mut Writer<'_>) {
        save(to, *b"regr", self.moves, [self.moments, self.products]);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.moves = load(from, *b"regr", [self.moments, self.products])?;
        Ok(())
    }
}

/// The moments so far, of the same pattern; of another one it is refused as [`SnapshotError::Other`]. Its length is
/// that of the memory. Where it is refused nothing is changed.
impl Snapshot for SparseRegression<'_> {
    fn save(&self, to: &mut Writer<'_>) {
        Same(self.key()).save(to);
        save(to, *b"sreg", self.moves, [self.products, self.moments]);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let mut at = *from;
        Same(self.key()).load(&mut at)?;
        self.moves = load(&mut at, *b"sreg", [self.products, self.moments])?;
        *from = at;
        Ok(())
    }
}
