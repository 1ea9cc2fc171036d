//! AB-max: the D with which the largest eigenvalue of W + D is smallest.

use super::Curvature;
use crate::cli::Failure;
use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

/// Newton steps in all: some tens are enough.
const STEPS: usize = 500;
/// By how much the weight of the cost grows between two centres.
const GROWTH: f64 = 20.0;

/// A D and the λ that goes with it.
#[derive(Clone, Debug)]
pub(super) struct Largest {
    /// D.
    pub(super) d: Vec<f64>,
    /// λI ⪰ W + D: no smaller λ than `lambda` less `gap` has a D.
    pub(super) lambda: f64,
    /// By duality.
    pub(super) gap: f64,
}

/// `min λ` over D with `λI ⪰ W + D ⪰ 0` and `D ⪰ 0` (AB's ablation AB-max; METHODS.md §3), to this part of λ.
///
/// Newton steps along the central path of `tλ − ln det(λI − W − D) − ln det(W + D) − Σ ln Dᵢ`, whose point at t is off by
/// less than 3d/t (Boyd and Vandenberghe 2004, §11.6). Where several D have the smallest λ, it is the one amid them. A step
/// takes a few times d³ operations.
pub(super) fn smallest_largest(w: &DMatrix<f64>, within: f64) -> Option<Largest> {
    let sites = w.nrows();
    let spread = |site: usize| w.column(site).iter().map(|x| x.abs()).sum::<f64>();
    let far = (0..sites).map(spread).fold(1e-9, f64::max);
    // By Gershgorin's discs there is room on all sides.
    let mut at = Point { d: DVector::from_element(sites, 2.0 * far), lambda: 4.0 * far };
    let barriers = 3.0 * sites as f64;
    let mut t = barriers / far;
    for _ in 0..STEPS {
        let here = Barrier::at(w, &at, t)?;
        let (step, decrement) = here.newton()?;
        if decrement < 0.1 {
            let gap = barriers / t;
            if gap <= within * at.lambda {
                return Some(Largest { d: at.d.iter().copied().collect(), lambda: at.lambda, gap });
            }
            t *= GROWTH;
            continue;
        }
        let better = |length: f64| {
            let there = at.moved(&step, length);
            let value = Barrier::at(w, &there, t)?.value;
            (value <= here.value - 0.1 * length * decrement).then_some(there)
        };
        at = (0..40).find_map(|halvings| better(0.5f64.powi(halvings)))?;
    }
    None
}

/// The D of AB-max for W, and a line that says what was found.
///
/// # Errors
/// [`Failure::Model`] where none was found.
pub fn by_largest(w: &Curvature) -> Result<(Vec<f32>, String), Failure> {
    let diagonal = DVector::from_iterator(w.diagonal().len(), w.diagonal().iter().map(|&w| w.into()));
    let mut full = DMatrix::from_diagonal(&diagonal);
    for &(a, b, value) in w.edges() {
        let (a, b) = (a as usize, b as usize);
        (full[(a, b)], full[(b, a)]) = (value.into(), value.into());
    }
    let Largest { d, lambda, gap } = smallest_largest(&full, 1e-3)
        .ok_or_else(|| Failure::model("no D of the smallest largest eigenvalue was found for W"))?;
    let (trace, least) = (d.iter().sum::<f64>(), lambda - gap);
    let how = format!("D of trace {trace:.1}, W + D ⪯ {lambda:.3}, at least {least:.3} by the dual");
    Ok((d.into_iter().map(|d| d as f32).collect(), how))
}

struct Point {
    d: DVector<f64>,
    lambda: f64,
}

impl Point {
    fn moved(&self, step: &DVector<f64>, length: f64) -> Self {
        let sites = self.d.len();
        Self { d: &self.d + step.rows(0, sites) * length, lambda: self.lambda + length * step[sites] }
    }
}

/// The barrier at a point inside.
struct Barrier<'p> {
    at: &'p Point,
    t: f64,
    /// λI − W − D, factorised, and W + D.
    above: Cholesky<f64, Dyn>,
    below: Cholesky<f64, Dyn>,
    value: f64,
}

impl<'p> Barrier<'p> {
    /// `None` outside.
    fn at(w: &DMatrix<f64>, at: &'p Point, t: f64) -> Option<Self> {
        if !at.d.iter().all(|&d| d > 0.0) {
            return None;
        }
        let below = w + DMatrix::from_diagonal(&at.d);
        let above = DMatrix::from_diagonal_element(w.nrows(), w.nrows(), at.lambda) - &below;
        let (above, below) = rayon::join(|| Cholesky::new(above), || Cholesky::new(below));
        let (above, below) = (above?, below?);
        let logs = |root: &Cholesky<f64, Dyn>| {
            2.0 * root.l_dirty().diagonal().iter().map(|entry| entry.ln()).sum::<f64>()
        };
        let value = t * at.lambda - logs(&above) - logs(&below) - at.d.iter().map(|d| d.ln()).sum::<f64>();
        Some(Self { at, t, above, below, value })
    }

    /// The Newton step, and half of by how much the quadratic model falls along it, twice.
    fn newton(&self) -> Option<(DVector<f64>, f64)> {
        let sites = self.at.d.len();
        let (above, below) = rayon::join(|| self.above.inverse(), || self.below.inverse());
        let squares = above.component_mul(&above);
        let rows = squares.column_sum();
        let mut hessian = DMatrix::zeros(sites + 1, sites + 1);
        hessian.view_mut((0, 0), (sites, sites)).copy_from(&(&squares + below.component_mul(&below)));
        let mut gradient = DVector::zeros(sites + 1);
        for (site, &d) in self.at.d.iter().enumerate() {
            hessian[(site, site)] += 1.0 / (d * d);
            (hessian[(site, sites)], hessian[(sites, site)]) = (-rows[site], -rows[site]);
            gradient[site] = above[(site, site)] - below[(site, site)] - 1.0 / d;
        }
        hessian[(sites, sites)] = rows.sum();
        gradient[sites] = self.t - above.trace();
        let step = -Cholesky::new(hessian)?.solve(&gradient);
        let decrement = -gradient.dot(&step);
        Some((step, decrement))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::SymmetricEigen;

    fn largest(w: &DMatrix<f64>, d: &[f64]) -> (f64, f64) {
        let sum = w + DMatrix::from_diagonal(&DVector::from_column_slice(d));
        let values = SymmetricEigen::new(sum).eigenvalues;
        (values.min(), values.max())
    }

    #[test]
    fn no_scaling_or_shift_of_d_is_better_and_it_is_feasible() {
        // A matrix with sites of different kinds, none of them alike.
        let sites = 20;
        let entry = |a: usize, b: usize| {
            let (a, b) = (a.min(b) as f64, a.max(b) as f64);
            if a == b { -a } else { (7.0 * a + 3.0 * b * b).sin() * (1.0 + a) }
        };
        let w = DMatrix::from_fn(sites, sites, entry);
        let found = smallest_largest(&w, 1e-5).unwrap();
        let (low, high) = largest(&w, &found.d);
        assert!(low > 0.0 && found.d.iter().all(|&d| d > 0.0) && high <= found.lambda);
        assert!(found.gap <= 1e-5 * found.lambda);
        // λ is at least the distance of the eigenvalues of W where D is the same at every site, or smaller.
        let (least, most) = largest(&w, &vec![0.0; sites]);
        assert!(found.lambda < most - least, "{} for {}", found.lambda, most - least);
        assert!(found.lambda > most);
    }

    #[test]
    fn sites_that_are_alike_have_one_d() {
        let w = DMatrix::from_fn(12, 12, |a, b| f64::from(u8::from((a + 1) % 12 == b || (b + 1) % 12 == a)));
        let found = smallest_largest(&w, 1e-6).unwrap();
        assert!((found.lambda - 4.0).abs() < 1e-5, "{}", found.lambda);
        assert!(found.d.iter().all(|d| (d - 2.0).abs() < 1e-4), "{:?}", found.d);
    }
}
