//! (σ, α, κ) by jump distance, and the α that goes with a σ.

use crate::accept::Info;
use crate::lane::F32s;
use crate::snapshot::plain;

/// The parameters of a balanced sampler: of [`Langevin::balanced`](crate::Langevin::balanced) and
/// [`Langevin::second_order`](crate::Langevin::second_order).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Parameters {
    /// σ.
    pub step_size: f32,
    /// α.
    pub balance: f32,
    /// κ.
    pub precision: f32,
}

impl Parameters {
    /// Where the published adaptation starts: σ = .1, α = ½; and κ = 1.
    pub const START: Self = Self { step_size: 0.1, balance: 0.5, precision: 1.0 };

    /// With one of them multiplied, in its bounds; NaN is as published.
    fn times(mut self, which: u8, factor: f32) -> Self {
        let (value, start, least, most) = match which {
            0 => (&mut self.step_size, Self::START.step_size, 1e-6, 1e6),
            1 => (&mut self.balance, Self::START.balance, 0.01, 1.0),
            _ => (&mut self.precision, Self::START.precision, 0.05, 5.0),
        };
        let wished = *value * factor;
        *value = if wished.is_nan() { start } else { wished.max(least).min(most) };
        self
    }

    /// All of them in their bounds.
    fn bounded(self) -> Self {
        self.times(0, 1.0).times(1, 1.0).times(2, 1.0)
    }
}

/// Adapts σ and α by jump distance (AB, Algorithms 3–4; METHODS.md §3), and κ on request.
///
/// It adapts one parameter θ after the other. N steps each are made at θ, θ(1+γ) and θ(1−γ), one chain flowing
/// through. The θ with the largest distance stays. Where a round over all parameters moved none, γ ← .9γ. The
/// distance that [`Adaptation::observe`] takes is the number of sites that changed. For binary and categorical sites
/// it is the published one. For ordinal sites give [`Adaptation::observe_distance`] the sum of |yᵢ − xᵢ|.
///
/// The paper prints two things otherwise: there α's steps take the old σ, and ties go to θ(1+γ). Here they take the
/// new σ, and ties stay at θ. [`Adaptation::as_printed`] does as the paper.
///
/// A chain that adapts for ever is not reversible: [`Adaptation::freeze`] before collecting. It is plain
/// data: copy it, keep it, go on from it.
///
/// ```
/// use bitmc::noise::{Adaptation, Parameters};
/// use bitmc::{Bernoulli, Chain, LaneRng, Langevin, Layout, SeedableRng, memory};
/// let model = Bernoulli::new(&[0.1; 32]).ok_or("finite")?;
/// let mut rng = LaneRng::seed_from_u64(1);
/// let mut chain = Chain::random(&model, memory!(Layout::binary(32), 0), &mut rng)?;
/// let mut adaptation = Adaptation::new(Parameters::START);
/// for _ in 0..20_000 {
///     let now = adaptation.parameters();
///     let kernel = Langevin::balanced(now.step_size, now.balance)?;
///     adaptation.observe(&chain.step(&kernel, &mut rng));
/// }
/// adaptation.freeze();
/// assert!(adaptation.parameters().step_size > 1.0); // independent sites: as far as it goes
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Adaptation {
    base: Parameters,
    /// What the round has found so far: the base of the next one.
    found: Parameters,
    as_printed: bool,
    /// γ.
    rate: f32,
    /// Steps at each candidate.
    steps: u32,
    /// Parameters that are adapted: 2, or 3 with κ.
    count: u8,
    which: u8,
    /// The candidate: θ, θ(1+γ), θ(1−γ).
    candidate: u8,
    taken: u32,
    distances: [u64; 3],
    moved: bool,
    frozen: bool,
}

impl Adaptation {
    /// γ₀, what it is multiplied with, and N: the published ones.
    const RATE: f32 = 0.2;
    const DECAY: f32 = 0.9;
    const STEPS: u32 = 100;

    /// Adapts σ and α from where they are, within 10⁻⁶ to 10⁶ and .01 to 1; κ stays, within .05 to 5. What is out of
    /// these is moved to the bound, σ = ∞ to 10⁶; NaN is as in [`Parameters::START`].
    #[must_use]
    pub fn new(start: Parameters) -> Self {
        Self {
            base: start.bounded(),
            found: start.bounded(),
            as_printed: false,
            rate: Self::RATE,
            steps: Self::STEPS,
            count: 2,
            which: 0,
            candidate: 0,
            taken: 0,
            distances: [0; 3],
            moved: false,
            frozen: false,
        }
    }

    /// Adapts κ too, which goes beyond the paper.
    #[must_use]
    pub fn with_precision(mut self) -> Self {
        self.count = 3;
        self
    }

    /// As the paper prints it. Every parameter of a round is tried with the others as they were before the round. Ties
    /// go to θ(1+γ), then to θ(1−γ).
    #[must_use]
    pub fn as_printed(mut self) -> Self {
        self.as_printed = true;
        self
    }

    /// What the next step is to be made with.
    #[must_use]
    pub fn parameters(&self) -> Parameters {
        match self.candidate {
            _ if self.frozen => self.base,
            1 => self.base.times(self.which, 1.0 + self.rate),
            2 => self.base.times(self.which, 1.0 - self.rate),
            _ => self.base,
        }
    }

    /// Takes what a step with [`Adaptation::parameters`] did; true where they are others now.
    pub fn observe(&mut self, info: &Info) -> bool {
        self.observe_distance(info.moved())
    }

    /// The same with a distance of the caller's: ‖y − x‖₁ of the states after and before the step.
    pub fn observe_distance(&mut self, distance: u32) -> bool {
        if self.frozen {
            return false;
        }
        if let Some(sum) = self.distances.get_mut(usize::from(self.candidate)) {
            *sum += u64::from(distance);
        }
        self.taken += 1;
        if self.taken < self.steps {
            return false;
        }
        self.taken = 0;
        self.candidate += 1;
        if self.candidate < 3 {
            return true;
        }
        let [stay, up, down] = self.distances;
        // As printed a tie moves.
        let (least, most) = (stay + u64::from(!self.as_printed), up.max(down));
        if most >= least {
            let factor = if up >= down { 1.0 + self.rate } else { 1.0 - self.rate };
            let next = self.found.times(self.which, factor);
            self.moved |= next != self.found;
            self.found = next;
        }
        if !self.as_printed {
            self.base = self.found;
        }
        (self.candidate, self.distances) = (0, [0; 3]);
        self.which += 1;
        if self.which >= self.count {
            self.which = 0;
            self.base = self.found;
            self.rate *= if self.moved { 1.0 } else { Self::DECAY };
            self.moved = false;
        }
        true
    }

    /// γ: how far candidates are apart.
    #[must_use]
    pub fn rate(&self) -> f32 {
        self.rate
    }

    /// Ends it: from here on the parameters are fixed, and the chain is reversible.
    pub fn freeze(&mut self) {
        self.base = self.found;
        self.frozen = true;
    }

    /// Whether it has ended; to be recorded with whatever is collected.
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        self.frozen
    }
}

/// The balance that goes with a step size, for a target of variance s² a coordinate. With r = σ/s² it is
/// `α = ½ + r/(2(2 + √(r²+4)))` (AB, Eq. 6 so arranged that it does not cancel; METHODS.md §3). It goes from ½ for
/// small steps to 1 for large ones. It is 1 where s² is not positive.
///
/// With it a [`RateTuner`](crate::tune::RateTuner) for σ alone tunes a balanced sampler.
#[must_use]
pub fn guided_balance(step_size: f32, variance: f32) -> f32 {
    let r = step_size / variance;
    // r² overflows long after α is 1.
    if !(0.0..1e6).contains(&r) {
        return 1.0;
    }
    0.5 + r / (2.0 * (2.0 + F32s::splat(r * r + 4.0).sqrt().first()))
}

plain! {
    Parameters, b"para", { step_size, balance, precision },
    |kept| kept.step_size > 0.0
        && kept.balance > 0.0
        && kept.balance <= 1.0
        && kept.precision > 0.0
        && kept.precision.is_finite()
}
plain! {
    Adaptation, b"adpt",
    { base, found, as_printed, rate, steps, count, which, candidate, taken, distances, moved, frozen },
    |kept| kept.base == kept.base.bounded()
        && kept.found == kept.found.bounded()
        && (2..=3).contains(&kept.count)
        && kept.which < kept.count
        && kept.candidate < 3
        && kept.taken < kept.steps
        && kept.distances.iter().all(|&distance| distance <= u64::MAX / 2)
        && kept.rate > 0.0
        && kept.rate < 1.0
}
