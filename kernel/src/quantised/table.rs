//! Gibbs sampling by a table.

use super::temperature::odds;
use super::{Draw, QuantisedGibbs, QuantisedIsing};
use crate::packed::StateError;
use rand_core::Rng;

/// A chain of [`QuantisedGibbs`] at any temperature, for models whose fields take few values. Their couplings are of
/// one magnitude, or of a few whole multiples of one. A table has the probability of every field, so that a site
/// costs one comparison.
///
/// It samples `p(x) ∝ 2^(unit·(b·x + ½ xᵀKx) / 65,536)`: b and K are small numbers here, and `unit` is the inverse temperature.
/// Over spins without fields, `E = −J Σ ss′`, take K = 2 and b = −degree for `unit = 2J · 65,536 / ln 2`.
///
/// Cost a sweep: a word of the generator a site (a second one in 2⁻³² of all cases), and O(degree) additions a flip.
///
/// ```
/// use bitmc::energy::Entry;
/// use bitmc::quantised::{QuantisedIsing, TableGibbs};
/// use bitmc::{SeedableRng, Xoshiro128PlusPlus};
///
/// // Two bits: alike is likelier by 2^½ than different.
/// static PAIR: [Entry; 2] = [Entry { site: 1, coupling: 2 }, Entry { site: 0, coupling: 2 }];
/// const MODEL: QuantisedIsing<'static> = match QuantisedIsing::from_rows(&[1, 2], &PAIR, &[-1, -1]) {
///     Ok(model) => model,
///     Err(_) => panic!("wrong rows do not compile"),
/// };
/// let (mut words, mut fields, mut table) = ([0], [0; 2], [0; TableGibbs::table_len(&MODEL)]);
/// let mut chain = TableGibbs::with_table(MODEL, 32_768, &mut words, &mut fields, &mut table)?;
/// let mut rng = Xoshiro128PlusPlus::seed_from_u64(1);
/// let alike = (0..10_000).filter(|_| {
///     chain.sweep(&mut rng);
///     chain.state().ones() != 1
/// });
/// assert!((alike.count() as f64 / 10_000.0 - 0.586).abs() < 0.05);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type TableGibbs<'a> = QuantisedGibbs<'a, Table<'a>>;

/// The probability of 1 for each field from the lowest on, in units of 2⁻⁶⁴.
#[derive(Debug)]
pub struct Table<'a> {
    entries: &'a mut [u64],
    lowest: i32,
    pub(super) unit: u32,
}

impl Table<'_> {
    /// The probability of 1 at a field, within a relative 2⁻²⁷ of either value's, and 2⁻⁶⁴.
    #[inline(always)]
    fn probability(&self, field: i32) -> u64 {
        self.entries.get(field.wrapping_sub(self.lowest) as usize).copied().unwrap_or(0)
    }

    fn fill(&mut self) {
        for (entry, field) in self.entries.iter_mut().zip(self.lowest..) {
            let rare = odds(field, self.unit).probability();
            *entry = if field > 0 { !rare } else { rare };
        }
    }
}

impl Draw for Table<'_> {
    #[inline(always)]
    fn draw<R: Rng + ?Sized>(&self, field: i32, rng: &mut R) -> bool {
        let mut p = self.probability(field);
        loop {
            let (word, high) = (rng.next_u32(), (p >> 32) as u32);
            if word != high || p as u32 == 0 {
                return word < high;
            }
            p <<= 32;
        }
    }
}

impl<'a> TableGibbs<'a> {
    /// Entries of the table: one for each whole number from the lowest field of a site to the highest.
    #[must_use]
    pub const fn table_len(model: &QuantisedIsing<'_>) -> usize {
        let (lowest, highest) = model.form.range();
        (highest as i64 - lowest as i64 + 1) as usize
    }

    /// A chain that starts at the state in `words`; `fields` is room for a number a site, `table` for
    /// [`TableGibbs::table_len`].
    ///
    /// # Errors
    /// As [`QuantisedGibbs::new`], and [`StateError::Table`] where the table is too short.
    pub fn with_table(
        model: QuantisedIsing<'a>,
        unit: u32,
        words: &'a mut [u32],
        fields: &'a mut [i32],
        table: &'a mut [u64],
    ) -> Result<Self, StateError> {
        let (need, got) = (Self::table_len(&model), table.len());
        if got < need {
            return Err(StateError::Table { need, got });
        }
        let (lowest, _) = model.form.range();
        let mut table = Table { entries: table, lowest, unit };
        table.fill();
        Self::drawn_by(table, model, words, fields)
    }

    /// Goes on at its state at another temperature. O(entries of the table).
    pub fn set_unit(&mut self, unit: u32) {
        self.draw.unit = unit;
        self.draw.fill();
    }

    /// The probability of 1 at a site given all others, in units of 2⁻⁶⁴; `None` where there is no such site.
    #[must_use]
    pub fn probability(&self, site: usize) -> Option<u64> {
        self.fields.get(site).map(|&field| self.draw.probability(field))
    }
}
