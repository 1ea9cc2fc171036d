//! Restricted Boltzmann machines with dense, borrowed weights.

mod cache;
mod changes;
mod coarse;
mod conditional;
mod error;
mod pack;

pub use coarse::CoarseRbm;
pub use error::RbmError;
pub use pack::pack_rows;

use super::{Energy, EnergyError, Grid, Slope, flip_or_stay};
use crate::lane::{self, Bits, Block, F32s, LANES, LaneSums, Mask, PARTS, Product, U32s};
use crate::layout::Layout;
use crate::packed::{Move, Packed};
use cache::{Cache, Parts};
use core::ops::Range;

/// Rows of W whose products with σ are summed together; the bits do not depend on it. Sixteen would fill AVX-512's
/// registers and measured a third slower.
const TILE: usize = 4;

/// A restricted Boltzmann machine over visible bits, the hidden ones summed out:
/// `E(v) = −a·v − Σⱼ ln(1 + e^{pⱼ})`, `p = Wᵀv + b` (METHODS.md §2).
///
/// The cache keeps the pre-activations p in fixed point (free of history), σ(p), and `Σ ln(1+e^p)` as a product.
/// Bytes a chain and state: 128 for every 16 hidden units, and 64. With [columns](Rbm::with_columns), which make
/// block Gibbs faster, 64 for every 16 visible and every 512 hidden units more.
///
/// Cost: a gradient is one product Wσ, `visible × hidden` multiply-adds; a move is `hidden` additions a
/// changed site and one exponential a hidden unit.
#[derive(Clone, Copy, Debug)]
pub struct Rbm<'a> {
    weights: &'a [Block],
    visible: &'a [f32],
    hidden: &'a [Block],
    units: usize,
    grid: Grid,
    /// W̃ by columns, for block Gibbs; empty where the caller gave no room for them.
    columns: &'a [Bits],
}

impl<'a> Rbm<'a> {
    /// Blocks of a row of W.
    #[must_use]
    pub const fn row_blocks(hidden: usize) -> usize {
        hidden.div_ceil(LANES)
    }

    /// Blocks of cache that a model with `hidden` hidden units needs.
    #[must_use]
    pub const fn cache_len(hidden: usize) -> usize {
        2 * Self::row_blocks(hidden) + 1
    }

    /// An RBM over borrowed parameters. The `weights` are W, visible × hidden. Each visible unit has a row of
    /// [`Rbm::row_blocks`] blocks, zero past the last hidden unit: [`pack_rows`] makes that of a row-major matrix.
    /// The biases `visible` are a. The biases `hidden` are b in blocks, zero past the last unit. Cost: O(visible ×
    /// hidden).
    ///
    /// Weights and biases are rounded to one grid. A rounding is at most 2⁻²² of the largest weight, or 2⁻³⁰ of the
    /// largest possible pre-activation of a unit, whichever is more. No sum of 32 bits can overflow. A number that
    /// would lose much, as [`Sparse`](super::Sparse) says, is refused. So a bias of 10⁶ that is to pin a unit is
    /// refused, because it would take the weights' digits below 10⁻³. To pin a unit, [clamp](crate::Chain::clamp) it,
    /// or use [`Rbm::rounded`].
    ///
    /// # Errors
    /// [`RbmError`] names the unit that is wrong.
    pub fn new(
        weights: &'a [Block],
        visible: &'a [f32],
        hidden: &'a [Block],
        units: usize,
    ) -> Result<Self, RbmError> {
        let model = Self::rounded(weights, visible, hidden, units)?;
        let lost = |values: &[f32]| model.grid.loses(values, Grid::NATS);
        if let Some(unit) = lost(visible) {
            return Err(RbmError::VisibleRounded { unit });
        }
        if let Some(unit) = lost(hidden.as_flattened()) {
            return Err(RbmError::HiddenRounded { unit });
        }
        let mut rows = (0..visible.len()).map(|visible| (visible, lost(model.row(visible).as_flattened())));
        match rows.find_map(|(visible, hidden)| Some((visible, hidden?))) {
            Some((visible, hidden)) => Err(RbmError::WeightRounded { visible, hidden }),
            None => Ok(model),
        }
    }

    /// As [`Rbm::new`], rounded as coarsely as the largest number asks for.
    ///
    /// # Errors
    /// As [`Rbm::new`], but for what rounding would lose.
    pub fn rounded(
        weights: &'a [Block],
        visible: &'a [f32],
        hidden: &'a [Block],
        units: usize,
    ) -> Result<Self, RbmError> {
        let row = Self::row_blocks(units);
        // Sums over hidden units are exact for 2¹⁶ blocks.
        if visible.is_empty() || units == 0 || visible.len() > i32::MAX as usize || row > 1 << 16 {
            return Err(RbmError::Units);
        }
        if hidden.len() != row {
            return Err(RbmError::Length { need: row, got: hidden.len() });
        }
        let need = row.saturating_mul(visible.len());
        if weights.len() != need {
            return Err(RbmError::Length { need, got: weights.len() });
        }
        if let Some(unit) = visible.iter().position(|bias| !bias.is_finite()) {
            return Err(RbmError::VisibleNotFinite { unit });
        }
        let (mut largest, mut reach) = (0f32, 0f32);
        for (visible, row) in weights.chunks_exact(row).enumerate() {
            for (hidden, value) in row.as_flattened().iter().enumerate() {
                if !value.is_finite() {
                    return Err(RbmError::WeightNotFinite { visible, hidden });
                }
                if hidden >= units && *value != 0.0 {
                    return Err(RbmError::Padding { visible });
                }
                largest = if value.abs() > largest { value.abs() } else { largest };
            }
        }
        for (unit, &bias) in hidden.as_flattened().iter().enumerate() {
            if !bias.is_finite() {
                return Err(RbmError::HiddenNotFinite { unit });
            }
            if unit >= units && bias != 0.0 {
                return Err(RbmError::HiddenPadding);
            }
            let column = weights.as_flattened().iter().skip(unit).step_by(row * LANES);
            let bound = column.fold(bias.abs(), |sum, w| sum + w.abs());
            if bound > 1e30 {
                return Err(RbmError::TooLarge { unit });
            }
            reach = if bound > reach { bound } else { reach };
        }
        for ((unit, &bias), row) in visible.iter().enumerate().zip(weights.chunks_exact(row)) {
            let bound = row.as_flattened().iter().fold(bias.abs(), |sum, w| sum + w.abs());
            if bound > 1e30 {
                return Err(RbmError::VisibleTooLarge { unit });
            }
            reach = if bound > reach { bound } else { reach };
        }
        Ok(Self { weights, visible, hidden, units, grid: Grid::of_tables(largest, reach), columns: &[] })
    }

    /// Hidden units.
    #[must_use]
    pub fn hidden_units(&self) -> usize {
        self.units
    }

    /// Visible units.
    #[must_use]
    pub fn visible_units(&self) -> usize {
        self.visible.len()
    }

    /// σ(p) of the hidden units, from the cache.
    pub(crate) fn activities<'c>(&self, cache: &'c [Bits]) -> &'c [Bits] {
        let len = self.hidden.len();
        cache.get(1 + len..1 + 2 * len).unwrap_or_default()
    }

    fn row(&self, unit: usize) -> &'a [Block] {
        let len = self.hidden.len();
        self.weights.get(unit * len..(unit + 1) * len).unwrap_or_default()
    }

    fn bias(&self, unit: usize) -> f32 {
        self.visible.get(unit).copied().unwrap_or(0.0)
    }

    fn split<'c>(&self, cache: &'c mut [Bits]) -> Option<Cache<'c>> {
        let (energy, rest) = cache.split_first_mut()?;
        let (pre, rest) = rest.split_at_mut_checked(self.hidden.len())?;
        let (sigma, rest) = rest.split_at_mut_checked(self.hidden.len())?;
        if self.columns.is_empty() {
            return Some(Cache { pre, sigma, energy, fields: &mut [], on: &mut [] });
        }
        let (fields, on) = rest.split_at_mut_checked(self.visible.len().div_ceil(LANES))?;
        let on = on.get_mut(..self.units.div_ceil(32 * LANES))?;
        Some(Cache { pre, sigma, energy, fields, on })
    }

    /// σ(p) and Σ ln(1+e^p) from the pre-activations: one exponential serves both.
    /// With e = e^(−|p|): ln(1+e^p) = max(p, 0) + ln(1+e), σ = 1/(1+e) or e/(1+e).
    fn activate(&self, cache: &mut Cache<'_>, biases: i64) -> Parts {
        let mut product = Product::one();
        let mut sums = LaneSums::ZERO;
        let unit = F32s::splat(self.grid.unit);
        let (zero, one) = (U32s::splat(0), F32s::splat(1.0));
        for (block, (pre, sigma)) in cache.pre.iter().zip(cache.sigma.iter_mut()).enumerate() {
            product.next_block();
            let inside = self.units.saturating_sub(block * LANES).min(LANES);
            let inside = (1u32 << inside) - 1;
            for part in 0..PARTS {
                let inside = Mask::from_bits(inside, part);
                let pre = U32s::load(pre, part);
                let p = F32s::from_i32(pre) * unit;
                let e = (-p.abs()).exp();
                let positive = zero.lt_i32(pre);
                let sum = one + e;
                let s = positive.pick(one, e) / sum;
                inside.keep(s.to_bits()).store(sigma, part);
                product.times(inside.pick(sum, one), part);
                sums.add(positive.keep(pre), part);
            }
        }
        let linear = biases + sums.values().sum::<i64>();
        let parts = Parts { linear, biases, product: product.finish() };
        parts.store(cache.energy);
        parts
    }

    /// What is left of a move when the pre-activations have been moved along: σ(p), and the difference of energies.
    pub(crate) fn arrive(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        let Some(mut cache) = self.split(cache) else { return f32::NAN };
        let before = Parts::load(cache.energy);
        let mut biases = before.biases;
        for change in step.changes() {
            let sign = i64::from(change.to) - i64::from(change.from);
            biases += sign * i64::from(self.grid.round(self.bias(change.site)));
        }
        let after = self.activate(&mut cache, biases);
        -(self.grid.value(after.linear - before.linear) + after.product.ln_over(before.product))
    }

    /// `out = sign · (a + W s)` for a range of blocks of visible units. A gradient and the conditional of v given h
    /// share this product.
    fn product(&self, s: &[Bits], sign: f32, blocks: Range<usize>, out: &mut [Block]) {
        let first = blocks.start * LANES;
        for (tile, out) in out.as_flattened_mut().chunks_mut(TILE).enumerate() {
            let unit = first + tile * TILE;
            let rows = core::array::from_fn(|row| self.row(unit + row));
            let sums = run_down([0.0; LANES], &rows, s, |sum, w, s, part| {
                (F32s::load(sum, part) + F32s::load(w, part) * s.to_f32()).store(sum, part);
            });
            for ((offset, out), sum) in out.iter_mut().enumerate().zip(&sums) {
                *out = sign * (self.bias(unit + offset) + lane::sum(sum));
            }
        }
    }
}

/// What `add` makes of `TILE` rows and s, block by block: a sum for each row, `zero` where there is none.
#[inline(always)]
fn run_down<S: Copy>(
    zero: S,
    rows: &[&[Block]; TILE],
    s: &[Bits],
    add: impl Fn(&mut S, &Block, U32s, usize),
) -> [S; TILE] {
    let mut sums = [zero; TILE];
    if rows.iter().all(|row| row.len() == s.len()) {
        // All rows are there: run down them together.
        for (block, s) in s.iter().enumerate() {
            for part in 0..PARTS {
                let s = U32s::load(s, part);
                for (sum, row) in sums.iter_mut().zip(rows) {
                    let Some(w) = row.get(block) else { continue };
                    add(sum, w, s, part);
                }
            }
        }
    } else {
        for (sum, row) in sums.iter_mut().zip(rows) {
            for (w, s) in row.iter().zip(s) {
                for part in 0..PARTS {
                    add(sum, w, U32s::load(s, part), part);
                }
            }
        }
    }
    sums
}

impl Energy for Rbm<'_> {
    fn layout(&self) -> Layout {
        Layout::binary(self.visible.len())
    }

    fn cache_len(&self) -> usize {
        if self.columns.is_empty() {
            Self::cache_len(self.units)
        } else {
            Self::cache_len_with_columns(self.visible.len(), self.units)
        }
    }

    fn init(&self, x: Packed<'_>, cache: &mut [Bits]) -> Result<f32, EnergyError> {
        let (need, got) = (Energy::cache_len(self), cache.len());
        let mut cache = self.split(cache).ok_or(EnergyError::Cache { need, got })?;
        let write = |fields: &mut [Bits], biases: &[f32]| {
            let slots = fields.as_flattened_mut().iter_mut().zip(biases);
            slots.for_each(|(slot, &bias)| *slot = self.grid.round(bias) as u32);
        };
        write(cache.pre, self.hidden.as_flattened());
        let words = x.words().iter().enumerate().map(|(number, &word)| (number, 0, word));
        self.add_rows([(&mut *cache.pre, words)]);
        cache.fields.fill([0; LANES]);
        cache.on.fill([0; LANES]);
        // Those of the visible units where all hidden units are 0.
        write(cache.fields, self.visible);
        // a·v in units of the grid.
        let on = self.visible.iter().zip(x.values()).filter(|&(_, x)| x != 0);
        let biases = on.map(|(&a, _)| i64::from(self.grid.round(a))).sum();
        let parts = self.activate(&mut cache, biases);
        super::checked(-(self.grid.value(parts.linear) + parts.product.ln()))
    }

    fn gradient(&self, _x: Packed<'_>, cache: &[Bits], blocks: Range<usize>, out: &mut [Block]) {
        self.product(self.activities(cache), -1.0, blocks, out);
    }

    fn gradients(&self, points: &mut [Slope<'_>]) {
        // All points take a block of rows while it is in a near cache.
        for block in 0..self.layout().blocks() {
            for point in points.iter_mut() {
                let out = point.out.get_mut(block..block + 1).unwrap_or_default();
                self.product(self.activities(point.cache), -1.0, block..block + 1, out);
            }
        }
    }

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        self.follow_visible([(*step, &mut *cache)]);
        self.arrive(step, cache)
    }

    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        // E(flipped) − E = ∓aᵢ − Σ max(p', 0) − max(p, 0) − ln Π (1+e')/(1+e), p' = p ± Wᵢ.
        let here = Packed::trusted(self.layout(), words).get(site);
        let sign = 1 - 2 * here as i32;
        let magic = F32s::splat(Grid::MAGIC * self.grid.unit);
        let flip = U32s::splat(if sign < 0 { u32::MAX } else { 0 });
        let (unit, one, zero) = (F32s::splat(self.grid.unit), F32s::splat(1.0), U32s::splat(0));
        let (mut above, mut below, mut gains) = (Product::one(), Product::one(), LaneSums::ZERO);
        let pre = cache.get(1..).unwrap_or_default();
        for (pre, row) in pre.iter().zip(self.row(site)) {
            above.next_block();
            below.next_block();
            for part in 0..PARTS {
                let units = (F32s::load(row, part) + magic).to_bits() - magic.to_bits();
                let before = U32s::load(pre, part);
                let after = before + ((units ^ flip) - flip);
                let e = |p: U32s| (-(F32s::from_i32(p) * unit).abs()).exp();
                above.times(one + e(after), part);
                below.times(one + e(before), part);
                gains.add(zero.lt_i32(after).keep(after) - zero.lt_i32(before).keep(before), part);
            }
        }
        let bias = i64::from(self.grid.round(self.bias(site))) * i64::from(sign);
        let linear = bias + gains.values().sum::<i64>();
        let difference = -(self.grid.value(linear) + above.finish().over(below.finish()).ln());
        flip_or_stay(here, difference, out);
    }
}
