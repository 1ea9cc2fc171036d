//! Sums of whole numbers, lane by lane.

use super::{Bits, LANES, U32s};

/// A sum a lane of 32-bit integers, read as signed: exact, in any order, for up to 2¹⁶ terms below 2³⁰ in size.
///
/// Each is kept modulo 2³², and with it the sum of its terms' high halves. Together they give the sum, as the low
/// halves add up to less than 2³².
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneSums {
    low: Bits,
    high: Bits,
}

impl LaneSums {
    pub(crate) const ZERO: Self = Self { low: [0; LANES], high: [0; LANES] };

    /// Adds a term.
    #[inline(always)]
    pub(crate) fn add(&mut self, term: U32s, part: usize) {
        self.add_halves(term, term.sar::<16>(), part);
    }

    /// Adds terms whose sum modulo 2³² and whose high halves' sum these are.
    #[inline(always)]
    pub(crate) fn add_halves(&mut self, low: U32s, high: U32s, part: usize) {
        (U32s::load(&self.low, part) + low).store(&mut self.low, part);
        (U32s::load(&self.high, part) + high).store(&mut self.high, part);
    }

    /// The sums.
    pub(crate) fn values(&self) -> impl Iterator<Item = i64> {
        self.low.iter().zip(&self.high).map(|(low, &high)| {
            let rest = low.wrapping_sub(high << 16);
            (i64::from(high as i32) << 16) + i64::from(rest)
        })
    }
}
