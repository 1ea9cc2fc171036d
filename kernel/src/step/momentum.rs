//! The auxiliary variable of second order, kept from step to step.

use super::ParameterError;
use super::fingerprint::mix;
use crate::chain::Kept;
use crate::lane::{Block, F32s, PARTS};
use crate::noise::Noise;

/// The share a of η that a step keeps, and which η it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Momentum {
    keep: f32,
    /// √(1−a²).
    fresh: f32,
    /// Names W and D.
    key: u64,
}

impl Momentum {
    /// For the second half of a step, which only has to know that there is one.
    pub(crate) const SOME: Self = Self { keep: 0.0, fresh: 1.0, key: 0 };

    /// `None` for a = 0: a step without.
    pub(super) fn new(keep: f32, noise: &impl Noise) -> Result<Option<Self>, ParameterError> {
        if !(0.0..1.0).contains(&keep) {
            return Err(ParameterError::Momentum(keep));
        }
        let fresh = F32s::splat((1.0 - keep) * (1.0 + keep)).sqrt().first();
        Ok((keep > 0.0).then(|| {
            let d = noise.d().unwrap_or_default().as_flattened();
            let key = d.iter().fold(noise.key(), |key, d| mix(key, u64::from(d.to_bits())));
            Self { keep, fresh, key }
        }))
    }

    /// What tells η ~ N(0, (W+D)/κ), of so many blocks, from others.
    pub(super) fn floats(&self, precision: f32, blocks: usize) -> Kept {
        Kept { key: mix(self.key, u64::from(precision.to_bits())) & !1, blocks: blocks as u32 }
    }

    /// The same of whole numbers; `of` names what else their distribution depends on.
    pub(super) fn whole(&self, of: impl IntoIterator<Item = u32>, blocks: usize) -> Kept {
        let key = of.into_iter().fold(self.key, |key, word| mix(key, u64::from(word)));
        Kept { key: key | Kept::WHOLE, blocks: blocks as u32 }
    }

    /// The chance to keep a whole number, in 2⁻¹⁶. Where all were kept, none would ever be drawn again.
    pub(super) fn of_65536(&self) -> u32 {
        ((self.keep * 65_536.0 + 0.5) as u32).min(65_535)
    }

    /// `η ← −aη + √(1−a²) ζ` of the ζ in `eta`, or ζ where what is kept is of another kind. The negation that ends a
    /// step is made here, at the next one.
    pub(super) fn refresh(&self, kind: Kept, known: &mut Option<Kept>, kept: &mut [Block], eta: &mut [Block]) {
        let goes_on = known.replace(kind) == Some(kind);
        for (kept, eta) in kept.iter_mut().zip(eta) {
            if goes_on {
                for part in 0..PARTS {
                    let fresh = F32s::load(eta, part) * F32s::splat(self.fresh);
                    (fresh - F32s::load(kept, part) * F32s::splat(self.keep)).store(eta, part);
                }
            }
            *kept = *eta;
        }
    }
}

/// Makes draws from N(0, W+D) ones from N(0, (W+D)/κ).
#[inline]
pub(super) fn over_precision(eta: &mut [Block], precision: f32) {
    if precision != 1.0 {
        let scale = F32s::splat(1.0 / precision).sqrt();
        for block in eta {
            for part in 0..PARTS {
                (F32s::load(block, part) * scale).store(block, part);
            }
        }
    }
}
