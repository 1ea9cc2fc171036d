//! The synthetic targets of the papers that are not quadratic, in float64: logistic regression over binary
//! coefficients, quartic mixtures, modes in the plane.

use crate::models::Source;
use crate::naive::{Target, sigmoid, softplus};
use bitmc::energy::{Logistic, pack_rows};
use bitmc::lane::{Block, LANES};

/// The posterior of binary coefficients: `E = a·β + Σᵢ ln(1 + e^(−mᵢ))`, `mᵢ = (2yᵢ − 1)(Xᵢ·β + oᵢ)`.
#[derive(Clone, Debug)]
pub struct Regression {
    /// X, a row for every observation.
    pub design: Vec<f32>,
    /// y.
    pub outcomes: Vec<bool>,
    /// a, one a coefficient.
    pub prior: Vec<f32>,
    /// o, one an observation.
    pub offsets: Vec<f32>,
}

impl Regression {
    /// Random data on the grid of 1/64.
    #[must_use]
    pub fn random(coefficients: usize, observations: usize, sd: f64, seed: u64) -> Self {
        let mut source = Source::new(seed);
        let mut draw = |count: usize| (0..count).map(|_| source.coarse(sd)).collect::<Vec<_>>();
        let (design, prior, offsets) =
            (draw(coefficients * observations), draw(coefficients), draw(observations));
        Self { design, outcomes: (0..observations).map(|_| source.uniform() < 0.5).collect(), prior, offsets }
    }

    /// The margins.
    #[must_use]
    pub fn margins(&self, x: &[f64]) -> Vec<f64> {
        let rows = self.design.chunks_exact(x.len()).zip(&self.outcomes).zip(&self.offsets);
        rows.map(|((row, &y), &o)| {
            let sum = row.iter().zip(x).map(|(&a, x)| f64::from(a) * x).sum::<f64>() + f64::from(o);
            if y { sum } else { -sum }
        })
        .collect()
    }

    /// The rows and offsets that the kernel borrows.
    ///
    /// # Panics
    /// Where the lengths do not fit.
    #[must_use]
    pub fn packed(&self) -> (Vec<Block>, Vec<Block>) {
        let blocks = Logistic::row_blocks(self.outcomes.len());
        let mut rows = vec![[0.0; LANES]; blocks * self.prior.len()];
        Logistic::pack(&self.design, &self.outcomes, &mut rows).unwrap();
        let mut offsets = vec![[0.0; LANES]; blocks];
        Logistic::pack(&self.offsets, &self.outcomes, &mut offsets).unwrap();
        (rows, offsets)
    }
}

impl Target for Regression {
    fn sites(&self) -> usize {
        self.prior.len()
    }

    fn energy(&self, x: &[f64]) -> f64 {
        let own: f64 = self.prior.iter().zip(x).map(|(&a, x)| f64::from(a) * x).sum();
        own + self.margins(x).into_iter().map(|m| softplus(-m)).sum::<f64>()
    }

    fn gradient(&self, x: &[f64]) -> Vec<f64> {
        let wrong: Vec<f64> = self.margins(x).into_iter().map(|m| sigmoid(-m)).collect();
        let slope = |(site, &a): (usize, &f32)| {
            let column = self.design.iter().skip(site).step_by(x.len()).zip(&self.outcomes).zip(&wrong);
            f64::from(a) + column.map(|((&d, &y), w)| if y { -w } else { *w } * f64::from(d)).sum::<f64>()
        };
        self.prior.iter().enumerate().map(slope).collect()
    }
}

/// `E = −ln Σₖ exp(−Σᵢ (Qx − cₖ)ᵢ⁴)`.
#[derive(Clone, Debug)]
pub struct Powers {
    /// Q by columns: a row for every site, one entry a coordinate.
    pub map: Vec<f32>,
    /// c: a row for every component.
    pub centres: Vec<f32>,
    /// Coordinates.
    pub coordinates: usize,
    /// Sites.
    pub sites: usize,
}

impl Powers {
    /// A random map of entries so large that `Qx` is about 1, and centres about there.
    #[must_use]
    pub fn random(sites: usize, coordinates: usize, components: usize, arity: usize, seed: u64) -> Self {
        let mut source = Source::new(seed);
        let sd = 1.0 / (arity as f64 * (sites as f64).sqrt());
        let map = (0..sites * coordinates).map(|_| source.normal(sd)).collect();
        let centres = (0..components * coordinates).map(|_| source.normal(0.5)).collect();
        Self { map, centres, coordinates, sites }
    }

    /// `Qx − cₖ` of every component.
    #[must_use]
    pub fn away(&self, x: &[f64]) -> Vec<Vec<f64>> {
        let mut places = vec![0.0; self.coordinates];
        for (row, x) in self.map.chunks_exact(self.coordinates).zip(x) {
            places.iter_mut().zip(row).for_each(|(place, &q)| *place += f64::from(q) * x);
        }
        let centres = self.centres.chunks_exact(self.coordinates);
        centres.map(|c| places.iter().zip(c).map(|(p, &c)| p - f64::from(c)).collect()).collect()
    }

    /// The weights of the components.
    #[must_use]
    pub fn weights(&self, x: &[f64]) -> Vec<f64> {
        let powers = self.away(x).into_iter().map(|z| z.iter().map(|z| z.powi(4)).sum::<f64>());
        let energy = self.energy(x);
        powers.map(|power| (energy - power).exp()).collect()
    }

    /// Rows and centres in whole blocks.
    ///
    /// # Panics
    /// Never: the lengths fit.
    #[must_use]
    pub fn packed(&self) -> (Vec<Block>, Vec<Block>) {
        let pack = |matrix: &[f32]| {
            let count = matrix.len() / self.coordinates * self.coordinates.div_ceil(LANES);
            let mut out = vec![[0.0; LANES]; count];
            pack_rows(matrix, self.coordinates, &mut out).unwrap();
            out
        };
        (pack(&self.map), pack(&self.centres))
    }
}

impl Target for Powers {
    fn sites(&self) -> usize {
        self.sites
    }

    fn energy(&self, x: &[f64]) -> f64 {
        minus_log_sum(self.away(x).into_iter().map(|z| -z.iter().map(|z| z.powi(4)).sum::<f64>()), 0.0)
    }

    fn gradient(&self, x: &[f64]) -> Vec<f64> {
        let mut slopes = vec![0.0; self.coordinates];
        for (z, weight) in self.away(x).iter().zip(self.weights(x)) {
            slopes.iter_mut().zip(z).for_each(|(slope, z)| *slope += 4.0 * weight * z.powi(3));
        }
        let rows = self.map.chunks_exact(self.coordinates);
        rows.map(|row| row.iter().zip(&slopes).map(|(&q, s)| f64::from(q) * s).sum()).collect()
    }
}

/// `E = −ln(ε + Σₘ kernel(‖x − μₘ‖))` over two sites.
#[derive(Clone, Debug)]
pub struct Plane {
    /// μ.
    pub means: Vec<[f32; 2]>,
    /// The kernel's variance (normal) or length (exponential).
    pub width: f64,
    /// ε; `None` for normal modes, which have none.
    pub floor: Option<f64>,
}

impl Plane {
    /// The logarithm of a mode's kernel.
    #[must_use]
    pub fn exponents(&self, x: &[f64]) -> Vec<f64> {
        let square = |mean: &[f32; 2]| (0..2).map(|i| (x[i] - f64::from(mean[i])).powi(2)).sum::<f64>();
        let exponent = |square: f64| match self.floor {
            None => -0.5 * square / self.width,
            Some(_) => -square.sqrt() / self.width,
        };
        self.means.iter().map(square).map(exponent).collect()
    }

    /// `kernel/(ε + Σ kernel)` of every mode.
    #[must_use]
    pub fn weights(&self, x: &[f64]) -> Vec<f64> {
        let energy = self.energy(x);
        self.exponents(x).into_iter().map(|e| (e + energy).exp()).collect()
    }
}

impl Target for Plane {
    fn sites(&self) -> usize {
        2
    }

    fn energy(&self, x: &[f64]) -> f64 {
        minus_log_sum(self.exponents(x).into_iter(), self.floor.unwrap_or(0.0))
    }

    fn gradient(&self, x: &[f64]) -> Vec<f64> {
        let mut slopes = vec![0.0; 2];
        for (mean, weight) in self.means.iter().zip(self.weights(x)) {
            let away = [x[0] - f64::from(mean[0]), x[1] - f64::from(mean[1])];
            let distance = away[0].hypot(away[1]);
            let per = match self.floor {
                None => 1.0 / self.width,
                Some(_) if distance == 0.0 => 0.0,
                Some(_) => 1.0 / (self.width * distance),
            };
            slopes.iter_mut().zip(away).for_each(|(slope, v)| *slope += weight * v * per);
        }
        slopes
    }
}

/// `−ln(floor + Σ e^t)`.
fn minus_log_sum(terms: impl Iterator<Item = f64>, floor: f64) -> f64 {
    let terms: Vec<f64> = terms.collect();
    let most = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max).max(floor.ln());
    let rest = if floor > 0.0 { (floor.ln() - most).exp() } else { 0.0 };
    -(most + (terms.iter().map(|t| (t - most).exp()).sum::<f64>() + rest).ln())
}
