//! Chains that are told the network's energies: one evaluation of the batch a step.

use crate::network::{BITS, Network};
use bitmc::chain::Ask;
use bitmc::stats::{Acceptance, Observer};
use bitmc::{Info, LaneRng, Open, Packed};
use bitmc_examples::bits::BitRows;
use bitmc_examples::chains::{VecOpen, open_memory};
use bitmc_examples::cli::Failure;
use bitmc_examples::model::DIGIT;
use rayon::prelude::*;

/// States of one evaluation. Their number is fixed, so that the draws do not depend on the threads.
const BLOCK: usize = 8;

/// Chains over a network.
pub struct Chains<'n> {
    network: &'n Network,
    chains: Vec<VecOpen<'static>>,
    rngs: Vec<LaneRng>,
    /// What each chain's last step did.
    pub infos: Vec<Info>,
    states: Vec<f32>,
    energies: Vec<f32>,
    gradients: Vec<f32>,
    /// What all steps did.
    pub acceptance: Acceptance,
    /// Gradients that were asked for, of all chains together.
    pub gradients_asked: u64,
}

impl<'n> Chains<'n> {
    /// Chains that start at given states, each with a generator of its own.
    ///
    /// # Errors
    /// [`Failure`] where an energy is not finite.
    pub fn new(network: &'n Network, starts: &BitRows, rngs: Vec<LaneRng>) -> Result<Self, Failure> {
        let count = starts.len();
        let mut chains = Self {
            network,
            chains: Vec::new(),
            rngs,
            infos: vec![Info::default(); count],
            states: vec![0.0; count * BITS],
            energies: vec![0.0; count],
            gradients: vec![0.0; count * BITS],
            acceptance: Acceptance::new(),
            gradients_asked: 0,
        };
        chains.evaluate(starts.rows().map(|row| Packed::new(DIGIT, row).expect("a row of bits")))?;
        let told = chains.energies.iter().zip(chains.gradients.chunks(BITS));
        let open = |(row, (&energy, gradient))| {
            let start = Packed::new(DIGIT, row).expect("a row of bits");
            Open::new(DIGIT, None, open_memory(DIGIT), start, energy, gradient)
        };
        let opened = starts.rows().zip(told).map(open).collect::<Result<Vec<_>, _>>();
        chains.chains = opened.map_err(Failure::model)?;
        Ok(chains)
    }

    /// One step of every chain: ask each, evaluate all proposals, tell each.
    ///
    /// # Errors
    /// [`Failure`] where the kernel does not fit.
    pub fn step(&mut self, kernel: &(impl Ask + Sync)) -> Result<(), Failure> {
        Open::ask_each(&mut self.chains, kernel, &[], &mut self.rngs).map_err(Failure::model)?;
        let chains = std::mem::take(&mut self.chains);
        self.evaluate(chains.iter().filter_map(Open::asked))?;
        self.chains = chains;
        let Self { chains, energies, gradients, infos, .. } = self;
        Open::tell_each(chains, energies, gradients, infos).map_err(Failure::model)?;
        for (chain, info) in self.chains.iter().zip(&self.infos) {
            self.acceptance.observe(chain.state(), chain.energy(), info);
        }
        Ok(())
    }

    fn evaluate<'x>(&mut self, states: impl Iterator<Item = Packed<'x>>) -> Result<(), Failure> {
        for (state, x) in states.zip(self.states.chunks_mut(BITS)) {
            state.values().zip(x).for_each(|(value, x)| *x = value as f32);
        }
        self.gradients_asked += self.energies.len() as u64;
        let energies = self.energies.par_chunks_mut(BLOCK);
        let gradients = self.gradients.par_chunks_mut(BLOCK * BITS);
        let blocks = self.states.par_chunks(BLOCK * BITS).zip(energies).zip(gradients);
        blocks
            .try_for_each(|((x, energies), gradients)| self.network.evaluate(x, energies, gradients))
            .map_err(Failure::model)
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
