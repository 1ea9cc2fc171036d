//! Distributions of independent sites: where a path to another distribution starts.

use crate::draw::sums::{Sums, registers};
use crate::lane::{F32s, LANES, PARTS, Total, exp, ln};
use crate::layout::{Kind, Layout};
use crate::packed::{Packed, set};
use crate::random::{uniform, uniform_state};
use rand_core::Rng;

/// A distribution of independent sites, `p₀(x) ∝ exp(Σᵢ θᵢ(xᵢ))`, that can be drawn from exactly and whose
/// normaliser is known: the start of a [`Tempered`](super::Tempered) path.
///
/// θ is linear in the value of a binary or ordinal site: `θᵢ·xᵢ`, one number a site. For categorical sites it is a
/// table: `θᵢ(k)`, site by site. No numbers at all are the uniform distribution.
#[derive(Clone, Copy, Debug)]
pub struct BaseDistribution<'a> {
    fields: &'a [f32],
    layout: Layout,
    arities: Option<&'a [u16]>,
}

crate::error::errors! {
    /// Why a path between two distributions is none.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum PathError {
        /// The base has `got` fields, the layout needs `need`, or none.
        Fields {
            /// Fields needed.
            need: usize,
            /// Fields given.
            got: usize,
        } => "the base needs {need} fields or none, {got} were given";
        /// A field of the base is not finite.
        FieldNotFinite {
            /// Its index.
            index: usize,
        } => "field {index} of the base is not finite";
        /// An inverse temperature is negative or not finite.
        Beta(beta: f32) => "the inverse temperature {beta} is not finite and at least 0";
        /// With this inverse temperature differences of βE could be infinite.
        BetaTooLarge(beta: f32) =>
            "at the inverse temperature {beta} differences of energies could be infinite";
    }
}

impl<'a> BaseDistribution<'a> {
    /// The base of an energy's path, with `fields` θ.
    ///
    /// # Errors
    /// [`PathError::Fields`] or [`PathError::FieldNotFinite`].
    pub fn new<E: super::Energy + ?Sized>(energy: &'a E, fields: &'a [f32]) -> Result<Self, PathError> {
        let layout = energy.layout();
        let per_site = if layout.kind() == Kind::Categorical { layout.arity() } else { 1 };
        let need = layout.sites().saturating_mul(per_site);
        if !fields.is_empty() && fields.len() != need {
            return Err(PathError::Fields { need, got: fields.len() });
        }
        if let Some(index) = fields.iter().position(|field| !field.is_finite()) {
            return Err(PathError::FieldNotFinite { index });
        }
        Ok(Self { fields, layout, arities: energy.arities() })
    }

    /// Whether it is the same distribution, of the same sites.
    pub(crate) fn same(&self, other: &Self) -> bool {
        self.fields == other.fields && self.layout == other.layout
    }

    /// Whether every state is as likely as any other.
    #[must_use]
    pub fn is_uniform(&self) -> bool {
        self.fields.is_empty()
    }

    /// θ of a value at a site; 0 where there is none.
    #[inline]
    #[must_use]
    pub fn field(&self, site: usize, value: u32) -> f32 {
        match self.layout.kind() {
            Kind::Categorical => {
                let index = site.saturating_mul(self.layout.arity()).saturating_add(value as usize);
                self.fields.get(index).copied().unwrap_or(0.0)
            }
            Kind::Binary | Kind::Ordinal => self.fields.get(site).copied().unwrap_or(0.0) * value as f32,
        }
    }

    /// `E₀(x) = −Σ θᵢ(xᵢ)`.
    #[must_use]
    pub fn energy(&self, x: Packed<'_>) -> Total {
        let mut total = Total::new(0.0);
        if !self.is_uniform() {
            (0..).zip(x.values()).for_each(|(site, value)| total.add(-self.field(site, value)));
        }
        total
    }

    /// `ln Z₀ = Σᵢ ln Σₖ e^{θᵢ(k)}`. One exponential a site and value.
    #[must_use]
    pub fn log_z(&self) -> f32 {
        self.log_z_given(|_| None)
    }

    /// `ln Z₀` over the states that agree with the values of sites that have one given.
    pub(crate) fn log_z_given(&self, given: impl Fn(usize) -> Option<u32>) -> f32 {
        let mut total = Total::new(0.0);
        for site in 0..self.layout.sites() {
            if let Some(value) = given(site) {
                total.add(self.field(site, value));
                continue;
            }
            let most = self.most(site);
            total.add(most);
            total.add(ln(self.sum(site, most)));
        }
        total.value()
    }

    /// Draws a state into `out`, exactly. Three exponentials a site and value, at most.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R, out: &mut [u32]) {
        if self.is_uniform() {
            return uniform_state(self.layout, self.arities, rng, out);
        }
        let words = self.layout.words();
        out.iter_mut().take(words).for_each(|word| *word = 0);
        for site in 0..self.layout.sites() {
            let most = self.most(site);
            // The likeliest value is left for last: rounding cannot leave the walk without a value.
            let likeliest = (0..self.arity(site)).find(|&value| self.field(site, value) >= most);
            let mut drawn = likeliest.unwrap_or(0);
            if let Some(sums) = self.many(site, most) {
                let place = sums.draw(|block| self.weights(site, most, block), rng);
                drawn = place.map_or(drawn, |place| place as u32);
            } else {
                let mut rest = uniform(rng) * self.sum(site, most);
                for value in (0..self.arity(site)).filter(|&value| value != drawn) {
                    rest -= exp(self.field(site, value) - most);
                    if rest < 0.0 {
                        drawn = value;
                        break;
                    }
                }
            }
            // The value is below the arity: there is nothing to refuse.
            let _ = set(self.layout, out, site, drawn);
        }
    }

    fn arity(&self, site: usize) -> u32 {
        self.layout.arity_at(self.arities, site) as u32
    }

    /// The largest θ of a site.
    fn most(&self, site: usize) -> f32 {
        let fields = (0..self.arity(site)).map(|value| self.field(site, value));
        fields.fold(f32::NEG_INFINITY, |most, field| if field > most { field } else { most })
    }

    /// The sum of e^θ relative to the largest.
    fn sum(&self, site: usize, most: f32) -> f32 {
        let weights = (0..self.arity(site)).map(|value| exp(self.field(site, value) - most));
        self.many(site, most).map_or_else(|| weights.sum(), |sums| sums.total())
    }

    /// The sums of the weights of many values: a sum in one float would lose small ones.
    fn many(&self, site: usize, most: f32) -> Option<Sums> {
        let arity = self.arity(site) as usize;
        let blocks = arity.div_ceil(LANES);
        (arity >= Layout::MANY).then(|| Sums::new(blocks, |block| self.weights(site, most, block)))
    }

    /// A block of e^θ relative to the largest.
    #[inline(never)]
    fn weights(&self, site: usize, most: f32, block: usize) -> [F32s; PARTS] {
        let first = (block * LANES) as u32;
        let fields = core::array::from_fn(|lane| match first + lane as u32 {
            value if value < self.arity(site) => self.field(site, value) - most,
            _ => f32::NEG_INFINITY,
        });
        registers(&fields).map(F32s::exp)
    }
}
