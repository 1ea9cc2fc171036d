//! Bonds between equal spins, for the samplers that move clusters.

use crate::energy::{Entry, Sparse};
use crate::lane::{Block, F32s, LANES, PARTS};
use crate::packed::Packed;
use crate::random::uniforms;
use rand_core::Rng;

/// Draws bonds from exponential numbers −ln u, of which sixteen are made at a time.
///
/// Over bits a model has the spins' couplings J = K/4 and fields h = b/2 + ΣK/4. A bond has probability
/// `1 − e^(−2|J|) = P(−2 ln u < |K|)`, one with the ghost `1 − e^(−2|h|) = P(−2 ln u < |2b + ΣK|)`.
pub(super) struct Bonds {
    /// −2 ln u, in units of the model.
    noise: Block,
    next: usize,
    scale: F32s,
}

impl Bonds {
    pub(super) fn new(form: &Sparse<'_>) -> Self {
        Self { noise: [0.0; LANES], next: LANES, scale: F32s::splat(-2.0 * form.per_unit()) }
    }

    /// True with probability `1 − e^(−½·units)`; never where `units` is 0 or less. Takes one number.
    #[inline]
    pub(super) fn draw<R: Rng + ?Sized>(&mut self, units: i64, rng: &mut R) -> bool {
        if self.next >= LANES {
            let u = uniforms(rng);
            (0..PARTS).for_each(|part| {
                (F32s::load(&u, part).ln() * self.scale).store(&mut self.noise, part);
            });
            self.next = 0;
        }
        let noise = self.noise.get(self.next).copied().unwrap_or(0.0);
        self.next += 1;
        noise < units as f32
    }

    /// Whether a site that has this spin is bound to its neighbour. Takes a number where the coupling favours their spins.
    #[inline]
    pub(super) fn bind<R: Rng + ?Sized>(
        &mut self,
        (spin, entry): (i64, &Entry),
        state: Packed<'_>,
        rng: &mut R,
    ) -> bool {
        let units = spin * self::spin(state, entry.site as usize) * i64::from(entry.coupling);
        units > 0 && self.draw(units, rng)
    }
}

/// −1 or 1.
#[inline]
pub(super) fn spin(state: Packed<'_>, site: usize) -> i64 {
    2 * i64::from(state.get(site)) - 1
}

/// Flips a site.
#[inline]
pub(super) fn flip(words: &mut [u32], site: usize) {
    if let Some(word) = words.get_mut(site / 32) {
        *word ^= 1u32.wrapping_shl(site as u32);
    }
}
