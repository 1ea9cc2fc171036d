//! What a core moves at a time: one chain, sixteen chains in the lanes of a batch, or a ladder of replicas.

use crate::Error;
use crate::chains::{VecChain, VecMemory, keeping_memory, memory};
use bitmc::batch::{Batch, BatchKernel, BatchSite, PottsBatch, PottsSite, round};
use bitmc::energy::BaseDistribution;
use bitmc::lane::LANES;
use bitmc::snapshot::{Reader, Snapshot, SnapshotError, Writer};
use bitmc::stats::Acceptance;
use bitmc::step::SequentialGibbs;
use bitmc::temper::{Ladder, Rung};
use bitmc::{Chain, Energy, Gibbs, Ising, Kernel, LaneRng, Packed, Potts};

/// What was recorded of some chains, draw after draw.
#[derive(Clone, Debug, Default)]
pub(crate) struct Track {
    /// Packed states.
    pub(crate) words: Vec<u32>,
    /// E/T of each.
    pub(crate) energies: Vec<f32>,
}

impl Track {
    /// Looks for the memory of more draws, so that there is an error where there is none.
    pub(crate) fn reserve(&mut self, draws: usize, words: usize) -> Result<(), Error> {
        let got = self.words.try_reserve(draws.saturating_mul(words));
        got.and_then(|()| self.energies.try_reserve(draws)).map_err(|_| {
            Error::option(format!("draws: there is no memory for more than {}", self.energies.len()))
        })
    }
}

/// A state to start from, and the generator that goes on from there.
#[derive(Clone)]
pub(crate) struct Start {
    pub(crate) words: Vec<u32>,
    pub(crate) rng: LaneRng,
}

/// Chains that move together. What they do does not depend on other units, so that any core may move any of them.
pub(crate) trait Unit: Send + Snapshot {
    /// How many chains it has.
    fn chains(&self) -> usize;

    /// Moves every chain by so many steps.
    fn advance(&mut self, steps: u64);

    /// Adds the present state of every chain to its track.
    fn record(&self, tracks: &mut [Track]);

    /// Computes energies anew where chains keep theirs: those of equal states are then equal, wherever the chains began.
    fn refresh(&mut self) {}

    /// The statistics of all chains since they were last cleared.
    fn acceptance(&mut self) -> &mut Acceptance;

    /// The ladder, where there is one.
    fn ladder(&self) -> Option<&Ladder<Vec<Rung>>> {
        None
    }
}

/// The snapshot of a unit: its parts, one after the other. What never changes is not in it.
macro_rules! kept {
    ([$($generics:tt)*] $unit:ty: $($part:ident),+) => {
        impl<$($generics)*> Snapshot for $unit {
            fn save(&self, to: &mut Writer<'_>) {
                $(self.$part.save(to);)+
            }

            fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
                $(self.$part.load(from)?;)+
                Ok(())
            }
        }
    };
}

/// One chain.
pub(crate) struct One<'e, E: ?Sized, K> {
    chain: VecChain<'e, E>,
    kernel: K,
    rng: LaneRng,
    acceptance: Acceptance,
}

impl<'e, E: Energy + Sync + ?Sized, K> One<'e, E, K> {
    pub(crate) fn new(energy: &'e E, kernel: K, start: &Start, held: &Packed<'_>) -> Result<Self, Error> {
        Self::over(memory(energy), energy, kernel, start, held)
    }

    /// One whose kernel changes its parameters.
    pub(crate) fn keeping(energy: &'e E, kernel: K, start: &Start, held: &Packed<'_>) -> Result<Self, Error> {
        Self::over(keeping_memory(energy), energy, kernel, start, held)
    }

    fn over(
        memory: VecMemory,
        energy: &'e E,
        kernel: K,
        start: &Start,
        held: &Packed<'_>,
    ) -> Result<Self, Error> {
        let state = Packed::new(energy.layout(), &start.words).map_err(Error::model)?;
        let mut chain = Chain::new(energy, memory, state).map_err(Error::model)?;
        chain.clamp(*held).map_err(Error::model)?;
        Ok(Self { chain, kernel, rng: start.rng.clone(), acceptance: Acceptance::new() })
    }

    /// One step by another kernel.
    pub(crate) fn try_step(&mut self, kernel: &impl Kernel<E>) -> bitmc::Info {
        self.chain.step(kernel, &mut self.rng)
    }
}

impl<E: Energy + Sync + ?Sized, K: Kernel<E> + Send + Sync> Unit for One<'_, E, K> {
    fn chains(&self) -> usize {
        1
    }

    fn advance(&mut self, steps: u64) {
        self.chain.run(&self.kernel, &mut self.rng, steps, &mut self.acceptance);
    }

    fn record(&self, tracks: &mut [Track]) {
        tracks[0].words.extend_from_slice(self.chain.state().words());
        tracks[0].energies.push(self.chain.energy());
    }

    fn refresh(&mut self) {
        // One that cannot be computed stays.
        let _ = self.chain.refresh();
    }

    fn acceptance(&mut self) -> &mut Acceptance {
        &mut self.acceptance
    }
}

kept!([E: Energy + ?Sized, K] One<'_, E, K>: chain, rng, acceptance);

/// Up to sixteen chains of an Ising model in the lanes of a batch.
pub(crate) struct Sixteen<'e, K> {
    batch: Batch<'e, Vec<BatchSite>>,
    chains: usize,
    kernel: K,
    rng: LaneRng,
    acceptance: Acceptance,
}

/// A batch of chains at these states; lanes without one are at the first.
fn batch<'e>(
    model: &'e Ising<'e>,
    starts: &[Start],
    held: &Packed<'_>,
) -> Result<Batch<'e, Vec<BatchSite>>, Error> {
    let layout = model.layout();
    let state = |start: usize| Packed::new(layout, &starts[start].words).map_err(Error::model);
    let mut batch =
        Batch::new(model, vec![BatchSite::new(); layout.sites()], state(0)?).map_err(Error::model)?;
    for lane in 1..starts.len().min(LANES) {
        batch.restart(lane, state(lane)?).map_err(Error::model)?;
    }
    batch.clamp(*held).map_err(Error::model)?;
    Ok(batch)
}

impl<'e, K> Sixteen<'e, K> {
    /// Chains at these states, at most sixteen; the generator is that of the first.
    pub(crate) fn new(
        model: &'e Ising<'e>,
        kernel: K,
        starts: &[Start],
        held: &Packed<'_>,
    ) -> Result<Self, Error> {
        let batch = batch(model, starts, held)?;
        let (chains, rng) = (starts.len().min(LANES), starts[0].rng.clone());
        Ok(Self { batch, chains, kernel, rng, acceptance: Acceptance::new() })
    }
}

/// Adds up what a step of some chains did.
fn count(acceptance: &mut Acceptance, info: &bitmc::batch::BatchInfo, chains: usize) {
    for (chain, &proposed) in info.proposed.iter().enumerate().take(chains) {
        let accepted = info.accepted >> chain & 1;
        acceptance.steps += 1;
        acceptance.accepted += u64::from(accepted);
        acceptance.proposed_flips += u64::from(proposed);
        acceptance.accepted_flips += u64::from(proposed * accepted);
    }
    acceptance.faults += u64::from(info.fault);
}

/// A square of 32 × 32 bits with rows and columns exchanged. It turns the bits of sixteen chains from a word a site
/// to a word a chain.
pub(crate) fn transposed(mut bits: [u32; 32]) -> [u32; 32] {
    let (mut width, mut mask) = (16, 0x0000_FFFF_u32);
    while width > 0 {
        let mut row = 0;
        while row < 32 {
            let swap = ((bits[row] >> width) ^ bits[row + width]) & mask;
            bits[row] ^= swap << width;
            bits[row + width] ^= swap;
            row = (row + width + 1) & !width;
        }
        width /= 2;
        mask ^= mask << width;
    }
    bits
}

/// Adds the states of a batch to tracks, a chain each.
fn record_batch(batch: &Batch<'_, Vec<BatchSite>>, tracks: &mut [Track]) {
    let sites = batch.model().form().sites();
    for first in (0..sites).step_by(32) {
        let words = transposed(std::array::from_fn(|site| batch.values(first + site)));
        tracks.iter_mut().zip(words).for_each(|(track, word)| track.words.push(word));
    }
    for (chain, track) in tracks.iter_mut().enumerate() {
        track.energies.push(batch.energy(chain));
    }
}

impl<K: BatchKernel + Send> Unit for Sixteen<'_, K> {
    fn chains(&self) -> usize {
        self.chains
    }

    fn advance(&mut self, steps: u64) {
        for _ in 0..steps {
            let info = self.batch.step(&self.kernel, &mut self.rng);
            count(&mut self.acceptance, &info, self.chains);
        }
    }

    fn record(&self, tracks: &mut [Track]) {
        record_batch(&self.batch, tracks);
    }

    fn acceptance(&mut self) -> &mut Acceptance {
        &mut self.acceptance
    }
}

kept!([K] Sixteen<'_, K>: batch, rng, acceptance);

/// Up to sixteen chains of a Potts model of `Q` values, by Gibbs sweeps.
pub(crate) struct PottsSixteen<'e, const Q: usize> {
    batch: PottsBatch<'e, Vec<PottsSite<Q>>, Q>,
    chains: usize,
    rng: LaneRng,
    acceptance: Acceptance,
}

impl<'e, const Q: usize> PottsSixteen<'e, Q> {
    pub(crate) fn new(model: &'e Potts<'e>, starts: &[Start], held: &Packed<'_>) -> Result<Self, Error> {
        let layout = model.layout();
        let state = |start: usize| Packed::new(layout, &starts[start].words).map_err(Error::model);
        let sites = vec![PottsSite::<Q>::new(); layout.sites()];
        let mut batch = PottsBatch::new(model, sites, state(0)?).map_err(Error::model)?;
        for lane in 1..starts.len().min(LANES) {
            batch.restart(lane, state(lane)?).map_err(Error::model)?;
        }
        batch.clamp(*held).map_err(Error::model)?;
        let (chains, rng) = (starts.len().min(LANES), starts[0].rng.clone());
        Ok(Self { batch, chains, rng, acceptance: Acceptance::new() })
    }
}

impl<const Q: usize> Unit for PottsSixteen<'_, Q> {
    fn chains(&self) -> usize {
        self.chains
    }

    fn advance(&mut self, steps: u64) {
        for _ in 0..steps {
            let info = self.batch.step(&Gibbs::systematic(), &mut self.rng);
            count(&mut self.acceptance, &info, self.chains);
        }
    }

    fn record(&self, tracks: &mut [Track]) {
        let layout = self.batch.model().layout();
        let (bits, each) = (layout.field_bits(), layout.fields_per_word());
        let from: Vec<usize> = tracks.iter().map(|track| track.words.len()).collect();
        tracks.iter_mut().for_each(|track| track.words.resize(track.words.len() + layout.words(), 0));
        for site in 0..layout.sites() {
            let values = self.batch.values(site);
            for ((track, from), value) in tracks.iter_mut().zip(&from).zip(values) {
                track.words[from + site / each] |= u32::from(value) << ((site % each) as u32 * bits);
            }
        }
        for (chain, track) in tracks.iter_mut().enumerate() {
            track.energies.push(self.batch.energy(chain));
        }
    }

    fn acceptance(&mut self) -> &mut Acceptance {
        &mut self.acceptance
    }
}

kept!([const Q: usize] PottsSixteen<'_, Q>: batch, rng, acceptance);

/// Replica exchange in a batch: the chains of the batch are the replicas, and the coldest one is the chain to look at.
pub(crate) struct ExchangeBatch<'e> {
    pub(crate) batch: Batch<'e, Vec<BatchSite>>,
    pub(crate) ladder: Ladder<Vec<Rung>>,
    rng: LaneRng,
    swaps: LaneRng,
    acceptance: Acceptance,
}

impl<'e> ExchangeBatch<'e> {
    /// Replicas at these β, at most sixteen, all of which start at one state.
    pub(crate) fn new(
        model: &'e Ising<'e>,
        betas: &[f32],
        start: &Start,
        swaps: LaneRng,
        held: &Packed<'_>,
    ) -> Result<Self, Error> {
        let ladder = Ladder::new(vec![Rung::default(); betas.len()], betas).map_err(Error::model)?;
        let mut rng = start.rng.clone();
        let mut starts = vec![start.clone(); LANES];
        // The coldest replica starts at the state, the others at random ones where no site is known.
        if held.ones() == 0 {
            let base = BaseDistribution::new(model, &[]).map_err(Error::model)?;
            starts.iter_mut().take(betas.len() - 1).for_each(|start| base.draw(&mut rng, &mut start.words));
        }
        let batch = batch(model, &starts, held)?;
        Ok(Self { batch, ladder, rng, swaps, acceptance: Acceptance::new() })
    }

    /// Gives replicas that have changed places the β of their rungs, which they else take in the next round.
    pub(crate) fn take_betas(&mut self) {
        let mut betas = self.batch.betas();
        for rung in self.ladder.rungs() {
            betas[rung.replica()] = rung.beta();
        }
        self.batch.set_betas(betas).expect("a ladder's betas are legal");
    }
}

impl Unit for ExchangeBatch<'_> {
    fn chains(&self) -> usize {
        1
    }

    fn advance(&mut self, steps: u64) {
        for _ in 0..steps {
            let kernels = [SequentialGibbs; LANES];
            round(&mut self.ladder, &mut self.batch, &kernels, 1, &mut self.rng, &mut self.swaps);
        }
    }

    fn record(&self, tracks: &mut [Track]) {
        let coldest = self.ladder.coldest();
        let mut all = vec![Track::default(); LANES];
        record_batch(&self.batch, &mut all);
        tracks[0].words.append(&mut all[coldest].words);
        tracks[0].energies.append(&mut all[coldest].energies);
    }

    fn acceptance(&mut self) -> &mut Acceptance {
        &mut self.acceptance
    }

    fn ladder(&self) -> Option<&Ladder<Vec<Rung>>> {
        Some(&self.ladder)
    }
}

kept!([] ExchangeBatch<'_>: batch, ladder, rng, swaps, acceptance);
