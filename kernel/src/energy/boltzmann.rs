//! Boltzmann machines: every pair of sites coupled, from one slice of parameters.

mod triangle;

pub(crate) use triangle::Triangle;

use super::sparse::{Embedding, FINE};
use super::{Energy, EnergyError, Grid, SparseError, field, flip_or_stay, floats, room};
use crate::lane::{Bits, Block, LANES, PARTS, U32s};
use crate::layout::Layout;
use crate::packed::{Move, Packed};
use core::ops::Range;

/// A fully visible Boltzmann machine, a binary pairwise model in which every pair of sites has a coupling:
/// `f = Σ wᵢvᵢ + Σ_{i<j} Jᵢⱼvᵢvⱼ`, `E = −f`, each pair counted once. The values v are spins `2x − 1`
/// ([`Boltzmann::spins`]: a dense Ising model) or the bits x themselves ([`Boltzmann::bits`]).
///
/// The parameters θ are [`Boltzmann::parameter_len`] blocks that the caller owns. The fields are first. Then each
/// site i has a row of couplings to the sites after it, from the block of i on. A pair has one number
/// ([`Boltzmann::coupling`]), so J is symmetric with zero diagonal whatever happens to θ. Numbers that are no field
/// and no pair's are not read.
///
/// The constructor compiles θ into whole rows in caller-provided memory, in fixed point as [`Ising`](super::Ising)
/// does. Energies are exact on the grid, and θ is free to be changed while the model is in use. A coupling is rounded
/// by at most 2⁻³⁰ of the largest field.
///
/// Cost, d sites: d² to compile and 4d² bytes; a gradient is one conversion a site, a move d additions a
/// changed site, in lanes. For few couplings take [`Ising`](super::Ising).
///
/// ```
/// use bitmc::energy::Boltzmann;
/// const SITES: usize = 3;
/// let mut theta = [[0.0; 16]; Boltzmann::parameter_len(SITES)];
/// if let Some(j) = Boltzmann::coupling(SITES, 0, 2) {
///     theta.as_flattened_mut()[j] = 0.5;
/// }
/// let mut memory = [[0; 16]; Boltzmann::memory_len(SITES)];
/// let model = Boltzmann::bits(&theta, SITES, &mut memory)?;
/// # let _ = model;
/// # Ok::<(), bitmc::energy::SparseError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Boltzmann<'a> {
    /// b, then K row by row, in units of the grid.
    rows: &'a [Bits],
    triangle: Triangle,
    grid: Grid,
    /// The constant c in quarter units.
    constant: i64,
    embedding: Embedding,
}

impl<'a> Boltzmann<'a> {
    /// Blocks of cache that a model of `sites` sites needs.
    #[must_use]
    pub const fn cache_len(sites: usize) -> usize {
        sites.div_ceil(LANES)
    }

    /// Blocks of parameters of a model of `sites` sites.
    #[must_use]
    pub const fn parameter_len(sites: usize) -> usize {
        Triangle::new(sites).len()
    }

    /// [`Bits`] of memory that a model of `sites` sites is compiled into.
    #[must_use]
    pub const fn memory_len(sites: usize) -> usize {
        Self::cache_len(sites).saturating_mul(sites.saturating_add(1))
    }

    /// The place of the coupling of two sites among the parameters, counted in floats; `None` where they are no two
    /// sites. The field of site i is at i.
    #[must_use]
    pub const fn coupling(sites: usize, a: usize, b: usize) -> Option<usize> {
        Triangle::new(sites).place(a, b)
    }

    /// Over spins.
    ///
    /// # Errors
    /// [`SparseError`] where there are no sites, parameters or memory have another length, or a coupling or field is
    /// not finite. Also where the field and couplings of a site add up past 5·10²⁹. Also where rounding would lose
    /// one in a sum with a far larger one, as [`Sparse`](super::Sparse) says.
    pub fn spins(parameters: &[Block], sites: usize, memory: &'a mut [Bits]) -> Result<Self, SparseError> {
        Self::compile(parameters, sites, Embedding::Spins, memory, false)
    }

    /// As [`Boltzmann::spins`], rounded as coarsely as the largest number asks for.
    ///
    /// # Errors
    /// As [`Boltzmann::spins`], but for what rounding would lose.
    pub fn spins_rounded(
        parameters: &[Block],
        sites: usize,
        memory: &'a mut [Bits],
    ) -> Result<Self, SparseError> {
        Self::compile(parameters, sites, Embedding::Spins, memory, true)
    }

    /// Over bits.
    ///
    /// # Errors
    /// As [`Boltzmann::spins`], past 10³⁰.
    pub fn bits(parameters: &[Block], sites: usize, memory: &'a mut [Bits]) -> Result<Self, SparseError> {
        Self::compile(parameters, sites, Embedding::Bits, memory, false)
    }

    /// As [`Boltzmann::bits`], rounded as coarsely as the largest number asks for.
    ///
    /// # Errors
    /// As [`Boltzmann::bits`], but for what rounding would lose.
    pub fn bits_rounded(
        parameters: &[Block],
        sites: usize,
        memory: &'a mut [Bits],
    ) -> Result<Self, SparseError> {
        Self::compile(parameters, sites, Embedding::Bits, memory, true)
    }

    fn compile(
        parameters: &[Block],
        sites: usize,
        embedding: Embedding,
        memory: &'a mut [Bits],
        any_rounding: bool,
    ) -> Result<Self, SparseError> {
        if sites == 0 || sites > i32::MAX as usize {
            return Err(SparseError::Sites);
        }
        let triangle = Triangle::new(sites);
        if parameters.len() != triangle.len() {
            return Err(SparseError::Parameters { need: triangle.len(), got: parameters.len() });
        }
        let (need, got) = (Self::memory_len(sites), memory.len());
        let memory = memory.get_mut(..need).ok_or(SparseError::Blocks { need, got })?;
        memory.fill([0; LANES]);
        let width = triangle.width();
        let (linear, rows) = memory.split_at_mut_checked(width).unwrap_or_default();
        let (linear, rows) = (linear.as_flattened_mut(), rows.as_flattened_mut());
        let fields = || parameters.as_flattened().iter().copied().enumerate().take(sites);

        // The grid: |J| added up a site, kept as bits in `linear`.
        for i in 0..sites {
            let mut own = 0.0;
            for (_, j, coupling) in triangle.row(parameters, i) {
                if !coupling.is_finite() {
                    return Err(SparseError::PairNotFinite { a: i as u32, b: j as u32 });
                }
                own += coupling.abs();
                add_float(linear, j, coupling.abs());
            }
            add_float(linear, i, own);
        }
        let weight = if embedding == Embedding::Spins { 2.0 } else { 1.0 };
        let mut largest = 0.0;
        for ((site, field), &mut sum) in fields().zip(linear.iter_mut()) {
            if !field.is_finite() {
                return Err(SparseError::FieldNotFinite { site });
            }
            let bound = weight * (field.abs() + f32::from_bits(sum));
            if bound > 1e30 {
                return Err(SparseError::TooLarge { site });
            }
            largest = if bound > largest { bound } else { largest };
        }
        let grid = Grid::covering(largest, 30);
        // What all couplings of a site may lose together.
        let together = Grid::TOGETHER * FINE;
        let check = !any_rounding && (grid.coarse(FINE) || grid.coarse(together / sites as f32));
        let lost = |&(_, field): &(usize, f32)| check && !grid.keeps(weight * field, FINE, 1.0);
        if let Some((site, _)) = fields().find(lost) {
            return Err(SparseError::FieldRounded { site });
        }

        // Spins: K = 2 · (2J), even, so that b = 2w − ½ΣK stays on the grid and E(s) = E(−s) exactly. `linear` adds up what
        // the couplings of a site lose.
        let mut couplings = 0;
        linear.fill(0);
        for i in 0..sites {
            for (_, j, coupling) in triangle.row(parameters, i) {
                let lost = if check { grid.lost(weight * coupling, 1.0) } else { 0.0 };
                let [own, other] = [i, j].map(|site| add_float(linear, site, lost));
                if lost > FINE || own > together || other > together {
                    return Err(SparseError::PairRounded { a: i as u32, b: j as u32 });
                }
                let half = grid.round(weight * coupling);
                let k = if embedding == Embedding::Spins { 2 * half } else { half };
                couplings += 2 * i64::from(k);
                for at in [i * width * LANES + j, j * width * LANES + i] {
                    if let Some(slot) = rows.get_mut(at) {
                        *slot = k as u32;
                    }
                }
            }
        }
        let mut sum = 0;
        for (((_, field), linear), row) in
            fields().zip(linear.iter_mut()).zip(rows.chunks((width * LANES).max(LANES)))
        {
            let row: i64 = row.iter().map(|&k| i64::from(k as i32)).sum();
            let offset = if embedding == Embedding::Spins { (row / 2) as i32 } else { 0 };
            let value = grid.round(weight * field).wrapping_sub(offset);
            *linear = value as u32;
            sum += i64::from(value);
        }
        let constant = if embedding == Embedding::Spins { 2 * sum + couplings / 2 } else { 0 };
        Ok(Self { rows: memory, triangle, grid, constant, embedding })
    }

    pub(crate) fn triangle(&self) -> Triangle {
        self.triangle
    }

    /// Whether the values are spins.
    pub(crate) fn is_spins(&self) -> bool {
        self.embedding == Embedding::Spins
    }

    fn linear(&self) -> &'a [Bits] {
        self.rows.get(..self.triangle.width()).unwrap_or_default()
    }

    /// Adds `sign` times a row of K to the fields.
    #[inline]
    fn add_row(&self, site: usize, sign: i32, fields: &mut [Bits]) {
        let width = self.triangle.width();
        let row = self.rows.get((site + 1) * width..(site + 2) * width).unwrap_or_default();
        let flip = U32s::splat(if sign < 0 { u32::MAX } else { 0 });
        for (field, k) in fields.iter_mut().zip(row) {
            for part in 0..PARTS {
                let k = (U32s::load(k, part) ^ flip) - flip;
                (U32s::load(field, part) + k).store(field, part);
            }
        }
    }
}

impl Energy for Boltzmann<'_> {
    fn layout(&self) -> Layout {
        Layout::binary(self.triangle.sites())
    }

    fn cache_len(&self) -> usize {
        self.triangle.width()
    }

    fn init(&self, x: Packed<'_>, cache: &mut [Bits]) -> Result<f32, EnergyError> {
        let fields = room(cache, self.cache_len())?;
        for (field, linear) in fields.iter_mut().zip(self.linear()) {
            *field = *linear;
        }
        for (site, _) in x.values().enumerate().filter(|&(_, value)| value != 0) {
            self.add_row(site, 1, fields);
        }
        // c − b·x − ½ xᵀKx = c − ½ Σ x(b + field), in quarter units.
        let terms = self.linear().as_flattened().iter().zip(fields.as_flattened()).zip(x.values());
        let sum: i64 = terms
            .map(|((&linear, &field), x)| (i64::from(linear as i32) + i64::from(field as i32)) * i64::from(x))
            .sum();
        Ok(self.grid.value(self.constant - 2 * sum) * 0.25)
    }

    fn gradient(&self, _x: Packed<'_>, cache: &[Bits], blocks: Range<usize>, out: &mut [Block]) {
        floats(cache.get(blocks).unwrap_or_default(), -self.grid.unit, out);
    }

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        let mut difference = 0;
        for change in step.changes() {
            let sign = change.to as i32 - change.from as i32;
            difference -= i64::from(sign) * i64::from(field(cache.as_flattened(), change.site));
            self.add_row(change.site, sign, cache);
        }
        self.grid.value(difference)
    }

    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        let field = i64::from(field(cache.as_flattened(), site));
        let here = Packed::trusted(self.layout(), words).get(site);
        flip_or_stay(here, self.grid.value(if here == 0 { -field } else { field }), out);
    }
}

/// Adds to a float that is kept as bits; what it is then.
fn add_float(bits: &mut [u32], index: usize, term: f32) -> f32 {
    let Some(slot) = bits.get_mut(index) else { return term };
    let sum = f32::from_bits(*slot) + term;
    *slot = sum.to_bits();
    sum
}
