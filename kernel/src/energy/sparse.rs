//! Sparse symmetric couplings and fields in fixed point: built once, checked once.

mod error;
mod memory;
mod sort;

pub use error::SparseError;
pub use memory::{SparseBuffers, SparseMemory};

use super::Grid;
use sort::sort;

/// One neighbour of a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Entry {
    /// The neighbour.
    pub site: u32,
    /// The coupling, in units of the grid.
    pub coupling: i32,
}

/// An undirected edge: two sites and their coupling.
pub type Edge = (u32, u32, f32);

/// The quadratic form `b·x + ½ xᵀKx` over {0,1} with sparse symmetric K and zero diagonal, in fixed point.
///
/// All terms are whole multiples of one power of two, the finest for which every field fits in 30 bits: a
/// coupling is rounded by at most 2⁻³⁰ of the largest field. [`Ising`](super::Ising)'s constructors compile
/// it from an edge list; [`Sparse::from_rows`] takes tables that were compiled before, in flash for example.
#[derive(Clone, Copy, Debug)]
pub struct Sparse<'a> {
    ends: &'a [u32],
    entries: &'a [Entry],
    linear: &'a [i32],
    grid: Grid,
    level: bool,
}

/// How the spins or bits of a model become `x`: see [`Ising`](super::Ising).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Embedding {
    /// `s = 2x − 1`: K = 4J, b = 2(w − ΣJ).
    Spins,
    /// `x` itself: K = J, b = w.
    Bits,
}

/// Whether at most one row in eight has another length than the one before it.
fn level(ends: &[u32]) -> bool {
    let (mut start, mut length, mut steps) = (0, 0, 0);
    for &end in ends {
        let before = core::mem::replace(&mut length, end.wrapping_sub(start));
        steps += usize::from(length != before);
        start = end;
    }
    steps <= ends.len() / 8
}

impl<'a> Sparse<'a> {
    /// Compiles an edge list: O(sites + edges), and edges × log of the largest degree for the sorting.
    /// Fields up to `reach` times a site's couplings and field must fit: 1 where x is 0 or 1.
    pub(super) fn compile(
        edges: impl Iterator<Item = Edge> + Clone,
        sites: usize,
        field: impl Fn(usize) -> f32,
        scale: f32,
        embedding: Embedding,
        reach: f32,
        memory: SparseBuffers<'a>,
    ) -> Result<Self, SparseError> {
        let SparseBuffers { ends, linear, entries } = memory;
        if sites == 0 || sites > i32::MAX as usize {
            return Err(SparseError::Sites);
        }
        let (have_ends, have_linear, have_entries) = (ends.len(), linear.len(), entries.len());
        let (Some(ends), Some(linear)) = (ends.get_mut(..sites), linear.get_mut(..sites)) else {
            return Err(SparseError::Memory { need: sites, got: have_ends.min(have_linear) });
        };

        // First pass: check, count neighbours, and add up |J| a site (kept as bits in `linear`).
        ends.fill(0);
        linear.fill(0);
        let mut count = 0;
        for (edge, (a, b, coupling)) in edges.clone().enumerate() {
            if a == b {
                return Err(SparseError::Diagonal { edge });
            }
            if !coupling.is_finite() {
                return Err(SparseError::CouplingNotFinite { edge });
            }
            for site in [a, b] {
                let slot = (ends.get_mut(site as usize), linear.get_mut(site as usize));
                let (Some(degree), Some(sum)) = slot else {
                    return Err(SparseError::OutOfRange { edge });
                };
                *degree += 1;
                let total = f32::from_bits(*sum as u32) + (coupling * scale).abs();
                *sum = total.to_bits() as i32;
            }
            count += 2;
        }
        let Some(entries) = entries.get_mut(..count) else {
            return Err(SparseError::Entries { need: count, got: have_entries });
        };
        let weight = if embedding == Embedding::Spins { 2.0 } else { 1.0 };
        let (times, mut largest) = (weight * reach, 0.0);
        for (site, (&sum, &degree)) in linear.iter().zip(ends.iter()).enumerate() {
            let field = field(site);
            if !field.is_finite() {
                return Err(SparseError::FieldNotFinite { site });
            }
            let bound = times * (field.abs() + f32::from_bits(sum as u32));
            if bound > 1e30 {
                return Err(SparseError::TooLarge { site });
            }
            // The sum has a rounding a term, and so has each term on the grid.
            let bound = bound * (1.0 + (degree as f32 + 2.0) * f32::EPSILON);
            largest = if bound > largest { bound } else { largest };
        }
        let grid = Grid::covering(largest, 30);

        // Second pass: `ends` walks from the start of each row to its end as the row fills.
        let mut start = 0;
        for end in ends.iter_mut() {
            start += core::mem::replace(end, start);
        }
        for (a, b, coupling) in edges {
            // Spins: K = 2 · (2J), even, so that b = 2w − ½ΣK stays on the grid and E(s) = E(−s) exactly.
            let half = grid.round(weight * scale * coupling);
            let coupling = if embedding == Embedding::Spins { 2 * half } else { half };
            for (site, neighbour) in [(a, b), (b, a)] {
                let Some(end) = ends.get_mut(site as usize) else { continue };
                if let Some(entry) = entries.get_mut(*end as usize) {
                    *entry = Entry { site: neighbour, coupling };
                }
                *end += 1;
            }
        }

        let mut start = 0;
        for (site, (&end, linear)) in ends.iter().zip(linear.iter_mut()).enumerate() {
            let row = entries.get_mut(start..end as usize).unwrap_or_default();
            start = end as usize;
            sort(row);
            if let Some(twin) = row.windows(2).find_map(|pair| match pair {
                [a, b] if a.site == b.site => Some(a.site),
                _ => None,
            }) {
                return Err(SparseError::Duplicate { a: site as u32, b: twin });
            }
            let sum: i64 = row.iter().map(|entry| i64::from(entry.coupling)).sum();
            let offset = if embedding == Embedding::Spins { (sum / 2) as i32 } else { 0 };
            *linear = grid.round(weight * field(site)).wrapping_sub(offset);
        }
        Ok(Self { ends, entries, linear, grid, level: level(ends) })
    }

    /// Takes compiled rows: row i is `entries[ends[i−1] .. ends[i]]`, neighbours ascending, in units of
    /// 2^`exponent`, as `linear` is. O(edges × log degree).
    ///
    /// # Errors
    /// [`SparseError`] where the rows are not those of a symmetric matrix with zero diagonal, a field could
    /// overflow, or a coupling is 2³¹ − 1 or more in size.
    pub fn from_rows(
        ends: &'a [u32],
        entries: &'a [Entry],
        linear: &'a [i32],
        exponent: i32,
    ) -> Result<Self, SparseError> {
        if ends.is_empty() || ends.len() > i32::MAX as usize {
            return Err(SparseError::Sites);
        }
        if ends.len() != linear.len() {
            return Err(SparseError::Fields { sites: ends.len(), each: 1, got: linear.len() });
        }
        if !(-100..=100).contains(&exponent) {
            return Err(SparseError::Exponent);
        }
        let rows = Self { ends, entries, linear, grid: Grid::new(exponent), level: level(ends) };
        let mut start = 0;
        for (site, &end) in ends.iter().enumerate() {
            if end < start || end as usize > entries.len() {
                return Err(SparseError::Ends { site });
            }
            start = end;
        }
        if start as usize != entries.len() {
            return Err(SparseError::Entries { need: start as usize, got: entries.len() });
        }
        for (site, &field) in linear.iter().enumerate() {
            let row = rows.row(site);
            let first = ends.get(site).map_or(0, |&end| end as usize) - row.len();
            if !row.is_sorted_by(|a, b| a.site < b.site) {
                return Err(SparseError::Unsorted { site });
            }
            let (mut least, mut most) = (i64::from(field), i64::from(field));
            for (offset, entry) in row.iter().enumerate() {
                let edge = first + offset;
                if entry.site as usize == site {
                    return Err(SparseError::Diagonal { edge });
                }
                if entry.site as usize >= linear.len() {
                    return Err(SparseError::OutOfRange { edge });
                }
                let back = rows.row(entry.site as usize);
                let twin = back.binary_search_by_key(&(site as u32), |e| e.site);
                if twin.ok().and_then(|at| back.get(at)).map(|e| e.coupling) != Some(entry.coupling) {
                    return Err(SparseError::Asymmetric { a: site as u32, b: entry.site });
                }
                // One that has no negative, or was cut to the largest number.
                if entry.coupling.unsigned_abs() >= i32::MAX as u32 {
                    return Err(SparseError::TooManyUnits { site });
                }
                least += i64::from(entry.coupling).min(0);
                most += i64::from(entry.coupling).max(0);
            }
            if least < -(1 << 30) || most > 1 << 30 {
                return Err(SparseError::TooManyUnits { site });
            }
        }
        Ok(rows)
    }

    /// Sites.
    #[must_use]
    pub fn sites(&self) -> usize {
        self.linear.len()
    }

    /// The neighbours of a site, ascending; none where there is no such site.
    #[inline]
    #[must_use]
    pub fn row(&self, site: usize) -> &'a [Entry] {
        let bounds = self.bounds(site).unwrap_or_default();
        self.entries.get(bounds.0..bounds.1).unwrap_or_default()
    }

    /// Every site's linear term and neighbours, from the first site on.
    #[inline(always)]
    pub(crate) fn rows(&self) -> Rows<'a> {
        Rows { ends: self.ends.iter(), linear: self.linear.iter(), start: 0, rest: self.entries }
    }

    /// Where a row begins and ends.
    #[inline(always)]
    fn bounds(&self, site: usize) -> Option<(usize, usize)> {
        let end = *self.ends.get(site)?;
        let start = if site == 0 { 0 } else { *self.ends.get(site - 1)? };
        Some((start as usize, end as usize))
    }

    /// The entries from the start of a row on, and how many belong to it; the others are of rows behind.
    #[inline(always)]
    pub(crate) fn row_on(&self, site: usize) -> Option<(&'a [Entry], usize)> {
        let (start, end) = self.bounds(site)?;
        Some((self.entries.get(start..)?, end.wrapping_sub(start)))
    }

    /// Whether rows mostly have five entries or more.
    pub(crate) fn wide(&self) -> bool {
        self.entries.len() > 5 * self.linear.len()
    }

    /// Whether a row is mostly as long as the one before it, so that a processor foresees where it ends.
    pub(crate) fn level(&self) -> bool {
        self.level
    }

    /// Whether rows are more than a processor keeps at hand: half a megabyte.
    pub(crate) fn far(&self) -> bool {
        self.entries.len() > 1 << 16
    }

    /// b, one a site, in units of the grid.
    #[must_use]
    pub fn linear(&self) -> &'a [i32] {
        self.linear
    }

    /// The end of every row in [`Sparse::entries`]: with the entries, [`Sparse::linear`] and
    /// [`Sparse::exponent`] a table that [`Sparse::from_rows`] takes back.
    #[must_use]
    pub fn ends(&self) -> &'a [u32] {
        self.ends
    }

    /// The entries of all rows, one row behind the other.
    #[must_use]
    pub fn entries(&self) -> &'a [Entry] {
        self.entries
    }

    /// The grid's unit, a power of two.
    #[must_use]
    pub fn unit(&self) -> f32 {
        self.grid.unit
    }

    /// One over the grid's unit.
    pub(crate) fn per_unit(&self) -> f32 {
        self.grid.per_unit
    }

    /// The exponent of the grid's unit.
    #[must_use]
    pub fn exponent(&self) -> i32 {
        (self.grid.unit.to_bits() >> 23) as i32 - 127
    }

    /// The nearest whole number of units.
    pub(super) fn round(&self, value: f32) -> i32 {
        self.grid.round(value)
    }

    /// Whether these are the same couplings in the same memory.
    pub(crate) fn is(&self, other: Sparse<'_>) -> bool {
        core::ptr::eq(self.ends, other.ends) && core::ptr::eq(self.entries, other.entries)
    }

    /// The value of a number of units.
    #[inline]
    pub(crate) fn value(&self, units: i64) -> f32 {
        self.grid.value(units)
    }
}

/// The rows of a form, one site behind the other.
#[derive(Clone, Debug)]
pub(crate) struct Rows<'a> {
    ends: core::slice::Iter<'a, u32>,
    linear: core::slice::Iter<'a, i32>,
    /// Where the next row begins, and the entries from there on.
    start: u32,
    rest: &'a [Entry],
}

impl<'a> Iterator for Rows<'a> {
    type Item = (i32, &'a [Entry]);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let (&end, &linear) = (self.ends.next()?, self.linear.next()?);
        let (row, rest) = self.rest.split_at_checked(end.wrapping_sub(self.start) as usize)?;
        (self.start, self.rest) = (end, rest);
        Some((linear, row))
    }
}
