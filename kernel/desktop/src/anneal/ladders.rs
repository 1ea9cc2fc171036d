//! Runs of replica exchange that look for states of low energy.

use super::fall::{Ends, random};
use crate::Error;
use crate::chains::{memory, streams};
use crate::ladder::{barrier, spaced_between, wanted};
use crate::model::Model;
use crate::pair::{BatchPair, LadderPair, Pair};
use crate::parts::{Dyn, Ready};
use crate::plan::SPARE;
use crate::run::{held, start};
use crate::tempering::Tempering;
use crate::unit::{ExchangeBatch, Start, Unit};
use bitmc::energy::Tempered;
use bitmc::lane::LANES;
use bitmc::temper::{Ladder, Rung};
use bitmc::{Energy, Gibbs, LaneRng, Layout, Packed, Rng};

/// The ends of a ladder are so many times apart, at least.
pub(super) const APART: f64 = 1.5;
/// Rounds of a short run that spaces the temperatures, and how many of them follow each other.
const SHORT: (u64, usize) = (128, 3);
/// Rounds between two looks at the clock.
const LOOK: u64 = 16;

/// Replicas that look for low energies together.
trait Replicas {
    /// A sweep of every replica, and swaps.
    fn round(&mut self);
    /// The replica with the lowest energy, and its energy.
    fn lowest(&self) -> (usize, f32);
    /// The state of a replica.
    fn words(&self, replica: usize) -> Vec<u32>;
    /// One of the ladders.
    fn ladder(&self) -> &Ladder<Vec<Rung>>;
}

/// The first of the lowest.
fn least(energies: impl Iterator<Item = f32>) -> (usize, f32) {
    let lower = |best: (usize, f32), (replica, energy)| if energy < best.1 { (replica, energy) } else { best };
    energies.enumerate().fold((0, f32::INFINITY), lower)
}

impl Replicas for ExchangeBatch<'_> {
    fn round(&mut self) {
        self.advance(1);
    }

    fn lowest(&self) -> (usize, f32) {
        least((0..self.ladder.rungs().len()).map(|chain| self.batch.energy(chain)))
    }

    fn words(&self, replica: usize) -> Vec<u32> {
        let mut words = vec![0; self.batch.model().layout().words()];
        self.batch.state(replica, &mut words).expect("a chain of the batch");
        words
    }

    fn ladder(&self) -> &Ladder<Vec<Rung>> {
        &self.ladder
    }
}

impl<'e> Replicas for Tempering<'e, Dyn<'e>, Gibbs> {
    fn round(&mut self) {
        Tempering::round(self);
    }

    fn lowest(&self) -> (usize, f32) {
        least(self.members().iter().map(|member| member.replica().energy()))
    }

    fn words(&self, replica: usize) -> Vec<u32> {
        self.members()[replica].replica().state().words().to_vec()
    }

    fn ladder(&self) -> &Ladder<Vec<Rung>> {
        Tempering::ladder(self)
    }
}

impl<'e, H: Replicas, G: ?Sized> Replicas for Pair<'e, H, G>
where
    Self: Unit,
{
    fn round(&mut self) {
        self.advance(1);
    }

    fn lowest(&self) -> (usize, f32) {
        let (one, other) = (self.one.lowest(), self.other.lowest());
        if one.1 <= other.1 { one } else { (other.0 + self.one.ladder().rungs().len(), other.1) }
    }

    fn words(&self, replica: usize) -> Vec<u32> {
        let count = self.one.ladder().rungs().len();
        if replica < count { self.one.words(replica) } else { self.other.words(replica - count) }
    }

    fn ladder(&self) -> &Ladder<Vec<Rung>> {
        self.one.ladder()
    }
}

/// What runs of replica exchange are made of.
pub(super) struct Ladders<'e> {
    model: &'e Model,
    ready: &'e Ready<'e>,
    soft: &'e Ready<'e>,
    /// Whether two ladders exchange clusters.
    pair: bool,
    betas: Vec<f32>,
}

impl<'e> Ladders<'e> {
    /// With temperatures at which neighbours swap equally often.
    ///
    /// # Errors
    /// [`Error::Model`] where there is no state to start from, or terms are over too many sites to have clusters.
    pub(super) fn new(
        model: &'e Model,
        (ready, soft): (&'e Ready<'e>, &'e Ready<'e>),
        pair: bool,
        (hot, cold): (f64, f64),
        rng: &mut LaneRng,
    ) -> Result<Self, Error> {
        let hot = hot.max(APART * cold);
        // The lanes of a batch are there in any case.
        let batch = matches!(ready, Ready::Ising(_));
        let most = if batch { LANES } else { SPARE / (1 + usize::from(pair)) - 1 };
        let ends = ((1.0 / hot) as f32, (1.0 / cold) as f32);
        let betas = spaced_between(ends, most.min(LANES));
        let mut made = Self { model, ready, soft, pair, betas };
        for _ in 0..SHORT.1 {
            let mut replicas = made.make(rng)?;
            (0..SHORT.0).for_each(|_| replicas.round());
            let mut betas = made.betas.clone();
            replicas.ladder().respaced(&mut betas);
            let count = wanted(barrier(replicas.ladder()), most);
            if !batch && count < betas.len() {
                betas = spaced_between(ends, count);
            }
            drop(replicas);
            // Rounding may leave two of them equal.
            if betas.windows(2).all(|pair| pair[0] < pair[1]) {
                made.betas = betas;
            }
        }
        Ok(made)
    }

    /// Sweeps of a round, all replicas together.
    pub(super) fn sweeps(&self) -> u64 {
        let count = if matches!(self.ready, Ready::Ising(_)) { LANES } else { self.betas.len() };
        (count * (1 + usize::from(self.pair))) as u64
    }

    /// The temperatures of the first and the last rung.
    pub(super) fn ends(&self) -> (f64, f64) {
        let temperature = |beta: Option<&f32>| 1.0 / f64::from(beta.copied().unwrap_or(1.0));
        (temperature(self.betas.first()), temperature(self.betas.last()))
    }

    fn make(&self, rng: &mut LaneRng) -> Result<Box<dyn Replicas + '_>, Error> {
        let (betas, energy) = (&self.betas[..], self.ready.energy());
        let held = held(self.model);
        let held = Packed::new(Layout::binary(energy.layout().sites()), &held).map_err(Error::model)?;
        let mut spare = streams(rng.next_u64());
        if let Ready::Ising(model) = self.ready {
            let first = Start { words: random(self.model, model, rng)?, rng: rng.clone() };
            let spare: Vec<LaneRng> = spare.take(4).collect();
            return Ok(if self.pair {
                Box::new(BatchPair::new(model, betas, &first, &spare, &held)?)
            } else {
                Box::new(ExchangeBatch::new(model, betas, &first, spare[0].clone(), &held)?)
            });
        }
        let words = start(self.model, energy, self.soft, held, rng)?;
        let path = Tempered::new(energy, 1.0).map_err(Error::model)?;
        if self.pair {
            let graph = self.ready.neighbours().ok_or_else(Error::no_clusters)?;
            let spare: Vec<LaneRng> = spare.take(SPARE).collect();
            let first = Start { words, rng: rng.clone() };
            return Ok(Box::new(LadderPair::new(path, graph, betas, &first, &spare, &held)?));
        }
        let state = Packed::new(path.layout(), &words).map_err(Error::model)?;
        let kernels = vec![Gibbs::systematic(); betas.len()];
        let made = Tempering::new(path, (betas, &kernels), 1, Some(state), &mut spare);
        let mut ladder = made.map_err(Error::model)?;
        ladder.clamp(held).map_err(Error::model)?;
        Ok(Box::new(ladder))
    }

    /// The state of the lowest energy that any replica had in so many rounds, or until an energy, and the rounds that
    /// were made. Where time is over before the end it is the best until then.
    pub(super) fn run(
        &self,
        rounds: u64,
        target: f32,
        rng: &mut LaneRng,
        watch: impl Fn() -> bool,
    ) -> Result<(Ends, u64), Error> {
        let energy = self.ready.energy();
        let mut replicas = self.make(rng)?;
        let (mut words, mut best, mut made) = (Vec::new(), f32::INFINITY, 0);
        while made < rounds && (made == 0 || best > target) {
            replicas.round();
            made += 1;
            let (replica, lowest) = replicas.lowest();
            if lowest < best {
                (words, best) = (replicas.words(replica), lowest);
            }
            if made % LOOK == 0 && !watch() {
                break;
            }
        }
        let state = Packed::new(energy.layout(), &words).map_err(Error::model)?;
        let mut cache = memory(energy).cache;
        let total = energy.init(state, &mut cache).map_err(Error::model)?;
        Ok((vec![(words, total)], made))
    }
}
