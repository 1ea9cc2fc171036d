//! Which models can be sliced.

use super::MAX_DEGREE;
use super::odds::{LogOdds, parts};
use crate::energy::{Entry, Ising};

crate::error::errors! {
    /// Why a model or its memory does not fit.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum SlicedError {
        /// The coupling of these two sites is of another magnitude than the first one.
        Coupling {
            /// One end.
            a: u32,
            /// The other end.
            b: u32,
        } => "the coupling of sites {a} and {b} is of another magnitude than the first";
        /// The field at this site is neither 0 nor of the magnitude of the first one that is not.
        Field {
            /// The site.
            site: usize,
        } => "the field at site {site} is neither 0 nor of the magnitude of the others";
        /// A site has more than [`MAX_DEGREE`] neighbours.
        Degree {
            /// The site.
            site: usize,
            /// Its neighbours.
            degree: usize,
        } => "site {site} has {degree} neighbours, {MAX_DEGREE} are possible";
        /// The memory is too short.
        Memory {
            /// Blocks, or words of a table, that are needed.
            need: usize,
            /// How many were given.
            got: usize,
        } => "{need} blocks or words are needed, {got} were given";
        /// β must be finite and not negative.
        Beta(value: f32) => "β = {value}: it must be finite and not negative";
        /// A step size must be positive and finite, and so must its inverse.
        StepSize(value: f32) => "step size {value} is not positive and finite";
        /// The log odds of a flip would be beyond ±30 somewhere: too large to be drawn with the precision that a
        /// Metropolis test needs.
        Steep => "the log odds of a flip are beyond 30";
    }
}

/// An [`Ising`] model whose couplings have one magnitude, ±J, and whose fields are 0 or ±h for one h. Its graph is
/// any one of degree up to [`MAX_DEGREE`]. The model's own table of rows is read: nothing is copied.
#[derive(Clone, Copy, Debug)]
pub struct SlicedIsing<'a> {
    model: Ising<'a>,
    /// 4J and 4h in units of the model's grid.
    coupling: i64,
    field: i64,
    /// Bit k where there is a site of kind k.
    kinds: u32,
    /// β, as a whole number and the exponent of its unit.
    beta: (i64, i32),
}

/// What decides the odds of a site but its neighbours' values: how many neighbours it has, and whether it has a
/// field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) degree: usize,
    pub(super) field: bool,
}

/// Kinds of sites.
pub(super) const KINDS: usize = 2 * (MAX_DEGREE + 1);

impl Kind {
    #[inline]
    pub(super) fn number(self) -> usize {
        2 * self.degree + usize::from(self.field)
    }
}

/// A site: its neighbours, its kind, and all ones where its field points to 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site<'a> {
    pub(super) row: &'a [Entry],
    pub(super) kind: Kind,
    pub(super) down: u32,
}

impl<'a> SlicedIsing<'a> {
    /// Looks at a model. O(edges).
    ///
    /// # Errors
    /// [`SlicedError::Coupling`], [`SlicedError::Field`] or [`SlicedError::Degree`] where it cannot be sliced.
    pub fn new(model: Ising<'a>) -> Result<Self, SlicedError> {
        let form = model.form();
        let first = form.entries().first().map_or(0, |entry| i64::from(entry.coupling).abs());
        let mut sliced = Self { model, coupling: first, field: 0, kinds: 0, beta: (1, 0) };
        for site in 0..form.sites() {
            let row = form.row(site);
            if row.len() > MAX_DEGREE {
                return Err(SlicedError::Degree { site, degree: row.len() });
            }
            if let Some(other) = row.iter().find(|entry| i64::from(entry.coupling).abs() != first) {
                return Err(SlicedError::Coupling { a: site as u32, b: other.site });
            }
            let field = sliced.field_at(site, row).abs();
            if field != 0 && sliced.field != 0 && field != sliced.field {
                return Err(SlicedError::Field { site });
            }
            sliced.field = if field == 0 { sliced.field } else { field };
            sliced.kinds |= 1 << Kind { degree: row.len(), field: field != 0 }.number();
        }
        Ok(sliced)
    }

    /// The same model at the inverse temperature β: samplers draw from p ∝ e^(−βE), and β is not rounded. Energies are those of the
    /// model itself. It is 1 until it is set.
    ///
    /// # Errors
    /// [`SlicedError::Beta`] where β is negative or not finite.
    pub fn at(self, beta: f32) -> Result<Self, SlicedError> {
        if !(beta >= 0.0 && beta.is_finite()) {
            return Err(SlicedError::Beta(beta));
        }
        let (mantissa, exponent) = parts(beta);
        let zeros = mantissa.trailing_zeros().min(23);
        Ok(Self { beta: (mantissa >> zeros, exponent + zeros as i32), ..self })
    }

    /// The model.
    #[must_use]
    pub fn ising(&self) -> Ising<'a> {
        self.model
    }

    /// Sites.
    #[must_use]
    pub fn sites(&self) -> usize {
        self.model.form().sites()
    }

    /// 4w, from b = 2w − ½ΣK and K = 4J.
    #[inline]
    fn field_at(&self, site: usize, row: &[Entry]) -> i64 {
        let linear = self.model.form().linear().get(site).copied().unwrap_or(0);
        2 * i64::from(linear) + row.iter().map(|entry| i64::from(entry.coupling)).sum::<i64>()
    }

    #[inline]
    pub(super) fn site(&self, site: usize) -> Site<'a> {
        let row = self.model.form().row(site);
        let field = if self.field == 0 { 0 } else { self.field_at(site, row) };
        Site { row, kind: Kind { degree: row.len(), field: field != 0 }, down: (field >> 63) as u32 }
    }

    /// The kinds of its sites, ascending.
    pub(super) fn kinds(&self) -> impl Iterator<Item = Kind> + use<> {
        let kinds = self.kinds;
        (0..KINDS)
            .filter(move |&number| (kinds >> number) & 1 != 0)
            .map(|number| Kind { degree: number >> 1, field: number & 1 != 0 })
    }

    /// `β(J·m + h·s)`, exactly.
    pub(super) fn local(&self, m: i64, s: i64) -> LogOdds {
        let (beta, exponent) = self.beta;
        // J and h are in quarters of the grid's unit.
        LogOdds::new(beta * (self.coupling * m + self.field * s), exponent + self.model.form().exponent() - 2)
    }
}
