//! The replicas dealt out to ranks: replica i lives on rank i mod n, for good.

use crate::Options;
use crate::outcome::{Outcome, digest};
use bitmc::chain::ChainError;
use bitmc::energy::Tempered;
use bitmc::temper::{Ladder, Rung};
use bitmc::{Ising, LaneRng, Langevin};
use bitmc_desktop::Error;
use bitmc_desktop::chains::streams;
use bitmc_desktop::tempering::Member;
use mpi::traits::{Communicator, Equivalence, Root};

/// The rank that decides swaps.
const ROOT: i32 = 0;

/// The first rank's outcome; nothing on the others.
pub(crate) fn run(
    options: &Options,
    model: &Ising<'_>,
    kernel: Langevin<'static>,
) -> Result<Option<Outcome>, Error> {
    let universe = mpi::initialize().ok_or_else(|| Error::option("MPI cannot be initialised"))?;
    let world = universe.world();
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    let path = Tempered::new(model, 1.0).map_err(Error::option)?;
    let replicas = options.replicas as usize;
    // The generators of the replicas, and behind them that of the swaps.
    let generators: Vec<LaneRng> = streams(options.seed).take(replicas + 1).collect();
    let own = (rank..replicas).step_by(ranks);
    let member = |index: usize| Ok((index, Member::new(path, None, generators[index].clone())?));
    let members: Result<Vec<_>, ChainError> = own.map(member).collect();
    let mut members = members.map_err(Error::option)?;
    let betas = options.betas();
    let mut ladder = Ladder::new(vec![Rung::default(); replicas], &betas).map_err(Error::option)?;
    let mut swaps = generators[replicas].clone();

    let deal = Deal { ranks, slots: replicas.div_ceil(ranks) };
    let mut at = vec![0.0f32; replicas];
    for _ in 0..options.rounds {
        for rung in ladder.rungs() {
            at[rung.replica()] = rung.beta();
        }
        // Only the first rank's ladder knows of swaps.
        world.process_at_rank(ROOT).broadcast_into(&mut at[..]);
        for (index, member) in &mut members {
            member.advance(at[*index], &kernel, options.local);
        }
        let gaps = members.iter().map(|(_, member)| member.replica().gap());
        if let Some(gaps) = deal.gathered(&world, gaps.collect()) {
            ladder.exchange(|index| gaps[deal.place(index)], &mut swaps);
        }
    }
    let digests = deal.gathered(&world, members.iter().map(|(_, member)| digest(member)).collect());
    Ok(digests.map(|digests| {
        let digests = (0..replicas).map(|index| digests[deal.place(index)]).collect();
        Outcome { ladder, digests }
    }))
}

/// Where a replica's number stands among those of all ranks.
struct Deal {
    ranks: usize,
    /// Of every rank; the last ones may be empty.
    slots: usize,
}

impl Deal {
    fn place(&self, replica: usize) -> usize {
        replica % self.ranks * self.slots + replica / self.ranks
    }

    /// One number a replica, from all ranks to the first.
    fn gathered<T>(&self, world: &impl Communicator, mut own: Vec<T>) -> Option<Vec<T>>
    where
        T: Equivalence + Default + Clone,
    {
        own.resize(self.slots, T::default());
        let root = world.process_at_rank(ROOT);
        if world.rank() == ROOT {
            let mut all = vec![T::default(); self.ranks * self.slots];
            root.gather_into_root(&own[..], &mut all[..]);
            Some(all)
        } else {
            root.gather_into(&own[..]);
            None
        }
    }
}
