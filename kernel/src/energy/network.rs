//! Regression by a network of one hidden layer whose weights are bits.

mod error;
mod gradient;
mod minibatch;
mod signs;

pub use error::NetworkError;

use super::{Energy, EnergyError, Grid, add, checked, flip_or_stay};
use crate::lane::{self, Bits, Block, F32s, LANES, PARTS, Total, U32s};
use crate::layout::Layout;
use crate::packed::{Move, Packed};
use core::num::NonZeroUsize;
use core::ops::Range;
use gradient::Wanted;
use signs::Signs;

/// A regression network of one hidden layer with weights of ±1 and hyperbolic tangents (DLP §7.4):
/// ```text
/// E(x) = τ Σᵣ (f(zᵣ) − yᵣ)²,   f(z) = a Σⱼ vⱼ tanh(bⱼ + Σₖ Wₖⱼ zₖ)
/// ```
/// over the rows (zᵣ, yᵣ) of a data set. W, b and v are the state: a site is 1 where its weight is +1, and 0
/// where it is −1. Site `k · units + j` is Wₖⱼ; then come the b, one a unit, and the v.
///
/// The paper prints τ = 1 and does not say how the hidden units' votes are scaled. With a = 1/units, their mean, its
/// step size α = 0.1 works. With a larger a the gradient at a random state flips thousands of weights.
///
/// The cache keeps every row's pre-activations in fixed point (free of history), their tangents, and the residuals
/// `f(zᵣ) − yᵣ`. It takes 128 bytes a row and 16 hidden units, and 4 bytes a row.
///
/// Cost: a move is one addition a row for each changed weight of the first layer, and one tangent a row and unit. A
/// gradient is one multiply-add a row, unit and input that is not 0. Inputs that are mostly 0 (one-hot categories)
/// are cheap.
///
/// ```
/// use bitmc::{BinaryNetwork, Energy};
/// // Two inputs, three rows, column by column; four hidden units.
/// let inputs = [0.0, 0.5, 1.0, /**/ 1.0, 1.0, 0.0];
/// let model = BinaryNetwork::new(&inputs, &[0.2, 0.4, 0.9], 4, 0.25, 1.0)?;
/// assert_eq!(model.layout().sites(), 4 * (2 + 2));
/// # Ok::<(), bitmc::energy::NetworkError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BinaryNetwork<'a> {
    /// Column by column.
    inputs: &'a [f32],
    targets: &'a [f32],
    columns: usize,
    units: NonZeroUsize,
    scale: f32,
    precision: f32,
    grid: Grid,
}

/// The cache, taken apart. Pre-activations and tangents are stored by groups of sixteen units, in each group row by
/// row.
struct Cache<'c> {
    pre: &'c mut [Bits],
    tanh: &'c mut [Bits],
    residuals: &'c mut [Bits],
}

impl<'a> BinaryNetwork<'a> {
    /// Blocks of cache for a data set of `rows` rows and `units` hidden units.
    #[must_use]
    pub const fn cache_len(rows: usize, units: usize) -> usize {
        rows.saturating_mul(2 * units.div_ceil(LANES)).saturating_add(rows.div_ceil(LANES))
    }

    /// A network over borrowed data: `inputs` column by column, each with one row for each of the `targets`. The
    /// `scale` is a, the `precision` is τ.
    ///
    /// Inputs are used as rounded to 2⁻³⁰ of the largest possible pre-activation. One that would lose much, as
    /// [`Sparse`](super::Sparse) says, is refused.
    ///
    /// # Errors
    /// [`NetworkError`] names the column and row, or the parameter, that is wrong.
    pub fn new(
        inputs: &'a [f32],
        targets: &'a [f32],
        units: usize,
        scale: f32,
        precision: f32,
    ) -> Result<Self, NetworkError> {
        let model = Self::rounded(inputs, targets, units, scale, precision)?;
        let lost = |column| Some((column, model.grid.loses(model.column(column)?, Grid::NATS)?));
        match (0..model.columns).find_map(lost) {
            Some((column, row)) => Err(NetworkError::InputRounded { column, row }),
            None => Ok(model),
        }
    }

    /// As [`BinaryNetwork::new`], rounded as coarsely as the largest input asks for.
    ///
    /// # Errors
    /// As [`BinaryNetwork::new`], but for what rounding would lose.
    pub fn rounded(
        inputs: &'a [f32],
        targets: &'a [f32],
        units: usize,
        scale: f32,
        precision: f32,
    ) -> Result<Self, NetworkError> {
        let (rows, got) = (targets.len(), inputs.len());
        let columns = got.checked_div(rows).unwrap_or(0);
        if columns == 0 || columns * rows != got {
            return Err(NetworkError::Length { rows, got });
        }
        let sites = columns.checked_add(2).and_then(|layers| layers.checked_mul(units));
        let (Some(units), Some(1..=0x7FFF_FFFF)) = (NonZeroUsize::new(units), sites) else {
            return Err(NetworkError::Units);
        };
        if !(scale.is_finite() && scale != 0.0) {
            return Err(NetworkError::Scale(scale));
        }
        if !(precision.is_finite() && precision > 0.0) {
            return Err(NetworkError::Precision(precision));
        }
        let mut reach = 0f32;
        for (row, target) in targets.iter().enumerate() {
            if !target.is_finite() {
                return Err(NetworkError::TargetNotFinite { row });
            }
            let mut bound = 1f32;
            for (column, value) in inputs.iter().skip(row).step_by(rows).enumerate() {
                if !value.is_finite() {
                    return Err(NetworkError::InputNotFinite { column, row });
                }
                bound += value.abs();
            }
            // Squares of targets fit, whatever their sum is.
            if bound > 1e30 || target.abs() > 1e15 {
                return Err(NetworkError::TooLarge { row });
            }
            reach = if bound > reach { bound } else { reach };
        }
        let grid = Grid::covering(reach, 30);
        Ok(Self { inputs, targets, columns, units, scale, precision, grid })
    }

    /// Rows of the data set.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.targets.len()
    }

    /// Hidden units.
    #[must_use]
    pub fn units(&self) -> usize {
        self.units.get()
    }

    /// `f(zᵣ) − yᵣ` of every row at the state of a cache that [`Energy::init`] or a chain has filled.
    pub fn residuals<'c>(&self, cache: &'c [Bits]) -> impl Iterator<Item = f32> + 'c {
        let first = 2 * self.rows() * self.groups();
        let words = cache.get(first..).unwrap_or_default().as_flattened();
        words.iter().take(self.rows()).map(|&word| f32::from_bits(word))
    }

    /// Groups of sixteen hidden units.
    fn groups(&self) -> usize {
        self.units.get().div_ceil(LANES)
    }

    fn split<'c>(&self, cache: &'c mut [Bits]) -> Option<Cache<'c>> {
        let len = self.rows() * self.groups();
        let (pre, rest) = cache.split_at_mut_checked(len)?;
        let (tanh, rest) = rest.split_at_mut_checked(len)?;
        Some(Cache { pre, tanh, residuals: rest.get_mut(..self.rows().div_ceil(LANES))? })
    }

    /// A column of the inputs; none for the biases, whose input is 1.
    fn column(&self, layer: usize) -> Option<&'a [f32]> {
        self.inputs.get(layer * self.rows()..(layer + 1) * self.rows())
    }

    /// The rows of a range in one column, or ones.
    #[inline]
    fn inputs(&self, layer: usize, rows: Range<usize>) -> impl Iterator<Item = f32> {
        let column = self.column(layer).and_then(|column| column.get(rows.clone()));
        let ones = if column.is_none() { rows.len() } else { 0 };
        column.unwrap_or_default().iter().copied().chain(core::iter::repeat_n(1.0, ones))
    }

    /// The weights that one input, or the output, has with a group of sixteen units.
    fn signs(&self, x: Packed<'_>, layer: usize, group: usize) -> Signs {
        Signs::at(x, layer * self.units.get() + group * LANES, self.lanes(group))
    }

    /// Units of a group.
    fn lanes(&self, group: usize) -> usize {
        (self.units.get() - group * LANES).min(LANES)
    }

    /// Adds what one input contributes to the pre-activations of some rows and a group of units.
    #[inline]
    fn add_inputs(&self, signs: Signs, layer: usize, rows: Range<usize>, pre: &mut [Bits]) {
        for (input, pre) in self.inputs(layer, rows).zip(pre) {
            if input != 0.0 {
                let units = U32s::splat(self.grid.round(input) as u32);
                for part in 0..PARTS {
                    (U32s::load(pre, part) + signs.times(units, part)).store(pre, part);
                }
            }
        }
    }

    /// Turns one weight of the first layer round.
    fn turn(&self, site: usize, to: u32, pre: &mut [Bits]) {
        let layer = site / self.units;
        let unit = site - layer * self.units.get();
        let (rows, group, lane) = (self.rows(), unit / LANES, unit % LANES);
        let pre = pre.get_mut(group * rows..(group + 1) * rows).unwrap_or_default();
        let times = if to == 0 { -2 } else { 2 };
        for (input, pre) in self.inputs(layer, 0..rows).zip(pre) {
            if input != 0.0 {
                add(pre, lane, self.grid.round(input).wrapping_mul(times) as u32);
            }
        }
    }

    /// The tangents of some pre-activations, and what the units vote with them.
    #[inline]
    fn activate(&self, votes: Signs, pre: &[Bits], tanh: &mut [Bits], sums: &mut [Block; LANES]) {
        let unit = F32s::splat(self.grid.unit);
        for ((sum, pre), tanh) in sums.iter_mut().zip(pre).zip(tanh) {
            for part in 0..PARTS {
                let t = tangent(F32s::from_i32(U32s::load(pre, part)) * unit);
                t.to_bits().store(tanh, part);
                (F32s::load(sum, part) + votes.floats(part) * t).store(sum, part);
            }
        }
    }

    /// Tangents and residuals of all rows from the pre-activations; the difference of energies to the residuals
    /// that were there.
    fn settle(&self, x: Packed<'_>, cache: &mut Cache<'_>) -> f32 {
        let (rows, mut difference) = (self.rows(), Total::default());
        for (chunk, residuals) in cache.residuals.iter_mut().enumerate() {
            let first = chunk * LANES;
            let last = (first + LANES).min(rows);
            let mut sums = [[0.0; LANES]; LANES];
            for group in 0..self.groups() {
                let votes = self.signs(x, self.columns + 1, group);
                let here = group * rows + first..group * rows + last;
                let pre = cache.pre.get(here.clone()).unwrap_or_default();
                self.activate(votes, pre, cache.tanh.get_mut(here).unwrap_or_default(), &mut sums);
            }
            let targets = self.targets.get(first..last).unwrap_or_default();
            for ((sum, residual), target) in sums.iter().zip(residuals.iter_mut()).zip(targets) {
                let before = f32::from_bits(*residual);
                let after = self.scale * lane::sum(sum) - target;
                difference.add((after - before) * (after + before));
                *residual = after.to_bits();
            }
        }
        self.precision * difference.value()
    }
}

/// tanh x = −m/(m + 2) for m = e^(−2|x|) − 1, with the sign of x: within 4.2 ulp.
#[inline]
fn tangent(x: F32s) -> F32s {
    let size = x.abs();
    let m = (-(size + size)).exp_m1();
    let tangent = (m / (m + F32s::splat(2.0))).abs();
    (tangent.to_bits() | (x.to_bits() & U32s::splat(0x8000_0000))).to_f32()
}

impl Energy for BinaryNetwork<'_> {
    fn layout(&self) -> Layout {
        Layout::binary((self.columns + 2) * self.units.get())
    }

    fn cache_len(&self) -> usize {
        Self::cache_len(self.rows(), self.units.get())
    }

    fn init(&self, x: Packed<'_>, cache: &mut [Bits]) -> Result<f32, EnergyError> {
        let (need, got) = (Energy::cache_len(self), cache.len());
        cache.as_flattened_mut().fill(0);
        let mut cache = self.split(cache).ok_or(EnergyError::Cache { need, got })?;
        let rows = self.rows();
        for group in 0..self.groups() {
            for layer in 0..=self.columns {
                let pre = cache.pre.get_mut(group * rows..(group + 1) * rows).unwrap_or_default();
                self.add_inputs(self.signs(x, layer, group), layer, 0..rows, pre);
            }
        }
        checked(self.settle(x, &mut cache))
    }

    fn gradient(&self, x: Packed<'_>, cache: &[Bits], blocks: Range<usize>, out: &mut [Block]) {
        let (rows, mut out) = (self.rows(), Wanted::of(&blocks, out));
        let len = rows * self.groups();
        let residuals = cache.get(2 * len..).unwrap_or_default().as_flattened();
        for group in 0..self.groups() {
            let tanh = cache.get(len + group * rows..len + (group + 1) * rows).unwrap_or_default();
            self.add_slopes((x, group), 0..rows, (tanh, residuals), 1.0, &mut out);
        }
    }

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        let Some(mut cache) = self.split(cache) else { return f32::NAN };
        let first_layer = (self.columns + 1) * self.units.get();
        for change in step.changes().take_while(|change| change.site < first_layer) {
            self.turn(change.site, change.to, cache.pre);
        }
        self.settle(step.to(), &mut cache)
    }

    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        let state = Packed::trusted(self.layout(), words);
        let (here, rows) = (state.get(site), self.rows());
        let layer = site / self.units;
        let unit = site - layer * self.units.get();
        let (group, lane) = (unit / LANES, unit % LANES);
        let len = rows * self.groups();
        let word = |place: usize| cache.get(place).and_then(|block| block.get(lane)).copied().unwrap_or(0);
        let vote = self.scale * self.signs(state, self.columns + 1, group).get(lane);
        let times = if here == 0 { 2 } else { -2 };
        let mut difference = Total::default();
        for (row, (input, residual)) in self.inputs(layer, 0..rows).zip(self.residuals(cache)).enumerate() {
            let place = group * rows + row;
            let before = f32::from_bits(word(len + place));
            let change = if layer > self.columns {
                -2.0 * vote * before
            } else {
                let pre = word(place).wrapping_add(self.grid.round(input).wrapping_mul(times) as u32);
                let after = tangent(F32s::splat(self.grid.value(i64::from(pre as i32)))).first();
                vote * (after - before)
            };
            difference.add(change * (2.0 * residual + change));
        }
        flip_or_stay(here, self.precision * difference.value(), out);
    }
}
