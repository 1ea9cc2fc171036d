//! ln Z by population annealing.

use crate::Error;
use crate::chains::{bytes, memory, room, streams};
use crate::logz::{Estimate, LogZ, Weights};
use crate::model::Model;
use crate::parts::{Dyn, Parts, Ready};
use crate::progress::Progress;
use crate::ranks::Link;
use crate::run::{held, log_base, start};
use crate::tempering::VecReplica;
use bitmc::energy::Tempered;
use bitmc::temper::{Families, Replica, Resampling, begin, next_beta};
use bitmc::{Energy, Gibbs, LaneRng, Layout, Packed};
use rayon::prelude::*;
use std::ops::Range;

/// Replicas of the pilot run that chooses the temperatures.
const PILOT: usize = 256;
/// The share of equal weights that a step of β leaves.
const SHARE: f32 = 0.9;
/// Temperatures that are too many: energies change by far more than T at each.
const MOST: usize = 100_000;

/// Which replicas are on which rank: shares in a row.
struct Shares<'l> {
    link: Option<&'l Link>,
    rank: usize,
    /// Where the share of each rank ends.
    ends: Vec<usize>,
}

impl<'l> Shares<'l> {
    fn new(size: usize, link: Option<&'l Link>) -> Self {
        let (rank, ranks) = link.map_or((0, 1), Link::place);
        let end = |rank: usize| (size as u128 * (rank as u128 + 1) / ranks as u128) as usize;
        Self { link, rank, ends: (0..ranks).map(end).collect() }
    }

    /// The replicas of this rank.
    fn here(&self) -> Range<usize> {
        let start = if self.rank == 0 { 0 } else { self.ends[self.rank - 1] };
        start..self.ends[self.rank]
    }

    fn rank_of(&self, replica: usize) -> usize {
        self.ends.partition_point(|&end| end <= replica)
    }

    /// What every rank has said.
    fn gather(&self, own: &[u32]) -> Result<Vec<Vec<u32>>, Error> {
        let Some(link) = self.link else { return Ok(vec![own.to_vec()]) };
        let all = link.gather(own.iter().flat_map(|word| word.to_le_bytes()).collect())?;
        let words = |bytes: Vec<u8>| {
            bytes.as_chunks::<4>().0.iter().map(|&word| u32::from_le_bytes(word)).collect::<Vec<u32>>()
        };
        Ok(all.into_iter().map(words).collect())
    }

    /// The gaps of all replicas.
    fn gaps(&self, own: &[f32]) -> Result<Vec<f32>, Error> {
        let own: Vec<u32> = own.iter().map(|gap| gap.to_bits()).collect();
        let all: Vec<f32> = self.gather(&own)?.concat().into_iter().map(f32::from_bits).collect();
        let (need, got) = (self.ends.last().copied().unwrap_or(0), all.len());
        if got == need { Ok(all) } else { Err(Error::Ranks(format!("{got} gaps of {need} were gathered"))) }
    }
}

/// Replicas, each with its own generator. Over ranks each has a share of them, and what is said of all.
struct Population<'e, 'l> {
    shares: Shares<'l>,
    replicas: Vec<VecReplica<'e, Dyn<'e>>>,
    rngs: Vec<LaneRng>,
    /// For resampling.
    shared: LaneRng,
    gaps: Vec<f32>,
    families: Vec<u32>,
    beta: f32,
    log_z: f64,
    /// The relative variance of Z if replicas forgot everything from step to step.
    variance: f64,
    /// What rounding of energies may do to ln Z.
    rounding: f64,
}

impl<'e, 'l> Population<'e, 'l> {
    /// Exact draws from the base.
    fn new(
        model: &Model,
        path: Tempered<'e, Dyn<'e>>,
        (soft, held): (&Ready<'_>, Packed<'_>),
        size: usize,
        link: Option<&'l Link>,
        streams: &mut impl Iterator<Item = LaneRng>,
    ) -> Result<Self, Error> {
        let shares = Shares::new(size, link);
        let shared = streams.next().ok_or_else(|| Error::option("no generator"))?;
        let all: Vec<LaneRng> = streams.take(size).collect();
        let mut rngs = all.get(shares.here()).unwrap_or_default().to_vec();
        let first = |rng: &mut LaneRng| {
            // Any possible state does, for `begin` draws another.
            let words = start(model, path.target(), soft, held, rng)?;
            let state = Packed::new(path.layout(), &words).map_err(Error::model)?;
            let mut replica = Replica::new(path, memory(&path), state).map_err(Error::model)?;
            replica.clamp(held).map_err(Error::model)?;
            let gap = begin(&mut replica, rng).map_err(Error::model)?;
            Ok((replica, gap))
        };
        let drawn: Vec<_> = rngs.par_iter_mut().map(first).collect::<Result<_, Error>>()?;
        let (replicas, gaps): (Vec<_>, Vec<f32>) = drawn.into_iter().unzip();
        let gaps = shares.gaps(&gaps)?;
        let log_z = log_base(model, path.base(), path.target());
        let families = (0..size as u32).collect();
        let (variance, rounding) = (0.0, 0.0);
        Ok(Self { shares, replicas, rngs, shared, gaps, families, beta: 0.0, log_z, variance, rounding })
    }

    /// Goes to the next β: resampling, and a Gibbs sweep of each replica.
    fn step(&mut self, beta: f32) -> Result<(), Error> {
        let step = f64::from(beta - self.beta);
        let weights = Weights::of(&self.gaps.iter().map(|&gap| -step * f64::from(gap)).collect::<Vec<_>>());
        self.resample(beta)?;
        self.log_z += weights.log_mean;
        self.variance += weights.relative_variance;
        self.rounding += weights.rounding;
        let sweep = |(replica, rng): (&mut VecReplica<'e, Dyn<'e>>, &mut LaneRng)| {
            replica.set_beta(beta).map_err(Error::model)?;
            replica.run(&Gibbs::systematic(), rng, 1, &mut ());
            Ok(replica.gap())
        };
        let gaps: Vec<f32> =
            self.replicas.par_iter_mut().zip(&mut self.rngs).map(sweep).collect::<Result<_, Error>>()?;
        self.gaps = self.shares.gaps(&gaps)?;
        self.beta = beta;
        Ok(())
    }

    /// Copies states in place of others. Those that another rank needs are gathered, copy by copy.
    fn resample(&mut self, beta: f32) -> Result<(), Error> {
        let resampling =
            Resampling::new(beta - self.beta, &self.gaps, &mut self.shared).map_err(Error::model)?;
        let moves: Vec<(usize, usize)> = resampling.moves().collect();
        let here = self.shares.here();
        let state_of = |replicas: &[VecReplica<'e, Dyn<'e>>], replica: usize| {
            replicas
                .get(replica - here.start)
                .map(|replica| replica.state().words().to_vec())
                .unwrap_or_default()
        };
        let mut own = Vec::new();
        for &(source, target) in &moves {
            if here.contains(&source) && !here.contains(&target) {
                own.extend(state_of(&self.replicas, source));
            }
        }
        let mut heard: Vec<_> = self.shares.gather(&own)?.into_iter().map(Vec::into_iter).collect();
        let layout = self.replicas.first().map(|replica| replica.state().layout());
        for &(source, target) in &moves {
            let from = self.shares.rank_of(source);
            self.families[target] = self.families[source];
            // All ranks go through what each has said.
            let words = if from != self.shares.rank_of(target) {
                let words = layout.map_or(0, Layout::words);
                heard[from].by_ref().take(words).collect()
            } else if here.contains(&target) {
                state_of(&self.replicas, source)
            } else {
                continue;
            };
            if let Some(layout) = layout.filter(|_| here.contains(&target)) {
                let state = Packed::new(layout, &words).map_err(Error::model)?;
                self.replicas[target - here.start].restart(state).map_err(Error::model)?;
            }
        }
        Ok(())
    }
}

impl LogZ<'_> {
    /// Estimates by a population of this size, on temperatures that a pilot run chose.
    pub(crate) fn population_estimate(&self, size: usize, link: Option<&Link>) -> Result<Estimate, Error> {
        let mut parts = Parts::new(self.model, self.narrow())?;
        let beta = parts.beta();
        let ready = parts.ready()?;
        let cooled = Tempered::new(ready.energy(), beta).map_err(Error::model)?;
        let path = self.path(&cooled)?;
        let mut soft = Parts::soft(self.model, self.narrow())?;
        let soft = soft.ready()?;
        let held = held(self.model);
        let held = Packed::new(Layout::binary(self.model.sites()), &held).map_err(Error::model)?;
        room("population", size, bytes(&path).saturating_add(256))?;
        let mut streams = streams(self.settings.seed);
        let cancelled = || {
            if self.settings.cancel.is_cancelled() { Err(Error::option("it was cancelled")) } else { Ok(()) }
        };

        let mut betas = Vec::new();
        let mut pilot = Population::new(self.model, path, (&soft, held), size.min(PILOT), None, &mut streams)?;
        while pilot.beta < 1.0 {
            cancelled()?;
            if betas.len() == MOST {
                return Err(Error::model(format!(
                    "more than {MOST} temperatures are needed: energies differ by far more than T"
                )));
            }
            let beta = next_beta(pilot.beta, 1.0, &pilot.gaps, SHARE).map_err(Error::model)?;
            pilot.step(beta)?;
            betas.push(beta);
        }
        drop(pilot);

        let mut population = Population::new(self.model, path, (&soft, held), size, link, &mut streams)?;
        let progress = Progress::new(!self.settings.progress, betas.len() as u64);
        for &beta in &betas {
            cancelled()?;
            population.step(beta)?;
            progress.advance(1);
        }
        drop(progress);
        let families = Families::of(&population.families, &mut vec![0; size]).map_err(Error::model)?;
        let error = f64::from(families.relative_error()).max(population.variance.sqrt());
        let (unmet, alike) = self.unmet(population.variance, size);
        let error = error.hypot(population.rounding).hypot(unmet);
        let mean_size = f64::from(families.mean_size());
        let warning = (mean_size > 0.01 * size as f64).then(|| {
            format!(
                "a replica has {mean_size:.0} relatives in a population of {size}: ln Z and its error are doubtful; take a larger population"
            )
        });
        let warning = warning.or(alike);
        Ok(Estimate {
            log_z: population.log_z - self.constant()?,
            error,
            runs: size,
            temperatures: betas.len(),
            effective_runs: size as f64 / mean_size,
            families: Some(families.families() as usize),
            warning,
        })
    }
}
