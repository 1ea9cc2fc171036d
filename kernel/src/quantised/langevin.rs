//! The discrete Langevin proposal with its Metropolis test.

use super::weight::Weight;
use super::{AtUnit, ByOdds, Odds, PER_OCTAVE, QuantisedGibbs, QuantisedIsing, Temperature};
use crate::energy::SparseError;
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

/// A chain of DMALA over a [`QuantisedIsing`] model (Zhang, Liu and Liu 2022, Algorithm 2; METHODS.md §1). At any
/// temperature it is a [`TemperedLangevin`]. Every site flips at once with log odds `z = ½(1−2x)F − 1/(2α)`, F its
/// field times the inverse temperature. The whole is accepted with
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
pub struct QuantisedLangevin<'a, D = ByOdds> {
    chain: QuantisedGibbs<'a, D>,
    penalty: Penalty,
    /// The sites that a step flips.
    flips: &'a mut [u32],
    /// Of the state over all sites, where it is known.
    weight: Option<Weight>,
}

/// A chain of [`QuantisedLangevin`] at any temperature: it samples `p(x) ∝ 2^(unit·(b·x + ½ xᵀKx) / 65,536)`, as a
/// [`TemperedGibbs`](super::TemperedGibbs) does. The penalty is the same at every temperature. Cost: one multiplication a
/// site more, twice a step.
///
/// ```
/// use bitmc::energy::Entry;
/// use bitmc::quantised::{Penalty, QuantisedIsing, TemperedLangevin};
/// use bitmc::{LaneRng, SeedableRng};
///
/// // Two bits in units of a 64th: alike is likelier by 2^½ than different. At unit 128 it is likelier by 2.
/// let pair = [Entry { site: 1, coupling: 1_024 }, Entry { site: 0, coupling: 1_024 }];
/// let model = QuantisedIsing::from_rows(&[1, 2], &pair, &[-512, -512])?;
/// let (mut words, mut fields, mut flips) = ([0], [0; 2], [0]);
/// let penalty = Penalty::from_step_size(0.5)?;
/// let mut chain = TemperedLangevin::at_unit(model, 128, penalty, &mut words, &mut fields, &mut flips)?;
/// let mut rng = LaneRng::seed_from_u64(1);
/// let alike = (0..10_000).filter(|_| {
///     chain.step(&mut rng);
///     chain.state().ones() != 1
/// });
/// assert!((alike.count() as f64 / 10_000.0 - 0.667).abs() < 0.05);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type TemperedLangevin<'a> = QuantisedLangevin<'a, AtUnit>;

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
        Self::over(QuantisedGibbs::new(model, words, fields)?, penalty, flips)
    }

    /// Goes on at its state over the same couplings with another b: [`QuantisedIsing::with_linear`].
    ///
    /// # Errors
    /// As [`QuantisedIsing::with_linear`]; the chain is as it was.
    pub fn set_linear(&mut self, linear: &'a [i32]) -> Result<(), SparseError> {
        self.chain.set_linear(linear)?;
        self.weigh_anew();
        Ok(())
    }
}

impl<'a> TemperedLangevin<'a> {
    /// A chain that starts at the state in `words`, at an inverse temperature. Buffers as in [`QuantisedLangevin::new`].
    ///
    /// # Errors
    /// As [`QuantisedLangevin::new`], and [`StateError::Unit`] where log odds could overflow: where `unit` times the
    /// largest field of the model is 2³¹ or more.
    pub fn at_unit(
        model: QuantisedIsing<'a>,
        unit: u32,
        penalty: Penalty,
        words: &'a mut [u32],
        fields: &'a mut [i32],
        flips: &'a mut [u32],
    ) -> Result<Self, StateError> {
        fits(&model, unit)?;
        Self::over(QuantisedGibbs::at_unit(model, unit, words, fields)?, penalty, flips)
    }

    /// Goes on at its state at another temperature. O(edges).
    ///
    /// # Errors
    /// [`StateError::Unit`] where log odds could overflow; the chain is as it was.
    pub fn set_unit(&mut self, unit: u32) -> Result<(), StateError> {
        fits(&self.chain.model, unit)?;
        self.chain.set_unit(unit);
        self.weigh_anew();
        Ok(())
    }
}

/// Whether all log odds fit in 32 bits.
fn fits(model: &QuantisedIsing<'_>, unit: u32) -> Result<(), StateError> {
    let (lowest, highest) = model.form().range();
    let largest = lowest.unsigned_abs().max(highest.unsigned_abs()).max(1);
    let most = i32::MAX as u32 / largest;
    if unit > most { Err(StateError::Unit { most, got: unit }) } else { Ok(()) }
}

impl<'a, D: Temperature> QuantisedLangevin<'a, D> {
    fn over(chain: QuantisedGibbs<'a, D>, penalty: Penalty, flips: &'a mut [u32]) -> Result<Self, StateError> {
        let (need, got) = (chain.words.len(), flips.len());
        let Some(flips) = flips.get_mut(..need) else { return Err(StateError::Flips { need, got }) };
        let mut chain = Self { chain, penalty, flips, weight: None };
        chain.weigh_anew();
        Ok(chain)
    }

    fn weigh_anew(&mut self) {
        self.weight = Some(self.weigh(None));
    }

    /// The inverse temperature.
    #[must_use]
    pub fn unit(&self) -> u32 {
        self.chain.unit()
    }

    /// Replica exchange, as [`QuantisedGibbs::exchange`]. Each chain keeps its penalty too.
    ///
    /// # Errors
    /// As [`QuantisedGibbs::exchange`].
    pub fn exchange<R: Rng + ?Sized>(&mut self, other: &mut Self, rng: &mut R) -> Result<bool, StateError> {
        let swapped = self.chain.exchange(&mut other.chain, rng)?;
        if swapped {
            self.weigh_anew();
            other.weigh_anew();
        }
        Ok(swapped)
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
        let z = self.log_odds(*field, self.state().get(site));
        Some((z > 0, Odds::new(z.unsigned_abs())))
    }

    /// A step.
    pub fn step<R: Rng + ?Sized>(&mut self, rng: &mut R) -> QuantisedInfo {
        let here = self.weight.unwrap_or_else(|| self.weigh(None));
        let (info, weight) = self.step_from(here, None, rng);
        self.weight = Some(weight);
        info
    }

    /// A step that moves only the sites whose bit in `free` is 1. All others are clamped, also those beyond the end
    /// of `free`. The rest is drawn from p given them. Cost: that of [`QuantisedLangevin::step`], and a second product.
    pub fn step_free<R: Rng + ?Sized>(&mut self, free: &[u32], rng: &mut R) -> QuantisedInfo {
        let here = self.weigh(Some(free));
        let (info, _) = self.step_from(here, Some(free), rng);
        if info.accepted && info.proposed > 0 {
            self.weight = None;
        }
        info
    }

    /// The weights are of the free sites; returned is that of the new state.
    fn step_from<R: Rng + ?Sized>(
        &mut self,
        here: Weight,
        free: Option<&[u32]>,
        rng: &mut R,
    ) -> (QuantisedInfo, Weight) {
        let proposed = self.propose(free, rng);
        if proposed == 0 {
            return (QuantisedInfo { accepted: true, proposed }, here);
        }
        let before = self.halves();
        self.turn();
        let there = self.weigh(free);
        let accepted = here.accept(there, before - self.halves(), rng);
        if !accepted {
            self.turn();
        }
        (QuantisedInfo { accepted, proposed }, if accepted { there } else { here })
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
    fn propose<R: Rng + ?Sized>(&mut self, free: Option<&[u32]>, rng: &mut R) -> u32 {
        let mut proposed = 0;
        for word in 0..self.flips.len() {
            let mut flips = 0;
            self.each_free(free, word, |place, z| {
                let rare = Odds::new(z.unsigned_abs()).draw(rng);
                flips |= u32::from(rare ^ (z > 0)) << place;
            });
            proposed += flips.count_ones();
            if let Some(slot) = self.flips.get_mut(word) {
                *slot = flips;
            }
        }
        proposed
    }

    /// The product of `1 + 2^z` over the free sites: nothing but the state decides it.
    fn weigh(&self, free: Option<&[u32]>) -> Weight {
        let mut weight = Weight::ONE;
        for word in 0..self.flips.len() {
            self.each_free(free, word, |_, z| weight.multiply(z));
        }
        weight
    }

    /// The places of a word's free sites, with their log odds.
    #[inline(always)]
    fn each_free(&self, free: Option<&[u32]>, word: usize, mut see: impl FnMut(u32, i32)) {
        let is_free = free.map_or(u32::MAX, |free| free.get(word).copied().unwrap_or(0));
        let (state, fields) = (self.chain.words.get(word), self.chain.fields.get(32 * word..));
        let (Some(&state), Some(fields)) = (state, fields) else { return };
        for (place, &field) in (0..32).zip(fields) {
            if (is_free >> place) & 1 != 0 {
                see(place, self.log_odds(field, (state >> place) & 1));
            }
        }
    }

    /// The log odds of a flip, half of what it gains less the penalty, rounded down to a unit.
    #[inline(always)]
    fn log_odds(&self, field: i32, value: u32) -> i32 {
        let gain = if value == 0 { field } else { field.wrapping_neg() };
        (gain.wrapping_mul(self.unit() as i32) >> 1).wrapping_sub(self.penalty.0 as i32)
    }

    /// Half units that the flips' log odds lost where they were rounded down.
    fn halves(&self) -> i64 {
        // A product of two numbers is odd where both are.
        let (unit, mut halves) = (self.unit(), 0);
        for (&flips, fields) in self.flips.iter().zip(self.chain.fields.chunks(32)) {
            let odd = |(place, field): (u32, &i32)| i64::from((flips >> place) & (*field as u32) & unit & 1);
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
impl<D: Temperature> Snapshot for QuantisedLangevin<'_, D> {
    fn save(&self, to: &mut Writer<'_>) {
        self.chain.save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.chain.load(from)?;
        self.weigh_anew();
        Ok(())
    }
}
