//! Two ladders of replicas that exchange clusters at equal temperatures, moved as one chain.

use crate::Error;
use crate::parts::Dyn;
use crate::tempering::Tempering;
use crate::unit::{ExchangeBatch, Start, Track, Unit};
use bitmc::energy::Tempered;
use bitmc::snapshot::{Reader, Snapshot, SnapshotError, Writer};
use bitmc::stats::Acceptance;
use bitmc::temper::{Isoenergetic, Ladder, Neighbours, Rung};
use bitmc::{Energy, Gibbs, Ising, LaneRng, Packed};

/// Any energy that knows its neighbours.
pub(crate) type Graph<'e> = dyn Neighbours + Sync + 'e;

/// A step exchanges a cluster at every fourth rung, the next ones in the step after. A look at all sites of two replicas takes
/// about as long as their sweep.
pub(crate) const TURNS: u64 = 4;

/// The rungs at which step `step` exchanges a cluster, of so many.
fn turn(step: u64, rungs: usize) -> impl Iterator<Item = usize> {
    ((step % TURNS) as usize..rungs).step_by(TURNS as usize)
}

/// Two ladders with what exchanges clusters between them. The coldest replica of the first one is the chain to look at.
pub(crate) struct Pair<'e, H, G: ?Sized> {
    pub(crate) one: H,
    pub(crate) other: H,
    clusters: Isoenergetic<'e, G>,
    memory: Vec<u32>,
    rng: LaneRng,
    steps: u64,
}

/// Of an Ising model, each ladder in a batch.
pub(crate) type BatchPair<'e> = Pair<'e, ExchangeBatch<'e>, Ising<'e>>;

/// Of any energy.
pub(crate) type LadderPair<'e> = Pair<'e, Tempering<'e, Dyn<'e>, Gibbs>, Graph<'e>>;

impl<'e, H, G: Neighbours + ?Sized> Pair<'e, H, G> {
    fn of(one: H, other: H, graph: &'e G, rng: LaneRng) -> Self {
        let memory = vec![0; Isoenergetic::memory_len(graph.sites())];
        Self { one, other, clusters: Isoenergetic::new(graph), memory, rng, steps: 0 }
    }
}

impl<'e> BatchPair<'e> {
    pub(crate) fn new(
        model: &'e Ising<'e>,
        betas: &[f32],
        start: &Start,
        spare: &[LaneRng],
        held: &Packed<'_>,
    ) -> Result<Self, Error> {
        let second = Start { words: start.words.clone(), rng: spare[1].clone() };
        let one = ExchangeBatch::new(model, betas, start, spare[0].clone(), held)?;
        let other = ExchangeBatch::new(model, betas, &second, spare[2].clone(), held)?;
        Ok(Self::of(one, other, model, spare[3].clone()))
    }

    fn step(&mut self) {
        self.one.advance(1);
        self.other.advance(1);
        let (one, other) = (&mut self.one, &mut self.other);
        one.take_betas();
        other.take_betas();
        for rung in turn(self.steps, one.ladder.rungs().len()) {
            let chains = (one.ladder.rungs()[rung].replica(), other.ladder.rungs()[rung].replica());
            let to = (&mut other.batch, chains.1);
            let moved =
                one.batch.exchange_cluster(chains.0, to, &self.clusters, &mut self.memory, &mut self.rng);
            moved.expect("batches of one model, chains of one rung");
        }
        self.steps += 1;
    }
}

impl<'e> LadderPair<'e> {
    pub(crate) fn new(
        path: Tempered<'e, Dyn<'e>>,
        graph: &'e Graph<'e>,
        betas: &[f32],
        start: &Start,
        spare: &[LaneRng],
        held: &Packed<'_>,
    ) -> Result<Self, Error> {
        // Two ladders of replicas with a generator each and one for their swaps, and one for the clusters.
        let most = (spare.len() - 1) / 2 - 1;
        if betas.len() > most {
            return Err(Error::option(format!(
                "{} replicas a ladder: at most {most} are possible",
                betas.len()
            )));
        }
        let kernels = vec![Gibbs::systematic(); betas.len()];
        let mut streams = spare.iter().cloned();
        let state = Packed::new(path.layout(), &start.words).map_err(Error::model)?;
        let mut ladder = || -> Result<_, Error> {
            let made = Tempering::new(path, (betas, &kernels), 1, Some(state), &mut streams);
            let mut ladder = made.map_err(Error::model)?;
            ladder.clamp(*held).map_err(Error::model)?;
            Ok(ladder)
        };
        let (one, other) = (ladder()?, ladder()?);
        let rng = streams.next().ok_or_else(|| Error::option("no generator"))?;
        Ok(Self::of(one, other, graph, rng))
    }

    fn step(&mut self) {
        self.one.round();
        self.other.round();
        for rung in turn(self.steps, self.one.ladder().rungs().len()) {
            let moved = self.one.exchange_cluster(
                rung,
                &mut self.other,
                &self.clusters,
                &mut self.memory,
                &mut self.rng,
            );
            moved.expect("ladders of one path");
        }
        self.steps += 1;
    }
}

impl Unit for BatchPair<'_> {
    fn chains(&self) -> usize {
        1
    }

    fn advance(&mut self, steps: u64) {
        (0..steps).for_each(|_| self.step());
    }

    fn record(&self, tracks: &mut [Track]) {
        self.one.record(tracks);
    }

    fn acceptance(&mut self) -> &mut Acceptance {
        self.one.acceptance()
    }

    fn ladder(&self) -> Option<&Ladder<Vec<Rung>>> {
        Some(&self.one.ladder)
    }
}

impl Unit for LadderPair<'_> {
    fn chains(&self) -> usize {
        1
    }

    fn advance(&mut self, steps: u64) {
        (0..steps).for_each(|_| self.step());
    }

    fn record(&self, tracks: &mut [Track]) {
        let replica = self.one.members()[self.one.ladder().coldest()].replica();
        tracks[0].words.extend_from_slice(replica.state().words());
        tracks[0].energies.push(replica.energy());
    }

    fn refresh(&mut self) {
        crate::chains::Moving::refresh(&mut self.one);
        crate::chains::Moving::refresh(&mut self.other);
    }

    fn acceptance(&mut self) -> &mut Acceptance {
        crate::chains::Moving::acceptance(&mut self.one)
    }

    fn ladder(&self) -> Option<&Ladder<Vec<Rung>>> {
        Some(self.one.ladder())
    }
}

impl<H: Snapshot, G: ?Sized> Snapshot for Pair<'_, H, G> {
    fn save(&self, to: &mut Writer<'_>) {
        self.one.save(to);
        self.other.save(to);
        self.rng.save(to);
        self.steps.save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.one.load(from)?;
        self.other.load(from)?;
        self.rng.load(from)?;
        self.steps.load(from)
    }
}
