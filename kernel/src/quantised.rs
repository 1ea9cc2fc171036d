//! Gibbs sampling without a floating-point instruction: for cores without floats, and for kernel code, which
//! must not touch them.
//!
//! All log odds are whole multiples of `ln 2 / 65,536`. So e^(−|log odds|) is a power of two times one of 65,536
//! constants, and each of those a product of two out of tables of 256 (2 KB together): one multiplication.
//! Nothing is approximated but the couplings themselves, to 1.1·10⁻⁵.
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

use crate::energy::{Entry, Sparse, SparseError, SparseLent};
use crate::layout::Layout;
use crate::packed::{Packed, StateError};
use core::f32::consts::LN_2;
use core::ops::Range;
use rand_core::Rng;

/// Units of log odds in a factor of two.
pub const PER_OCTAVE: u32 = 65_536;

/// `round(2^(31 − i/65,536))`, from square roots of 2^(−1) at 62 binary places.
const fn power(i: u32) -> u32 {
    let (mut x, mut root, mut bit) = (1u128 << 62, 1u128 << 61, PER_OCTAVE >> 1);
    while bit > 0 {
        root = (root << 62).isqrt();
        if i & bit != 0 {
            x = (x * root) >> 62;
        }
        bit >>= 1;
    }
    ((x + (1 << 30)) >> 31) as u32
}

/// [`power`] of 0, `step`, 2·`step` …
const fn powers(step: u32) -> [u32; 256] {
    let (mut table, mut i) = ([0; 256], 0);
    let mut rest = table.as_mut_slice();
    while let Some((first, tail)) = rest.split_first_mut() {
        *first = power(i * step);
        rest = tail;
        i += 1;
    }
    table
}

static COARSE: [u32; 256] = powers(256);
static FINE: [u32; 256] = powers(1);

#[inline(always)]
fn high(a: u32, b: u32) -> u32 {
    ((u64::from(a) * u64::from(b)) >> 32) as u32
}

/// `2^(−units/65,536)` as `mantissa · 2^(−30 − octaves)`, the mantissa in (2²⁹, 2³⁰], within a relative 2⁻²⁸.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Odds {
    /// The mantissa.
    pub mantissa: u32,
    /// Halvings.
    pub octaves: u32,
}

impl Odds {
    /// The odds of a number of units.
    #[inline]
    #[must_use]
    pub fn new(units: u32) -> Self {
        let of = |table: &[u32; 256], byte: u32| table.get((byte & 255) as usize).copied().unwrap_or(0);
        Self { mantissa: high(of(&COARSE, units >> 8), of(&FINE, units)), octaves: units >> 16 }
    }

    /// True with probability `e/(1+e)`, e being the odds: within a relative 2⁻²⁷ down to odds of 2⁻⁶⁴, below
    /// which it is never true. One word mostly, at most three.
    #[inline]
    pub fn draw<R: Rng + ?Sized>(self, rng: &mut R) -> bool {
        let Self { mantissa, octaves } = self;
        let mut word = rng.next_u32();
        if octaves > 0 {
            // That many zeros come first.
            let mut zeros = octaves;
            if zeros >= 32 {
                if word != 0 || zeros >= 64 {
                    return false;
                }
                word = rng.next_u32();
                zeros -= 32;
            }
            if zeros > 0 {
                if word >> (32 - zeros) != 0 {
                    return false;
                }
                word = rng.next_u32();
            }
        }
        // u(1 + e) < mantissa, in units of 2⁻³⁰.
        let product = if octaves < 32 { high(word, mantissa) >> octaves } else { 0 };
        (word >> 2) + product < mantissa
    }
}

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
    pub fn from_rows(ends: &'a [u32], entries: &'a [Entry], linear: &'a [i32]) -> Result<Self, SparseError> {
        Sparse::from_rows(ends, entries, linear, 0).map(|form| Self { form })
    }

    /// Rounds the b and K of an [`Ising`](crate::Ising) model, once, with floats: on the desktop, or at boot.
    ///
    /// # Errors
    /// [`SparseError::Memory`] where the memory is short, [`SparseError::TooLarge`] where a field could overflow:
    /// from log odds of 11,000 on.
    pub fn round(form: Sparse<'_>, memory: SparseLent<'a>) -> Result<Self, SparseError> {
        let SparseLent { ends, linear, entries } = memory;
        let (have, have_entries) = (ends.len().min(linear.len()), entries.len());
        let (need, need_entries) = (form.sites(), form.entries().len());
        let (Some(ends), Some(linear)) = (ends.get_mut(..need), linear.get_mut(..need)) else {
            return Err(SparseError::Memory { need, got: have });
        };
        let Some(entries) = entries.get_mut(..need_entries) else {
            return Err(SparseError::Memory { need: need_entries, got: have_entries });
        };
        let scale = PER_OCTAVE as f32 / LN_2;
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

/// A chain of Gibbs sampling over a [`QuantisedIsing`] model, by sweeps over the sites in their order (METHODS.md
/// §2): exact for that model, in lent memory, without floats.
///
/// Cost a sweep: a word of the generator and two multiplications a site, and O(degree) additions a flip.
#[derive(Debug)]
pub struct QuantisedGibbs<'a> {
    model: QuantisedIsing<'a>,
    words: &'a mut [u32],
    fields: &'a mut [i32],
}

impl<'a> QuantisedGibbs<'a> {
    /// A chain that starts at the state in `words`; `fields` is room for a number a site.
    ///
    /// # Errors
    /// [`StateError`] where the words are no binary state of the model's sites, or there are fewer fields.
    pub fn new(
        model: QuantisedIsing<'a>,
        words: &'a mut [u32],
        fields: &'a mut [i32],
    ) -> Result<Self, StateError> {
        let (layout, got) = (Layout::binary(model.form.sites()), fields.len());
        Packed::new(layout, words)?;
        let Some(fields) = fields.get_mut(..layout.sites()) else {
            return Err(StateError::Words { need: layout.sites(), got });
        };
        let mut chain = Self { model, words, fields };
        chain.settle();
        Ok(chain)
    }

    /// Makes the fields from the state.
    fn settle(&mut self) {
        let form = self.model.form;
        for (field, &linear) in self.fields.iter_mut().zip(form.linear()) {
            *field = linear;
        }
        for site in 0..form.sites() {
            if self.state().get(site) != 0 {
                self.scatter(site, 1);
            }
        }
    }

    #[inline]
    fn scatter(&mut self, site: usize, sign: i32) {
        for entry in self.model.form.row(site) {
            if let Some(field) = self.fields.get_mut(entry.site as usize) {
                *field = field.wrapping_add(sign.wrapping_mul(entry.coupling));
            }
        }
    }

    /// The state.
    #[must_use]
    pub fn state(&self) -> Packed<'_> {
        Packed::trusted(Layout::binary(self.model.form.sites()), self.words)
    }

    /// The likelier value of a site given all others, and the odds of the other one; `None` where there is no
    /// such site.
    #[must_use]
    pub fn conditional(&self, site: usize) -> Option<(u32, Odds)> {
        self.fields.get(site).map(|&field| (u32::from(field > 0), Odds::new(field.unsigned_abs())))
    }

    /// Draws every site once, in order; how many changed.
    pub fn sweep<R: Rng + ?Sized>(&mut self, rng: &mut R) -> u32 {
        self.sweep_sites(0..self.fields.len(), rng)
    }

    /// The part of a sweep that draws the sites of a range; how many changed. Parts that follow one another are
    /// the sweep, bit for bit, and each of them alone leaves p as it is: so a sweep fits any time slice.
    ///
    /// Cost: at most three words of the generator, two multiplications and O(degree) additions a site, whatever
    /// the state and the generator are. Sites that the model does not have cost nothing.
    pub fn sweep_sites<R: Rng + ?Sized>(&mut self, sites: Range<usize>, rng: &mut R) -> u32 {
        let mut flips = 0;
        for site in sites {
            let Some(&field) = self.fields.get(site) else { break };
            let rare = Odds::new(field.unsigned_abs()).draw(rng);
            let value = u32::from(rare ^ (field > 0));
            let Some(word) = self.words.get_mut(site >> 5) else { break };
            let before = (*word >> (site & 31)) & 1;
            if before != value {
                *word ^= 1 << (site & 31);
                self.scatter(site, 1 - 2 * before as i32);
                flips += 1;
            }
        }
        flips
    }
}
