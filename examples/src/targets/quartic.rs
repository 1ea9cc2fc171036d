//! Quartic mixtures.

use super::numbers::{Numbers, blocks};
use bitmc::Quartic;
use bitmc::energy::QuarticError;
use bitmc::lane::Block;

/// The map and centres of a quartic mixture (AB §5.3 and appendix B.5, after Rhodes and Gutmann; 50 sites of 21
/// values and 50 components there).
#[derive(Clone, Debug)]
pub struct QuarticMixture {
    map: Vec<Block>,
    centres: Vec<Block>,
    sites: usize,
    arity: usize,
}

impl QuarticMixture {
    /// `f(x) = log Σₖ exp(−Σᵢ zₖᵢ⁴)` with `zₖ = P(x/s − bₖ)`, scales `sᵢ = (S − 1) exp(−.5 + (i − 1)/(d − 1))`,
    /// offsets `bₖ = (k − 1)/(K − 1)` in every coordinate, and one uniformly random orthogonal P.
    ///
    /// The paper gives s, b and P (with 20 rows of a rotation of 50 sites, by its text); the text at hand lost its
    /// Equation 45 and the polynomial. Taken here: sites are divided by their scales before b, which lies in
    /// [0, 1], is subtracted, and the polynomial is the sum of the fourth powers of the rotated difference.
    ///
    /// # Panics
    /// Where there are fewer than two sites or components.
    #[must_use]
    pub fn new(sites: usize, arity: usize, components: usize, seed: u64) -> Self {
        assert!(sites >= 2 && components >= 2, "two sites and two components, at least");
        let p = Numbers::new(seed).rotation(sites);
        let scale = |site: usize| (arity - 1) as f64 * (-0.5 + site as f64 / (sites - 1) as f64).exp();
        let map = (0..sites * sites).map(|cell| {
            let (site, coordinate) = (cell / sites, cell % sites);
            p[coordinate][site] / scale(site)
        });
        let turned: Vec<f64> = p.iter().map(|row| row.iter().sum()).collect();
        let centres = (0..components * sites)
            .map(|cell| (cell / sites) as f64 / (components - 1) as f64 * turned[cell % sites]);
        Self { map: blocks(map, sites), centres: blocks(centres, sites), sites, arity }
    }

    /// The kernel's energy.
    ///
    /// # Errors
    /// [`QuarticError`]: none for numbers of [`QuarticMixture::new`] with fewer than 65,537 values.
    pub fn energy(&self) -> Result<Quartic<'_>, QuarticError> {
        Quartic::new(&self.map, &self.centres, self.sites, self.arity)
    }
}
