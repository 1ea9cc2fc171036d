//! Replica exchange with the replicas spread over cores or machines: the same bits wherever they are.
//!
//! Every replica has its own generator, and so have the swaps. A replica needs to know nothing of the others but its
//! rung, and the ladder nothing of a replica but its [`gap`](bitmc::temper::Replica::gap): two numbers travel.

use crate::chains::{Moving, add, memory};
use aligned_vec::AVec;
use bitmc::chain::ChainError;
use bitmc::energy::Tempered;
use bitmc::lane::{Bits, Block};
use bitmc::snapshot::{Reader, Snapshot, SnapshotError, Writer};
use bitmc::stats::Acceptance;
use bitmc::temper::{Isoenergetic, IsoenergeticError, Ladder, LadderError, Neighbours, Replica, Rung};
use bitmc::{Energy, Kernel, LaneRng, Packed};
use rayon::prelude::*;

/// A replica in vectors.
pub type VecReplica<'e, E> = Replica<'e, E, Vec<u32>, AVec<Bits>, AVec<Block>>;

/// A replica with its own generator and statistics.
#[derive(Debug)]
pub struct Member<'e, E: ?Sized> {
    replica: VecReplica<'e, E>,
    rng: LaneRng,
    acceptance: Acceptance,
}

impl<'e, E: Energy + ?Sized> Member<'e, E> {
    /// A replica on a path that starts at a state, or at independent uniform values.
    ///
    /// # Errors
    /// As [`Replica::new`].
    pub fn new(path: Tempered<'e, E>, start: Option<Packed<'_>>, mut rng: LaneRng) -> Result<Self, ChainError> {
        let replica = match start {
            Some(start) => Replica::new(path, memory(&path), start)?,
            None => Replica::random(path, memory(&path), &mut rng)?,
        };
        Ok(Self { replica, rng, acceptance: Acceptance::new() })
    }

    /// So many transitions at β.
    pub fn advance(&mut self, beta: f32, kernel: &impl Kernel<Tempered<'e, E>>, steps: u64) {
        // A ladder's β are legal.
        if self.replica.set_beta(beta).is_ok() {
            self.replica.run(kernel, &mut self.rng, steps, &mut self.acceptance);
        }
    }

    /// The replica.
    #[must_use]
    pub fn replica(&self) -> &VecReplica<'e, E> {
        &self.replica
    }
}

/// Why there is no replica exchange.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub enum TemperingError {
    /// Of the ladder.
    #[error(transparent)]
    Ladder(#[from] LadderError),
    /// Of a replica.
    #[error(transparent)]
    Chain(#[from] ChainError),
}

/// A ladder with its replicas, which move on all cores: the coldest one is the chain to look at.
///
/// A step is a round: `local` transitions of every replica at its own temperature, and one exchange.
#[derive(Debug)]
pub struct Tempering<'e, E: ?Sized, K> {
    ladder: Ladder<Vec<Rung>>,
    members: Vec<Member<'e, E>>,
    kernels: Vec<K>,
    local: u64,
    swaps: LaneRng,
    acceptance: Acceptance,
}

impl<'e, E, K> Tempering<'e, E, K>
where
    E: Energy + Sync + ?Sized,
    K: Kernel<Tempered<'e, E>> + Clone + Sync,
{
    /// Replicas at rising `betas`, a kernel each, all at one start or at independent uniform values. It takes a
    /// generator a replica and one more.
    ///
    /// # Errors
    /// [`TemperingError`] where the betas do not rise or a start is not a state of the energy.
    pub fn new(
        path: Tempered<'e, E>,
        (betas, kernels): (&[f32], &[K]),
        local: u64,
        start: Option<Packed<'_>>,
        streams: &mut impl Iterator<Item = LaneRng>,
    ) -> Result<Self, TemperingError> {
        let ladder = Ladder::new(vec![Rung::default(); kernels.len()], betas)?;
        let member = |rng| Member::new(path, start, rng);
        let members = streams.take(betas.len()).map(member).collect::<Result<_, _>>()?;
        let swaps = streams.next().expect("generators do not run out");
        Ok(Self { ladder, members, kernels: kernels.to_vec(), local, swaps, acceptance: Acceptance::new() })
    }

    /// Holds sites at their present values in every replica: those that are 1 in `sites`, a binary state.
    ///
    /// # Errors
    /// As [`Replica::clamp`].
    pub fn clamp(&mut self, sites: Packed<'_>) -> Result<(), ChainError> {
        self.members.iter_mut().try_for_each(|member| member.replica.clamp(sites))
    }

    /// One round: its bits do not depend on the threads.
    pub fn round(&mut self) {
        let (ladder, kernels, local) = (&self.ladder, &self.kernels, self.local);
        self.members.par_iter_mut().enumerate().for_each(|(index, member)| {
            if let Some(rung) = ladder.rung_of(index) {
                member.advance(ladder.rungs()[rung].beta(), &kernels[rung], local);
            }
        });
        let coldest = self.ladder.coldest();
        for (index, member) in self.members.iter_mut().enumerate() {
            let since = std::mem::replace(&mut member.acceptance, Acceptance::new());
            if index == coldest {
                self.acceptance = add(self.acceptance, since);
            }
        }
        let members = &self.members;
        self.ladder.exchange(|index| members[index].replica.gap(), &mut self.swaps);
    }

    /// An isoenergetic move between the replicas at a rung of two ladders of one path. Returns the size of the
    /// cluster; 0 where there is no such rung.
    ///
    /// # Errors
    /// As [`Isoenergetic::step`].
    pub fn exchange_cluster<G: Neighbours + ?Sized>(
        &mut self,
        rung: usize,
        other: &mut Self,
        clusters: &Isoenergetic<'_, G>,
        memory: &mut [u32],
        rng: &mut LaneRng,
    ) -> Result<u32, IsoenergeticError> {
        let (Some(a), Some(b)) = (self.ladder.rungs().get(rung), other.ladder.rungs().get(rung)) else {
            return Ok(0);
        };
        let (one, two) = (&mut self.members[a.replica()].replica, &mut other.members[b.replica()].replica);
        // A ladder's β are legal.
        let _ = (one.set_beta(a.beta()), two.set_beta(b.beta()));
        clusters.step(one, two, memory, rng)
    }

    /// The ladder.
    #[must_use]
    pub fn ladder(&self) -> &Ladder<Vec<Rung>> {
        &self.ladder
    }

    /// The replicas, in an order of their own that never changes.
    #[must_use]
    pub fn members(&self) -> &[Member<'e, E>] {
        &self.members
    }

    fn coldest(&self) -> &VecReplica<'e, E> {
        &self.members[self.ladder.coldest()].replica
    }
}

/// The coldest replica, seen as a chain; its statistics are those of the largest β, whichever replica had it.
impl<'e, E, K> Moving for Tempering<'e, E, K>
where
    E: Energy + Sync + ?Sized,
    K: Kernel<Tempered<'e, E>> + Clone + Send + Sync,
{
    fn advance(&mut self, steps: u64) {
        (0..steps).for_each(|_| self.round());
    }

    fn state(&self) -> Packed<'_> {
        self.coldest().state()
    }

    fn energy(&self) -> f32 {
        self.coldest().energy()
    }

    fn ladder(&self) -> Option<&Ladder<Vec<Rung>>> {
        Some(&self.ladder)
    }

    fn refresh(&mut self) {
        for Member { replica, .. } in &mut self.members {
            let words = replica.state().words().to_vec();
            // Of a state that it was at: possible.
            let _ = Packed::new(replica.state().layout(), &words).map(|state| replica.restart(state));
        }
    }

    fn acceptance(&mut self) -> &mut Acceptance {
        &mut self.acceptance
    }
}

impl<E: Energy + ?Sized> Snapshot for Member<'_, E> {
    fn save(&self, to: &mut Writer<'_>) {
        self.replica.save(to);
        self.rng.save(to);
        self.acceptance.save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.replica.load(from)?;
        self.rng.load(from)?;
        self.acceptance.load(from)
    }
}

/// Whole rounds; the kernels and the transitions of a round are not in it.
impl<E: Energy + ?Sized, K> Snapshot for Tempering<'_, E, K> {
    fn save(&self, to: &mut Writer<'_>) {
        self.ladder.save(to);
        self.members.save(to);
        self.swaps.save(to);
        self.acceptance.save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.ladder.load(from)?;
        self.members.load(from)?;
        self.swaps.load(from)?;
        self.acceptance.load(from)
    }
}
