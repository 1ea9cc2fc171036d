//! Mixtures of quartic polynomials over whole numbers.

mod error;

pub use error::QuarticError;

use super::grid::{PART, add_row};
use super::{Energy, EnergyError, Grid, checked, dot};
use crate::lane::{self, Bits, Block, F32s, LANES, PARTS, U32s};
use crate::layout::Layout;
use crate::packed::{Move, Packed};
use core::ops::Range;

/// A mixture of quartic polynomials over `x ∈ {0 … S − 1}^d`, `E(x) = −ln Σₖ exp(−Σᵢ zₖᵢ⁴)`, `zₖ = Qx − cₖ` (AB Eq.
/// 23, quartic mixture model). All components share the linear map Q, a rotation of scaled sites, and each has its
/// centre c.
///
/// The cache keeps Qx in fixed point, free of history, and what follows from it: the energy, the weights of the
/// components and `∂E/∂(Qx)`.
///
/// Cost: a move is one row of Q for each changed site and `components × coordinates` fourth powers; a gradient
/// is `sites × coordinates` multiply-adds.
///
/// ```
/// use bitmc::{Energy, Quartic};
/// let mut rows = [[0.0; 16]; 2]; // two sites, two coordinates
/// (rows[0][0], rows[1][1]) = (0.1, 0.05);
/// let mut centres = [[0.0; 16]; 3]; // three components
/// centres[2][0] = 1.0;
/// let model = Quartic::new(&rows, &centres, 2, 21)?;
/// assert_eq!(model.layout().arity(), 21);
/// # Ok::<(), bitmc::energy::QuarticError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Quartic<'a> {
    rows: &'a [Block],
    centres: &'a [Block],
    sites: usize,
    blocks: usize,
    arity: usize,
    grid: Grid,
}

/// The cache, taken apart.
struct Parts<'c> {
    energy: &'c mut u32,
    /// Qx, in units.
    places: &'c mut [Bits],
    /// `∂E/∂(Qx)`, as bits of floats.
    slopes: &'c mut [Bits],
    /// One a component, as bits of floats: first Σz⁴, then its weight, not normalised.
    weights: &'c mut [Bits],
}

impl<'a> Quartic<'a> {
    /// Blocks of a row of Q and of a centre.
    #[must_use]
    pub const fn row_blocks(coordinates: usize) -> usize {
        coordinates.div_ceil(LANES)
    }

    /// Blocks of cache that a model needs.
    #[must_use]
    pub const fn cache_len(coordinates: usize, components: usize) -> usize {
        1 + 2 * Self::row_blocks(coordinates) + components.div_ceil(LANES)
    }

    /// A mixture over borrowed numbers. The `rows` are Qᵀ, sites × coordinates, [`Quartic::row_blocks`] blocks for
    /// each site. The `centres` are the c, with the same number of blocks for each component. Both are zero past the
    /// last coordinate: [`pack_rows`](super::pack_rows) makes that of row-major matrices. A site takes the values 0 …
    /// `arity` − 1. O(sites × coordinates + components × coordinates).
    ///
    /// An entry of Q is rounded by at most 2⁻²² of the largest or 2⁻³⁰ of the largest possible coordinate of `Qx`,
    /// whichever is more. An entry is refused that would change by more than 1/4,096 of itself and move a coordinate
    /// by more than 1/4,096.
    ///
    /// # Errors
    /// [`QuarticError`] names the entry that is wrong.
    pub fn new(
        rows: &'a [Block],
        centres: &'a [Block],
        coordinates: usize,
        arity: usize,
    ) -> Result<Self, QuarticError> {
        let model = Self::rounded(rows, centres, coordinates, arity)?;
        let most = (PART / (arity as f32 - 1.0), f32::INFINITY);
        let lost = |site| Some((site, model.grid.loses(model.row(site).as_flattened(), most)?));
        match (0..model.sites).find_map(lost) {
            Some((site, coordinate)) => Err(QuarticError::Rounded { site, coordinate }),
            None => Ok(model),
        }
    }

    /// As [`Quartic::new`], rounded as coarsely as the largest number asks for.
    ///
    /// # Errors
    /// As [`Quartic::new`], but for what rounding would lose.
    pub fn rounded(
        rows: &'a [Block],
        centres: &'a [Block],
        coordinates: usize,
        arity: usize,
    ) -> Result<Self, QuarticError> {
        let blocks = Self::row_blocks(coordinates);
        let whole = |slice: &[Block]| {
            let count = slice.len().checked_div(blocks).filter(|count| count * blocks == slice.len());
            count.ok_or(QuarticError::Shape)
        };
        let (sites, components) = (whole(rows)?, whole(centres)?);
        if sites == 0 || components == 0 || sites > i32::MAX as usize {
            return Err(QuarticError::Shape);
        }
        if !(2..=Layout::MAX_ARITY).contains(&arity) {
            return Err(QuarticError::Arity);
        }
        let last = (arity - 1) as f32;
        let (mut largest, mut most) = (0f32, 0f32);
        for coordinate in 0..blocks * LANES {
            let column = |slice: &'a [Block]| {
                slice.as_flattened().iter().skip(coordinate).step_by(blocks.max(1) * LANES).enumerate()
            };
            let (mut reach, mut far) = (0f32, 0f32);
            for (site, q) in column(rows) {
                if !q.is_finite() || (coordinate >= coordinates && *q != 0.0) {
                    return Err(QuarticError::Map { site, coordinate });
                }
                largest = if q.abs() > largest { q.abs() } else { largest };
                reach += q.abs() * last;
            }
            for (component, c) in column(centres) {
                if !c.is_finite() || (coordinate >= coordinates && *c != 0.0) {
                    return Err(QuarticError::Centre { component, coordinate });
                }
                far = if c.abs() > far { c.abs() } else { far };
            }
            // Fourth powers, and their sums, stay far below the largest float.
            if reach + far > 1e6 {
                return Err(QuarticError::TooLarge { coordinate });
            }
            most = if reach > most { reach } else { most };
        }
        Ok(Self { rows, centres, sites, blocks, arity, grid: Grid::of_tables(largest, most) })
    }

    fn components(&self) -> impl ExactSizeIterator<Item = &'a [Block]> {
        self.centres.chunks_exact(self.blocks.max(1))
    }

    fn row(&self, site: usize) -> &'a [Block] {
        self.rows.get(site * self.blocks..(site + 1) * self.blocks).unwrap_or_default()
    }

    fn split<'c>(&self, cache: &'c mut [Bits]) -> Option<Parts<'c>> {
        let ([energy, ..], rest) = cache.split_first_mut()?;
        let (places, rest) = rest.split_at_mut_checked(self.blocks)?;
        let (slopes, rest) = rest.split_at_mut_checked(self.blocks)?;
        let weights = rest.get_mut(..self.components().len().div_ceil(LANES))?;
        Some(Parts { energy, places, slopes, weights })
    }

    /// z of a block of coordinates.
    #[inline]
    fn away(&self, places: &Bits, centre: &Block, part: usize) -> F32s {
        F32s::from_i32(U32s::load(places, part)) * F32s::splat(self.grid.unit) - F32s::load(centre, part)
    }

    /// Σ z⁴ of one component.
    fn power(&self, places: impl Iterator<Item = Bits>, centre: &[Block]) -> f32 {
        let mut sums = [0.0; LANES];
        for (places, centre) in places.zip(centre) {
            for part in 0..PARTS {
                let z = self.away(&places, centre, part);
                let square = z * z;
                (F32s::load(&sums, part) + square * square).store(&mut sums, part);
            }
        }
        lane::sum(&sums)
    }

    /// All that follows from Qx; returns the energy.
    fn evaluate(&self, parts: &mut Parts<'_>) -> f32 {
        parts.weights.as_flattened_mut().fill(f32::INFINITY.to_bits());
        let mut least = f32::INFINITY;
        for (slot, centre) in parts.weights.as_flattened_mut().iter_mut().zip(self.components()) {
            let power = self.power(parts.places.iter().copied(), centre);
            *slot = power.to_bits();
            least = if power < least { power } else { least };
        }
        let mut sums = [0.0; LANES];
        for block in parts.weights.iter_mut() {
            for part in 0..PARTS {
                let weight = (F32s::splat(least) - U32s::load(block, part).to_f32()).exp();
                weight.to_bits().store(block, part);
                (F32s::load(&sums, part) + weight).store(&mut sums, part);
            }
        }
        let sum = lane::sum(&sums);
        parts.slopes.as_flattened_mut().fill(0);
        for (&weight, centre) in parts.weights.as_flattened().iter().zip(self.components()) {
            let weight = F32s::splat(f32::from_bits(weight) * 4.0 / sum);
            for ((slopes, places), centre) in parts.slopes.iter_mut().zip(parts.places.iter()).zip(centre) {
                for part in 0..PARTS {
                    let z = self.away(places, centre, part);
                    let slope = U32s::load(slopes, part).to_f32() + weight * (z * z * z);
                    slope.to_bits().store(slopes, part);
                }
            }
        }
        let energy = least - lane::ln(sum);
        *parts.energy = energy.to_bits();
        energy
    }
}

impl Energy for Quartic<'_> {
    fn layout(&self) -> Layout {
        Layout::ordinal(self.sites, self.arity)
    }

    fn cache_len(&self) -> usize {
        1 + 2 * self.blocks + self.components().len().div_ceil(LANES)
    }

    fn init(&self, x: Packed<'_>, cache: &mut [Bits]) -> Result<f32, EnergyError> {
        let (need, got) = (self.cache_len(), cache.len());
        cache.as_flattened_mut().fill(0);
        let mut parts = self.split(cache).ok_or(EnergyError::Cache { need, got })?;
        for (site, value) in x.values().enumerate() {
            add_row(self.grid, self.row(site), value as i32, parts.places);
        }
        checked(self.evaluate(&mut parts))
    }

    fn gradient(&self, _x: Packed<'_>, cache: &[Bits], blocks: Range<usize>, out: &mut [Block]) {
        let slopes = cache.get(1 + self.blocks..1 + 2 * self.blocks).unwrap_or_default();
        for (site, out) in lane::each(blocks.start, out) {
            *out = dot(self.row(site), slopes);
        }
    }

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        let Some(mut parts) = self.split(cache) else { return f32::NAN };
        let before = f32::from_bits(*parts.energy);
        for change in step.changes() {
            add_row(self.grid, self.row(change.site), change.to as i32 - change.from as i32, parts.places);
        }
        self.evaluate(&mut parts) - before
    }

    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        let here = Packed::trusted(self.layout(), words).get(site) as i32;
        let before = cache.first().map_or(f32::NAN, |&[energy, ..]| f32::from_bits(energy));
        let places = cache.get(1..1 + self.blocks).unwrap_or_default();
        for (value, out) in (0..self.arity as i32).zip(out) {
            if value == here {
                *out = 0.0;
                continue;
            }
            // The sum over components as it grows, relative to the least power so far.
            let (mut least, mut sum) = (f32::INFINITY, 0.0);
            for centre in self.components() {
                let moved = places.iter().zip(self.row(site)).map(|(&places, &row)| {
                    let mut moved = [places];
                    add_row(self.grid, &[row], value - here, &mut moved);
                    let [moved] = moved;
                    moved
                });
                let power = self.power(moved, centre);
                if power < least {
                    sum = sum * lane::exp(power - least) + 1.0;
                    least = power;
                } else {
                    sum += lane::exp(least - power);
                }
            }
            *out = least - lane::ln(sum) - before;
        }
    }
}
