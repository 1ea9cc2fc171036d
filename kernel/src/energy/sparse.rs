//! Sparse symmetric couplings and fields in fixed point: built once, checked once.

mod compile;
mod edges;
mod error;
mod memory;
mod sort;

pub use edges::EdgeList;
pub use error::SparseError;
pub use memory::{SparseBuffers, SparseMemory};

use super::grid::Grid;

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
/// All terms are whole multiples of one power of two, the finest for which every field fits in 30 bits. A coupling is
/// rounded by at most 2⁻³⁰ of the largest field. That is no more than 2⁻¹⁷ (8·10⁻⁶) where the field and couplings of
/// each site add up to less than 8,000.
///
/// A field or coupling that would lose much by rounding is refused. It may change by 2⁻¹⁷, by a millionth of itself,
/// or by 1/4,096 of the smaller of itself and 1. The couplings of a site that need the first of these may change by 2⁻¹² together.
/// With a field of 4·10⁹, for example, a coupling of 1 would become 0.
/// Use [`SparseBuffers::allow_rounding`] to take models of this kind all the same.
///
/// [`Ising`](super::Ising)'s constructors compile it from an edge list; [`Sparse::from_rows`] takes tables that were
/// compiled before, in flash for example.
#[derive(Clone, Copy, Debug)]
pub struct Sparse<'a> {
    ends: &'a [u32],
    entries: &'a [Entry],
    pub(super) linear: &'a [i32],
    /// ½ΣK of every site over spins, which b has lost; empty where there was no room.
    pub(super) shares: &'a [i32],
    pub(super) grid: Grid,
    /// The most that a site's couplings add up to, without their signs, in units.
    reach: u32,
    level: bool,
}

/// Nats that a field or a coupling may be rounded by, whatever its size.
pub(super) const FINE: f32 = 1.0 / 131_072.0;

/// From this many units on a number has at most one bit behind the point, which rounding cuts off.
pub(super) const SMALL: u32 = 1 << 22;

/// How the spins or bits of a model become `x`: see [`Ising`](super::Ising).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Embedding {
    /// `s = 2x − 1`: K = 4J, b = 2(w − ΣJ).
    Spins,
    /// `x` itself: K = J, b = w.
    Bits,
}

/// Fields are `each` a site, or none.
pub(super) fn check_fields(sites: usize, each: usize, fields: &[f32]) -> Result<(), SparseError> {
    let got = fields.len();
    let legal = got == 0 || sites.checked_mul(each) == Some(got);
    if legal { Ok(()) } else { Err(SparseError::Fields { sites, each, got }) }
}

/// Whether at most one row in eight has another length than the one before it.
const fn level(ends: &[u32]) -> bool {
    let (mut start, mut length, mut steps, mut rest) = (0u32, 0, 0, ends);
    while let [end, behind @ ..] = rest {
        let before = core::mem::replace(&mut length, end.wrapping_sub(start));
        steps += (length != before) as usize;
        (start, rest) = (*end, behind);
    }
    steps <= ends.len() / 8
}

/// A row of entries whose ends ascend.
const fn cut<'a>(ends: &[u32], entries: &'a [Entry], site: usize) -> &'a [Entry] {
    let Some((before, [end, ..])) = ends.split_at_checked(site) else { return &[] };
    let start = if let [.., start] = before { *start as usize } else { 0 };
    let Some((_, row)) = entries.split_at_checked(start) else { return &[] };
    if let Some((row, _)) = row.split_at_checked((*end as usize).wrapping_sub(start)) { row } else { &[] }
}

/// Whether the neighbours of a row ascend.
const fn ascends(mut row: &[Entry]) -> bool {
    while let [first, rest @ ..] = row {
        if matches!(rest, [next, ..] if next.site <= first.site) {
            return false;
        }
        row = rest;
    }
    true
}

/// The coupling to a neighbour, in an ascending row.
const fn find(mut row: &[Entry], site: usize) -> Option<i32> {
    while let Some((left, [middle, right @ ..])) = row.split_at_checked(row.len() / 2) {
        if middle.site as usize == site {
            return Some(middle.coupling);
        }
        row = if (middle.site as usize) < site { right } else { left };
    }
    None
}

/// The lowest and the highest field of a site, whatever its neighbours are.
const fn range(b: i32, mut row: &[Entry]) -> (i64, i64) {
    let (mut least, mut most) = (b as i64, b as i64);
    while let [entry, others @ ..] = row {
        let side = if entry.coupling < 0 { &mut least } else { &mut most };
        *side += entry.coupling as i64;
        row = others;
    }
    (least, most)
}

/// Whether a linear term and a row, those of one sign, add up to at most 2³⁰ units.
const fn fits(b: i32, row: &[Entry]) -> bool {
    let (least, most) = range(b, row);
    least >= -(1 << 30) && most <= 1 << 30
}

impl<'a> Sparse<'a> {
    /// Takes compiled rows: row i is `entries[ends[i−1] .. ends[i]]`, neighbours ascending, in units of
    /// 2^`exponent`, as `linear` is. O(edges × log degree), or nothing at run time for tables in flash:
    ///
    /// ```
    /// use bitmc::Ising;
    /// use bitmc::energy::{Entry, Sparse};
    /// static PAIR: [Entry; 2] = [Entry { site: 1, coupling: 65_536 }, Entry { site: 0, coupling: 65_536 }];
    /// const MODEL: Ising<'static> = match Sparse::from_rows(&[1, 2], &PAIR, &[-32_768, -32_768], -16) {
    ///     Ok(rows) => Ising::quadratic(rows),
    ///     Err(_) => panic!("wrong rows do not compile"),
    /// };
    /// assert_eq!(MODEL.form().sites(), 2);
    /// ```
    ///
    /// # Errors
    /// [`SparseError`] where the rows are not those of a symmetric matrix with zero diagonal. Also where a field
    /// could overflow, or a coupling is 2³¹ − 1 or more in size.
    pub const fn from_rows(
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
        if exponent < -100 || exponent > 100 {
            return Err(SparseError::Exponent);
        }
        let (mut start, mut site, mut rest) = (0, 0, ends);
        while let [end, behind @ ..] = rest {
            if *end < start || *end as usize > entries.len() {
                return Err(SparseError::Ends { site });
            }
            (start, site, rest) = (*end, site + 1, behind);
        }
        if start as usize != entries.len() {
            return Err(SparseError::Entries { need: start as usize, got: entries.len() });
        }
        let (mut reach, mut edge, mut site, mut fields) = (0, 0, 0, linear);
        while let [field, behind @ ..] = fields {
            let (mut row, mut own) = (cut(ends, entries, site), 0);
            if !ascends(row) {
                return Err(SparseError::Unsorted { site });
            }
            let fits = fits(*field, row);
            while let [entry, others @ ..] = row {
                let (other, units) = (entry.site as usize, entry.coupling.unsigned_abs());
                if other == site {
                    return Err(SparseError::Diagonal { edge });
                }
                if other >= linear.len() {
                    return Err(SparseError::OutOfRange { edge });
                }
                if !matches!(find(cut(ends, entries, other), site), Some(back) if back == entry.coupling) {
                    return Err(SparseError::Asymmetric { a: site as u32, b: entry.site });
                }
                // One that has no negative, or was cut to the largest number.
                if units >= i32::MAX as u32 {
                    return Err(SparseError::TooManyUnits { site });
                }
                own = units.saturating_add(own);
                (edge, row) = (edge + 1, others);
            }
            if !fits {
                return Err(SparseError::TooManyUnits { site });
            }
            reach = if own > reach { own } else { reach };
            (site, fields) = (site + 1, behind);
        }
        Ok(Self { ends, entries, linear, shares: &[], grid: Grid::new(exponent), reach, level: level(ends) })
    }

    /// The same couplings with another linear part, b in units of the same grid. O(sites): no coupling is looked at,
    /// but those of sites that are close to the limit.
    ///
    /// # Errors
    /// [`SparseError::Fields`] where b is not one a site, [`SparseError::TooManyUnits`] where a field could overflow.
    pub fn with_linear(self, linear: &'a [i32]) -> Result<Self, SparseError> {
        if linear.len() != self.sites() {
            return Err(SparseError::Fields { sites: self.sites(), each: 1, got: linear.len() });
        }
        let wrong = |(site, &b): (usize, &i32)| {
            b.unsigned_abs().saturating_add(self.reach) > 1 << 30 && !fits(b, self.row(site))
        };
        match linear.iter().enumerate().position(wrong) {
            Some(site) => Err(SparseError::TooManyUnits { site }),
            None => Ok(Self { linear, ..self }),
        }
    }

    /// The lowest and the highest field of any site, in units.
    pub(crate) const fn range(&self) -> (i32, i32) {
        let (mut lowest, mut highest, mut site, mut rest) = (i64::MAX, i64::MIN, 0, self.linear);
        while let [b, behind @ ..] = rest {
            let (least, most) = range(*b, cut(self.ends, self.entries, site));
            lowest = if least < lowest { least } else { lowest };
            highest = if most > highest { most } else { highest };
            (site, rest) = (site + 1, behind);
        }
        (lowest as i32, highest as i32)
    }

    /// Whether a field is on the grid as it is, or near enough.
    pub(super) fn keeps(&self, value: f32) -> bool {
        !self.grid.coarse(FINE) || self.grid.keeps(value, FINE, 1.0)
    }

    /// Fields below so many units fit whatever their site is, where 2⁻`halvings` of the couplings count with them; 0 where
    /// each is to be looked at.
    pub(super) fn near(&self, halvings: u32) -> u32 {
        let room = (1u32 << 30).saturating_sub(self.reach >> halvings);
        if self.grid.coarse(FINE) { 0 } else { room }
    }

    /// A field in units of a grid that was chosen for others, where it fits: where it has at most `most` units with all couplings
    /// of its site.
    #[cold]
    pub(super) fn check_field(
        &self,
        site: usize,
        (field, weight): (f32, f32),
        (halvings, most): (u32, u64),
    ) -> Result<i32, SparseError> {
        let (value, units) = (weight * field, self.grid.round(weight * field));
        let own: u64 = self.row(site).iter().map(|entry| u64::from(entry.coupling.unsigned_abs())).sum();
        if !field.is_finite() {
            Err(SparseError::FieldNotFinite { site })
        } else if self.keeps(value) && u64::from(units.unsigned_abs()) + (own >> halvings) <= most {
            Ok(units)
        } else {
            Err(SparseError::FieldScale { site })
        }
    }

    /// Sites.
    #[must_use]
    pub const fn sites(&self) -> usize {
        self.linear.len()
    }

    /// The neighbours of a site, ascending; none for a site past the last one.
    #[inline]
    #[must_use]
    pub fn row(&self, site: usize) -> &'a [Entry] {
        self.try_row(site).unwrap_or_default()
    }

    #[inline(always)]
    pub(crate) fn try_row(&self, site: usize) -> Option<&'a [Entry]> {
        let (start, end) = self.bounds(site)?;
        self.entries.get(start..end)
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
