//! A regression network with weights of ±1 in float64, row by row.

use crate::models::Source;
use crate::naive::Target;
use crate::tolerance::{ISING_GRID, ROUNDING, TANGENT_ROUNDINGS};
use bitmc::BinaryNetwork;
use bitmc::energy::NetworkError;

/// `E = τ Σᵣ (f(zᵣ) − yᵣ)²`, `f(z) = a Σⱼ vⱼ tanh(bⱼ + Σₖ Wₖⱼ zₖ)`, weights `2x − 1`.
#[derive(Clone, Debug)]
pub struct Network {
    /// Column by column.
    pub inputs: Vec<f32>,
    /// y.
    pub targets: Vec<f32>,
    /// Hidden units.
    pub units: usize,
    /// a.
    pub scale: f32,
    /// τ.
    pub precision: f32,
}

impl Network {
    /// Random data, a third of the inputs 0; on the grid of 1/64.
    #[must_use]
    pub fn random(rows: usize, columns: usize, units: usize, precision: f32, seed: u64) -> Self {
        let mut source = Source::new(seed);
        let mut input = || if source.uniform() < 0.33 { 0.0 } else { source.coarse(1.0) };
        let inputs = (0..rows * columns).map(|_| input()).collect();
        let targets = (0..rows).map(|_| source.coarse(0.5)).collect();
        Self { inputs, targets, units, scale: 1.0 / units as f32, precision }
    }

    /// The kernel's.
    ///
    /// # Errors
    /// [`NetworkError`] as [`BinaryNetwork::new`].
    pub fn model(&self) -> Result<BinaryNetwork<'_>, NetworkError> {
        BinaryNetwork::new(&self.inputs, &self.targets, self.units, self.scale, self.precision)
    }

    fn columns(&self) -> usize {
        self.inputs.len() / self.targets.len()
    }

    /// The inputs of a row, and the 1 that belongs to the biases.
    fn row(&self, row: usize) -> Vec<f64> {
        let inputs = self.inputs.iter().skip(row).step_by(self.targets.len());
        inputs.map(|&z| f64::from(z)).chain([1.0]).collect()
    }

    /// Tangents of the units, and f(z) − y.
    #[must_use]
    pub fn forward(&self, x: &[f64], row: usize) -> (Vec<f64>, f64) {
        let (z, weight) = (self.row(row), |site: usize| 2.0 * x[site] - 1.0);
        let unit = |j: usize| {
            let terms = z.iter().enumerate().map(|(k, z)| weight(k * self.units + j) * z);
            terms.sum::<f64>().tanh()
        };
        let tangents: Vec<f64> = (0..self.units).map(unit).collect();
        let first = (self.columns() + 1) * self.units;
        let votes = tangents.iter().enumerate().map(|(j, t)| weight(first + j) * t);
        let output = f64::from(self.scale) * votes.sum::<f64>();
        (tangents, output - f64::from(self.targets[row]))
    }

    /// How far f32 code may be off in a tangent: its own roundings, that of p (at most .45 of one after the
    /// tangent's slope), and half a unit of the grid an input.
    fn tangent_error(&self) -> f64 {
        let size = |row: usize| self.row(row).iter().map(|z| z.abs()).sum::<f64>();
        let reach = (0..self.targets.len()).map(size).fold(0.0, f64::max);
        ROUNDING * (TANGENT_ROUNDINGS + 0.45) + reach * ISING_GRID * (self.columns() + 1) as f64
    }

    /// And in an output: every tangent, and a sum of one term a group of sixteen units, four in the tree, the
    /// scale and the target's difference.
    fn output_error(&self, residual: f64) -> f64 {
        let votes = f64::from(self.scale.abs()) * self.units as f64;
        let sum = (self.units.div_ceil(16) + 6) as f64;
        votes * (self.tangent_error() + ROUNDING * sum) + ROUNDING * residual.abs()
    }

    /// And in a total: twice the residual's error times its size, four roundings of each square, two of all.
    #[must_use]
    pub fn total_error(&self, x: &[f64]) -> f64 {
        let rows = (0..self.targets.len()).map(|row| {
            let (_, r) = self.forward(x, row);
            let error = self.output_error(r);
            (2.0 * r.abs() + error) * error + 4.0 * ROUNDING * r * r
        });
        f64::from(self.precision) * rows.sum::<f64>() + 2.0 * ROUNDING * self.energy(x)
    }

    /// And in a component of the gradient: the residual's, the tangent's twice, and a rounding a row of the
    /// running sum with eight more for the factors.
    #[must_use]
    pub fn gradient_error(&self, x: &[f64]) -> Vec<f64> {
        let rows = self.targets.len();
        let factor = 4.0 * f64::from(self.precision * self.scale.abs());
        let of_row = |row: usize| {
            let (_, r) = self.forward(x, row);
            let own = 2.0 * self.tangent_error() + ROUNDING * (rows + 8) as f64;
            self.output_error(r) + r.abs() * own
        };
        let errors: Vec<f64> = (0..rows).map(of_row).collect();
        let layer = |layer: usize| {
            let input = |row: usize| self.row(row).get(layer).map_or(1.0, |z| z.abs());
            factor * errors.iter().enumerate().map(|(row, e)| e * input(row)).sum::<f64>()
        };
        (0..self.sites()).map(|site| layer(site / self.units)).collect()
    }
}

impl Target for Network {
    fn sites(&self) -> usize {
        (self.columns() + 2) * self.units
    }

    fn energy(&self, x: &[f64]) -> f64 {
        let squares = (0..self.targets.len()).map(|row| self.forward(x, row).1.powi(2));
        f64::from(self.precision) * squares.sum::<f64>()
    }

    fn gradient(&self, x: &[f64]) -> Vec<f64> {
        let mut gradient = vec![0.0; x.len()];
        let first = (self.columns() + 1) * self.units;
        for row in 0..self.targets.len() {
            let (tangents, residual) = self.forward(x, row);
            let factor = 4.0 * f64::from(self.precision) * f64::from(self.scale) * residual;
            for (j, t) in tangents.iter().enumerate() {
                gradient[first + j] += factor * t;
                for (k, z) in self.row(row).iter().enumerate() {
                    gradient[k * self.units + j] += factor * (2.0 * x[first + j] - 1.0) * (1.0 - t * t) * z;
                }
            }
        }
        gradient
    }
}
