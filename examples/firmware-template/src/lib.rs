//! A model and its chain, in memory whose size is known when it is compiled.
#![no_std]

use bitmc::chain::ChainError;
use bitmc::energy::SparseError;
use bitmc::step::{ParameterError, SequentialGibbs};
use bitmc::{Chain, Ising, LaneRng, Layout, SeedableRng, SparseMemory, memory, stats::Means, torus};

const L: Layout = Layout::binary(25);
/// Sweeps of a run.
pub const SWEEPS: u64 = 10_000;

/// What can be wrong with a model, its memory or its parameters.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Failure {
    Model(SparseError),
    Chain(ChainError),
    Parameter(ParameterError),
    NoMean,
}

impl From<SparseError> for Failure {
    fn from(error: SparseError) -> Self {
        Self::Model(error)
    }
}

impl From<ChainError> for Failure {
    fn from(error: ChainError) -> Self {
        Self::Chain(error)
    }
}

impl From<ParameterError> for Failure {
    fn from(error: ParameterError) -> Self {
        Self::Parameter(error)
    }
}

/// How often a site of a 5×5 Ising torus is up.
pub fn share_up(seed: u64) -> Result<f32, Failure> {
    let mut couplings = SparseMemory::<25, 100>::new(); // 25 sites, 50 edges seen from both ends
    let model = Ising::spins_edges_once(25, torus(5, 5, 0.2), &[0.2; 25], couplings.borrow())?;
    let (mut rng, mut means) = (LaneRng::seed_from_u64(seed), Means::new([0; 25]));
    let mut chain = Chain::random(&model, memory!(L, Ising::cache_len(25)), &mut rng)?;
    chain.run(&SequentialGibbs, &mut rng, SWEEPS, &mut means);
    means.mean(0).ok_or(Failure::NoMean)
}
