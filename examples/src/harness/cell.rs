//! One cell of the table: what is told of the chains of one sampler on one target.

use super::Queries;
use serde::{Deserialize, Serialize};

/// How long, how many, from which seed. Every cell has random numbers of its own: they depend on the seed and
/// the names of target and sampler, not on what else is in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Seed of all random numbers.
    pub seed: u64,
    /// Independent chains.
    pub chains: u32,
    /// Steps of every chain before statistics are taken.
    pub burn_in: u64,
    /// Steps after them.
    pub steps: u64,
}

/// A cell: what depends on the clock apart from what does not.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The same for the same seed, whatever the number of threads.
    pub numbers: Numbers,
    /// Seconds and what is divided by them.
    pub clock: Clock,
}

/// The numbers of a cell that do not depend on the clock, over all chains and the steps after burn-in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Numbers {
    /// The target's name.
    pub target: String,
    /// The sampler's name.
    pub sampler: String,
    /// Its parameters.
    pub parameters: String,
    /// Whether it converges to the target's distribution.
    pub exact: bool,
    /// Independent chains.
    pub chains: u32,
    /// Steps of each before statistics were taken.
    pub burn_in: u64,
    /// Steps of each after that.
    pub steps: u64,
    /// The share of accepted proposals.
    pub acceptance: f64,
    /// Sites that a proposal changes, on average.
    pub proposed_sites_per_step: f64,
    /// Sites that a step changes, on average: the jump distance.
    pub moved_sites_per_step: f64,
    /// Steps that met NaN or −∞.
    pub faults: u64,
    /// Queries of all chains.
    pub queries: Queries,
    /// The smallest effective sample size of a component, all chains together.
    pub ess_min: Option<f64>,
    /// The median over the components.
    pub ess_median: Option<f64>,
    /// Of the energy.
    pub ess_energy: Option<f64>,
    /// Components that never changed: they have no effective sample size and are in none of these numbers.
    pub constant_components: usize,
    /// The smallest effective sample size for every 10,000 queries.
    pub ess_min_per_10000_queries: Option<f64>,
    /// The median one.
    pub ess_median_per_10000_queries: Option<f64>,
    /// The median effective sample size of each chain alone, for 10,000 queries; 0 where it never moved.
    /// Independent values: [`differ`](super::differ()) tells whether two cells differ.
    pub ess_of_chains_per_10000_queries: Vec<f64>,
    /// The largest split R̂ of a component.
    pub split_r_hat_max: Option<f64>,
    /// Mean energy.
    pub mean_energy: f64,
    /// ln of the root mean square error of the components' means, all chains together.
    pub log_rmse: Option<f64>,
    /// Squared MMD of the chains to the target's reference sample.
    pub mmd2: Option<f64>,
    /// How the error of a single chain's means falls from its first step on, burn-in included.
    pub series: Vec<Point>,
}

/// The error of the means after so many steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Steps.
    pub step: u64,
    /// ln of the root mean square error of a chain's means so far, the mean square over components and chains.
    pub log_rmse: f64,
}

/// The numbers of a cell that depend on the clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// The target's name.
    pub target: String,
    /// The sampler's name.
    pub sampler: String,
    /// Processor seconds of stepping the chains after burn-in, added up over the chains: other work on the machine
    /// is not in them.
    pub seconds: f64,
    /// Seconds of a step of one chain, in microseconds.
    pub microseconds_per_step: f64,
    /// The smallest effective sample size for a second of one core.
    pub ess_min_per_second: Option<f64>,
    /// The median one.
    pub ess_median_per_second: Option<f64>,
}
