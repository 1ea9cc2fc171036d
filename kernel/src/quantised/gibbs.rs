//! Gibbs sampling.

use super::{Odds, QuantisedIsing};
use crate::chain::snapshot::{load_shape, shape};
use crate::energy::{Sparse, SparseError};
use crate::layout::Layout;
use crate::packed::{Packed, StateError, is_word};
use crate::snapshot::{Reader, Snapshot, SnapshotError, Writer, lists};
use crate::stats::StateObserver;
use core::cell::Cell;
use core::ops::Range;
use rand_core::Rng;

/// A chain of Gibbs sampling over a [`QuantisedIsing`] model, by sweeps over the sites in their order (METHODS.md
/// §2). It is exact for that model, in caller-provided memory, without floats.
///
/// Cost a sweep: a word of the generator and two multiplications a site, and O(degree) additions a flip. Where the fields
/// take few values, [`TableGibbs`](super::TableGibbs) has their probabilities in a table.
#[derive(Debug)]
pub struct QuantisedGibbs<'a, D = ByOdds> {
    pub(super) model: QuantisedIsing<'a>,
    pub(super) words: &'a mut [u32],
    pub(super) fields: &'a mut [i32],
    pub(super) draw: D,
}

/// How a site is drawn from its field F: 1 with probability `1/(1+2^(−F/65,536))`, by [`Odds`], or by a
/// [`Table`](super::Table).
pub trait Draw {
    /// Whether the site becomes 1.
    fn draw<R: Rng + ?Sized>(&self, field: i32, rng: &mut R) -> bool;
}

/// By [`Odds`], whatever the fields are.
#[derive(Clone, Copy, Debug)]
pub struct ByOdds;

impl Draw for ByOdds {
    #[inline(always)]
    fn draw<R: Rng + ?Sized>(&self, field: i32, rng: &mut R) -> bool {
        Odds::new(field.unsigned_abs()).draw(rng) ^ (field > 0)
    }
}

impl<'a> QuantisedGibbs<'a> {
    /// Bytes in a snapshot.
    #[must_use]
    pub const fn snapshot_len(sites: usize) -> usize {
        Layout::binary(sites).words().saturating_mul(4).saturating_add(17)
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
        Self::drawn_by(ByOdds, model, words, fields)
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
}

impl<'a, D: Draw> QuantisedGibbs<'a, D> {
    pub(super) fn drawn_by(
        draw: D,
        model: QuantisedIsing<'a>,
        words: &'a mut [u32],
        fields: &'a mut [i32],
    ) -> Result<Self, StateError> {
        let (need, got) = (model.form.sites(), fields.len());
        Packed::new(Layout::binary(need), words)?;
        let fields = fields.get_mut(..need).ok_or(StateError::Fields { need, got })?;
        let mut chain = Self { model, words, fields, draw };
        chain.settle();
        Ok(chain)
    }

    /// Makes the fields from the state.
    pub(super) fn settle(&mut self) {
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
        scatter(&self.model.form, Cell::from_mut(&mut *self.fields).as_slice_of_cells(), site, sign);
    }

    /// The state.
    #[must_use]
    pub fn state(&self) -> Packed<'_> {
        Packed::trusted(Layout::binary(self.model.form.sites()), self.words)
    }

    /// Draws every site once, in order; how many changed.
    pub fn sweep<R: Rng + ?Sized>(&mut self, rng: &mut R) -> u32 {
        self.sweep_sites(0..self.fields.len(), rng)
    }

    /// So many sweeps; the observer sees the state after each. Changes of all sweeps together.
    pub fn run<R: Rng + ?Sized>(&mut self, sweeps: u64, rng: &mut R, observer: &mut impl StateObserver) -> u64 {
        let one = |_| {
            let flips = self.sweep(rng);
            observer.see(self.state());
            u64::from(flips)
        };
        (0..sweeps).map(one).sum()
    }

    /// A sweep over the sites whose bit in `free` is 1, in order; how many changed. All others are clamped, also
    /// those beyond the end of `free`. The rest is drawn from p given them.
    pub fn sweep_free<R: Rng + ?Sized>(&mut self, free: &[u32], rng: &mut R) -> u32 {
        let all = 0..self.fields.len();
        let is_free = |site: &usize| free.get(site >> 5).is_some_and(|word| (word >> (site & 31)) & 1 != 0);
        all.filter(is_free).map(|site| self.sweep_sites(site..site + 1, rng)).sum()
    }

    /// ln p but for a constant, the energy with its sign turned: `b·x + ½xᵀKx`, in units of `ln 2 / 65,536`: over a
    /// [`Table`](super::Table) in units of `unit · ln 2 / 65,536`. O(sites).
    #[must_use]
    pub fn units(&self) -> i64 {
        let (state, linear) = (self.state(), self.model.form.linear());
        let sites = self.fields.iter().zip(linear).enumerate().filter(|&(site, _)| state.get(site) != 0);
        // F = b + Kx counts every pair twice.
        sites.map(|(_, (&field, &linear))| i64::from(field) + i64::from(linear)).sum::<i64>() / 2
    }

    /// The part of a sweep that draws the sites of a range; how many changed. Parts that follow one another are
    /// the sweep, bit for bit. Each of them alone leaves p as it is. So a sweep fits any time slice.
    ///
    /// Cost: at most three words of the generator, two multiplications and O(degree) additions a site, whatever
    /// the state and the generator are. Sites that the model does not have cost nothing.
    pub fn sweep_sites<R: Rng + ?Sized>(&mut self, sites: Range<usize>, rng: &mut R) -> u32 {
        let (mut site, end, mut flips) = (sites.start, sites.end.min(self.fields.len()), 0);
        let (form, fields) = (&self.model.form, Cell::from_mut(&mut *self.fields).as_slice_of_cells());
        while site < end {
            let stop = end.min((site | 31) + 1);
            let (Some(slot), Some(own)) = (self.words.get_mut(site >> 5), fields.get(site..stop)) else {
                break;
            };
            // The site's own bit is the lowest.
            let mut word = slot.rotate_right(site as u32);
            for field in own {
                let bit = word & 1;
                if u32::from(self.draw.draw(field.get(), rng)) != bit {
                    word ^= 1;
                    scatter(form, fields, site, 1 - 2 * bit as i32);
                    flips += 1;
                }
                word = word.rotate_right(1);
                site += 1;
            }
            *slot = word.rotate_left(stop as u32);
        }
        flips
    }
}

/// Out of line: the loop over the sites needs the registers.
#[inline(never)]
fn scatter(form: &Sparse<'_>, fields: &[Cell<i32>], site: usize, sign: i32) {
    let Some(row) = form.try_row(site) else { return };
    for entry in row {
        if let Some(field) = fields.get(entry.site as usize) {
            field.set(field.get().wrapping_add(sign.wrapping_mul(entry.coupling)));
        }
    }
}

/// The state; the fields are made again. Where it is refused the chain is as it was.
impl<D: Draw> Snapshot for QuantisedGibbs<'_, D> {
    fn save(&self, to: &mut Writer<'_>) {
        to.name(*b"quan");
        shape(self.state().layout()).save(to);
        self.words.save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let (layout, words) = (self.state().layout(), &mut *self.words);
        from.part(*b"quan", |at| {
            load_shape(at, layout)?;
            lists([words], |index, &word| is_word(layout, index, word), at)
        })?;
        self.settle();
        Ok(())
    }
}
