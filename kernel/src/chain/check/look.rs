//! What an energy says at one state, compared.

use super::{Answer, CheckError, Seen};
use crate::chain::{Point, copy};
use crate::energy::{Energy, Slope};
use crate::lane::{Bits, Block, LANES};
use crate::layout::Kind;
use crate::packed::{Move, Packed, set};
use core::ops::Range;

/// From here on totals are exact to a sixty-fourth at best.
const LARGE: f32 = 131_072.0;
/// 2⁻²⁰: of the totals and differences this may be lost.
const ROUNDING: f32 = 1.0 / 1_048_576.0;

/// What is compared at one state.
pub(super) struct Look<'a, E: ?Sized> {
    pub(super) energy: &'a E,
    pub(super) state: usize,
    pub(super) x: Packed<'a>,
    pub(super) total: f32,
    /// Σᵢ maxₖ |E(xᵢ = k) − E(x)|.
    pub(super) scale: f32,
}

impl<E: Energy + ?Sized> Look<'_, E> {
    pub(super) fn off(&self, answer: Answer, (site, value): (usize, u32), need: f32, got: f32) -> CheckError {
        CheckError::Off { answer, state: self.state, site, value, need, got }
    }

    /// Compares a difference, with the total at its other end.
    pub(super) fn agrees(
        &self,
        answer: Answer,
        place: (usize, u32),
        need: f32,
        got: f32,
        other: f32,
    ) -> Result<(), CheckError> {
        let slack = ROUNDING * (self.total.abs() + other.abs() + self.scale);
        let same = need == got || (need.is_finite() && (need - got).abs() <= slack);
        if same { Ok(()) } else { Err(self.off(answer, place, need, got)) }
    }

    /// The gradient of all rows against both points at once, and against each row.
    pub(super) fn gradients(&self, here: &mut Point<'_>, there: &mut Point<'_>) -> Result<(), CheckError> {
        let (energy, x) = (self.energy, self.x);
        let (rows, blocks) = (x.layout().rows(), x.layout().row_blocks());
        if x.layout().row_is_site() {
            return (0..rows).try_for_each(|row| {
                self.row(row, x, there.cache, here.weights);
                self.row(row, x, there.cache, there.weights);
                self.same(Answer::Gradient, row..row + 1, here.weights, there.weights)
            });
        }
        let (one, two) = (part(here.weights, rows * blocks), part(there.weights, rows * blocks));
        energy.gradients(&mut [
            Slope { x: Packed::trusted(x.layout(), here.words), cache: here.cache, out: one },
            Slope { x, cache: there.cache, out: two },
        ]);
        energy.gradient(x, there.cache, 0..rows, one);
        self.same(Answer::Gradients, 0..rows, one, two)?;
        one.chunks(blocks).enumerate().try_for_each(|(row, whole)| {
            self.row(row, x, there.cache, two);
            self.same(Answer::Gradient, row..row + 1, whole, two)
        })
    }

    /// Components of some rows by two answers: `(site, value)`, and what both say.
    fn components<'p>(
        &'p self,
        rows: Range<usize>,
        need: &'p [Block],
        got: &'p [Block],
    ) -> impl Iterator<Item = ((usize, u32), f32, f32)> + 'p {
        let layout = self.x.layout();
        let places = rows.flat_map(move |row| (0..layout.row_blocks() * LANES).map(move |at| (row, at)));
        let numbers = need.as_flattened().iter().zip(got.as_flattened());
        places.zip(numbers).filter_map(move |((row, at), (&need, &got))| {
            let place = layout.component(row, at / LANES, at % LANES);
            let (site, value) = place.filter(|&(site, value)| value < self.arity(site))?;
            Some(((site, value as u32), need, got))
        })
    }

    /// Compares components of some rows, bit for bit.
    fn same(
        &self,
        answer: Answer,
        rows: Range<usize>,
        need: &[Block],
        got: &[Block],
    ) -> Result<(), CheckError> {
        for (place, need, got) in self.components(rows, need, got) {
            if need.is_nan() || need.to_bits() != got.to_bits() {
                let answer = if need.is_nan() { Answer::Gradient } else { answer };
                return Err(self.off(answer, place, need, got));
            }
        }
        Ok(())
    }

    /// Compares a row by a new cache at here with the same row by a cache that was moved, at there.
    fn rows_agree(&self, row: usize, here: &Point<'_>, there: &Point<'_>) -> Result<(), CheckError> {
        let mut numbers = self.components(row..row + 1, here.weights, there.weights);
        numbers
            .try_for_each(|(place, need, got)| self.agrees(Answer::CacheGradient, place, need, got, self.total))
    }

    /// The cache that was made here against the one that was moved there.
    pub(super) fn caches(&self, here: &mut Point<'_>, there: &mut Point<'_>) -> Result<(), CheckError> {
        for site in 0..self.x.layout().sites() {
            let (need, got) = (differences(self.energy, here, site), differences(self.energy, there, site));
            for (value, (&need, &got)) in (0..).zip(need.iter().zip(&*got)) {
                self.agrees(Answer::Cache, (site, value), need, got, self.total)?;
            }
        }
        (0..self.x.layout().rows()).try_for_each(|row| {
            self.row(row, self.x, here.cache, here.weights);
            self.row(row, self.x, there.cache, there.weights);
            self.rows_agree(row, here, there)
        })
    }

    /// A row of the gradient.
    fn row(&self, row: usize, x: Packed<'_>, cache: &[Bits], out: &mut [Block]) {
        self.energy.gradient(x, cache, row..row + 1, part(out, x.layout().row_blocks()));
    }

    /// What is said behind a move of one site: of each site the first that is allowed. [`Look::moves`] needs here's weights
    /// for its differences, and has no room for two rows.
    pub(super) fn behind_moves(&self, here: &mut Point<'_>, there: &mut Point<'_>) -> Result<(), CheckError> {
        let (energy, x) = (self.energy, self.x);
        let layout = x.layout();
        for (site, present) in x.values().enumerate() {
            let row = if layout.row_is_site() { site } else { site / LANES };
            for value in (0..self.arity(site) as u32).filter(|&value| value != present) {
                // The site exists, and the value is below its arity.
                let _ = set(layout, there.words, site, value);
                let y = Packed::trusted(layout, there.words);
                let other = energy.init(y, there.cache).unwrap_or(f32::INFINITY);
                if other == f32::INFINITY {
                    continue;
                }
                self.row(row, y, there.cache, here.weights);
                copy(there.cache, here.cache);
                energy.shift(&Move::trusted(layout, x.words(), y.words()), there.cache);
                self.row(row, y, there.cache, there.weights);
                self.rows_agree(row, here, there)?;
                let back = energy.shift(&Move::trusted(layout, y.words(), x.words()), there.cache);
                self.agrees(Answer::Back, (site, present), self.total - other, back, other)?;
                break;
            }
            let _ = set(layout, there.words, site, present);
        }
        Ok(())
    }

    /// Every move of one site from here.
    pub(super) fn moves(
        &self,
        here: &mut Point<'_>,
        there: &mut Point<'_>,
        seen: &mut Seen,
    ) -> Result<(), CheckError> {
        let (energy, x) = (self.energy, self.x);
        let layout = x.layout();
        let by_site = layout.row_is_site();
        let categorical = layout.kind() == Kind::Categorical;
        let number = |weights: &[Block], at: usize| weights.as_flattened().get(at).copied().unwrap_or(f32::NAN);
        let (mut least, mut by_totals) = (f32::INFINITY, true);
        for (site, present) in x.values().enumerate() {
            let row = if by_site { site } else { site / LANES };
            // p at one end of a move, from the row there.
            let said = |weights: &[Block], value: u32| {
                let lane = |value: u32| match (by_site, categorical) {
                    (true, _) => number(weights, value as usize),
                    (_, true) => number(weights, value as usize * LANES + site % LANES),
                    _ => number(weights, site % LANES) * value as f32,
                };
                lane(value) - lane(present)
            };
            self.row(row, x, here.cache, there.weights);
            let line = number(there.weights, site % LANES);
            let arity = differences(energy, here, site).len();
            // Behind the differences there is room for this end, unless values are many.
            if categorical && !by_site {
                let slots = here.weights.as_flattened_mut().iter_mut().skip(arity).take(arity);
                slots.zip(0..).for_each(|(slot, value)| *slot = said(there.weights, value));
            }
            for value in 0..arity as u32 {
                let place = (site, value);
                // The site exists, and the value is below its arity.
                let _ = set(layout, there.words, site, value);
                let y = Packed::trusted(layout, there.words);
                let other = energy.init(y, there.cache).unwrap_or(f32::NAN);
                if other.is_nan() || (value == present && other.to_bits() != self.total.to_bits()) {
                    return Err(self.off(Answer::Total, place, self.total, other));
                }
                let (need, got) = (other - self.total, number(here.weights, value as usize));
                self.agrees(Answer::Differences, place, need, got, other)?;
                if value == present {
                    continue;
                }
                by_totals &= need.to_bits() == got.to_bits();
                least = if need.abs() < least { need.abs() } else { least };
                let p = if by_site {
                    said(there.weights, value)
                } else {
                    self.row(row, y, there.cache, there.weights);
                    let change = value as f32 - present as f32;
                    let from =
                        if categorical { number(here.weights, arity + value as usize) } else { line * change };
                    0.5 * (from + said(there.weights, value))
                };
                if layout.kind() != Kind::Ordinal || value.abs_diff(present) == 1 {
                    seen.take(site, p, need);
                }
                copy(there.cache, here.cache);
                let got = energy.shift(&Move::trusted(layout, x.words(), y.words()), there.cache);
                self.agrees(Answer::Shift, place, need, got, other)?;
            }
            let _ = set(layout, there.words, site, present);
        }
        let size = self.total.abs();
        if size >= LARGE && by_totals && least < size / LARGE {
            return Err(CheckError::Large { state: self.state, energy: self.total });
        }
        Ok(())
    }

    fn arity(&self, site: usize) -> usize {
        self.x.layout().arity_at(self.energy.arities(), site)
    }
}

/// The differences of one site, in place of the weights. Samplers want both values of a binary site always.
pub(super) fn differences<'p, E: Energy + ?Sized>(
    energy: &E,
    at: &'p mut Point<'_>,
    site: usize,
) -> &'p mut [f32] {
    let layout = energy.layout();
    let arity = layout.arity_at(energy.arities(), site);
    let room = if layout.kind() == Kind::Binary { 2 } else { arity };
    let out = at.weights.as_flattened_mut();
    energy.differences(at.words, at.cache, site, out.get_mut(..room).unwrap_or_default());
    out.get_mut(..arity).unwrap_or_default()
}

fn part(blocks: &mut [Block], length: usize) -> &mut [Block] {
    blocks.get_mut(..length).unwrap_or_default()
}
