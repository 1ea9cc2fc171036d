//! The discrete Langevin proposal with its Metropolis test.

use super::weight::Weight;
use super::{Odds, PER_OCTAVE, QuantisedGibbs, QuantisedIsing};
use crate::energy::SparseError;
use crate::layout::Layout;
use crate::packed::{Packed, StateError};
use crate::snapshot::{Reader, Snapshot, SnapshotError, Writer};
use crate::stats::StateObserver;
use crate::step::ParameterError;
use core::f32::consts::LN_2;
use rand_core::Rng;

/// What keeps a site from flipping: the log odds against a flip that changes no energy, in units of
/// `ln 2 / 65,536`. DLP's term `1/(2α)` (Zhang, Liu and Liu 2022, Eq. 2, at two values).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Penalty(u32);

impl Penalty {
    /// So many units; 2³⁰ at most, odds of 2⁻¹⁶³⁸⁴.
    ///
    /// # Errors
    /// [`ParameterError::Penalty`] where there are more.
    pub const fn from_units(units: u32) -> Result<Self, ParameterError> {
        if units > 1 << 30 { Err(ParameterError::Penalty(units)) } else { Ok(Self(units)) }
    }

    /// `1/(2α)` to the nearest unit, by floats: on the desktop, or at boot.
    ///
    /// # Errors
    /// [`ParameterError::StepSize`] where α, or its inverse, is not positive and finite; [`ParameterError::Penalty`]
    /// where it is below 4.5·10⁻⁵, with the units, 2³² − 1 at most.
    pub fn from_step_size(alpha: f32) -> Result<Self, ParameterError> {
        if !(alpha > 0.0 && alpha.is_finite() && (1.0 / alpha).is_finite()) {
            return Err(ParameterError::StepSize(alpha));
        }
        Self::from_units((PER_OCTAVE as f32 / LN_2 / (2.0 * alpha) + 0.5) as u32)
    }

    /// In units.
    #[must_use]
    pub const fn units(self) -> u32 {
        self.0
    }
}

/// What a step did: an [`Info`](crate::Info) without floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct QuantisedInfo {
    /// Whether the chain moved to the proposed state (or stayed because it was proposed).
    pub accepted: bool,
    /// Sites that the proposal changed.
    pub proposed: u32,
}

/// A chain of DMALA over a [`QuantisedIsing`] model (Zhang, Liu and Liu 2022, Algorithm 2; METHODS.md §1): every
/// site flips at once with log odds `z = ½(1−2x)F − 1/(2α)`, F its field, and the whole is accepted with
///
/// `A = 2^(Σ(r(x) − r(y))/131,072) · Π(1 + 2^z(x)) / Π(1 + 2^z(y))`,
///
/// r being the half unit by which a flipped site's z was rounded down: the energies and the flipped sites' terms
/// cancel but for these. So the chain keeps p, without floats, but for the rounding of the products, 2⁻²⁹ a site.
///
/// Cost a step: a word of the generator and five multiplications a site, O(degree) additions a flip, and once
/// more where the proposal is rejected. Where few sites matter at a time, [`QuantisedGibbs`] costs half as much.
///
/// ```
/// use bitmc::energy::Entry;
/// use bitmc::quantised::{Penalty, QuantisedIsing, QuantisedLangevin};
/// use bitmc::{LaneRng, SeedableRng};
///
/// // Two bits: alike is likelier by 2^½ than different.
/// let pair = [Entry { site: 1, coupling: 65_536 }, Entry { site: 0, coupling: 65_536 }];
/// let model = QuantisedIsing::from_rows(&[1, 2], &pair, &[-32_768, -32_768])?;
/// let (mut words, mut fields, mut flips) = ([0], [0; 2], [0]);
/// let penalty = Penalty::from_step_size(0.5)?;
/// let mut chain = QuantisedLangevin::new(model, penalty, &mut words, &mut fields, &mut flips)?;
/// let mut rng = LaneRng::seed_from_u64(1);
/// let alike = (0..10_000).filter(|_| {
///     chain.step(&mut rng);
///     chain.state().ones() != 1
/// });
/// assert!((alike.count() as f64 / 10_000.0 - 0.586).abs() < 0.05);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct QuantisedLangevin<'a> {
    chain: QuantisedGibbs<'a>,
    penalty: Penalty,
    /// The sites that a step flips.
    flips: &'a mut [u32],
    /// Of the state.
    weight: Weight,
}

impl<'a> QuantisedLangevin<'a> {
    /// Bytes in a snapshot.
    #[must_use]
    pub const fn snapshot_len(sites: usize) -> usize {
        QuantisedGibbs::snapshot_len(sites)
    }

    /// A chain that starts at the state in `words`. The buffer `fields` is room for a number a site, `flips` for as
    /// many words as the state has.
    ///
    /// # Errors
    /// [`StateError`] where the words are no binary state of the model's sites, or there are fewer fields or flips.
    pub fn new(
        model: QuantisedIsing<'a>,
        penalty: Penalty,
        words: &'a mut [u32],
        fields: &'a mut [i32],
        flips: &'a mut [u32],
    ) -> Result<Self, StateError> {
        let (need, got) = (Layout::binary(model.form().sites()).words(), flips.len());
        let Some(flips) = flips.get_mut(..need) else { return Err(StateError::Flips { need, got }) };
        let chain = QuantisedGibbs::new(model, words, fields)?;
        let mut chain = Self { chain, penalty, flips, weight: Weight::ONE };
        chain.weight = chain.weigh();
        Ok(chain)
    }

    /// Goes on at its state over the same couplings with another b: [`QuantisedIsing::with_linear`].
    ///
    /// # Errors
    /// As [`QuantisedIsing::with_linear`]; the chain is as it was.
    pub fn set_linear(&mut self, linear: &'a [i32]) -> Result<(), SparseError> {
        self.chain.set_linear(linear)?;
        self.weight = self.weigh();
        Ok(())
    }

    /// The state.
    #[must_use]
    pub fn state(&self) -> Packed<'_> {
        self.chain.state()
    }

    /// How a step proposes a site: whether it rather flips than stays, and the odds of the rarer of the two. Returns
    /// `None` where there is no such site.
    #[must_use]
    pub fn proposal(&self, site: usize) -> Option<(bool, Odds)> {
        let field = self.chain.fields.get(site)?;
        let z = log_odds(*field, bit(self.chain.words, site), self.penalty);
        Some((z > 0, Odds::new(z.unsigned_abs())))
    }

    /// A step.
    pub fn step<R: Rng + ?Sized>(&mut self, rng: &mut R) -> QuantisedInfo {
        let proposed = self.propose(rng);
        if proposed == 0 {
            return QuantisedInfo { accepted: true, proposed };
        }
        let before = self.halves();
        self.turn();
        let there = self.weigh();
        let accepted = self.weight.accept(there, before - self.halves(), rng);
        if accepted {
            self.weight = there;
        } else {
            self.turn();
        }
        QuantisedInfo { accepted, proposed }
    }

    /// So many steps; the observer sees the state after each. How many were accepted.
    pub fn run<R: Rng + ?Sized>(&mut self, steps: u64, rng: &mut R, observer: &mut impl StateObserver) -> u64 {
        let one = |_| {
            let info = self.step(rng);
            observer.see(self.state());
            u64::from(info.accepted)
        };
        (0..steps).map(one).sum()
    }

    /// ln p but for a constant, as [`QuantisedGibbs::units`].
    #[must_use]
    pub fn units(&self) -> i64 {
        self.chain.units()
    }

    /// Draws the sites to flip; how many.
    fn propose<R: Rng + ?Sized>(&mut self, rng: &mut R) -> u32 {
        let states = self.chain.words.iter().zip(self.flips.iter_mut());
        let mut proposed = 0;
        for ((&state, flips), fields) in states.zip(self.chain.fields.chunks(32)) {
            *flips = 0;
            for (place, &field) in (0..32).zip(fields) {
                let z = log_odds(field, (state >> place) & 1, self.penalty);
                let rare = Odds::new(z.unsigned_abs()).draw(rng);
                *flips |= u32::from(rare ^ (z > 0)) << place;
            }
            proposed += flips.count_ones();
        }
        proposed
    }

    /// The product of `1 + 2^z` over all sites, of the state: nothing but the state decides it.
    fn weigh(&self) -> Weight {
        let mut weight = Weight::ONE;
        for (&state, fields) in self.chain.words.iter().zip(self.chain.fields.chunks(32)) {
            for (place, &field) in (0..32).zip(fields) {
                weight.multiply(log_odds(field, (state >> place) & 1, self.penalty));
            }
        }
        weight
    }

    /// Half units that the flips' log odds lost where they were rounded down.
    fn halves(&self) -> i64 {
        let mut halves = 0;
        for (&flips, fields) in self.flips.iter().zip(self.chain.fields.chunks(32)) {
            let odd = |(place, field): (u32, &i32)| i64::from((flips >> place) & (*field as u32) & 1);
            halves += (0..32).zip(fields).map(odd).sum::<i64>();
        }
        halves
    }

    /// Flips the sites, and again back.
    fn turn(&mut self) {
        for word in 0..self.flips.len() {
            let mut left = self.flips.get(word).copied().unwrap_or(0);
            while left != 0 {
                let place = left.trailing_zeros();
                left &= left - 1;
                let Some(state) = self.chain.words.get_mut(word) else { return };
                *state ^= 1 << place;
                let sign = if *state >> place & 1 == 0 { -1 } else { 1 };
                self.chain.scatter(32 * word + place as usize, sign);
            }
        }
    }
}

/// The state, as a [`QuantisedGibbs`] has it; fields and product are made again. Where it is refused the chain is as
/// it was.
impl Snapshot for QuantisedLangevin<'_> {
    fn save(&self, to: &mut Writer<'_>) {
        self.chain.save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.chain.load(from)?;
        self.weight = self.weigh();
        Ok(())
    }
}

/// The log odds of a flip, half of what it gains less the penalty, rounded down to a unit.
#[inline(always)]
fn log_odds(field: i32, value: u32, penalty: Penalty) -> i32 {
    let gain = if value == 0 { field } else { field.wrapping_neg() };
    (gain >> 1).wrapping_sub(penalty.0 as i32)
}

#[inline]
fn bit(words: &[u32], site: usize) -> u32 {
    words.get(site >> 5).map_or(0, |word| (word >> (site & 31)) & 1)
}
