//! Exact distributions by summing over every state, up to 2²⁰ of them.

use crate::naive::Target;

/// The values of state number `state`: site i is bit i; past the bits of a number they come again.
#[must_use]
pub fn values(state: usize, sites: usize) -> Vec<f64> {
    (0..sites).map(|site| (state.wrapping_shr(site as u32) & 1) as f64).collect()
}

/// The distribution `p(x) ∝ e^(−E(x))` over all states of an energy.
#[derive(Clone, Debug)]
pub struct Distribution {
    sites: usize,
    /// log Z.
    pub log_z: f64,
    /// `E` of every state.
    pub energies: Vec<f64>,
    /// `p` of every state.
    pub probabilities: Vec<f64>,
}

impl Distribution {
    /// Sums over the 2^sites states of a target.
    ///
    /// # Panics
    /// Where there are more than 20 sites.
    #[must_use]
    pub fn of(target: &(impl Target + ?Sized)) -> Self {
        let sites = target.sites();
        assert!(sites <= 20, "2^{sites} states are too many to enumerate");
        let energies: Vec<f64> = (0..1 << sites).map(|state| target.energy(&values(state, sites))).collect();
        Self::from_energies(sites, energies)
    }

    /// The distribution of a table of energies, +∞ where a state is forbidden.
    #[must_use]
    pub fn from_energies(sites: usize, energies: Vec<f64>) -> Self {
        let least = energies.iter().copied().fold(f64::INFINITY, f64::min);
        let weights: Vec<f64> = energies.iter().map(|e| (least - e).exp()).collect();
        let sum: f64 = weights.iter().sum();
        let probabilities = weights.iter().map(|w| w / sum).collect();
        Self { sites, log_z: sum.ln() - least, energies, probabilities }
    }

    /// The distribution given that the sites in `held` (a mask) have the values that they have in state `at`.
    #[must_use]
    pub fn given(&self, held: usize, at: usize) -> Self {
        let keep = |(state, &energy): (usize, &f64)| {
            if (state ^ at) & held == 0 { energy } else { f64::INFINITY }
        };
        Self::from_energies(self.sites, self.energies.iter().enumerate().map(keep).collect())
    }

    /// The expectation of a function of the state's number.
    pub fn mean(&self, of: impl Fn(usize) -> f64) -> f64 {
        self.probabilities.iter().enumerate().map(|(state, p)| p * of(state)).sum()
    }

    /// `E[xᵢ]`, one a site.
    #[must_use]
    pub fn means(&self) -> Vec<f64> {
        (0..self.sites).map(|site| self.mean(|state| (state.wrapping_shr(site as u32) & 1) as f64)).collect()
    }

    /// `E[xᵢxⱼ]`.
    #[must_use]
    pub fn pair(&self, i: usize, j: usize) -> f64 {
        self.mean(|state| ((state >> i) & (state >> j) & 1) as f64)
    }

    /// The expectation of the energy.
    #[must_use]
    pub fn mean_energy(&self) -> f64 {
        let terms = self.probabilities.iter().zip(&self.energies);
        terms.map(|(&p, e)| if p > 0.0 { p * e } else { 0.0 }).sum()
    }
}
