//! Learning by persistent contrastive divergence: the chains are asked and told, and bound again to each new network.

use super::{Chains, Network, Theta};
use crate::bits::BitRows;
use crate::cli::Failure;
use bitmc::lane::LANES;
use bitmc::learn::{Adam, clip, decay};
use bitmc::{LaneRng, Langevin, Packed, Rng, SeedableRng};
use rayon::join;
use serde::Serialize;

/// How a network learns.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Plan {
    /// Seed of all random numbers.
    pub seed: u64,
    /// Changes of the parameters.
    pub iterations: u64,
    /// Steps of every chain for one change.
    pub steps: u64,
    /// Digits of one change, and persistent chains.
    pub batch: usize,
    /// Chains in one product.
    pub block: usize,
    /// Adam's rate at the beginning; it falls to a tenth along a geometric schedule.
    pub rate: f32,
    /// Weight decay.
    pub decay: f32,
    /// Step size of DMALA.
    pub step_size: f32,
}

/// What learning has shown.
#[derive(Clone, Debug, Serialize)]
pub struct Lesson {
    /// (iteration, mean E of the chains less mean E of the digits): near 0 where the chains follow the network.
    pub gaps: Vec<(u64, f64)>,
    /// The share of proposals that were accepted.
    pub acceptance: f64,
}

/// The norm to which gradients are cut.
const LONGEST: f32 = 10.0;

/// Points of the curve.
const POINTS: u64 = 40;

/// Learns a network from digits.
///
/// # Errors
/// [`Failure`].
pub fn learn(digits: &BitRows, plan: Plan, progress: impl Fn(u64)) -> Result<(Network, Lesson), Failure> {
    let mut rng = LaneRng::seed_from_u64(plan.seed);
    let means = digits.means();
    let mut theta = Theta::start(&means, &mut rng);
    let mut network = Network::new(&theta);
    let mut chains = Chains::new(&network, &means, (plan.batch, plan.block), !plan.seed)?;
    let kernel = Langevin::adjusted(plan.step_size)?;
    let mut moments = vec![[0.0; LANES]; 2 * theta.0.len()];
    let mut adam = Adam::new(&mut moments, plan.rate)?;
    let mut gaps = Vec::new();
    for iteration in 0..plan.iterations {
        for _ in 0..plan.steps {
            chains.step(&network, &kernel)?;
            progress(1);
        }
        let mut sample = || digits.row(rng.next_u32() as usize % digits.len()).to_vec();
        let rows: Vec<Vec<u32>> = (0..plan.batch).map(|_| sample()).collect();
        let states = chains.states();
        let of = |row| Packed::new(digits.layout(), row).expect("a row of bits");
        let (mut gradient, other) = join(
            || network.mean_gradient(rows.iter().map(|row| of(row))),
            || network.mean_gradient(states.rows().map(of)),
        );
        let terms = gradient.0.as_flattened_mut().iter_mut().zip(other.0.as_flattened());
        terms.for_each(|(data, chains)| *data -= chains);
        if (iteration + 1) % plan.iterations.div_ceil(POINTS) == 0 || iteration + 1 == plan.iterations {
            let mean = rows.iter().map(|row| f64::from(bitmc::Function::total(&network, of(row)))).sum::<f64>()
                / rows.len() as f64;
            gaps.push((iteration + 1, chains.mean_energy() - mean));
        }
        clip(LONGEST, &mut gradient.0);
        decay(plan.decay, &theta.0, &mut gradient.0);
        adam.set_rate(plan.rate * 0.1f32.powf(iteration as f32 / plan.iterations as f32))?;
        adam.step(&gradient.0, &mut theta.0);
        network = Network::new(&theta);
        chains.rebind(&network)?;
    }
    Ok((network, Lesson { gaps, acceptance: f64::from(chains.acceptance.rate()) }))
}
