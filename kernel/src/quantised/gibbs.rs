//! Gibbs sampling.

use super::{Odds, QuantisedIsing};
use crate::energy::SparseError;
use crate::layout::Layout;
use crate::packed::{Packed, StateError, is_word};
use crate::snapshot::{Reader, Snapshot, SnapshotError, Writer, lists};
use core::ops::Range;
use rand_core::Rng;

/// A chain of Gibbs sampling over a [`QuantisedIsing`] model, by sweeps over the sites in their order (METHODS.md
/// §2): exact for that model, in caller-provided memory, without floats.
///
/// Cost a sweep: a word of the generator and two multiplications a site, and O(degree) additions a flip.
#[derive(Debug)]
pub struct QuantisedGibbs<'a> {
    pub(super) model: QuantisedIsing<'a>,
    pub(super) words: &'a mut [u32],
    pub(super) fields: &'a mut [i32],
}

impl<'a> QuantisedGibbs<'a> {
    /// Bytes in a snapshot.
    #[must_use]
    pub const fn snapshot_len(sites: usize) -> usize {
        Layout::binary(sites).words().saturating_mul(4).saturating_add(8)
    }

    /// A chain that starts at the state in `words`; `fields` is room for a number a site.
    ///
    /// # Errors
    /// [`StateError`] where the words are no binary state of the model's sites, [`StateError::Fields`] where there are
    /// fewer fields.
    pub fn new(
        model: QuantisedIsing<'a>,
        words: &'a mut [u32],
        fields: &'a mut [i32],
    ) -> Result<Self, StateError> {
        let (layout, got) = (Layout::binary(model.form.sites()), fields.len());
        Packed::new(layout, words)?;
        let Some(fields) = fields.get_mut(..layout.sites()) else {
            return Err(StateError::Fields { need: layout.sites(), got });
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
    pub(super) fn scatter(&mut self, site: usize, sign: i32) {
        for entry in self.model.form.row(site) {
            if let Some(field) = self.fields.get_mut(entry.site as usize) {
                *field = field.wrapping_add(sign.wrapping_mul(entry.coupling));
            }
        }
    }

    /// Goes on at its state over the same couplings with another b: [`QuantisedIsing::with_linear`].
    ///
    /// # Errors
    /// As [`QuantisedIsing::with_linear`]; the chain is as it was.
    pub fn set_linear(&mut self, linear: &'a [i32]) -> Result<(), SparseError> {
        self.model = self.model.with_linear(linear)?;
        self.settle();
        Ok(())
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

    /// A sweep over the sites whose bit in `free` is 1, in order; how many changed. All others are clamped, also those beyond the
    /// end of `free`. The rest is drawn from p given them.
    pub fn sweep_free<R: Rng + ?Sized>(&mut self, free: &[u32], rng: &mut R) -> u32 {
        let all = 0..self.fields.len();
        let is_free = |site: &usize| free.get(site >> 5).is_some_and(|word| (word >> (site & 31)) & 1 != 0);
        all.filter(is_free).map(|site| self.sweep_sites(site..site + 1, rng)).sum()
    }

    /// ln p but for a constant, the energy with its sign turned: `b·x + ½xᵀKx`, in units of `ln 2 / 65,536`. O(sites).
    #[must_use]
    pub fn units(&self) -> i64 {
        let (state, linear) = (self.state(), self.model.form.linear());
        let sites = self.fields.iter().zip(linear).enumerate().filter(|&(site, _)| state.get(site) != 0);
        // F = b + Kx counts every pair twice.
        sites.map(|(_, (&field, &linear))| i64::from(field) + i64::from(linear)).sum::<i64>() / 2
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

/// The state; the fields are made again. Where it is refused the chain is as it was.
impl Snapshot for QuantisedGibbs<'_> {
    fn save(&self, to: &mut Writer<'_>) {
        to.name(*b"quan");
        self.words.save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let (mut at, layout) = (*from, self.state().layout());
        at.name(*b"quan")?;
        lists([&mut *self.words], |index, &word| is_word(layout, index, word), &mut at)?;
        self.settle();
        *from = at;
        Ok(())
    }
}
