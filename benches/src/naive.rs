//! The printed algorithms in plain scalar code: the rivals that every bench runs beside the kernel. Each is
//! written as its paper prints it, once, and not tuned for or against.

use rand_core::Rng;
use rand_xoshiro::Xoshiro128PlusPlus;

/// An energy for the naive sampler: `f = −E` and its gradient at a state of one `f32` a site.
pub trait Target {
    /// Log density up to a constant.
    fn log_density(&self, x: &[f32]) -> f32;
    /// Its gradient.
    fn gradient(&self, x: &[f32], out: &mut [f32]);
}

/// `f = Σ wᵢsᵢ + Σ_edges Jᵢⱼsᵢsⱼ`, neighbours in rows.
pub struct Ising {
    /// One field a site.
    pub fields: Vec<f32>,
    /// The neighbours of every site with their couplings.
    pub rows: Vec<Vec<(usize, f32)>>,
}

impl Ising {
    /// From an edge list.
    pub fn new(edges: &[(u32, u32, f32)], fields: &[f32]) -> Self {
        let mut rows = vec![Vec::new(); fields.len()];
        for &(a, b, coupling) in edges {
            rows[a as usize].push((b as usize, coupling));
            rows[b as usize].push((a as usize, coupling));
        }
        Self { fields: fields.to_vec(), rows }
    }

    fn coupled(&self, x: &[f32], site: usize) -> f32 {
        self.rows[site].iter().map(|&(other, coupling)| coupling * (2.0 * x[other] - 1.0)).sum()
    }
}

impl Target for Ising {
    fn log_density(&self, x: &[f32]) -> f32 {
        let spin = |site: usize| 2.0 * x[site] - 1.0;
        let term = |site: usize| spin(site) * (self.fields[site] + 0.5 * self.coupled(x, site));
        (0..x.len()).map(term).sum()
    }

    fn gradient(&self, x: &[f32], out: &mut [f32]) {
        for (site, out) in out.iter_mut().enumerate() {
            *out = 2.0 * (self.fields[site] + self.coupled(x, site));
        }
    }
}

/// `f = a·v + Σⱼ ln(1 + e^{pⱼ})`, `p = Wᵀv + b`, weights row-major.
pub struct Rbm {
    /// W, visible × hidden.
    pub weights: Vec<f32>,
    /// a.
    pub visible: Vec<f32>,
    /// b.
    pub hidden: Vec<f32>,
}

impl Rbm {
    fn preactivations(&self, x: &[f32]) -> Vec<f32> {
        let mut pre = self.hidden.clone();
        for (row, &x) in self.weights.chunks(pre.len()).zip(x) {
            for (pre, &w) in pre.iter_mut().zip(row) {
                *pre += w * x;
            }
        }
        pre
    }
}

/// A chain of block Gibbs over an RBM: two whole products a sweep.
pub struct BlockGibbs<'t> {
    target: &'t Rbm,
    /// The visible units.
    pub x: Vec<f32>,
    rng: Xoshiro128PlusPlus,
}

impl<'t> BlockGibbs<'t> {
    /// Starts at `x`.
    pub fn new(target: &'t Rbm, x: Vec<f32>, rng: Xoshiro128PlusPlus) -> Self {
        Self { target, x, rng }
    }

    /// A sweep: all hidden units, then all visible ones.
    pub fn sweep(&mut self) {
        let mut draw = |log_odds: f32| {
            let u = (self.rng.next_u32() >> 8) as f32 * (1.0 / 16_777_216.0);
            f32::from(u < 1.0 / (1.0 + (-log_odds).exp()))
        };
        let h: Vec<f32> = self.target.preactivations(&self.x).into_iter().map(&mut draw).collect();
        let rows = self.target.weights.chunks(h.len()).zip(&self.target.visible);
        for (x, (row, a)) in self.x.iter_mut().zip(rows) {
            *x = draw(a + row.iter().zip(&h).map(|(w, h)| w * h).sum::<f32>());
        }
    }
}

impl Target for Rbm {
    fn log_density(&self, x: &[f32]) -> f32 {
        let linear: f32 = self.visible.iter().zip(x).map(|(a, x)| a * x).sum();
        let softplus = |p: &f32| p.max(0.0) + (-p.abs()).exp().ln_1p();
        linear + self.preactivations(x).iter().map(softplus).sum::<f32>()
    }

    fn gradient(&self, x: &[f32], out: &mut [f32]) {
        let sigma: Vec<f32> = self.preactivations(x).iter().map(|p| 1.0 / (1.0 + (-p).exp())).collect();
        for ((out, row), a) in out.iter_mut().zip(self.weights.chunks(sigma.len())).zip(&self.visible) {
            *out = a + row.iter().zip(&sigma).map(|(w, s)| w * s).sum::<f32>();
        }
    }
}

/// A chain of the naive sampler.
pub struct Chain<'t, T> {
    target: &'t T,
    /// The state.
    pub x: Vec<f32>,
    y: Vec<f32>,
    gradient: Vec<f32>,
    rng: Xoshiro128PlusPlus,
}

impl<'t, T: Target> Chain<'t, T> {
    /// Starts at `x`.
    pub fn new(target: &'t T, x: Vec<f32>, rng: Xoshiro128PlusPlus) -> Self {
        Self { target, y: x.clone(), gradient: vec![0.0; x.len()], x, rng }
    }

    fn uniform(&mut self) -> f32 {
        (self.rng.next_u32() >> 8) as f32 * (1.0 / 16_777_216.0)
    }

    /// One step of the discrete Langevin sampler with the Metropolis test (DLP Algorithm 2); true where it
    /// was accepted.
    pub fn step(&mut self, step_size: f32) -> bool {
        let flip = |x: f32, g: f32| 1.0 / (1.0 + (-(0.5 * (1.0 - 2.0 * x) * g - 0.5 / step_size)).exp());
        self.target.gradient(&self.x, &mut self.gradient);
        let mut log_q = 0.0;
        for site in 0..self.x.len() {
            let p = flip(self.x[site], self.gradient[site]);
            let flips = self.uniform() < p;
            log_q -= if flips { p.ln() } else { (1.0 - p).ln() };
            self.y[site] = if flips { 1.0 - self.x[site] } else { self.x[site] };
        }
        self.target.gradient(&self.y, &mut self.gradient);
        for site in 0..self.y.len() {
            let p = flip(self.y[site], self.gradient[site]);
            log_q += if self.y[site] == self.x[site] { (1.0 - p).ln() } else { p.ln() };
        }
        let log_ratio = self.target.log_density(&self.y) - self.target.log_density(&self.x) + log_q;
        let accepted = self.uniform().ln() < log_ratio;
        if accepted {
            std::mem::swap(&mut self.x, &mut self.y);
        }
        accepted
    }

    /// One step along a path of flips with the Metropolis test, by softmax probabilities at its two ends:
    /// Gibbs with gradients for one index (GWG Algorithm 1), path auxiliary for more (PAS, with gradients).
    /// True where it was accepted.
    pub fn path_step(&mut self, indices: usize) -> bool {
        let mut p = self.softmax(false);
        let forward = p.clone();
        self.y.clone_from(&self.x);
        let mut path = Vec::with_capacity(indices);
        let mut left = 1.0;
        for _ in 0..indices {
            let mut at = self.uniform() * left;
            let mut site = p.len() - 1;
            for (candidate, p) in p.iter().enumerate() {
                at -= p;
                if at < 0.0 {
                    site = candidate;
                    break;
                }
            }
            left -= p[site];
            p[site] = 0.0;
            self.y[site] = 1.0 - self.y[site];
            path.push(site);
        }
        let log_q = |p: &[f32], path: &mut dyn Iterator<Item = &usize>| {
            let (mut log_q, mut left) = (0.0, 1.0);
            for &site in path {
                log_q += (p[site] / left).ln();
                left -= p[site];
            }
            log_q
        };
        let back = self.softmax(true);
        let log_q: f32 = log_q(&back, &mut path.iter().rev()) - log_q(&forward, &mut path.iter());
        let log_ratio = self.target.log_density(&self.y) - self.target.log_density(&self.x) + log_q;
        let accepted = self.uniform().ln() < log_ratio;
        if accepted {
            std::mem::swap(&mut self.x, &mut self.y);
        }
        accepted
    }

    /// softmax(½(1 − 2x)∂f/∂x) at x, or at y.
    fn softmax(&mut self, at_y: bool) -> Vec<f32> {
        let at = if at_y { &self.y } else { &self.x };
        self.target.gradient(at, &mut self.gradient);
        let logits: Vec<f32> = at.iter().zip(&self.gradient).map(|(x, g)| 0.5 * (1.0 - 2.0 * x) * g).collect();
        let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut p: Vec<f32> = logits.iter().map(|z| (z - most).exp()).collect();
        let sum: f32 = p.iter().sum();
        p.iter_mut().for_each(|p| *p /= sum);
        p
    }
}

/// Sequential Gibbs as printed: each site in turn is drawn from its conditional, the field summed afresh.
pub struct GibbsChain<'t> {
    target: &'t Ising,
    /// The state.
    pub x: Vec<f32>,
    rng: Xoshiro128PlusPlus,
}

impl<'t> GibbsChain<'t> {
    /// Starts at `x`.
    pub fn new(target: &'t Ising, x: Vec<f32>, rng: Xoshiro128PlusPlus) -> Self {
        Self { target, x, rng }
    }

    /// One sweep; the number of sites that changed.
    pub fn sweep(&mut self) -> u32 {
        let mut moved = 0;
        for site in 0..self.x.len() {
            let field = 2.0 * (self.target.fields[site] + self.target.coupled(&self.x, site));
            let p = 1.0 / (1.0 + (-field).exp());
            let u = (self.rng.next_u32() >> 8) as f32 * (1.0 / 16_777_216.0);
            let value = if u < p { 1.0 } else { 0.0 };
            moved += u32::from(value != self.x[site]);
            self.x[site] = value;
        }
        moved
    }
}
