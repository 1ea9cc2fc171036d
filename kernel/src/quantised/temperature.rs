//! Temperatures, and chains that change places between them.

use super::weight::Weight;
use super::{ByOdds, Draw, Odds, QuantisedGibbs, QuantisedIsing, Table};
use crate::packed::StateError;
use rand_core::Rng;

/// A chain of [`QuantisedGibbs`] at any temperature: it samples `p(x) ∝ 2^(unit·(b·x + ½ xᵀKx) / 65,536)`, and `unit` is the
/// inverse temperature. [`QuantisedIsing::round_at`] rounds a model for it. Chains at several temperatures change places by
/// [`QuantisedGibbs::exchange`].
///
/// Cost: that of [`QuantisedGibbs`], and one multiplication a site. Where the fields take few values,
/// [`TableGibbs`](super::TableGibbs) costs less.
///
/// ```
/// use bitmc::energy::Entry;
/// use bitmc::quantised::{QuantisedIsing, TemperedGibbs};
/// use bitmc::stats::Means;
/// use bitmc::{LaneRng, SeedableRng};
///
/// // Two bits that are alike, by 15 to 1 or so at unit 64: 64·4,000/65,536 factors of two.
/// let pair = [Entry { site: 1, coupling: 8_000 }, Entry { site: 0, coupling: 8_000 }];
/// let model = QuantisedIsing::from_rows(&[1, 2], &pair, &[-4_000, -4_000])?;
/// let (mut cold_words, mut hot_words, mut cold_fields, mut hot_fields) = ([0], [0], [0; 2], [0; 2]);
/// let mut cold = TemperedGibbs::at_unit(model, 64, &mut cold_words, &mut cold_fields)?;
/// let mut hot = TemperedGibbs::at_unit(model, 16, &mut hot_words, &mut hot_fields)?;
///
/// let (mut rng, mut means) = (LaneRng::seed_from_u64(1), Means::new([0; 2]));
/// for _ in 0..10_000 {
///     hot.sweep(&mut rng);
///     cold.run(1, &mut rng, &mut means);
///     cold.exchange(&mut hot, &mut rng)?;
/// }
/// assert!((4_500..5_500).contains(&means.sum(0).unwrap_or(0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type TemperedGibbs<'a> = QuantisedGibbs<'a, AtUnit>;

/// By [`Odds`], at an inverse temperature.
#[derive(Clone, Copy, Debug)]
pub struct AtUnit {
    unit: u32,
}

/// The odds of the less likely value. Beyond 2³² units, odds of 2⁻⁶⁵⁵³⁶, nothing is ever drawn.
#[inline(always)]
pub(super) fn odds(field: i32, unit: u32) -> Odds {
    let units = u64::from(field.unsigned_abs()) * u64::from(unit);
    Odds::new(units.min(u64::from(u32::MAX)) as u32)
}

impl Draw for AtUnit {
    #[inline(always)]
    fn draw<R: Rng + ?Sized>(&self, field: i32, rng: &mut R) -> bool {
        odds(field, self.unit).draw(rng) ^ (field > 0)
    }
}

/// A [`Draw`] at an inverse temperature.
pub trait Temperature: Draw {
    /// The inverse temperature: log odds of a unit of the fields, in units of `ln 2 / 65,536`.
    fn unit(&self) -> u32;
}

/// One: the model as it is.
impl Temperature for ByOdds {
    #[inline(always)]
    fn unit(&self) -> u32 {
        1
    }
}

impl Temperature for AtUnit {
    #[inline(always)]
    fn unit(&self) -> u32 {
        self.unit
    }
}

impl Temperature for Table<'_> {
    fn unit(&self) -> u32 {
        self.unit
    }
}

impl<'a> TemperedGibbs<'a> {
    /// A chain that starts at the state in `words`, at an inverse temperature; `fields` is room for a number a site.
    ///
    /// # Errors
    /// As [`QuantisedGibbs::new`].
    pub fn at_unit(
        model: QuantisedIsing<'a>,
        unit: u32,
        words: &'a mut [u32],
        fields: &'a mut [i32],
    ) -> Result<Self, StateError> {
        Self::drawn_by(AtUnit { unit }, model, words, fields)
    }

    /// Goes on at its state at another temperature.
    pub fn set_unit(&mut self, unit: u32) {
        self.draw.unit = unit;
    }
}

impl<D: Temperature> QuantisedGibbs<'_, D> {
    /// The inverse temperature.
    #[must_use]
    pub fn unit(&self) -> u32 {
        self.draw.unit()
    }

    /// The likelier value of a site given all others, and the odds of the other one; `None` where there is no
    /// such site.
    #[must_use]
    pub fn conditional(&self, site: usize) -> Option<(u32, Odds)> {
        self.fields.get(site).map(|&field| (u32::from(field > 0), odds(field, self.unit())))
    }

    /// Replica exchange: two chains of one model change states with probability
    /// `min(1, 2^((u−u′)(H(y)−H(x))/65,536))`. Here x and y are their states, u and u′ their inverse temperatures,
    /// and H is [`QuantisedGibbs::units`]. Each keeps its temperature; the memory goes with the state. True where
    /// they did.
    ///
    /// Cost: O(sites), and O(edges) to see that the models are the same, unless both are the same slices. At most three words
    /// of the generator.
    ///
    /// # Errors
    /// [`StateError::Model`] where the models differ.
    pub fn exchange<R: Rng + ?Sized>(&mut self, other: &mut Self, rng: &mut R) -> Result<bool, StateError> {
        let (own, its) = (self.model.form, other.model.form);
        let alike = own.linear() == its.linear() && own.ends() == its.ends() && own.entries() == its.entries();
        if !alike {
            return Err(StateError::Model);
        }
        let log = (i64::from(self.unit()) - i64::from(other.unit()))
            .saturating_mul(other.units().saturating_sub(self.units()))
            .clamp(-(1 << 40), 1 << 40);
        let swapped = Weight::ONE.accept(Weight::ONE, 2 * log, rng);
        if swapped {
            core::mem::swap(&mut self.words, &mut other.words);
            core::mem::swap(&mut self.fields, &mut other.fields);
        }
        Ok(swapped)
    }
}
