//! Chains that are told their energies: one evaluation of the batch a step.

use crate::bits::BitRows;
use crate::chains::{VecOpen, open_memory};
use crate::cli::Failure;
use bitmc::open::{Ask, gradient_len};
use bitmc::stats::{Acceptance, Observer};
use bitmc::{Info, LaneRng, Layout, Open, Packed};
use rayon::prelude::*;

/// What evaluates states, several in one call.
pub trait Evaluator: Sync {
    /// Sites and arity.
    fn layout(&self) -> Layout;

    /// The arity of every site, where they differ.
    fn arities(&self) -> Option<&[u16]> {
        None
    }

    /// States of one call. Their number is fixed, so that the draws do not depend on the threads.
    fn block(&self) -> usize {
        8
    }

    /// `E` and `∂E/∂x` of each state, the gradients one after the other.
    ///
    /// # Errors
    /// [`Failure`] where a library fails.
    fn evaluate(
        &self,
        states: &[Packed<'_>],
        energies: &mut [f32],
        gradients: &mut [f32],
    ) -> Result<(), Failure>;
}

/// Chains at other temperatures than 1 are told βE and its gradient: what these are without β.
#[derive(Debug)]
struct Tempered {
    betas: Vec<f32>,
    /// At the states.
    energies: Vec<f32>,
    gradients: Vec<f32>,
    /// With β.
    told: (Vec<f32>, Vec<f32>),
}

/// Energies and gradients times the β of each chain.
fn scale(told: &mut (Vec<f32>, Vec<f32>), betas: &[f32], energies: &[f32], gradients: &[f32]) {
    let length = gradients.len() / betas.len();
    told.0.iter_mut().zip(energies).zip(betas).for_each(|((told, e), beta)| *told = beta * e);
    for ((told, gradient), beta) in told.1.chunks_mut(length).zip(gradients.chunks(length)).zip(betas) {
        told.iter_mut().zip(gradient).for_each(|(told, g)| *told = beta * g);
    }
}

/// Chains over an evaluator.
#[derive(Debug)]
pub struct Chains<'n, N> {
    network: &'n N,
    chains: Vec<VecOpen<'n>>,
    rngs: Vec<LaneRng>,
    /// What each chain's last step did.
    pub infos: Vec<Info>,
    energies: Vec<f32>,
    gradients: Vec<f32>,
    /// Gradients at the states, where the chains keep none.
    kept: Vec<f32>,
    tempered: Option<Tempered>,
    /// What all steps did.
    pub acceptance: Acceptance,
    /// Gradients that were asked for, of all chains together.
    pub gradients_asked: u64,
}

impl<'n, N: Evaluator> Chains<'n, N> {
    /// Chains that start at given states, each with a generator of its own.
    ///
    /// # Errors
    /// [`Failure`] where an energy is not finite.
    pub fn new(network: &'n N, starts: &BitRows, rngs: Vec<LaneRng>) -> Result<Self, Failure> {
        let (count, layout) = (starts.len(), network.layout());
        let length = gradient_len(layout);
        let mut energies = vec![0.0; count];
        let mut gradients = vec![0.0; count * length];
        let starts = starts.rows().map(|row| Packed::new(layout, row)).collect::<Result<Vec<_>, _>>();
        let starts = starts.map_err(Failure::model)?;
        evaluate(network, &starts, &mut energies, &mut gradients)?;
        let told = energies.iter().zip(gradients.chunks(length));
        let open = |(&start, (&energy, gradient))| {
            Open::new(layout, network.arities(), open_memory(layout), start, energy, gradient)
        };
        let chains = starts.iter().zip(told).map(open).collect::<Result<Vec<_>, _>>();
        Ok(Self {
            network,
            chains: chains.map_err(Failure::model)?,
            rngs,
            infos: vec![Info::default(); count],
            tempered: None,
            kept: if layout.row_is_site() { gradients.clone() } else { Vec::new() },
            energies,
            gradients,
            acceptance: Acceptance::new(),
            gradients_asked: count as u64,
        })
    }

    /// One step of every chain: ask each, evaluate all proposals, tell each.
    ///
    /// # Errors
    /// [`Failure`] where the kernel does not fit.
    pub fn step(&mut self, kernel: &(impl Ask + Sync)) -> Result<(), Failure> {
        let Self { network, chains, rngs, infos, energies, gradients, kept, tempered, .. } = self;
        Open::ask_each(chains, kernel, kept, rngs).map_err(Failure::model)?;
        let asked: Vec<_> = chains.iter().filter_map(Open::asked).collect();
        evaluate(*network, &asked, energies, gradients)?;
        let length = gradient_len(network.layout());
        let told = match tempered {
            None => (&*energies, &*gradients),
            Some(tempered) => {
                scale(&mut tempered.told, &tempered.betas, energies, gradients);
                (&tempered.told.0, &tempered.told.1)
            }
        };
        Open::tell_each(chains, told.0, told.1, infos).map_err(Failure::model)?;
        let new = kept.chunks_mut(length).zip(told.1.chunks(length)).zip(&*infos);
        new.filter(|(_, info)| info.accepted).for_each(|((kept, new), _)| kept.copy_from_slice(new));
        if let Some(Tempered { energies: here, gradients: slopes, .. }) = tempered {
            for (chain, _) in infos.iter().enumerate().filter(|(_, info)| info.accepted) {
                let all = chain * length..(chain + 1) * length;
                here[chain] = energies[chain];
                slopes[all.clone()].copy_from_slice(&gradients[all]);
            }
        }
        self.gradients_asked += self.chains.len() as u64;
        for (chain, info) in self.chains.iter().zip(&self.infos) {
            self.acceptance.observe(chain.state(), chain.energy(), info);
        }
        Ok(())
    }

    /// Puts each chain at an inverse temperature β: it draws from p ∝ e^(−βE) from here on.
    ///
    /// # Errors
    /// [`Failure`] where there are not as many as chains, or βE is not finite.
    pub fn set_betas(&mut self, betas: &[f32]) -> Result<(), Failure> {
        if betas.len() != self.chains.len() {
            return Err(Failure::option(format!("{} β for {} chains", betas.len(), self.chains.len())));
        }
        let tempered = match &mut self.tempered {
            Some(tempered) => tempered,
            None => {
                self.evaluate_again()?;
                self.gradients_asked += self.chains.len() as u64;
                let (energies, gradients) = (self.energies.clone(), self.gradients.clone());
                let told = (energies.clone(), gradients.clone());
                self.tempered.insert(Tempered { betas: vec![f32::NAN; betas.len()], energies, gradients, told })
            }
        };
        let length = gradient_len(self.network.layout());
        let changed = tempered.betas.iter().zip(betas).map(|(old, new)| old != new).collect::<Vec<_>>();
        tempered.betas.copy_from_slice(betas);
        scale(&mut tempered.told, betas, &tempered.energies, &tempered.gradients);
        if !self.kept.is_empty() {
            self.kept.copy_from_slice(&tempered.told.1);
        }
        let told = tempered.told.0.iter().zip(tempered.told.1.chunks(length));
        for ((chain, (&energy, gradient)), _) in
            self.chains.iter_mut().zip(told).zip(changed).filter(|(_, changed)| *changed)
        {
            chain.rebind(energy, gradient).map_err(Failure::model)?;
        }
        Ok(())
    }

    /// Evaluates the states again, and nothing else: what a step is measured against.
    ///
    /// # Errors
    /// [`Failure`] where a library fails.
    pub fn evaluate_again(&mut self) -> Result<(), Failure> {
        let states: Vec<_> = self.chains.iter().map(Open::state).collect();
        evaluate(self.network, &states, &mut self.energies, &mut self.gradients)
    }

    /// The states, in the order of the chains.
    #[must_use]
    pub fn states(&self) -> BitRows {
        let mut rows = BitRows::new(self.network.layout());
        self.chains.iter().for_each(|chain| rows.push(chain.state()));
        rows
    }

    /// Those of some chains.
    #[must_use]
    pub fn states_of(&self, chains: &[usize]) -> BitRows {
        let mut rows = BitRows::new(self.network.layout());
        chains.iter().for_each(|&chain| rows.push(self.chains[chain].state()));
        rows
    }

    /// The energies, in the order of the chains, whatever β is.
    pub fn energies(&self) -> impl Iterator<Item = f32> {
        let own = |(chain, open): (usize, &VecOpen<'_>)| match &self.tempered {
            None => open.energy(),
            Some(tempered) => tempered.energies[chain],
        };
        self.chains.iter().enumerate().map(own)
    }

    /// The mean of the energies.
    #[must_use]
    pub fn mean_energy(&self) -> f64 {
        self.energies().map(f64::from).sum::<f64>() / self.chains.len() as f64
    }
}

fn evaluate(
    network: &impl Evaluator,
    states: &[Packed<'_>],
    energies: &mut [f32],
    gradients: &mut [f32],
) -> Result<(), Failure> {
    let block = network.block();
    let gradients = gradients.par_chunks_mut(block * gradient_len(network.layout()));
    let blocks = states.par_chunks(block).zip(energies.par_chunks_mut(block)).zip(gradients);
    blocks.try_for_each(|((x, energies), gradients)| network.evaluate(x, energies, gradients))
}
