//! Many modes in the plane of whole numbers.

use super::{Energy, EnergyError, checked};
use crate::lane::{self, Bits, Block, F32s, LANES, Mask, PARTS};
use crate::layout::Layout;
use crate::packed::{Move, Packed};
use core::ops::Range;

/// Two whole numbers with far apart modes, `E(x) = −ln(ε + Σₘ kernel(‖x − μₘ‖))` over `{0 … S − 1}²` (ACS §4.1;
/// METHODS.md §4): where samplers by gradients are trapped.
///
/// Over [`Modes::FIVE_BY_FIVE`] with 450 values this is the paper's picture. Its formula is [`Modes::normal`] with a
/// variance of 100 (the printed variance .15 leaves nothing but 25 points). Its authors' program samples
/// [`Modes::exponential`] with length 3.75 and floor 10⁻¹⁰.
///
/// The cache is one block: the energy and both slopes. Cost: one exponential a mode for a move, with sixteen modes at
/// a time, one a lane.
///
/// ```
/// use bitmc::{Energy, Modes};
/// let model = Modes::normal(&Modes::FIVE_BY_FIVE, 450, 100.0)?;
/// assert_eq!(model.layout().sites(), 2);
/// # Ok::<(), bitmc::energy::ModesError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Modes<'a> {
    means: &'a [[f32; 2]],
    arity: usize,
    shape: Shape,
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    /// `exp(−d²/(2s²))`, as the inverse of s².
    Normal(f32),
    /// `exp(−d/length)`, as the inverse of the length, and the floor.
    Exponential(f32, f32),
}

crate::error::errors! {
    /// Why numbers are not modes.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum ModesError {
        /// There are no modes.
        Empty => "there must be at least one mode";
        /// A site must have 2 to 65,536 values.
        Arity => "a site must have 2 to 65536 values";
        /// A mean is NaN or farther from 0 than 10⁶.
        Mean {
            /// The mode.
            mode: usize,
        } => "the mean of mode {mode} is not within -1e6 to 1e6";
        /// A variance or length must be within 10⁻⁶ to 10¹².
        Width(value: f32) => "width {value} is not within 1e-6 to 1e12";
        /// A floor must be 0, or within 10⁻³⁰ to 1.
        Floor(value: f32) => "floor {value} is neither 0 nor within 1e-30 to 1";
    }
}

impl<'a> Modes<'a> {
    /// Blocks of cache: for [`memory!`](crate::memory).
    pub const CACHE_LEN: usize = 1;

    /// Means at 75, 150, …, 375 in both coordinates.
    #[rustfmt::skip]
    pub const FIVE_BY_FIVE: [[f32; 2]; 25] = [
        [75.0, 75.0], [75.0, 150.0], [75.0, 225.0], [75.0, 300.0], [75.0, 375.0],
        [150.0, 75.0], [150.0, 150.0], [150.0, 225.0], [150.0, 300.0], [150.0, 375.0],
        [225.0, 75.0], [225.0, 150.0], [225.0, 225.0], [225.0, 300.0], [225.0, 375.0],
        [300.0, 75.0], [300.0, 150.0], [300.0, 225.0], [300.0, 300.0], [300.0, 375.0],
        [375.0, 75.0], [375.0, 150.0], [375.0, 225.0], [375.0, 300.0], [375.0, 375.0],
    ];

    /// Round normal modes, `kernel(d) = e^(−d²/(2s²))`, without a floor; `variance` is s².
    ///
    /// # Errors
    /// [`ModesError`] names the mean or number that is wrong.
    pub fn normal(means: &'a [[f32; 2]], arity: usize, variance: f32) -> Result<Self, ModesError> {
        Self::new(means, arity, variance, Shape::Normal(1.0 / variance))
    }

    /// Pointed modes with a `length`, `kernel(d) = e^(−d/length)`, above a `floor` ε. The slope at a mean itself,
    /// where there is none, is that of the other modes.
    ///
    /// # Errors
    /// [`ModesError`] names the mean or number that is wrong.
    pub fn exponential(
        means: &'a [[f32; 2]],
        arity: usize,
        length: f32,
        floor: f32,
    ) -> Result<Self, ModesError> {
        if floor != 0.0 && !(1e-30..=1.0).contains(&floor) {
            return Err(ModesError::Floor(floor));
        }
        Self::new(means, arity, length, Shape::Exponential(1.0 / length, floor))
    }

    fn new(means: &'a [[f32; 2]], arity: usize, width: f32, shape: Shape) -> Result<Self, ModesError> {
        if means.is_empty() {
            return Err(ModesError::Empty);
        }
        if !(2..=Layout::MAX_ARITY).contains(&arity) {
            return Err(ModesError::Arity);
        }
        if !(1e-6..=1e12).contains(&width) {
            return Err(ModesError::Width(width));
        }
        let wrong = means.iter().position(|mean| mean.iter().any(|mu| mu.is_nan() || mu.abs() > 1e6));
        wrong.map_or(Ok(Self { means, arity, shape }), |mode| Err(ModesError::Mean { mode }))
    }

    /// Sixteen modes: `x − μ` in both coordinates, and how many of the lanes are modes.
    fn blocks(&self, x: [f32; 2]) -> impl Iterator<Item = ([Block; 2], u32)> {
        self.means.chunks(LANES).map(move |means| {
            let mut away = [[0.0; LANES]; 2];
            let [first, second] = &mut away;
            for ((a, b), &[mu, nu]) in first.iter_mut().zip(second).zip(means) {
                let [x, y] = x;
                (*a, *b) = (x - mu, y - nu);
            }
            (away, (1 << means.len()) - 1)
        })
    }

    /// The logarithm of the kernel, and `2·∂/∂(d²)` of it with the sign turned.
    #[inline]
    fn exponent(&self, away: &[Block; 2], part: usize) -> (F32s, F32s) {
        let [a, b] = away;
        let (a, b) = (F32s::load(a, part), F32s::load(b, part));
        let square = a * a + b * b;
        match self.shape {
            Shape::Normal(inverse) => (F32s::splat(-0.5 * inverse) * square, F32s::splat(inverse)),
            Shape::Exponential(inverse, _) => {
                let distance = square.sqrt();
                let zero = F32s::splat(0.0);
                let slope = zero.lt(distance).pick(F32s::splat(inverse) / distance, zero);
                (F32s::splat(-inverse) * distance, slope)
            }
        }
    }

    /// The energy and its slopes at a place.
    fn at(&self, x: [f32; 2]) -> (f32, [f32; 2]) {
        let floor = if let Shape::Exponential(_, floor) = self.shape { floor } else { 0.0 };
        // Without a floor all terms could underflow: they are taken relative to the largest.
        let mut largest = f32::NEG_INFINITY;
        for (away, inside) in self.blocks(x) {
            let mut exponents = [f32::NEG_INFINITY; LANES];
            for part in 0..PARTS {
                let inside = Mask::from_bits(inside, part);
                let outside = F32s::load(&exponents, part);
                inside.pick(self.exponent(&away, part).0, outside).store(&mut exponents, part);
            }
            largest = exponents.iter().fold(largest, |most, &e| if e > most { e } else { most });
        }
        let base = if floor > 0.0 { 0.0 } else { largest };
        let (mut total, mut slopes) = ([0.0; LANES], [[0.0; LANES]; 2]);
        for (away, inside) in self.blocks(x) {
            for part in 0..PARTS {
                let (exponent, slope) = self.exponent(&away, part);
                let weight = (exponent - F32s::splat(base)).exp();
                let weight = Mask::from_bits(inside, part).keep(weight.to_bits()).to_f32();
                (F32s::load(&total, part) + weight).store(&mut total, part);
                for (slopes, away) in slopes.iter_mut().zip(&away) {
                    let term = weight * slope * F32s::load(away, part);
                    (F32s::load(slopes, part) + term).store(slopes, part);
                }
            }
        }
        let sum = lane::sum(&total) + floor;
        let slopes = slopes.map(|slopes| lane::sum(&slopes) / sum);
        (0.0 - (base + lane::ln(sum)), slopes)
    }

    /// The point of a state, kept in the cache; its energy.
    fn keep(&self, x: Packed<'_>, kept: &mut Bits) -> f32 {
        let (energy, [first, second]) = self.at([x.get(0) as f32, x.get(1) as f32]);
        let [slot, a, b, ..] = kept;
        (*slot, *a, *b) = (energy.to_bits(), first.to_bits(), second.to_bits());
        energy
    }
}

impl Energy for Modes<'_> {
    fn layout(&self) -> Layout {
        Layout::ordinal(2, self.arity)
    }

    fn cache_len(&self) -> usize {
        Self::CACHE_LEN
    }

    fn init(&self, x: Packed<'_>, cache: &mut [Bits]) -> Result<f32, EnergyError> {
        let kept = cache.first_mut().ok_or(EnergyError::Cache { need: 1, got: 0 })?;
        *kept = [0; LANES];
        checked(self.keep(x, kept))
    }

    fn gradient(&self, _x: Packed<'_>, cache: &[Bits], blocks: Range<usize>, out: &mut [Block]) {
        if let (Some([_, slopes @ ..]), Some(out), 0) = (cache.first(), out.first_mut(), blocks.start) {
            for (slot, &slope) in out.iter_mut().zip(slopes) {
                *slot = f32::from_bits(slope);
            }
        }
    }

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        let Some(kept) = cache.first_mut() else { return f32::NAN };
        let [before, ..] = *kept;
        self.keep(step.to(), kept) - f32::from_bits(before)
    }

    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        let x = Packed::trusted(self.layout(), words);
        let (first, second) = (x.get(0) as f32, x.get(1) as f32);
        let before = cache.first().map_or(f32::NAN, |&[energy, ..]| f32::from_bits(energy));
        for (value, out) in (0..self.arity).zip(out) {
            let value = value as f32;
            let place = if site == 0 { [value, second] } else { [first, value] };
            *out = self.at(place).0 - before;
        }
    }
}
