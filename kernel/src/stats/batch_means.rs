//! The effective sample size of a scalar, in fixed memory.

use super::Observer;
use crate::accept::Info;
use crate::lane::{F32s, Total};
use crate::packed::Packed;
use crate::snapshot::plain;

/// Mean, variance and effective sample size of a scalar by batch means, in fixed memory.
///
/// When all `BATCHES` are full, neighbours are merged and the batch length doubles. From the first merging on there are between
/// half of them and all, for any length of run. There are n = m·b values in m batches of length b. With s² the
/// variance of the batch means and v that of single values, `ESS = n · v / (b · s²)` (Flegal and Jones 2010). Its
/// relative error is about √(2/m).
///
/// Sums are of differences to an origin, in f32. The origin is the first value, and from every power of two of values
/// on their mean. So neither a mean far from 0 nor a start far from the mean takes the digits of later values. The
/// number `BATCHES` is even, and at least 16: with fewer there are too few batches for [`BatchMeans::ess`] after
/// every merge.
#[derive(Clone, Copy, Debug)]
pub struct BatchMeans<const BATCHES: usize> {
    batches: [Total; BATCHES],
    full: usize,
    length: u32,
    filling: Total,
    filled: u32,
    count: u32,
    sum: Total,
    squares: Total,
    /// Everything is held relative to it, so a large mean does not eat the precision.
    origin: f32,
}

impl<const BATCHES: usize> BatchMeans<BATCHES> {
    /// Nothing yet. `BATCHES` is rounded down to an even number; 32 or 64 is usual.
    #[must_use]
    pub const fn new() -> Self {
        const ZERO: Total = Total::new(0.0);
        Self {
            batches: [ZERO; BATCHES],
            full: 0,
            length: 1,
            filling: ZERO,
            filled: 0,
            count: 0,
            sum: ZERO,
            squares: ZERO,
            origin: 0.0,
        }
    }

    /// Takes a value. The 2³²nd and later are ignored.
    pub fn push(&mut self, value: f32) {
        if self.count == u32::MAX {
            return;
        }
        if self.count == 0 {
            self.origin = value;
        }
        let value = value - self.origin;
        self.count += 1;
        self.sum.add(value);
        self.squares.add(value * value);
        self.filling.add(value);
        self.filled += 1;
        if self.filled == self.length {
            if let Some(slot) = self.batches.get_mut(self.full) {
                *slot = self.filling;
                self.full += 1;
            }
            (self.filling, self.filled) = (Total::new(0.0), 0);
            if self.full == BATCHES & !1 {
                self.merge();
            }
        }
        if self.count.is_multiple_of(64) {
            [&mut self.sum, &mut self.squares, &mut self.filling].into_iter().for_each(Total::gather);
        }
        if self.count.is_power_of_two() {
            self.recentre();
        }
    }

    /// Moves the origin to the mean. Counts and lengths are powers of two here, all values are in full batches, and
    /// products with them exact.
    fn recentre(&mut self) {
        let (count, length, origin) = (self.count as f32, self.length as f32, self.mean());
        let mut shift = Total::new(origin);
        shift.add(-self.origin);
        let (most, rest) = shift.parts();
        for total in self.batches.iter_mut().take(self.full) {
            total.add(-length * most);
            total.add(-length * rest);
        }
        // Σ(v − s)² = Σv² − s(Σv + Σ(v − s)).
        let before = self.sum.value();
        self.sum.add(-count * most);
        self.sum.add(-count * rest);
        self.squares.add(-most * (before + self.sum.value()));
        self.origin = origin;
    }

    fn merge(&mut self) {
        self.full /= 2;
        for index in 0..self.full {
            let Some(&[mut pair, second]) = self.batches.get(2 * index..2 * index + 2) else { return };
            pair.add_total(second);
            if let Some(slot) = self.batches.get_mut(index) {
                *slot = pair;
            }
        }
        self.length = self.length.saturating_mul(2);
    }

    /// Values seen.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The mean; 0 before the first value.
    #[must_use]
    pub fn mean(&self) -> f32 {
        self.origin + self.sum.value() / self.count.max(1) as f32
    }

    /// The variance of single values, n − 1 in the denominator; 0 before the second.
    #[must_use]
    pub fn variance(&self) -> f32 {
        if self.count < 2 {
            return 0.0;
        }
        let mean = self.sum.value() / self.count as f32;
        let mut squares = self.squares;
        squares.add(-mean * self.sum.value());
        squares.value() / (self.count - 1) as f32
    }

    /// The effective sample size; `None` while there are fewer than eight batches of eight values, or no
    /// variance. Believe it only where it is a small part of the count: batches shorter than the
    /// autocorrelation make it too large.
    #[must_use]
    pub fn ess(&self) -> Option<f32> {
        let batches = self.batches.get(..self.full).unwrap_or_default();
        if batches.len() < 8 || self.length < 8 {
            return None;
        }
        let (m, b) = (batches.len() as f32, self.length as f32);
        let mean = batches.iter().map(|batch| batch.value()).sum::<f32>() / m;
        let deviation = |batch: &Total| (batch.value() - mean) / b;
        let squares: f32 = batches.iter().map(|batch| deviation(batch) * deviation(batch)).sum();
        let ess = m * self.variance() / (squares / (m - 1.0));
        (ess.is_finite() && ess > 0.0).then_some(ess)
    }

    /// The standard error of the mean, from the batches.
    #[must_use]
    pub fn standard_error(&self) -> Option<f32> {
        Some(F32s::splat(self.variance() / self.ess()?).sqrt().first())
    }
}

impl<const BATCHES: usize> Default for BatchMeans<BATCHES> {
    fn default() -> Self {
        Self::new()
    }
}

/// Watches the energy.
impl<const BATCHES: usize> Observer for BatchMeans<BATCHES> {
    fn observe(&mut self, _x: Packed<'_>, energy: f32, _info: &Info) {
        self.push(energy);
    }
}

plain! {
    BatchMeans<const BATCHES: usize>, b"batc",
    { batches, full, length, filling, filled, count, sum, squares, origin },
    |means| means.full < (BATCHES & !1).max(1) && means.length > 0 && means.filled < means.length
}
