//! The printed algorithm over one-hot sites (DLP Algorithm 1, appendix B; logits of METHODS.md §1) in plain scalar
//! code: the rival of the categorical benches.

use rand_core::Rng;
use rand_xoshiro::Xoshiro128PlusPlus;

/// A log density over sites of several values.
pub trait Target {
    /// Values of a site.
    fn arity(&self) -> usize;
    /// Log density up to a constant.
    fn log_density(&self, x: &[usize]) -> f32;
    /// `∂f/∂xᵢₖ` for every site and value, site by site.
    fn gradient(&self, x: &[usize], out: &mut [f32]);
}

/// `f = Σ_edges Jᵢⱼ [xᵢ = xⱼ]`, neighbours in rows.
pub struct Potts {
    arity: usize,
    rows: Vec<Vec<(usize, f32)>>,
}

impl Potts {
    /// From an edge list.
    pub fn new(edges: &[(u32, u32, f32)], sites: usize, arity: usize) -> Self {
        let mut rows = vec![Vec::new(); sites];
        for &(a, b, coupling) in edges {
            rows[a as usize].push((b as usize, coupling));
            rows[b as usize].push((a as usize, coupling));
        }
        Self { arity, rows }
    }
}

impl Target for Potts {
    fn arity(&self) -> usize {
        self.arity
    }

    fn log_density(&self, x: &[usize]) -> f32 {
        let agree = |site: usize| -> f32 {
            self.rows[site].iter().filter(|(other, _)| x[*other] == x[site]).map(|(_, j)| j).sum()
        };
        0.5 * (0..x.len()).map(agree).sum::<f32>()
    }

    fn gradient(&self, x: &[usize], out: &mut [f32]) {
        out.fill(0.0);
        for (row, out) in self.rows.iter().zip(out.chunks_mut(self.arity)) {
            for &(other, coupling) in row {
                out[x[other]] += coupling;
            }
        }
    }
}

/// Independent sites of one table of log weights.
pub struct Table(pub Vec<f32>);

impl Target for Table {
    fn arity(&self) -> usize {
        self.0.len()
    }

    fn log_density(&self, x: &[usize]) -> f32 {
        x.iter().map(|&value| self.0[value]).sum()
    }

    fn gradient(&self, _x: &[usize], out: &mut [f32]) {
        out.chunks_mut(self.0.len()).for_each(|row| row.copy_from_slice(&self.0));
    }
}

/// A chain of the naive sampler.
pub struct Chain<'t, T> {
    target: &'t T,
    x: Vec<usize>,
    gradient: Vec<f32>,
    probabilities: Vec<f32>,
    rng: Xoshiro128PlusPlus,
}

impl<'t, T: Target> Chain<'t, T> {
    /// Starts at `x`.
    pub fn new(target: &'t T, x: Vec<usize>, rng: Xoshiro128PlusPlus) -> Self {
        let cells = x.len() * target.arity();
        Self { target, x, gradient: vec![0.0; cells], probabilities: vec![0.0; cells], rng }
    }

    fn uniform(&mut self) -> f32 {
        (self.rng.next_u32() >> 8) as f32 * (1.0 / 16_777_216.0)
    }

    /// The softmax of every site's logits at `x`.
    fn propose(&mut self, x: &[usize], step_size: f32) {
        let arity = self.target.arity();
        self.target.gradient(x, &mut self.gradient);
        let rows = self.gradient.chunks(arity).zip(self.probabilities.chunks_mut(arity)).zip(x);
        for ((gradient, p), &here) in rows {
            for (k, (p, g)) in p.iter_mut().zip(gradient).enumerate() {
                *p = 0.5 * (g - gradient[here]) - if k == here { 0.0 } else { 1.0 / step_size };
            }
            let most = p.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            p.iter_mut().for_each(|p| *p = (*p - most).exp());
            let sum: f32 = p.iter().sum();
            p.iter_mut().for_each(|p| *p /= sum);
        }
    }

    fn log_q(&self, y: &[usize]) -> f32 {
        let rows = self.probabilities.chunks(self.target.arity());
        rows.zip(y).map(|(p, &value)| p[value].ln()).sum()
    }

    /// One step with the Metropolis test; true where it was accepted.
    pub fn step(&mut self, step_size: f32) -> bool {
        let arity = self.target.arity();
        let x = self.x.clone();
        self.propose(&x, step_size);
        let mut y = x.clone();
        for (site, value) in y.iter_mut().enumerate() {
            let u = self.uniform();
            let row = &self.probabilities[site * arity..(site + 1) * arity];
            let mut sum = 0.0;
            *value = row
                .iter()
                .position(|p| {
                    sum += p;
                    u < sum
                })
                .unwrap_or(arity - 1);
        }
        let forward = self.log_q(&y);
        self.propose(&y, step_size);
        let log_ratio = self.target.log_density(&y) - self.target.log_density(&x) + self.log_q(&x) - forward;
        let accepted = self.uniform().ln() < log_ratio;
        if accepted {
            self.x = y;
        }
        accepted
    }
}

/// Sequential Gibbs as printed: each site in turn is drawn from its conditional, the fields summed afresh.
pub struct GibbsChain<'t> {
    target: &'t Potts,
    /// The state.
    pub x: Vec<usize>,
    probabilities: Vec<f32>,
    rng: Xoshiro128PlusPlus,
}

impl<'t> GibbsChain<'t> {
    /// Starts at `x`.
    pub fn new(target: &'t Potts, x: Vec<usize>, rng: Xoshiro128PlusPlus) -> Self {
        Self { target, x, probabilities: vec![0.0; target.arity], rng }
    }

    /// One sweep; the number of sites that changed.
    pub fn sweep(&mut self) -> u32 {
        let mut moved = 0;
        for (site, row) in self.target.rows.iter().enumerate() {
            let p = &mut self.probabilities;
            p.fill(0.0);
            row.iter().for_each(|&(other, coupling)| p[self.x[other]] += coupling);
            let most = p.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            p.iter_mut().for_each(|p| *p = (*p - most).exp());
            let u = (self.rng.next_u32() >> 8) as f32 * (1.0 / 16_777_216.0) * p.iter().sum::<f32>();
            let mut sum = 0.0;
            let drawn = p.iter().position(|p| {
                sum += p;
                u < sum
            });
            let value = drawn.unwrap_or(p.len() - 1);
            moved += u32::from(value != self.x[site]);
            self.x[site] = value;
        }
        moved
    }
}
