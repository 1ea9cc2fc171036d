//! Gibbs sampling and DMALA without a floating-point instruction: for cores without floats, and for kernel code,
//! which must not touch them.
//!
//! All log odds are whole multiples of `ln 2 / 65,536`. So e^(−|log odds|) is a power of two times one of 65,536
//! constants. Each of those is a product of two numbers out of tables of 256 (2 KB together): one multiplication.
//! Nothing is approximated but the couplings and fields themselves, where a model is
//! [rounded](QuantisedIsing::round): each to half a unit, 5.3·10⁻⁶.
//!
//! ```
//! use bitmc::energy::Entry;
//! use bitmc::quantised::{QuantisedGibbs, QuantisedIsing};
//! use bitmc::{LaneRng, SeedableRng};
//!
//! // Two bits: alike is likelier by 2^½ than different.
//! let pair = [Entry { site: 1, coupling: 65_536 }, Entry { site: 0, coupling: 65_536 }];
//! let model = QuantisedIsing::from_rows(&[1, 2], &pair, &[-32_768, -32_768])?;
//! let (mut words, mut fields) = ([0], [0; 2]);
//! let mut chain = QuantisedGibbs::new(model, &mut words, &mut fields)?;
//! let mut rng = LaneRng::seed_from_u64(1);
//! let alike = (0..10_000).filter(|_| {
//!     chain.sweep(&mut rng);
//!     chain.state().ones() != 1
//! });
//! assert!((alike.count() as f64 / 10_000.0 - 0.586).abs() < 0.05);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod gibbs;
mod langevin;
mod odds;
mod table;
mod temperature;
mod weight;

pub use gibbs::{ByOdds, Draw, QuantisedGibbs};
pub use langevin::{Penalty, QuantisedInfo, QuantisedLangevin, TemperedLangevin};
pub use odds::{Odds, PER_OCTAVE};
pub use table::{Table, TableGibbs};
pub use temperature::{AtUnit, Temperature, TemperedGibbs};

use crate::energy::{Entry, Sparse, SparseBuffers, SparseError};
use core::f32::consts::LN_2;
use core::num::NonZeroU32;

/// A binary pairwise model, `p(x) ∝ 2^((b·x + ½ xᵀKx) / 65,536)` over {0,1} with whole numbers b and K: sparse, K
/// symmetric with zero diagonal.
#[derive(Clone, Copy, Debug)]
pub struct QuantisedIsing<'a> {
    form: Sparse<'a>,
}

impl<'a> QuantisedIsing<'a> {
    /// Takes compiled rows, from flash for example: row i is `entries[ends[i−1] .. ends[i]]`, neighbours
    /// ascending. O(edges × log degree), without floats.
    ///
    /// # Errors
    /// [`SparseError`] where the rows are not those of a symmetric matrix with zero diagonal, or a field could
    /// overflow.
    pub const fn from_rows(
        ends: &'a [u32],
        entries: &'a [Entry],
        linear: &'a [i32],
    ) -> Result<Self, SparseError> {
        match Sparse::from_rows(ends, entries, linear, 0) {
            Ok(form) => Ok(Self { form }),
            Err(error) => Err(error),
        }
    }

    /// The same couplings with other b. O(sites), without floats.
    ///
    /// # Errors
    /// [`SparseError::Fields`] where b is not one a site, [`SparseError::TooManyUnits`] where a field could overflow.
    pub fn with_linear(self, linear: &'a [i32]) -> Result<Self, SparseError> {
        Ok(Self { form: self.form.with_linear(linear)? })
    }

    /// Rounds the b and K of an [`Ising`](crate::Ising) model, once, with floats: on the desktop, or at boot. Each by
    /// itself, to half a unit and a relative 3·10⁻⁷.
    ///
    /// So rounding can give fields to spins without fields: log odds of up to ½ + degree/4 units at each site, with
    /// 10⁻⁵ a unit. All sites of a lattice get the same field, and 10⁵ spins that order feel it. Where both signs
    /// must be alike, make K even and take b = −½ΣK by [`QuantisedIsing::from_rows`].
    ///
    /// # Errors
    /// [`SparseError::Memory`] or [`SparseError::Entries`] where the memory is short, [`SparseError::TooManyUnits`] where a
    /// field could overflow:
    /// from log odds of 11,000 on.
    pub fn round(form: Sparse<'_>, memory: SparseBuffers<'a>) -> Result<Self, SparseError> {
        Self::round_at(form, NonZeroU32::MIN, memory)
    }

    /// As [`QuantisedIsing::round`], for chains at several temperatures. At the inverse temperature `unit` a
    /// [`TemperedGibbs`] has the distribution of the form, at `unit/2` that of twice its temperature. Each b and K is
    /// rounded to `unit`/2 units, `unit` · 5.3·10⁻⁶.
    ///
    /// # Errors
    /// As [`QuantisedIsing::round`].
    pub fn round_at(
        form: Sparse<'_>,
        unit: NonZeroU32,
        memory: SparseBuffers<'a>,
    ) -> Result<Self, SparseError> {
        let SparseBuffers { ends, linear, entries, .. } = memory;
        let (need, got) = (form.sites(), ends.len().min(linear.len()));
        let both = ends.get_mut(..need).zip(linear.get_mut(..need));
        let (ends, linear) = both.ok_or(SparseError::Memory { need, got })?;
        let (need, got) = (form.entries().len(), entries.len());
        let entries = entries.get_mut(..need).ok_or(SparseError::Entries { need, got })?;
        let scale = PER_OCTAVE as f32 / LN_2 / unit.get() as f32;
        let units = |value: i32| {
            let units = form.value(i64::from(value)) * scale;
            (if units < 0.0 { units - 0.5 } else { units + 0.5 }) as i32
        };
        ends.iter_mut().zip(form.ends()).for_each(|(to, &from)| *to = from);
        linear.iter_mut().zip(form.linear()).for_each(|(to, &from)| *to = units(from));
        for (to, from) in entries.iter_mut().zip(form.entries()) {
            *to = Entry { site: from.site, coupling: units(from.coupling) };
        }
        Self::from_rows(ends, entries, linear)
    }

    /// b and K, in whole numbers.
    #[must_use]
    pub fn form(&self) -> Sparse<'a> {
        self.form
    }
}
