//! The smallest eigenvalue of W + D, by the Lanczos iteration.

use super::scaled::Scaled;
use super::{NoiseError, Symmetric, room};
use crate::flow::vector::{add, dot, scale, sqrt};
use crate::lane::{Block, LANES};

/// Steps of the Lanczos iteration at most: products with the matrix.
pub const LANCZOS_STEPS: usize = 160;

/// What the iteration found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Eigenvalue {
    /// The smallest Ritz value: never below the smallest eigenvalue, but for rounding.
    pub value: f32,
    /// An eigenvalue lies within this distance of `value`.
    pub residual: f32,
}

/// The smallest eigenvalue of `W + D`, for W of any size; `d` is D, one a site, in blocks, or empty for 0.
///
/// `scratch` is working memory of 3 blocks for every sixteen sites. Cost: up to [`LANCZOS_STEPS`] products with W,
/// and for small matrices at most four for each site and 16 more. The method is Lanczos 1950 without
/// reorthogonalisation. Extreme values do not mind that, but may take more steps than there are sites.
///
/// # Errors
/// [`NoiseError::Memory`] where the scratch or a D is short, [`NoiseError::NotFinite`] where W + D is not finite.
pub fn least_eigenvalue(
    matrix: &impl Symmetric,
    d: &[Block],
    scratch: &mut [Block],
) -> Result<Eigenvalue, NoiseError> {
    let (need, got) = (matrix.sites().div_ceil(LANES), d.len());
    if got != 0 && got < need {
        return Err(NoiseError::Memory { need, got });
    }
    let scaled = Scaled::new(matrix, d)?;
    Ok(lanczos(&scaled, scratch)?.over(scaled.factor))
}

impl Eigenvalue {
    /// In units in which it is `factor` times smaller.
    pub(super) fn over(self, factor: f32) -> Self {
        Self { value: self.value / factor, residual: self.residual / factor }
    }
}

/// The smallest eigenvalue of a matrix whose entries are about 1.
pub(super) fn lanczos(matrix: &impl Symmetric, scratch: &mut [Block]) -> Result<Eigenvalue, NoiseError> {
    let sites = matrix.sites();
    let blocks = sites.div_ceil(LANES);
    let scratch = room(scratch, 3 * blocks)?;
    scratch.fill([0.0; LANES]);
    let (before, rest) = scratch.split_at_mut_checked(blocks).unwrap_or_default();
    let (here, next) = rest.split_at_mut_checked(blocks).unwrap_or_default();
    for (site, slot) in here.as_flattened_mut().iter_mut().enumerate().take(sites) {
        *slot = scattered(site as u32);
    }
    scale(here, 1.0 / sqrt(dot(here, here)));

    let mut form = Tridiagonal { diagonal: [0.0; LANCZOS_STEPS], beside: [0.0; LANCZOS_STEPS], len: 0 };
    let mut beside = 0.0;
    let steps = sites.saturating_mul(4).saturating_add(LANES);
    for (diagonal, after) in form.diagonal.iter_mut().zip(&mut form.beside).take(steps) {
        times(matrix, here, next);
        add(next, -beside, before);
        *diagonal = dot(here, next);
        add(next, -*diagonal, here);
        beside = sqrt(dot(next, next));
        *after = beside;
        form.len += 1;
        // Nothing new beyond rounding: the values found so far are those of the matrix.
        if beside <= 1e-6 * diagonal.abs() + 1e-30 {
            break;
        }
        scale(next, 1.0 / beside);
        for ((a, b), c) in before.iter_mut().zip(here.iter_mut()).zip(next.iter_mut()) {
            core::mem::swap(a, b);
            core::mem::swap(b, c);
        }
    }
    Ok(form.least())
}

/// D of λ-shift (AB-shift; METHODS.md §3): `Dᵢ = max(ε, −λ_min(W))` at every site, written to `d`, with λ_min
/// taken low by its residual. Returns that number. `scratch` as for [`least_eigenvalue`].
///
/// # Errors
/// * [`NoiseError::Memory`] where `d` or the scratch is short.
/// * [`NoiseError::NotFinite`] where W is not finite.
/// * [`NoiseError::D`] where ε is not finite, or W is so large that D is not finite.
pub fn constant(
    matrix: &impl Symmetric,
    epsilon: f32,
    d: &mut [Block],
    scratch: &mut [Block],
) -> Result<f32, NoiseError> {
    let sites = matrix.sites();
    let d = room(d, sites.div_ceil(LANES))?;
    let least = least_eigenvalue(matrix, &[], scratch)?;
    let shift = least.residual - least.value;
    if !(shift.is_finite() && epsilon.is_finite()) {
        return Err(NoiseError::D { site: 0, value: shift + epsilon });
    }
    let shift = if shift > epsilon { shift } else { epsilon };
    d.fill([0.0; LANES]);
    d.as_flattened_mut().iter_mut().take(sites).for_each(|slot| *slot = shift);
    Ok(shift)
}

/// A number for each site, of either sign and between ½ and 1½ in size: nearly orthogonal to nothing.
pub(super) fn scattered(index: u32) -> f32 {
    let mut bits = index.wrapping_add(1).wrapping_mul(0x9E37_79B9);
    bits = (bits ^ (bits >> 15)).wrapping_mul(0x85EB_CA6B);
    bits ^= bits >> 13;
    let size = 0.5 + (bits >> 9) as f32 * (1.0 / 8_388_608.0);
    if bits & 1 == 0 { size } else { -size }
}

/// A tridiagonal symmetric matrix.
struct Tridiagonal {
    diagonal: [f32; LANCZOS_STEPS],
    /// In each row, the entry after the diagonal's.
    beside: [f32; LANCZOS_STEPS],
    len: usize,
}

impl Tridiagonal {
    /// Pivots of the matrix less x on the diagonal, none of them 0, with the entries after the diagonal's.
    fn pivots(&self, x: f32) -> impl Iterator<Item = (f32, f32)> {
        let (mut last, mut above) = (1.0, 0.0f32);
        self.diagonal.iter().zip(&self.beside).take(self.len).map(move |(diagonal, &beside)| {
            let pivot = (diagonal - x) - above * (above / last);
            last = if pivot.abs() < 1e-30 { -1e-30 } else { pivot };
            above = beside;
            (last, beside)
        })
    }

    /// By bisection: no pivot is negative below the smallest eigenvalue, one is above.
    fn least(&self) -> Eigenvalue {
        let reach = self.diagonal.iter().zip(&self.beside).take(self.len);
        let reach = 2.0 * reach.fold(1e-30, |most: f32, (a, b)| most.max(a.abs()).max(b.abs())) + 1e-30;
        let (mut below, mut above) = (-2.0 * reach, 2.0 * reach);
        for _ in 0..40 {
            let middle = 0.5 * (below + above);
            if self.pivots(middle).any(|(pivot, _)| pivot < 0.0) {
                above = middle;
            } else {
                below = middle;
            }
        }
        // The eigenvector by its recurrence. Cut off behind any component it is a vector of residual b √(s² + s'²).
        // Here s and s' are the components before and behind the cut, and b is the entry between them. Behind the
        // smallest of these residuals there is nothing but rounding.
        let (mut component, mut square, mut residual) = (1.0f32, 0.0f32, f32::MAX);
        for (pivot, beside) in self.pivots(below) {
            square += component * component;
            let next = if beside > 0.0 { component * (-pivot / beside) } else { 0.0 };
            let cut = beside * sqrt((component * component + next * next) / square);
            residual = if cut < residual { cut } else { residual };
            component = next;
            if component.abs() > 1e12 {
                (component, square) = (component * 1e-12, square * 1e-24);
            }
        }
        // And the roundings of the products.
        Eigenvalue { value: below, residual: residual + reach * (1.0 / 1_048_576.0) }
    }
}

/// out ← Wx.
fn times(matrix: &impl Symmetric, x: &[Block], out: &mut [Block]) {
    let x = x.as_flattened();
    for (site, slot) in out.as_flattened_mut().iter_mut().enumerate().take(matrix.sites()) {
        let mut sum = matrix.diagonal(site) * x.get(site).copied().unwrap_or(0.0);
        matrix.row(site, |other, value| sum += value * x.get(other).copied().unwrap_or(0.0));
        *slot = sum;
    }
}
