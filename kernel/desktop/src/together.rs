//! Chains of an RBM that ask for their gradients together.

use crate::Error;
use crate::chains::{VecChain, keeping_memory, memory};
use crate::unit::{Start, Track, Unit};
use bitmc::energy::CoarseRbm;
use bitmc::snapshot::{Reader, Snapshot, SnapshotError, Writer};
use bitmc::stats::{Acceptance, Observer};
use bitmc::step::Cycle;
use bitmc::{Chain, Info, LaneRng, Langevin, Packed};

/// Hidden units from which on the product of weights and activities is most of a step.
pub(crate) const HIDDEN_FROM: usize = 32;

/// Chains of one unit: sixteen read the weights once, fewer where cores would have nothing to do.
pub(crate) fn group(chains: usize) -> usize {
    match chains {
        64.. => 16,
        8.. => 4,
        _ => 1,
    }
}

/// Langevin steps of several chains over an RBM: each is bit for bit the chain that runs alone.
pub(crate) struct Together<'e> {
    chains: Vec<VecChain<'e, CoarseRbm<'e>>>,
    rngs: Vec<LaneRng>,
    infos: Vec<Info>,
    /// One, or those of a cycle.
    kernels: Vec<Langevin<'static>>,
    acceptance: Acceptance,
}

impl<'e> Together<'e> {
    pub(crate) fn new(
        energy: &'e CoarseRbm<'e>,
        kernels: Vec<Langevin<'static>>,
        starts: &[Start],
        held: &Packed<'_>,
    ) -> Result<Self, Error> {
        let one = |start: &Start| -> Result<_, Error> {
            let state = Packed::new(held.layout(), &start.words).map_err(Error::model)?;
            let memory = if kernels.len() > 1 { keeping_memory(energy) } else { memory(energy) };
            let mut chain = Chain::new(energy, memory, state).map_err(Error::model)?;
            chain.clamp(*held).map_err(Error::model)?;
            Ok(chain)
        };
        let chains = starts.iter().map(one).collect::<Result<_, _>>()?;
        let rngs = starts.iter().map(|start| start.rng.clone()).collect();
        let infos = vec![Info::default(); starts.len()];
        Ok(Self { chains, rngs, infos, kernels, acceptance: Acceptance::new() })
    }
}

impl Unit for Together<'_> {
    fn chains(&self) -> usize {
        self.chains.len()
    }

    fn advance(&mut self, steps: u64) {
        for _ in 0..steps {
            let Self { chains, rngs, infos, kernels, acceptance } = self;
            let steps = chains.first().map_or(0, Chain::steps); // all have taken as many
            let Some(kernel) = Cycle::new(kernels).and_then(|cycle| cycle.at(steps)) else { return };
            kernel.step_together(chains, rngs, infos).expect("as many generators as chains");
            chains
                .iter()
                .zip(infos)
                .for_each(|(chain, info)| acceptance.observe(chain.state(), chain.energy(), info));
        }
    }

    fn record(&self, tracks: &mut [Track]) {
        for (chain, track) in self.chains.iter().zip(tracks) {
            track.words.extend_from_slice(chain.state().words());
            track.energies.push(chain.energy());
        }
    }

    fn refresh(&mut self) {
        self.chains.iter_mut().for_each(|chain| _ = chain.refresh());
    }

    fn acceptance(&mut self) -> &mut Acceptance {
        &mut self.acceptance
    }
}

impl Snapshot for Together<'_> {
    fn save(&self, to: &mut Writer<'_>) {
        self.chains.save(to);
        self.rngs.save(to);
        self.acceptance.save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.chains.load(from)?;
        self.rngs.load(from)?;
        self.acceptance.load(from)
    }
}
