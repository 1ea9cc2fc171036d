//! How far estimates of ratio matching vary that take a few neighbours instead of all.

use crate::bits::BitRows;
use crate::chains::memory;
use crate::cli::Failure;
use bitmc::Packed;
use bitmc::lane::LANES;
use bitmc::learn::{Importance, Learnable, Minibatch};
use rayon::prelude::*;

/// How far estimates from s neighbours of a sample vary, summed over every neighbour.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spread {
    /// |Σ g|².
    pub whole: f64,
    /// The trace of the covariance of an estimate from one neighbour, drawn by the gradient.
    pub guided: f64,
    /// The same of uniform draws.
    pub uniform: f64,
    /// The same of draws ∝ |g|, the least there is.
    pub least: f64,
}

/// For Eq. 2 at a sample: `g_i` is the share of neighbour i in the gradient by θ, n what it is drawn with. The estimate
/// `g_t / n_t` has the covariance trace `Σ |g_i|²/n_i − |Σ g_i|²`.
///
/// # Errors
/// [`Failure::Option`] where ratio matching is not defined for the model.
pub fn spread(model: &dyn Learnable, x: Packed<'_>) -> Result<Spread, Failure> {
    let sites = model.layout().sites();
    let objective = Importance::ratio_matching(1).map_err(Failure::option)?;
    let mut memory = memory(model);
    let mut n = vec![0.0; sites];
    objective.proposal(model, x, &mut memory, &mut n).map_err(Failure::option)?;
    let blocks = model.parameter_len();
    let (mut gradient, mut sum) = (vec![[0.0; LANES]; blocks], vec![0.0f64; LANES * blocks]);
    let mut spread = Spread::default();
    let mut lengths = 0.0;
    for (site, &n) in n.iter().enumerate() {
        let mut batch = Minibatch::new(model, &mut gradient).map_err(Failure::option)?;
        objective.observe_given(model, x, &[site], &mut memory, &mut batch).map_err(Failure::option)?;
        let _ = batch.finish();
        let n = f64::from(n);
        let mut square = 0.0;
        for (sum, &g) in sum.iter_mut().zip(gradient.as_flattened()) {
            let g = f64::from(g) * n;
            *sum += g;
            square += g * g;
        }
        spread.guided += square / n;
        spread.uniform += square * sites as f64;
        lengths += square.sqrt();
    }
    spread.whole = sum.iter().map(|g| g * g).sum();
    spread.guided -= spread.whole;
    spread.uniform -= spread.whole;
    spread.least = lengths * lengths - spread.whole;
    Ok(spread)
}

/// The mean over samples.
///
/// # Errors
/// As [`spread`].
pub fn mean_spread(model: &(dyn Learnable + Sync), samples: &BitRows) -> Result<Spread, Failure> {
    let rows: Vec<&[u32]> = samples.rows().collect();
    let one = |row: &&[u32]| spread(model, Packed::new(samples.layout(), row).map_err(Failure::option)?);
    let all: Vec<Spread> = rows.par_iter().map(one).collect::<Result<_, Failure>>()?;
    let mean = |of: fn(&Spread) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
    Ok(Spread {
        whole: mean(|s| s.whole),
        guided: mean(|s| s.guided),
        uniform: mean(|s| s.uniform),
        least: mean(|s| s.least),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitmc::learn::RatioMatching;
    use bitmc::step::Gibbs;
    use bitmc::{Chain, LaneRng, Rbm, SeedableRng, random};

    /// The sum over neighbours is the gradient over all of them, the least variance is the least, and draws of a few
    /// thousand neighbours vary as the sum says: by the gradient as `guided`, and not as `uniform`.
    #[test]
    fn sums_over_neighbours_are_those_of_draws() {
        let (sites, hidden) = (20, 9);
        let mut rng = LaneRng::seed_from_u64(3);
        let mut theta = vec![[0.0; LANES]; Rbm::parameter_len(sites, hidden)];
        // Lanes past the last unit stay 0.
        let padding = |index: usize| match index {
            0..32 => index >= sites,
            _ => index % LANES >= hidden,
        };
        for (block, values) in theta.iter_mut().enumerate() {
            let normal = random::normals(&mut rng);
            for lane in (0..LANES).filter(|lane| !padding(block * LANES + lane)) {
                values[lane] = 0.9 * normal[lane];
            }
        }
        let model = Rbm::from_parameters(&theta, sites, hidden).unwrap();
        // A state that the model gives.
        let mut chain = Chain::random(&model, memory(&model), &mut rng).unwrap();
        chain.run(&Gibbs::systematic(), &mut rng, 100, &mut ());
        let x = chain.state();
        let found = spread(&model, x).unwrap();
        assert!(found.least <= found.guided && found.least <= found.uniform, "{found:?}");

        let (mut memory, mut gradient) = (memory(&model), vec![[0.0; LANES]; theta.len()]);
        let mut batch = Minibatch::new(&model, &mut gradient).unwrap();
        batch.add(&RatioMatching::SIGMOID, &model, x, &mut memory, &mut rng).unwrap();
        let _ = batch.finish();
        let whole = |gradient: &[[f32; LANES]]| -> Vec<f64> {
            gradient.as_flattened().iter().map(|&g| f64::from(g)).collect()
        };
        let truth = whole(&gradient);
        let square: f64 = truth.iter().map(|g| g * g).sum();
        assert!((found.whole / square - 1.0).abs() < 1e-4);

        let objective = Importance::ratio_matching(1).unwrap();
        let draws = 100_000;
        let mut sum = 0.0;
        for _ in 0..draws {
            let mut batch = Minibatch::new(&model, &mut gradient).unwrap();
            batch.add(&objective, &model, x, &mut memory, &mut rng).unwrap();
            let _ = batch.finish();
            sum += whole(&gradient).iter().zip(&truth).map(|(g, truth)| (g - truth).powi(2)).sum::<f64>();
        }
        let drawn = sum / f64::from(draws);
        assert!((drawn / found.guided - 1.0).abs() < 0.03, "{drawn} {found:?}");
        assert!((drawn / found.uniform - 1.0).abs() > 0.1, "{drawn} {found:?}");
    }
}
