//! A dense network as an energy over digits, evaluated by nalgebra for a whole batch of chains at once, and learned.
//!
//! `E(x) = −b·x − u·φ(W₂ φ(W₁x + b₁) + b₂)` with `φ(z) = z / (1 + e⁻ᶻ)`: 784 bits, then 512 and 64 units. The energies and
//! gradients of a batch take two matrix products forward and two back.
//!
//! The chains are [`Open`]: they know nothing of the network, and are told what it says of their proposals.
//!
//! A matrix product may round a column otherwise where there are more columns. So the batch is cut into blocks of a fixed
//! number of chains: the draws do not depend on the threads. In blocks of one chain, every chain also draws what it would draw
//! alone.

mod learn;
mod network;

pub use learn::{Lesson, Plan, learn};
pub use network::{Batch, Network, Theta};

use crate::bits::BitRows;
use crate::chains::{VecOpen, open_memory, streams};
use crate::model::DIGIT;
use bitmc::open::Ask;
use bitmc::random::uniform;
use bitmc::stats::{Acceptance, Observer};
use bitmc::{Info, LaneRng, Open, OpenError, Packed};
use rayon::prelude::*;

/// States of independent bits, one a generator: a site is 1 as often as `means` says.
#[must_use]
pub fn independent(means: &[f32], rngs: &mut [LaneRng]) -> BitRows {
    let mut states = BitRows::new(DIGIT);
    for rng in rngs {
        let mut words = vec![0; DIGIT.words()];
        for (site, &mean) in means.iter().enumerate() {
            words[site / 32] |= u32::from(uniform(rng) < mean) << (site % 32);
        }
        states.push(Packed::new(DIGIT, &words).expect("words of bits"));
    }
    states
}

/// Open chains over a network, which step together: one evaluation of the batch a step.
#[derive(Debug)]
pub struct Chains {
    chains: Vec<VecOpen<'static>>,
    rngs: Vec<LaneRng>,
    infos: Vec<Info>,
    batch: Batch,
    /// What the steps did since it was last cleared.
    pub acceptance: Acceptance,
}

impl Chains {
    /// Chains that start at independent bits, each with a generator of its own. A site is 1 as often as `means` says. The
    /// network takes `block` chains in one product.
    ///
    /// # Errors
    /// [`OpenError`] where an energy is not finite.
    pub fn new(
        network: &Network,
        means: &[f32],
        (chains, block): (usize, usize),
        seed: u64,
    ) -> Result<Self, OpenError> {
        let mut rngs: Vec<LaneRng> = streams(seed).take(chains).collect();
        let states = independent(means, &mut rngs);
        let mut batch = Batch::new(chains, block);
        let starts = || states.rows().map(|row| Packed::new(DIGIT, row).expect("a row of bits"));
        batch.evaluate(network, starts());
        let chain = |(x, (energy, gradient))| Open::new(DIGIT, None, open_memory(DIGIT), x, energy, gradient);
        let chains: Vec<_> = starts().zip(batch.answers()).map(chain).collect::<Result<_, _>>()?;
        let infos = vec![Info::default(); chains.len()];
        Ok(Self { chains, rngs, infos, batch, acceptance: Acceptance::new() })
    }

    /// One step of every chain: ask each, evaluate all proposals, tell each. The threads share the chains.
    ///
    /// # Errors
    /// [`OpenError`] where the kernel does not fit.
    pub fn step(&mut self, network: &Network, kernel: &(impl Ask + Sync)) -> Result<(), OpenError> {
        let Self { chains, rngs, infos, batch, acceptance } = self;
        let block = batch.block();
        let asked = chains.par_chunks_mut(block).zip(rngs.par_chunks_mut(block));
        asked.try_for_each(|(chains, rngs)| Open::ask_each(chains, kernel, &[], rngs))?;
        batch.evaluate(network, chains.iter().filter_map(Open::asked));
        let told = chains.par_chunks_mut(block).zip(infos.par_chunks_mut(block)).zip(batch.answers_by_block());
        told.try_for_each(|((chains, infos), (energies, gradients))| {
            Open::tell_each(chains, energies, gradients, infos)
        })?;
        for (chain, info) in chains.iter().zip(infos) {
            acceptance.observe(chain.state(), chain.energy(), info);
        }
        Ok(())
    }

    /// Goes on with a network that has changed: tells every chain the energy and the gradient at its state again.
    ///
    /// # Errors
    /// [`OpenError`] where an energy is not finite.
    pub fn rebind(&mut self, network: &Network) -> Result<(), OpenError> {
        self.evaluate(network);
        let mut told = self.chains.iter_mut().zip(self.batch.answers());
        told.try_for_each(|(chain, (energy, gradient))| chain.rebind(energy, gradient))
    }

    /// The batch evaluated at the states, and nothing else: what a step is measured against.
    pub fn evaluate(&mut self, network: &Network) {
        self.batch.evaluate(network, self.chains.iter().map(Open::state));
    }

    /// The states, in the order of the chains.
    #[must_use]
    pub fn states(&self) -> BitRows {
        let mut rows = BitRows::new(DIGIT);
        self.chains.iter().for_each(|chain| rows.push(chain.state()));
        rows
    }

    /// The mean of the energies.
    #[must_use]
    pub fn mean_energy(&self) -> f64 {
        self.chains.iter().map(|chain| f64::from(chain.energy())).sum::<f64>() / self.chains.len() as f64
    }
}
