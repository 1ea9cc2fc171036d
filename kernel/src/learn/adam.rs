//! Optimisers: θ from gradients, in caller-provided memory.

use crate::lane::{Block, F32s, LANES, PARTS};
use crate::snapshot::{BoundedSnapshot, Reader, Snapshot, SnapshotError, Writer, list_len, lists, plain};

crate::error::errors! {
    /// Why an optimiser is none.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum RateError {
        /// The learning rate is not positive and finite.
        Rate(rate: f32) => "the learning rate {rate} is not positive and finite";
        /// The decay of a running mean is not at least 0 and below 1.
        Decay(decay: f32) => "the decay {decay} is not at least 0 and below 1";
        /// ε is not a positive normal number.
        Epsilon(epsilon: f32) => "epsilon {epsilon} is not a positive normal number";
        /// The memory is an odd number of blocks: it is two a block of parameters.
        Memory(got: usize) => "{got} blocks of memory are not two a block of parameters";
        /// A power of a decay to go on from is not 0 to 1.
        Power(power: f32) => "{power} is not a power of a decay, 0 to 1";
        /// A running mean to go on from is not finite, or is one of squares and negative.
        Moment {
            /// Its place, in floats.
            index: usize,
        } => "number {index} of the memory is not a running mean";
    }
}

/// Gradient descent: `θ ← θ − rate · g`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Sgd {
    rate: f32,
}

impl Sgd {
    /// At a learning rate.
    ///
    /// # Errors
    /// [`RateError::Rate`].
    pub fn new(rate: f32) -> Result<Self, RateError> {
        checked(rate).map(|rate| Self { rate })
    }

    /// Sets the learning rate.
    ///
    /// # Errors
    /// [`RateError::Rate`].
    pub fn set_rate(&mut self, rate: f32) -> Result<(), RateError> {
        checked(rate).map(|rate| self.rate = rate)
    }

    /// One step down the gradient.
    pub fn step(&self, gradient: &[Block], parameters: &mut [Block]) {
        let rate = F32s::splat(self.rate);
        for (theta, gradient) in parameters.iter_mut().zip(gradient) {
            for part in 0..PARTS {
                (F32s::load(theta, part) - rate * F32s::load(gradient, part)).store(theta, part);
            }
        }
    }
}

/// Adam (Kingma and Ba 2015, Algorithm 1): `m ← β₁m + (1−β₁)g`, `v ← β₂v + (1−β₂)g²`,
/// `θ ← θ − rate · m̂ / (√v̂ + ε)` with `m̂ = m/(1−β₁ᵗ)`, `v̂ = v/(1−β₂ᵗ)`; β₁ = .9, β₂ = .999, ε = 10⁻⁸.
///
/// Every number moves by itself: equal gradients keep equal numbers equal, and one whose gradient is always 0
/// stays. A number whose gradient is not finite is passed over and counted ([`Adam::skipped`]). g² must not
/// overflow: [`clip`](super::clip) first where gradients may pass 10¹⁹.
#[derive(Debug)]
pub struct Adam<'a> {
    /// m and v of every block, in pairs.
    moments: &'a mut [Block],
    now: Progress,
}

/// All of an [`Adam`] but its moments.
#[derive(Clone, Copy, Debug)]
struct Progress {
    rate: f32,
    decays: (f32, f32),
    epsilon: f32,
    /// β₁ᵗ and β₂ᵗ.
    powers: (f32, f32),
    skipped: u64,
}

impl<'a> Adam<'a> {
    /// Bytes in a snapshot, for so many blocks of parameters.
    #[must_use]
    pub const fn snapshot_len(parameters: usize) -> usize {
        list_len(parameters.saturating_mul(2 * LANES), 4).saturating_add(Progress::LEN)
    }

    /// At a learning rate. `moments` is memory, two blocks for each block of parameters; it is set to 0.
    ///
    /// # Errors
    /// [`RateError::Rate`] or [`RateError::Memory`].
    pub fn new(moments: &'a mut [Block], rate: f32) -> Result<Self, RateError> {
        let adam = Self::with_powers(moments, (1.0, 1.0), rate)?;
        adam.moments.fill([0.0; LANES]);
        Ok(adam)
    }

    fn with_powers(moments: &'a mut [Block], powers: (f32, f32), rate: f32) -> Result<Self, RateError> {
        if !moments.len().is_multiple_of(2) {
            return Err(RateError::Memory(moments.len()));
        }
        let now = Progress { rate, decays: (0.9, 0.999), epsilon: 1e-8, powers, skipped: 0 };
        now.check()?;
        Ok(Self { moments, now })
    }

    /// With other β₁, β₂ and ε.
    ///
    /// # Errors
    /// [`RateError::Decay`] or [`RateError::Epsilon`].
    pub fn with(mut self, first: f32, second: f32, epsilon: f32) -> Result<Self, RateError> {
        let next = Progress { decays: (first, second), epsilon, ..self.now };
        next.check()?;
        self.now = next;
        Ok(self)
    }

    /// Sets the learning rate: for schedules.
    ///
    /// # Errors
    /// [`RateError::Rate`].
    pub fn set_rate(&mut self, rate: f32) -> Result<(), RateError> {
        checked(rate).map(|rate| self.now.rate = rate)
    }

    /// Numbers passed over because their gradient was not finite.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.now.skipped
    }

    /// m and v in pairs, and β₁ᵗ and β₂ᵗ: what to keep for [`Adam::resume`].
    #[must_use]
    pub fn state(&self) -> (&[Block], (f32, f32)) {
        (self.moments, self.now.powers)
    }

    /// An optimiser that goes on where [`Adam::state`] was taken. β₁, β₂ and ε are those of [`Adam::new`]: say others
    /// again by [`Adam::with`].
    ///
    /// # Errors
    /// As [`Adam::new`]; [`RateError::Power`] or [`RateError::Moment`] where they are none of an optimiser.
    pub fn resume(moments: &'a mut [Block], powers: (f32, f32), rate: f32) -> Result<Self, RateError> {
        let adam = Self::with_powers(moments, powers, rate)?;
        let mut numbers = adam.moments.as_flattened().iter().enumerate();
        let wrong = numbers.position(|(place, &value)| !is_moment(place, value));
        wrong.map_or(Ok(adam), |index| Err(RateError::Moment { index }))
    }

    /// One step down the gradient. Blocks without memory stay.
    pub fn step(&mut self, gradient: &[Block], parameters: &mut [Block]) {
        let now = &mut self.now;
        let (b1, b2) = now.decays;
        now.powers = (now.powers.0 * b1, now.powers.1 * b2);
        let (first, second) = (F32s::splat(b1), F32s::splat(b2));
        let (rest1, rest2) = (F32s::splat(1.0 - b1), F32s::splat(1.0 - b2));
        // rate · m̂ and √v̂ as products with numbers that are the same for all; the rate finite, so that m = 0 moves nothing.
        let rate = F32s::splat((now.rate / (1.0 - now.powers.0)).min(f32::MAX));
        let spread = F32s::splat(1.0 / (1.0 - now.powers.1));
        let (epsilon, limit) = (F32s::splat(now.epsilon), F32s::splat(f32::INFINITY));
        let (pairs, _) = self.moments.as_chunks_mut::<2>();
        for ((theta, gradient), [m, v]) in parameters.iter_mut().zip(gradient).zip(pairs) {
            for part in 0..PARTS {
                let g = F32s::load(gradient, part);
                let good = g.abs().lt(limit);
                now.skipped += u64::from((!good).bits(part).count_ones());
                let (old_m, old_v) = (F32s::load(m, part), F32s::load(v, part));
                let new_m = good.pick(first * old_m + rest1 * g, old_m);
                let new_v = good.pick(second * old_v + rest2 * (g * g), old_v);
                new_m.store(m, part);
                new_v.store(v, part);
                let old = F32s::load(theta, part);
                let step = (rate * new_m) / ((new_v * spread).sqrt() + epsilon);
                good.pick(old - step, old).store(theta, part);
            }
        }
    }
}

impl Progress {
    fn check(&self) -> Result<(), RateError> {
        checked(self.rate)?;
        let outside = [self.decays.0, self.decays.1].into_iter().find(|decay| !(0.0..1.0).contains(decay));
        if let Some(decay) = outside {
            return Err(RateError::Decay(decay));
        }
        if !(self.epsilon.is_normal() && self.epsilon > 0.0) {
            return Err(RateError::Epsilon(self.epsilon));
        }
        let outside = [self.powers.0, self.powers.1].into_iter().find(|power| !(0.0..=1.0).contains(power));
        outside.map_or(Ok(()), |power| Err(RateError::Power(power)))
    }
}

fn checked(rate: f32) -> Result<f32, RateError> {
    if rate > 0.0 && rate.is_finite() { Ok(rate) } else { Err(RateError::Rate(rate)) }
}

/// Whether a number can be at a place of the memory: m and v by turns.
fn is_moment(place: usize, value: f32) -> bool {
    value.is_finite() && (value >= 0.0 || (place / LANES).is_multiple_of(2))
}

plain! { Sgd, b"sgd_", { rate }, |kept| checked(kept.rate).is_ok() }
plain! {
    Progress, b"adam", { rate, decays, epsilon, powers, skipped },
    |kept| kept.check().is_ok() && kept.skipped <= u64::MAX / 2
}

/// Everything but θ, which is the caller's: save θ with it. Where it is refused the optimiser is as it was.
impl Snapshot for Adam<'_> {
    fn save(&self, to: &mut Writer<'_>) {
        self.now.save(to);
        self.moments.as_flattened().save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let (mut now, mut at) = (self.now, *from);
        now.load(&mut at)?;
        lists([self.moments.as_flattened_mut()], |place, &value| is_moment(place, value), &mut at)?;
        (self.now, *from) = (now, at);
        Ok(())
    }
}
