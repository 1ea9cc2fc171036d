//! Memory for sparse couplings.

use super::Entry;

/// Memory for [`Sparse`](super::Sparse) couplings: `SITES` sites, `ENTRIES` entries (two an edge).
/// 12 bytes a site and 16 an edge.
#[derive(Clone, Debug)]
pub struct SparseMemory<const SITES: usize, const ENTRIES: usize> {
    ends: [u32; SITES],
    linear: [[i32; 2]; SITES],
    entries: [Entry; ENTRIES],
}

impl<const SITES: usize, const ENTRIES: usize> SparseMemory<SITES, ENTRIES> {
    /// Empty memory.
    #[must_use]
    pub const fn new() -> Self {
        Self { ends: [0; SITES], linear: [[0; 2]; SITES], entries: [Entry { site: 0, coupling: 0 }; ENTRIES] }
    }

    /// Its buffers, for a constructor.
    pub fn borrow(&mut self) -> SparseBuffers<'_> {
        SparseBuffers::new(&mut self.ends, self.linear.as_flattened_mut(), &mut self.entries)
    }
}

impl<const SITES: usize, const ENTRIES: usize> Default for SparseMemory<SITES, ENTRIES> {
    fn default() -> Self {
        Self::new()
    }
}

/// The buffers of [`Sparse`](super::Sparse) couplings, provided by the caller: slices of any length, of vectors where
/// sizes are known at run time only (see [`Memory`](crate::Memory)). Buffers longer than the model needs are legal.
#[derive(Debug)]
pub struct SparseBuffers<'a> {
    /// One word a site.
    pub ends: &'a mut [u32],
    /// One word a site; with two, [`Ising::with_linear`](super::super::Ising::with_linear) over spins takes no longer
    /// than over bits.
    pub linear: &'a mut [i32],
    /// Two entries an edge.
    pub entries: &'a mut [Entry],
    pub(in crate::energy) any_rounding: bool,
}

impl<'a> SparseBuffers<'a> {
    /// One word a site, one or two words a site, and two entries an edge.
    pub const fn new(ends: &'a mut [u32], linear: &'a mut [i32], entries: &'a mut [Entry]) -> Self {
        Self { ends, linear, entries, any_rounding: false }
    }

    /// Lets the constructor round as coarsely as the largest field asks for: no
    /// [`SparseError::Rounding`](super::SparseError).
    #[must_use]
    pub const fn allow_rounding(self) -> Self {
        Self { any_rounding: true, ..self }
    }
}
