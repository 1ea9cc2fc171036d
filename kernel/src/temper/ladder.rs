//! Which replica is at which temperature, and which of them change places.

use crate::accept::{accept, probability};
use crate::lane::Total;
use rand_core::Rng;

/// The log of the ratio with which the states x at β and y at β′ change places, `(β − β′)(U(x) − U(y))`
/// with `U = E − E₀`: `p_β(y) p_β′(x) / p_β(x) p_β′(y)`.
///
/// A gap U is rounded to 24 bits. Where `|β − β′| |U|` is 2¹⁸ or more, that rounding can decide a swap. The ratio is then NaN,
/// which swaps nothing, unless it is so large that rounding cannot turn it. For replicas to swap, subtract what all likely
/// states have in common from the energy.
#[must_use]
pub fn log_swap_ratio(betas: (f32, f32), gaps: (f32, f32)) -> f32 {
    let step = betas.0 - betas.1;
    let (ratio, size) = (step * (gaps.0 - gaps.1), (step * gaps.0).abs().max((step * gaps.1).abs()));
    let coarse = (262_144.0..f32::INFINITY).contains(&size);
    if coarse && ratio.abs() < 128.0 + size * (1.0 / 1_048_576.0) { f32::NAN } else { ratio }
}

/// An end of the ladder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum End {
    /// Neither yet.
    #[default]
    None,
    /// The first rung, the smallest β.
    First,
    /// The last rung, the largest β.
    Last,
}

/// One temperature of a [`Ladder`]: plain data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Rung {
    pub(super) beta: f32,
    /// The replica at this temperature.
    pub(super) replica: u32,
    /// The end where that replica was last. It moves with the replica.
    pub(super) came_from: End,
    /// Swaps with the next rung that were tried, and the sum of their probabilities.
    pub(super) tried: u32,
    pub(super) sum: Total,
}

impl Rung {
    /// β.
    #[must_use]
    pub fn beta(&self) -> f32 {
        self.beta
    }

    /// The replica at this temperature.
    #[must_use]
    pub fn replica(&self) -> usize {
        self.replica as usize
    }

    /// The mean probability of a swap with the next rung; `None` before one was tried.
    #[must_use]
    pub fn rate(&self) -> Option<f32> {
        (self.tried > 0).then(|| self.sum.value() / self.tried as f32)
    }
}

crate::error::errors! {
    /// Why a ladder is none.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum LadderError {
        /// There are fewer than two rungs, or not as many as inverse temperatures.
        Rungs {
            /// Inverse temperatures given.
            betas: usize,
            /// Rungs in the buffer.
            rungs: usize,
        } => "a ladder needs a rung for each of two or more β: {rungs} rungs, {betas} given";
        /// An inverse temperature is negative, not finite, or not above the one before.
        Beta {
            /// The rung.
            rung: usize,
            /// Its β.
            value: f32,
        } => "β {value} of rung {rung} is not finite, at least 0 and above the one before";
    }
}

impl LadderError {
    /// Whether a ladder of so many rungs can have these β: [`Ladder::new`] asks before it writes.
    ///
    /// # Errors
    /// The first that is wrong.
    pub fn check(betas: &[f32], rungs: usize) -> Result<(), Self> {
        if betas.len() < 2 || betas.len() != rungs {
            return Err(Self::Rungs { betas: betas.len(), rungs });
        }
        let mut before = -1.0;
        for (rung, &value) in betas.iter().enumerate() {
            if !rises(before, value) {
                return Err(Self::Beta { rung, value });
            }
            before = value;
        }
        Ok(())
    }
}

/// A ladder of temperatures with its replicas, for replica exchange with non-reversible swaps (Okabe et al.
/// 2001; Syed, Bouchard-Côté, Deligiannidis, Doucet 2022). Rounds take turns between the pairs of rungs (0,1), (2,3),
/// … and (1,2), (3,4), …. So a replica that is accepted keeps its direction.
///
/// It sees energies and temperatures only, never a state. It is plain data: copying it is a snapshot. The type `T` is
/// any buffer of [`Rung`]s, such as `[Rung; 8]`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ladder<T> {
    pub(super) rungs: T,
    pub(super) rounds: u64,
    pub(super) round_trips: u64,
}

impl<T: AsMut<[Rung]> + AsRef<[Rung]>> Ladder<T> {
    /// A ladder with replica i at `betas[i]`, in increasing order; the buffer is cleared, but not where it is refused.
    ///
    /// # Errors
    /// [`LadderError`] names the rung that is wrong.
    pub fn new(mut rungs: T, betas: &[f32]) -> Result<Self, LadderError> {
        LadderError::check(betas, rungs.as_mut().len())?;
        for ((index, rung), &value) in rungs.as_mut().iter_mut().enumerate().zip(betas) {
            *rung = Rung { beta: value, replica: index as u32, ..Rung::default() };
        }
        let mut ladder = Self { rungs, rounds: 0, round_trips: 0 };
        ladder.arrive();
        Ok(ladder)
    }

    /// The rungs, in the order of β.
    #[must_use]
    pub fn rungs(&self) -> &[Rung] {
        self.rungs.as_ref()
    }

    /// The rung of a replica.
    #[must_use]
    pub fn rung_of(&self, replica: usize) -> Option<usize> {
        self.rungs().iter().position(|rung| rung.replica() == replica)
    }

    /// The replica at the largest β.
    #[must_use]
    pub fn coldest(&self) -> usize {
        self.rungs().last().map_or(0, Rung::replica)
    }

    /// Exchanges so far.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Ways of replicas from the last rung to the first and back, all replicas together.
    #[must_use]
    pub fn round_trips(&self) -> u64 {
        self.round_trips
    }

    /// One round of swaps between neighbours. The closure `gap(replica)` returns `E − E₀` of that replica's state. A
    /// NaN swaps nothing, nor do gaps that are too coarse for [`log_swap_ratio`]. Draws one uniform for each pair,
    /// whatever happens. Returns the number of swaps.
    pub fn exchange<R: Rng + ?Sized>(&mut self, mut gap: impl FnMut(usize) -> f32, rng: &mut R) -> u32 {
        self.exchange_by(|betas, (low, high)| log_swap_ratio(betas, (gap(low), gap(high))), rng)
    }

    /// As [`Ladder::exchange`], where β is not a factor of the energy. The closure `log_ratio(betas, replicas)`
    /// returns the log of the ratio with which two replicas change places. For x at β and y at β′ this is
    /// `F_β(x) + F_β′(y) − F_β(y) − F_β′(x)`.
    pub fn exchange_by<R: Rng + ?Sized>(
        &mut self,
        mut log_ratio: impl FnMut((f32, f32), (usize, usize)) -> f32,
        rng: &mut R,
    ) -> u32 {
        let odd = (self.rounds & 1) as usize;
        self.rounds = self.rounds.wrapping_add(1);
        let mut swaps = 0;
        for pair in self.rungs.as_mut().get_mut(odd..).unwrap_or_default().chunks_mut(2) {
            let [low, high] = pair else { continue };
            let log_ratio = log_ratio((low.beta, high.beta), (low.replica(), high.replica()));
            if low.tried < u32::MAX {
                low.tried += 1;
                low.sum.add_one_of_many(probability(log_ratio));
            }
            if accept(log_ratio, rng) {
                core::mem::swap(&mut low.replica, &mut high.replica);
                core::mem::swap(&mut low.came_from, &mut high.came_from);
                swaps += 1;
            }
        }
        self.arrive();
        swaps
    }

    /// Notes which replicas are at the ends.
    fn arrive(&mut self) {
        let rungs = self.rungs.as_mut();
        if let Some(rung) = rungs.first_mut()
            && rung.came_from != End::None
        {
            // Only replicas that have been at the last rung are on their way.
            rung.came_from = End::First;
        }
        if let Some(rung) = rungs.last_mut() {
            self.round_trips += u64::from(rung.came_from == End::First);
            rung.came_from = End::Last;
        }
    }

    /// As many β, from the first to the last, at which swaps between neighbours would be equally likely (Syed et al. 2022, §5).
    /// The rejection rates, added up along the ladder, are a piecewise linear function of β. It is cut into equal parts. A
    /// short run says enough. Repeat once or twice.
    ///
    /// `out` takes one β a rung; rungs that it has no place for are left out.
    pub fn respaced(&self, out: &mut [f32]) {
        // Half a rejection more than seen: no part is without length.
        let barrier = |rung: &Rung| {
            let tried = rung.tried as f32;
            (tried - rung.sum.value() + 0.5) / (tried + 1.0)
        };
        let rungs = self.rungs();
        let parts = rungs.len().saturating_sub(1);
        let all: f32 = rungs.iter().take(parts).map(barrier).sum();
        let mut pairs = rungs.windows(2);
        let (mut start, mut length, mut from, mut to) = (0.0, 0.0, 0.0, 0.0);
        for ((index, slot), rung) in out.iter_mut().enumerate().zip(rungs) {
            let goal = all * (index as f32 / parts as f32);
            while index > 0 && index < parts && start + length < goal {
                let Some([low, high]) = pairs.next() else { break };
                (start, length, from, to) = (start + length, barrier(low), low.beta, high.beta);
            }
            let ends = index == 0 || index >= parts;
            *slot = if ends { rung.beta } else { from + (to - from) * ((goal - start) / length) };
        }
    }
}

/// Whether a β can be on the rung after that of `before`; −1 is before the first.
pub(super) fn rises(before: f32, beta: f32) -> bool {
    beta >= 0.0 && beta > before && beta.is_finite()
}
