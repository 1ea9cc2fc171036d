//! A naive discrete Langevin sampler in float64, straight from METHODS.md §1, and broken variants of it.

use crate::enumerate::{Distribution, values};
use crate::matrix::Transitions;
use crate::naive::Target;
use crate::tolerance::{LOG_ROUNDINGS, LOGIT_ROUNDINGS, ROUNDING, SITE_ROUNDINGS};

/// What is wrong with a broken variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// Nothing.
    None,
    /// The acceptance ratio leaves the proposal out.
    NoReverse,
    /// The acceptance ratio takes half of the energy.
    HalfEnergy,
    /// The way back is computed with the gradient at the start.
    StaleReverse,
    /// The gradient has the other sign.
    WrongSign,
    /// The acceptance ratio takes log p and log(1−p) from an f32 p, clamped away from 0 and 1.
    ClampedLog,
}

/// The parameters of a discrete Langevin sampler.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// β.
    pub balance: f64,
    /// c, one a site.
    pub curvature: Vec<f64>,
    /// The mask of the clamped sites.
    pub held: usize,
    /// Log odds are cut to ± this.
    pub limit: f64,
}

impl Proposal {
    /// The log odds z of flipping each site.
    pub fn logits(&self, target: &(impl Target + ?Sized), state: usize) -> Vec<f64> {
        let x = values(state, target.sites());
        let gradient = target.gradient(&x);
        let sites = x.iter().zip(&gradient).zip(&self.curvature);
        let z = sites.map(|((x, g), c)| self.balance * (1.0 - 2.0 * x) * -g - 0.5 * c);
        z.map(|z| z.clamp(-self.limit, self.limit)).collect()
    }

    /// log q of flipping the sites in `flips`, from the log odds: `Σ_flips z − Σ ln(1+e^z)`.
    #[must_use]
    pub fn log_q(&self, logits: &[f64], flips: usize) -> f64 {
        self.sum(logits, flips, |z, flips| {
            (if flips { z } else { 0.0 }) - z.max(0.0) - (-z.abs()).exp().ln_1p()
        })
    }

    /// The same, from f32 probabilities.
    fn clamped_log_q(&self, logits: &[f64], flips: usize) -> f64 {
        self.sum(logits, flips, |z, flips| {
            let p = (1.0 / (1.0 + (-z as f32).exp())).clamp(f32::EPSILON, 1.0 - f32::EPSILON);
            f64::from(if flips { p.ln() } else { (1.0 - p).ln() })
        })
    }

    fn sum(&self, logits: &[f64], flips: usize, site: impl Fn(f64, bool) -> f64) -> f64 {
        if flips & self.held != 0 {
            return f64::NEG_INFINITY;
        }
        let free = logits.iter().enumerate().filter(|(index, _)| (self.held >> index) & 1 == 0);
        free.map(|(index, &z)| site(z, (flips >> index) & 1 == 1)).sum()
    }

    /// The transitions of a broken variant.
    pub fn variant(
        &self,
        target: &(impl Target + ?Sized),
        distribution: &Distribution,
        defect: Defect,
    ) -> Transitions {
        let states = distribution.energies.len();
        let mut logits: Vec<Vec<f64>> = (0..states).map(|state| self.logits(target, state)).collect();
        if defect == Defect::WrongSign {
            // z + c/2 is the gradient's part.
            for z in &mut logits {
                z.iter_mut().zip(&self.curvature).for_each(|(z, c)| *z = -(*z + 0.5 * c) - 0.5 * c);
            }
        }
        Transitions::new(states, |x, y| {
            let forward = self.log_q(&logits[x], x ^ y);
            let mut difference = distribution.energies[y] - distribution.energies[x];
            if defect == Defect::HalfEnergy {
                difference *= 0.5;
            }
            let ratio = match defect {
                Defect::NoReverse => 0.0,
                Defect::StaleReverse => self.log_q(&self.stale(&logits[x], x ^ y), x ^ y) - forward,
                Defect::ClampedLog => {
                    self.clamped_log_q(&logits[y], x ^ y) - self.clamped_log_q(&logits[x], x ^ y)
                }
                _ => self.log_q(&logits[y], x ^ y) - forward,
            };
            (forward, if (x ^ y) & self.held == 0 { ratio - difference } else { f64::NEG_INFINITY })
        })
    }

    /// Log odds at y with the gradient at x: where the site has flipped, the gradient's part changes sign.
    fn stale(&self, logits: &[f64], flips: usize) -> Vec<f64> {
        let sites = logits.iter().zip(&self.curvature).enumerate();
        let flipped = |site: usize| (flips >> site) & 1 == 1;
        sites.map(|(site, (z, c))| if flipped(site) { -(z + 0.5 * c) - 0.5 * c } else { *z }).collect()
    }

    /// The largest distance of a sampler's log q from the formula, in units of the rounding bound of f32
    /// code: at most 1.
    pub fn error(
        &self,
        target: &(impl Target + ?Sized),
        distribution: &Distribution,
        found: &Transitions,
    ) -> f64 {
        let states = distribution.energies.len();
        let mut largest = 0.0f64;
        for x in (0..states).filter(|&x| distribution.probabilities[x] > 0.0) {
            let logits = self.logits(target, x);
            let reach = target.gradient_reach(&values(x, target.sites()));
            let sites = logits.iter().zip(&reach).zip(&self.curvature);
            let roundings: f64 = sites
                .map(|((z, reach), c)| {
                    let logit = LOGIT_ROUNDINGS * (self.balance * reach + 0.5 * c);
                    SITE_ROUNDINGS + if z.abs() < self.limit { logit } else { 0.0 }
                })
                .sum();
            for y in 0..states {
                let (truth, log_q) = (self.log_q(&logits, x ^ y), found.log_q(x, y));
                if truth == log_q {
                    continue; // −∞ where a clamped site would move
                }
                let bound = ROUNDING * (roundings + LOG_ROUNDINGS * (1.0 + truth.abs()));
                let error = (log_q - truth).abs() / bound;
                largest = largest.max(if error.is_nan() { f64::INFINITY } else { error });
            }
        }
        largest
    }
}
