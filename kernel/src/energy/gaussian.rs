//! Gaussians on a lattice of whole numbers.

mod error;
mod precision;

pub use error::GaussianError;
pub use precision::{Dense, Precision};

use super::sparse::{Edge, Embedding, SparseBuffers};
use super::{Energy, EnergyError, Grid, Sparse, checked, field, floats, room};
use crate::lane::{Bits, Block, LANES};
use crate::layout::Layout;
use crate::packed::{Move, Packed};
use core::ops::Range;

/// A Gaussian restricted to whole numbers, `E(x) = ½ (x − μ)ᵀA(x − μ)` over `x ∈ {0 … S − 1}^d`, with a
/// symmetric precision matrix A (AB §5.2, lattice Gaussian model). A need not be positive
/// definite: there are finitely many states.
///
/// The couplings that second-order samplers ask for, the Hessian of `f = −E`, are `W = −A`:
/// [`LatticeGaussian::precision`] gives A on the very grid that the energy uses.
///
/// A is kept in fixed point, rounded to 2⁻³⁰ of the largest possible field. A dense A is rounded to 2⁻²² of its
/// largest entry where that is coarser. The centre μ is rounded to 2⁻³⁰ of its largest |μᵢ| or of 1, but for a factor of two. The cache is the field `A(x − μ)`, as 32-bit
/// integers: it is the gradient, and differences of energies are exact.
///
/// Cost: a gradient is one conversion a site; a move adds one row of A for each changed site.
///
/// ```
/// use bitmc::{Energy, LatticeGaussian, SparseMemory};
/// let mut memory = SparseMemory::<3, 6>::new();
/// let edges = [(0, 1, 0.25), (1, 2, -0.5), (2, 0, 0.125)];
/// let model = LatticeGaussian::sparse(3, 21, edges, &[1.0; 3], &[10.0; 3], memory.borrow())?;
/// assert_eq!(model.layout().arity(), 21);
/// # Ok::<(), bitmc::energy::GaussianError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LatticeGaussian<'a> {
    precision: Precision<'a>,
    centre: &'a [f32],
    /// Bits behind the point of the centre.
    points: u8,
    arity: usize,
}

impl<'a> LatticeGaussian<'a> {
    /// Blocks of cache that a model of `sites` sites needs.
    #[must_use]
    pub const fn cache_len(sites: usize) -> usize {
        sites.div_ceil(LANES)
    }

    /// A sparse A over `sites` sites of the values 0 … `arity` − 1. The `edges` are the pairs with an entry
    /// `Aᵢⱼ = Aⱼᵢ` off the diagonal. The `diagonal` is `Aᵢᵢ` and the `centre` is μ, one a site. Cost: O(sites +
    /// edges).
    ///
    /// # Errors
    /// [`GaussianError`] names the edge or site that is wrong, or the memory that is missing.
    pub fn sparse(
        sites: usize,
        arity: usize,
        edges: impl IntoIterator<Item = Edge, IntoIter: Clone>,
        diagonal: &[f32],
        centre: &'a [f32],
        memory: SparseBuffers<'a>,
    ) -> Result<Self, GaussianError> {
        let (reach, points) = reach_of(centre, arity)?;
        for got in [centre.len(), diagonal.len()] {
            if got != sites {
                return Err(GaussianError::Length { need: sites, got });
            }
        }
        let own = |site: usize| diagonal.get(site).copied().unwrap_or(0.0);
        let edges = edges.into_iter();
        let form = Sparse::compile(edges, sites, own, 1.0, Embedding::Bits, reach, memory)?;
        Ok(Self { precision: Precision::Sparse(form), centre, points, arity })
    }

    /// A sparse A from compiled rows: [`Sparse::linear`] is its diagonal. O(edges).
    ///
    /// # Errors
    /// [`GaussianError`] where a field could overflow, or the centre is not one a site or not legal.
    pub fn from_rows(form: Sparse<'a>, centre: &'a [f32], arity: usize) -> Result<Self, GaussianError> {
        let (reach, points) = reach_of(centre, arity)?;
        if form.sites() != centre.len() {
            return Err(GaussianError::Length { need: form.sites(), got: centre.len() });
        }
        for (site, &own) in form.linear().iter().enumerate() {
            let couplings = form.row(site).iter().map(|entry| i64::from(entry.coupling).abs());
            let sum = couplings.sum::<i64>() + i64::from(own).abs();
            if sum as f32 * reach > 1_073_741_824.0 {
                return Err(GaussianError::TooLarge { site });
            }
        }
        Ok(Self { precision: Precision::Sparse(form), centre, points, arity })
    }

    /// A dense A of at most [`Dense::MAX_SITES`] sites. In `rows` each site has [`LatticeGaussian::cache_len`]
    /// blocks, zero past the last site: [`pack_rows`](super::pack_rows) makes that of a row-major matrix. The
    /// `centre` is μ. Cost: O(sites²). An entry is refused that would change by more than 1/4,096 of itself and of
    /// the row with the smallest sum.
    ///
    /// # Errors
    /// [`GaussianError`] names the entry or site that is wrong.
    pub fn dense(rows: &'a [Block], centre: &'a [f32], arity: usize) -> Result<Self, GaussianError> {
        let model = Self::dense_rounded(rows, centre, arity)?;
        if let Precision::Dense(dense) = model.precision {
            dense.check(reach_of(centre, arity)?.0)?;
        }
        Ok(model)
    }

    /// As [`LatticeGaussian::dense`], rounded as coarsely as the largest entry asks for.
    ///
    /// # Errors
    /// As [`LatticeGaussian::dense`], but for what rounding would lose.
    pub fn dense_rounded(rows: &'a [Block], centre: &'a [f32], arity: usize) -> Result<Self, GaussianError> {
        let (reach, points) = reach_of(centre, arity)?;
        let precision = Precision::Dense(Dense::new(rows, centre.len(), reach)?);
        Ok(Self { precision, centre, points, arity })
    }

    /// A, as the energy uses it.
    #[must_use]
    pub fn precision(&self) -> Precision<'a> {
        self.precision
    }

    /// μ, one a site.
    #[must_use]
    pub fn centre(&self) -> &'a [f32] {
        self.centre
    }

    /// 2(E(y) − E(x)) in units, for a site with the field h that moves by v: `v(2h + Aᵢᵢv)`.
    #[inline]
    fn twice(&self, site: usize, field: i32, v: i64) -> i64 {
        v * (2 * i64::from(field) + v * i64::from(self.precision.units(site, site)))
    }
}

/// The largest |x − μ| of any site, at least 1: how far a field may reach for a row of A. And the bits behind the point with
/// which every μ fits in 30 bits.
fn reach_of(centre: &[f32], arity: usize) -> Result<(f32, u8), GaussianError> {
    if centre.is_empty() || centre.len() > i32::MAX as usize {
        return Err(GaussianError::Sites);
    }
    if !(2..=Layout::MAX_ARITY).contains(&arity) {
        return Err(GaussianError::Arity);
    }
    let last = (arity - 1) as f32;
    let (mut reach, mut largest) = (1.0, 1.0);
    for (site, mu) in centre.iter().enumerate() {
        if mu.is_nan() || mu.abs() > 65_536.0 {
            return Err(GaussianError::Centre { site });
        }
        largest = if mu.abs() > largest { mu.abs() } else { largest };
        for distance in [mu.abs(), (last - mu).abs()] {
            reach = if distance > reach { distance } else { reach };
        }
    }
    // Sums of 2E fit in 63 bits.
    if centre.len() as f32 * reach > 536_870_912.0 {
        return Err(GaussianError::Sites);
    }
    // The least e with μ ≤ 2ᵉ.
    let exponent = ((f32::to_bits(largest) - 1) >> 23) - 126;
    Ok((reach, (30 - exponent) as u8))
}

impl Energy for LatticeGaussian<'_> {
    fn layout(&self) -> Layout {
        Layout::ordinal(self.centre.len(), self.arity)
    }

    fn cache_len(&self) -> usize {
        Self::cache_len(self.centre.len())
    }

    fn init(&self, x: Packed<'_>, cache: &mut [Bits]) -> Result<f32, EnergyError> {
        let cache = room(cache, self.cache_len())?;
        // With b = Aμ, rounded once: h = Ax − b and 2E = x·(h − b) + μ·b.
        let (bits, points) = (self.points, Grid::new(-i32::from(self.points)));
        let mu = |site: usize| self.centre.get(site).map_or(0, |&mu| i64::from(points.round(mu)));
        cache.as_flattened_mut().fill(0);
        let mut twice = 0;
        for (site, field) in cache.as_flattened_mut().iter_mut().enumerate().take(self.centre.len()) {
            let (mut ax, mut am) = (0, 0);
            self.precision.each(site, |other, units| {
                ax += i64::from(units) * i64::from(x.get(other));
                am += i64::from(units) * mu(other);
            });
            let b = (am + (1 << (bits - 1))) >> bits;
            let h = ax - b;
            *field = h as u32;
            twice += i64::from(x.get(site)) * (h - b) + ((mu(site) * b) >> bits);
        }
        checked(0.5 * self.precision.value(twice))
    }

    #[inline]
    fn gradient(&self, _x: Packed<'_>, cache: &[Bits], blocks: Range<usize>, out: &mut [Block]) {
        floats(cache.get(blocks).unwrap_or_default(), self.precision.unit(), out);
    }

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        let mut twice = 0;
        for change in step.changes() {
            let v = change.to as i32 - change.from as i32;
            let field = field(cache.as_flattened(), change.site);
            twice += self.twice(change.site, field, i64::from(v));
            self.precision.add(change.site, v, cache);
        }
        0.5 * self.precision.value(twice)
    }

    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        let here = i64::from(Packed::trusted(self.layout(), words).get(site));
        let field = field(cache.as_flattened(), site);
        for (value, out) in (0..self.arity as i64).zip(out) {
            *out = 0.5 * self.precision.value(self.twice(site, field, value - here));
        }
    }
}
