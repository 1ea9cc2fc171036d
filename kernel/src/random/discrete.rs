//! Whole numbers with the weights of a Gaussian.

use crate::lane::{LANES, PARTS, U32s, bytes_mut, exp};
use rand_core::Rng;

/// Thresholds that every draw is compared with, at most.
const OFTEN: usize = 13;
/// The largest magnitude of a draw.
const MOST: usize = 32;
/// Values of the fifteen bits of a draw's magnitude.
const WHOLE: u32 = 1 << 15;
/// A magnitude is compared for by all draws where it has so many of 2¹⁵ or more.
const SELDOM: u64 = 16;

/// The discrete Gaussian distribution `P(k) ∝ e^(−λk²/2)` over all whole numbers k, drawn thirty-two at a time by
/// comparing sixteen bits each.
///
/// A draw is a sign and fifteen bits. Each magnitude has a whole number of their 2¹⁵ values, as many as its probability fills.
/// The few that are left are shared by all: a second word decides there, in one of a thousand draws or fewer. So draws resolve
/// probabilities down to 2⁻⁴², up to |k| = 32. The probabilities themselves are made in f32, right to a part of `2⁻²⁴ (λk²/2 +
/// 8)` and a few 2⁻⁴². A generator stuck at any value ends the draw.
///
/// Cost of 32 draws: one block of words, and two operations of a register for each threshold. There are 2 (λ = 2) to
/// 13 (λ = 1/16) thresholds. Some 170 bytes.
///
/// ```
/// use bitmc::random::DiscreteGaussian;
/// use bitmc::{LaneRng, SeedableRng};
/// let gaussian = DiscreteGaussian::new(1.0).ok_or("from 1/16 on")?;
/// let mut rng = LaneRng::seed_from_u64(1);
/// let squares = |draws: [i16; 32]| draws.map(|k| f64::from(k).powi(2)).iter().sum::<f64>();
/// let variance = (0..1000).map(|_| squares(gaussian.draw(&mut rng))).sum::<f64>() / 32_000.0;
/// assert!((variance - 1.0).abs() < 0.04);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiscreteGaussian {
    precision: f32,
    /// A magnitude of j or more where the fifteen bits are below the j-th.
    often: [i16; OFTEN],
    used: usize,
    /// Where they are below this, it is one of j or more where another word is below the j-th of `seldom`.
    shared: i16,
    seldom: [u32; MOST],
}

impl DiscreteGaussian {
    /// As many draws add up to a number of sixteen bits.
    pub(crate) const MOST_ADDED: usize = i16::MAX as usize / MOST;

    /// The largest magnitude of a draw.
    pub(crate) const MOST_DRAWN: u16 = MOST as u16;

    /// The least precision.
    pub const LEAST: f32 = 1.0 / 16.0;

    /// Of precision λ; `None` where it is not finite or below [`DiscreteGaussian::LEAST`].
    #[must_use]
    pub fn new(precision: f32) -> Option<Self> {
        if !(precision >= Self::LEAST && precision.is_finite()) {
            return None;
        }
        let weight = |j: usize| 2.0 * exp(-0.5 * precision * (j * j) as f32);
        let total = (1..=MOST).rev().map(weight).fold(0.0, |sum, weight| sum + weight) + 1.0;
        // In units of 2⁻⁴⁷; those of 0 are what the others leave.
        let mut units = [0; MOST + 1];
        let mut rest = 1u64 << 47;
        for (j, units) in units.iter_mut().enumerate().skip(1) {
            *units = (weight(j) / total * (1u64 << 47) as f32) as u64;
            rest = rest.saturating_sub(*units);
        }
        units[0] = rest;

        let often = |&&units: &&u64| units >> 32 >= SELDOM;
        let used = units.iter().skip(1).take(OFTEN).take_while(often).count();
        let wholes = units.iter().take(used + 1).map(|units| (units >> 32) as u32);
        let shared = WHOLE.saturating_sub(wholes.sum());
        let mut gaussian =
            Self { precision, often: [0; OFTEN], used, shared: shared as i16, seldom: [0; MOST] };
        // From the largest magnitude on.
        let (mut whole, mut left) = (shared, 0u64);
        for (place, (&units, seldom)) in units.iter().skip(1).zip(&mut gaussian.seldom).enumerate().rev() {
            if place < used {
                whole += (units >> 32) as u32;
                if let Some(slot) = gaussian.often.get_mut(place) {
                    *slot = whole as i16;
                }
            }
            left += if place < used { units & 0xFFFF_FFFF } else { units };
            *seldom =
                left.checked_div(u64::from(shared)).map_or(0, |part| part.min(u64::from(u32::MAX)) as u32);
        }
        Some(gaussian)
    }

    /// λ.
    #[must_use]
    pub fn precision(&self) -> f32 {
        self.precision
    }

    /// Thirty-two draws, two of each word: the first of its low half.
    #[inline]
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> [i16; 2 * LANES] {
        let mut out = [[0; 2 * LANES]];
        self.fill(rng, &mut out);
        let [out] = out;
        out
    }

    /// Many draws: the words of all of them, then second words where they are needed. So the generator stays in
    /// registers.
    #[inline]
    pub(crate) fn fill<R: Rng + ?Sized>(&self, rng: &mut R, out: &mut [[i16; 2 * LANES]]) {
        rng.fill_bytes(bytes_mut(out.as_flattened_mut()));
        for out in out {
            out.iter_mut().for_each(|half| *half = i16::from_le(*half));
            let words = *out;
            let mut shared = false;
            for part in 0..PARTS {
                let word = U32s::load_halves(&words, part);
                let (bits, negative) = (word & twice(i16::MAX), word.halves_lt(twice(0)));
                // −1 for each threshold that is not reached.
                let mut minus = U32s::splat(0);
                for &threshold in self.often.iter().take(self.used) {
                    minus = minus.halves_add(bits.halves_lt(twice(threshold)));
                }
                (minus.halves_add(negative) ^ negative).store_halves(out, part);
                shared |= bits.any_half_lt(twice(self.shared));
            }
            if shared {
                self.decide(&words, rng, out);
            }
        }
    }

    /// Draws of those whose bits are shared, a word each, in their order.
    #[cold]
    #[inline(never)]
    fn decide<R: Rng + ?Sized>(&self, halves: &[i16; 2 * LANES], rng: &mut R, out: &mut [i16; 2 * LANES]) {
        for (&bits, slot) in halves.iter().zip(out) {
            if bits & i16::MAX < self.shared {
                let word = rng.next_u32();
                let size = self.seldom.iter().take_while(|&&threshold| word < threshold).count() as i16;
                *slot = if bits < 0 { size } else { -size };
            }
        }
    }
}

/// The same number in both halves of every word.
#[inline(always)]
pub(crate) fn twice(number: i16) -> U32s {
    U32s::splat(u32::from(number as u16) * 0x1_0001)
}
