//! Energies in float64, written from their formulas over spins or bits: no fixed point, no caches, no
//! lanes.
//!
//! A state is a slice of floats on the {0,1} scale, so that the same function is the natural continuous
//! extension whose gradient samplers use.

use crate::tolerance::RBM_GRADIENT_ROUNDINGS;

/// An energy `E(x)`, `p(x) ∝ e^(−E(x))`.
pub trait Target {
    /// Sites.
    fn sites(&self) -> usize;

    /// `E(x)`.
    fn energy(&self, x: &[f64]) -> f64;

    /// `∂E/∂x`, one value a site.
    fn gradient(&self, x: &[f64]) -> Vec<f64>;

    /// How large the numbers are that f32 code adds up for each component of the gradient, times their
    /// roundings: where a model's code takes one rounding of the sum, the component itself.
    fn gradient_reach(&self, x: &[f64]) -> Vec<f64> {
        self.gradient(x).into_iter().map(f64::abs).collect()
    }

    /// `∂E/∂x` by central differences of [`Target::energy`] with step `h`.
    fn central_differences(&self, x: &[f64], h: f64) -> Vec<f64> {
        let at = |site: usize, shift: f64| {
            let mut moved = x.to_vec();
            moved[site] += shift;
            self.energy(&moved)
        };
        (0..x.len()).map(|site| (at(site, h) - at(site, -h)) / (2.0 * h)).collect()
    }
}

/// What a pairwise model's numbers mean; `f = −E`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convention {
    /// `f = Σ wᵢsᵢ + Σ_edges Jᵢⱼsᵢsⱼ`, `s = 2x − 1`.
    SpinsEdgesOnce,
    /// `f = Σ wᵢsᵢ + sᵀJs`: every edge counts twice.
    SpinsEdgesTwice,
    /// `f = Σ wᵢxᵢ + Σ_edges Jᵢⱼxᵢxⱼ`.
    BitsEdgesOnce,
}

impl Convention {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::SpinsEdgesOnce, Self::SpinsEdgesTwice, Self::BitsEdgesOnce];
}

/// An Ising model from its edges and fields.
#[derive(Clone, Debug)]
pub struct Pairwise {
    /// What the numbers mean.
    pub convention: Convention,
    /// Two sites and their coupling.
    pub edges: Vec<(u32, u32, f32)>,
    /// One field a site.
    pub fields: Vec<f32>,
}

impl Target for Pairwise {
    fn sites(&self) -> usize {
        self.fields.len()
    }

    fn energy(&self, x: &[f64]) -> f64 {
        let value = |site: usize| match self.convention {
            Convention::BitsEdgesOnce => x[site],
            _ => 2.0 * x[site] - 1.0,
        };
        let times = if self.convention == Convention::SpinsEdgesTwice { 2.0 } else { 1.0 };
        let mut log_density = 0.0;
        for (site, &w) in self.fields.iter().enumerate() {
            log_density += f64::from(w) * value(site);
        }
        for &(a, b, coupling) in &self.edges {
            log_density += times * f64::from(coupling) * value(a as usize) * value(b as usize);
        }
        -log_density
    }

    fn gradient(&self, x: &[f64]) -> Vec<f64> {
        // The energy is linear in each site: ∂E/∂xᵢ = E(xᵢ = 1) − E(xᵢ = 0), summed site by site.
        let spins = self.convention != Convention::BitsEdgesOnce;
        let (slope, times) = match self.convention {
            Convention::SpinsEdgesOnce => (2.0, 1.0),
            Convention::SpinsEdgesTwice => (2.0, 2.0),
            Convention::BitsEdgesOnce => (1.0, 1.0),
        };
        let value = |site: u32| if spins { 2.0 * x[site as usize] - 1.0 } else { x[site as usize] };
        let mut gradient: Vec<f64> = self.fields.iter().map(|&w| -slope * f64::from(w)).collect();
        for &(a, b, coupling) in &self.edges {
            gradient[a as usize] -= slope * times * f64::from(coupling) * value(b);
            gradient[b as usize] -= slope * times * f64::from(coupling) * value(a);
        }
        gradient
    }
}

/// Independent bits: `E = −Σ θᵢxᵢ`.
#[derive(Clone, Debug)]
pub struct Independent {
    /// The log odds of 1, one a site.
    pub logits: Vec<f32>,
}

impl Target for Independent {
    fn sites(&self) -> usize {
        self.logits.len()
    }

    fn energy(&self, x: &[f64]) -> f64 {
        -self.logits.iter().zip(x).map(|(&logit, x)| f64::from(logit) * x).sum::<f64>()
    }

    fn gradient(&self, _x: &[f64]) -> Vec<f64> {
        self.logits.iter().map(|&logit| -f64::from(logit)).collect()
    }
}

/// An RBM over its visible units: `E = −a·v − Σⱼ ln(1 + e^{(Wᵀv + b)ⱼ})`.
#[derive(Clone, Debug)]
pub struct Machine {
    /// W, row-major: visible × hidden.
    pub weights: Vec<f32>,
    /// a, one a visible unit.
    pub visible: Vec<f32>,
    /// b, one a hidden unit.
    pub hidden: Vec<f32>,
}

impl Machine {
    /// `Wᵀv + b`.
    #[must_use]
    pub fn activations(&self, v: &[f64]) -> Vec<f64> {
        let mut sums: Vec<f64> = self.hidden.iter().map(|&b| f64::from(b)).collect();
        for (row, &v) in self.weights.chunks_exact(self.hidden.len()).zip(v) {
            if v != 0.0 {
                for (sum, &w) in sums.iter_mut().zip(row) {
                    *sum += f64::from(w) * v;
                }
            }
        }
        sums
    }

    /// The same machine with its sides exchanged: what was hidden is visible, and Z is the same.
    #[must_use]
    pub fn transposed(&self) -> Self {
        let column = |unit| self.weights.iter().skip(unit).step_by(self.hidden.len()).copied();
        let weights = (0..self.hidden.len()).flat_map(column).collect();
        Self { weights, visible: self.hidden.clone(), hidden: self.visible.clone() }
    }
}

impl Target for Machine {
    fn sites(&self) -> usize {
        self.visible.len()
    }

    fn energy(&self, v: &[f64]) -> f64 {
        let linear: f64 = self.visible.iter().zip(v).map(|(&a, v)| f64::from(a) * v).sum();
        -linear - self.activations(v).into_iter().map(softplus).sum::<f64>()
    }

    fn gradient(&self, v: &[f64]) -> Vec<f64> {
        let on: Vec<f64> = self.activations(v).into_iter().map(sigmoid).collect();
        let rows = self.weights.chunks_exact(self.hidden.len()).zip(&self.visible);
        rows.map(|(row, &a)| -f64::from(a) - row.iter().zip(&on).map(|(&w, s)| f64::from(w) * s).sum::<f64>())
            .collect()
    }

    fn gradient_reach(&self, _x: &[f64]) -> Vec<f64> {
        let rows = self.weights.chunks_exact(self.hidden.len()).zip(&self.visible);
        let reach = rows.map(|(row, &a)| row.iter().map(|w| w.abs()).sum::<f32>() + a.abs());
        reach.map(|reach| RBM_GRADIENT_ROUNDINGS * f64::from(reach)).collect()
    }
}

/// `ln(1 + e^t)`.
#[must_use]
pub fn softplus(t: f64) -> f64 {
    t.max(0.0) + (-t.abs()).exp().ln_1p()
}

/// `1/(1 + e^(−t))`.
#[must_use]
pub fn sigmoid(t: f64) -> f64 {
    let e = (-t.abs()).exp();
    if t < 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) }
}
