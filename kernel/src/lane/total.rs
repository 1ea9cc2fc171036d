//! Running totals that keep what rounding drops.

use crate::snapshot::{BoundedSnapshot, Reader, Snapshot, SnapshotError, Writer};

/// A running total of floats with its rounding errors (Knuth's two-sum): about 48 bits, for totals over
/// millions of steps.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Total {
    sum: f32,
    rest: f32,
}

impl Total {
    /// A total that starts at a value.
    #[must_use]
    pub const fn new(value: f32) -> Self {
        Self { sum: value, rest: 0.0 }
    }

    /// Adds a term.
    #[inline]
    pub fn add(&mut self, term: f32) {
        let sum = self.sum + term;
        let part = sum - self.sum;
        self.rest += (self.sum - (sum - part)) + (term - part);
        self.sum = sum;
    }

    /// A change of an energy as large as this has a rounding to a float, 2⁻¹⁰ or more, that may show in the total.
    pub(crate) const COARSE: f32 = 16_384.0;

    /// Whether a change is finite and so large.
    pub(crate) fn coarse(term: f32) -> bool {
        (Self::COARSE..f32::INFINITY).contains(&term.abs())
    }

    /// Starts again from a total that was computed from nothing, where [coarse](Total::coarse) terms have left an
    /// error. It may itself be off by `rounding`, and by that of a float.
    pub(crate) fn mend(&mut self, exact: f32, rounding: f32) {
        if (self.value() - exact).abs() > rounding + exact.abs() * f32::EPSILON {
            *self = Self::new(exact);
        }
    }

    /// Adds another total.
    pub fn add_total(&mut self, other: Self) {
        self.add(other.sum);
        self.rest += other.rest;
    }

    /// Adds one of millions of terms, each of which may be less than a digit of the sum.
    pub(crate) fn add_one_of_many(&mut self, term: f32) {
        self.add(term);
        if self.rest.abs() > self.sum.abs() * (1.0 / 4096.0) {
            self.gather();
        }
    }

    /// Moves what was dropped into the sum, but for less than its last digit. The rest is a plain float: in it, terms
    /// that are each less than that digit would in the end be lost themselves.
    pub(crate) fn gather(&mut self) {
        let sum = self.value();
        self.rest += self.sum - sum;
        self.sum = sum;
    }

    /// The sum and what rounding dropped.
    pub(crate) fn parts(self) -> (f32, f32) {
        (self.sum, self.rest)
    }

    /// From [`Total::parts`].
    pub(crate) fn from_parts(sum: f32, rest: f32) -> Self {
        Self { sum, rest }
    }

    /// The total, rounded once; ±∞ where it has left the floats.
    #[must_use]
    pub fn value(self) -> f32 {
        // What rounding dropped of an infinite sum is NaN.
        if self.sum.is_infinite() { self.sum } else { self.sum + self.rest }
    }
}

impl BoundedSnapshot for Total {
    const LEN: usize = 8;
}

impl Snapshot for Total {
    fn save(&self, to: &mut Writer<'_>) {
        (self.sum, self.rest).save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let (sum, rest) = from.value()?;
        *self = Self { sum, rest };
        Ok(())
    }
}
