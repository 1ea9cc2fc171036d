//! Logistic regression over binary coefficients.

use super::numbers::Numbers;
use bitmc::Logistic;
use bitmc::energy::LogisticError;
use bitmc::lane::{Block, LANES};

/// The data of a Bayesian logistic regression with a uniform prior over binary coefficients (AB §5.3 and appendix
/// B.4; d = 100 coefficients, m = 50 observations there).
#[derive(Clone, Debug)]
pub struct Regression {
    rows: Vec<Block>,
    prior: Vec<f32>,
    offsets: Vec<Block>,
    outcomes: Vec<bool>,
}

impl Regression {
    /// Rows of the design from `N(0, ¼ΛΣΛ)` with 1.25 on the diagonal of Σ and .25 beside it, and
    /// `Λⱼⱼ = exp(−.25 + (j − 1)/(d − 1))`; the first seven true coefficients are 1, the others 0; outcomes are drawn
    /// by them.
    ///
    /// # Panics
    /// Where there are fewer than two coefficients or no observations.
    #[must_use]
    pub fn new(coefficients: usize, observations: usize, seed: u64) -> Self {
        assert!(coefficients >= 2 && observations >= 1, "two coefficients and an observation, at least");
        let mut numbers = Numbers::new(seed);
        let (mut design, mut outcomes) = (Vec::new(), Vec::new());
        for _ in 0..observations {
            let common = 0.5 * numbers.normal();
            let mut logit = 0.0;
            for j in 0..coefficients {
                let scale = (-0.25 + j as f64 / (coefficients - 1) as f64).exp();
                let x = (0.5 * scale * (common + numbers.normal())) as f32;
                logit += if j < 7 { f64::from(x) } else { 0.0 };
                design.push(x);
            }
            outcomes.push(numbers.uniform() < 1.0 / (1.0 + (-logit).exp()));
        }
        let blocks = Logistic::row_blocks(observations);
        let mut rows = vec![[0.0; LANES]; coefficients * blocks];
        Logistic::pack(&design, &outcomes, &mut rows).expect("the lengths fit");
        Self { rows, prior: vec![0.0; coefficients], offsets: vec![[0.0; LANES]; blocks], outcomes }
    }

    /// The kernel's energy.
    ///
    /// # Errors
    /// [`LogisticError`]: none for data of [`Regression::new`].
    pub fn energy(&self) -> Result<Logistic<'_>, LogisticError> {
        Logistic::new(&self.rows, &self.prior, &self.offsets, self.outcomes.len())
    }
}
