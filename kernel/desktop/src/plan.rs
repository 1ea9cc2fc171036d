//! A sampler with its parameters, and the units that it is made of.

use crate::Error;
use crate::chains::{Moving, Walker, moving_memory};
use crate::pair::{BatchPair, LadderPair};
use crate::parts::{Dyn, Ready};
use crate::second_order::{SecondOrder, Warmed};
use crate::tempering::Tempering;
use crate::together::Together;
use crate::unit::{ExchangeBatch, One, PottsSixteen, Sixteen, Start, Track, Unit};
use crate::{cyclical, second_order, together};
use bitmc::chain::Ring;
use bitmc::energy::Tempered;
use bitmc::lane::LANES;
use bitmc::noise::Dense;
use bitmc::stats::Acceptance;
use bitmc::step::{Cycle, IsingLangevin, SequentialGibbs, SwendsenWang, Wolff};
use bitmc::temper::{Ladder, Rung};
use bitmc::tune::RateTuner;
use bitmc::{
    BlockGibbs, Chain, Energy, Gibbs, GibbsWithGradients, HammingBall, Info, Kernel, LaneRng, Langevin,
    LocallyBalanced, Packed, PathAuxiliary, RandomWalk, Rng,
};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;
use typed_arena::Arena;

/// A sampler with its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Plan {
    /// Sweeps of Gibbs sampling, a site after the other. Ising and Potts models: sixteen chains in the lanes of a register.
    Gibbs,
    /// Block Gibbs sampling of an RBM: all hidden units, then all visible ones.
    BlockGibbs,
    /// All clusters of an Ising or Potts model at once; pays where couplings are not frustrated.
    SwendsenWang,
    /// One cluster of an Ising or Potts model a step.
    Wolff,
    /// The discrete Langevin proposal with the Metropolis test (DMALA).
    Langevin {
        /// α, on the {0, 1} scale.
        step_size: f32,
    },
    /// The any-scale balanced proposal of first order (AB).
    Balanced {
        /// α; infinity is 1e308 as JSON.
        #[serde(with = "step")]
        step_size: f32,
        /// β of the balancing, ½ for DMALA.
        balance: f32,
    },
    /// The any-scale balanced proposal of second order (AB): couplings, step size and balance by [`second_order::tuned`].
    SecondOrder {
        /// The share of the noise that is kept from step to step, from 0 to below 1 ([`Langevin::momentum`]).
        momentum: f32,
    },
    /// A cycle of bold and local Langevin steps (ACS), found by [`cyclical::tuned`] where it is empty.
    Cyclical {
        /// Step size and balance of each step; infinity is 1e308 as JSON.
        #[serde(with = "steps")]
        positions: Vec<(f32, f32)>,
    },
    /// Gibbs with gradients: so many indices a step (GWG).
    GibbsWithGradients {
        /// Indices a step.
        indices: u32,
    },
    /// The path auxiliary sampler: so many indices a step (PAS).
    PathAuxiliary {
        /// Indices a step.
        indices: u32,
    },
    /// The locally balanced proposal from exact differences, one site a step (LB-1).
    LocallyBalanced,
    /// Blocks of sites, drawn jointly among the states within some changes of an auxiliary state.
    HammingBall {
        /// Sites of a block.
        sites: usize,
        /// Most changes.
        radius: usize,
    },
    /// A random walk with the Metropolis test.
    RandomWalk {
        /// Mean number of sites that a proposal changes.
        radius: f32,
    },
    /// Replica exchange over Gibbs sweeps: a ladder of replicas a chain.
    Exchange {
        /// The inverse temperatures, rising to 1.
        betas: Vec<f32>,
    },
    /// Replica exchange over Gibbs sweeps with isoenergetic moves: two ladders a chain, which exchange clusters at
    /// equal temperatures.
    Isoenergetic {
        /// The inverse temperatures, rising to 1.
        betas: Vec<f32>,
    },
}

/// Step sizes as JSON, which has no infinity.
mod step {
    use crate::diagnose::infinite::INFINITE;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(size: &f32, to: S) -> Result<S::Ok, S::Error> {
        if *size == f32::INFINITY { to.serialize_f64(INFINITE) } else { to.serialize_f32(*size) }
    }

    /// As 64 bits: 1e308 is infinite in 32, where serde has an error.
    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<f32, D::Error> {
        Ok(f64::deserialize(from)? as f32)
    }
}

/// The same of the steps of a cycle.
mod steps {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Position(#[serde(with = "super::step")] f32, f32);

    pub(super) fn serialize<S: Serializer>(positions: &[(f32, f32)], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(positions.iter().map(|&(size, balance)| Position(size, balance)))
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Vec<(f32, f32)>, D::Error> {
        let positions = Vec::<Position>::deserialize(from)?;
        Ok(positions.into_iter().map(|Position(size, balance)| (size, balance)).collect())
    }
}

impl std::fmt::Display for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Gibbs => write!(f, "Gibbs sweeps"),
            Self::BlockGibbs => write!(f, "block Gibbs"),
            Self::SwendsenWang => write!(f, "Swendsen-Wang, all clusters a step"),
            Self::Wolff => write!(f, "Wolff, one cluster a step"),
            Self::Langevin { step_size } => write!(f, "Langevin (DMALA), step size {step_size:.3}"),
            Self::Balanced { step_size, balance } => {
                write!(f, "balanced Langevin (AB), step size {step_size:.3}, balance {balance:.2}")
            }
            Self::SecondOrder { momentum: 0.0 } => write!(f, "balanced Langevin of second order (AB)"),
            Self::SecondOrder { momentum } => {
                write!(f, "balanced Langevin of second order (AB), momentum {momentum:.2}")
            }
            Self::Cyclical { positions } => {
                let sizes = positions.iter().map(|position| position.0);
                let (least, most) =
                    sizes.fold((f32::INFINITY, 0.0f32), |(l, m), size| (l.min(size), m.max(size)));
                write!(
                    f,
                    "cyclical Langevin (ACS), {} steps, step sizes {most:.2} to {least:.2}",
                    positions.len()
                )
            }
            Self::GibbsWithGradients { indices } => write!(f, "Gibbs with gradients, {indices} indices a step"),
            Self::PathAuxiliary { indices } => write!(f, "path auxiliary, {indices} indices a step"),
            Self::LocallyBalanced => write!(f, "locally balanced, one site a step"),
            Self::HammingBall { sites, radius } => write!(f, "Hamming balls of {sites} sites, radius {radius}"),
            Self::RandomWalk { radius } => write!(f, "random walk, {radius:.2} sites a proposal"),
            Self::Exchange { betas } => {
                let bottom = betas.first().copied().unwrap_or(0.0);
                write!(
                    f,
                    "replica exchange over Gibbs sweeps, {} replicas from β = {bottom:.3} to 1",
                    betas.len()
                )
            }
            Self::Isoenergetic { betas } => {
                let bottom = betas.first().copied().unwrap_or(0.0);
                let count = betas.len();
                write!(
                    f,
                    "replica exchange with isoenergetic moves, twice {count} replicas from β = {bottom:.3} to 1"
                )
            }
        }
    }
}

/// A kernel for any energy.
#[derive(Clone)]
pub(crate) enum Mover {
    Gibbs(Gibbs),
    Langevin(Langevin<'static>),
    Cyclical(Vec<Langevin<'static>>),
    GibbsWithGradients(GibbsWithGradients),
    PathAuxiliary(PathAuxiliary),
    LocallyBalanced(LocallyBalanced),
    HammingBall(HammingBall),
    RandomWalk(RandomWalk),
}

impl<E: Energy + ?Sized> Kernel<E> for Mover {
    fn step<R: Rng + ?Sized>(&self, ring: Ring<'_, E>, rng: &mut R) -> Info {
        match self {
            Self::Gibbs(kernel) => kernel.step(ring, rng),
            Self::Langevin(kernel) => kernel.step(ring, rng),
            Self::Cyclical(kernels) => match Cycle::new(kernels) {
                Some(cycle) => cycle.step(ring, rng),
                None => Gibbs::systematic().step(ring, rng),
            },
            Self::GibbsWithGradients(kernel) => kernel.step(ring, rng),
            Self::PathAuxiliary(kernel) => kernel.step(ring, rng),
            Self::LocallyBalanced(kernel) => kernel.step(ring, rng),
            Self::HammingBall(kernel) => kernel.step(ring, rng),
            Self::RandomWalk(kernel) => kernel.step(ring, rng),
        }
    }
}

/// What chains are made of: an energy, where they start, and which sites are held.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'e> {
    /// For samplers that are made for one model; where β is 1.
    pub(crate) special: Option<&'e Ready<'e>>,
    /// For all others.
    pub(crate) energy: &'e Dyn<'e>,
    /// A start a chain.
    pub(crate) starts: &'e [Start],
    /// For replicas and their swaps.
    pub(crate) spare: &'e Spare,
    /// The sites that are known.
    pub(crate) held: Packed<'e>,
    /// Of the run.
    pub(crate) seed: u64,
    /// Where couplings that were found live, and kernels that borrow them.
    pub(crate) arena: &'e Arena<SecondOrder>,
    pub(crate) kernels: &'e Arena<Langevin<'e, Dense<'e>>>,
}

/// [`SPARE`] more generators a chain, made when one is asked for: each takes sixteen jumps.
pub(crate) type Spare = LazyLock<Vec<LaneRng>, Box<dyn FnOnce() -> Vec<LaneRng> + Send>>;

/// Generators that a chain has besides its own; one for the swaps, and one for each of at most 32 replicas.
pub(crate) const SPARE: usize = 33;

/// Most values of a site of a Potts model in a batch.
pub(crate) const POTTS_BATCH: usize = 8;

/// A number of chains from which on a batch of sixteen pays.
pub(crate) const BATCH_FROM: usize = 3;

impl Plan {
    /// The units of this sampler over some chains.
    ///
    /// # Errors
    /// [`Error::Option`] where a parameter is illegal, [`Error::Model`] where the sampler is for another model.
    pub(crate) fn units<'e>(&self, ground: &Ground<'e>) -> Result<Vec<Box<dyn Unit + 'e>>, Error> {
        let Ground { special, energy, starts, held, .. } = *ground;
        let all = energy.layout().arity();
        let arity = |site| energy.arities().map_or(all, |each| usize::from(each[site]));
        let free = (0..energy.layout().sites()).filter(|&site| held.get(site) == 0);
        let (two, more) = free.fold((0, 0), |(two, more), site| match arity(site) {
            0 | 1 => (two, more),
            2 => (two + 1, more),
            _ => (two, more + 1),
        });
        // Of known sites, too, a walk draws whether they change: fewer are free than its radius may say.
        let walks = matches!(self, Self::RandomWalk { .. });
        self.check_reach(two, if walks { energy.layout().sites() - two } else { more })?;
        let batched = starts.len() >= BATCH_FROM;
        match (self, special) {
            (Self::Gibbs, Some(Ready::Ising(model))) if batched => {
                let unit = |starts: &[Start]| boxed(Sixteen::new(model, SequentialGibbs, starts, &held));
                starts.chunks(LANES).map(unit).collect()
            }
            (Self::Gibbs, Some(Ready::Ising(model))) => {
                starts.iter().map(|start| boxed(One::new(model, SequentialGibbs, start, &held))).collect()
            }
            (Self::Langevin { step_size }, Some(Ready::Ising(model))) => {
                let kernel = IsingLangevin::adjusted(*step_size).map_err(Error::option)?;
                starts.iter().map(|start| boxed(One::new(model, kernel, start, &held))).collect()
            }
            (Self::Gibbs, Some(Ready::Potts(model))) if batched && energy.layout().arity() <= POTTS_BATCH => {
                macro_rules! by_arity {
                    ($($q:literal)*) => {
                        match energy.layout().arity() {
                            $($q => {
                                let unit = |starts: &[Start]| boxed(PottsSixteen::<$q>::new(model, starts, &held));
                                starts.chunks(LANES).map(unit).collect()
                            })*
                            _ => self.general(ground),
                        }
                    };
                }
                by_arity!(2 3 4 5 6 7 8)
            }
            (
                Self::Langevin { .. } | Self::Balanced { .. } | Self::Cyclical { .. },
                Some(Ready::Rbm(model, coarse)),
            ) if model.hidden_units() >= together::HIDDEN_FROM => {
                let kernels = match self.mover(energy)? {
                    Mover::Langevin(kernel) => vec![kernel],
                    Mover::Cyclical(kernels) => kernels,
                    _ => return self.general(ground),
                };
                let unit = |starts: &[Start]| boxed(Together::new(coarse, kernels.clone(), starts, &held));
                starts.chunks(together::group(starts.len())).map(unit).collect()
            }
            (Self::BlockGibbs, Some(Ready::Rbm(model, _))) => {
                starts.iter().map(|start| boxed(One::new(model, BlockGibbs, start, &held))).collect()
            }
            (Self::BlockGibbs, _) => Err(Error::model("block Gibbs: only an RBM at temperature 1 has it")),
            (Self::SwendsenWang, Some(Ready::Ising(model))) => {
                starts.iter().map(|start| boxed(One::new(model, SwendsenWang, start, &held))).collect()
            }
            (Self::Wolff, Some(Ready::Ising(model))) => {
                starts.iter().map(|start| boxed(One::new(model, Wolff, start, &held))).collect()
            }
            (Self::SwendsenWang, Some(Ready::Potts(model))) => {
                starts.iter().map(|start| boxed(One::new(model, SwendsenWang, start, &held))).collect()
            }
            (Self::Wolff, Some(Ready::Potts(model))) => {
                starts.iter().map(|start| boxed(One::new(model, Wolff, start, &held))).collect()
            }
            (Self::SwendsenWang | Self::Wolff, _) => {
                Err(Error::model("clusters: only Ising, QUBO and Potts models have them"))
            }
            (Self::Exchange { betas } | Self::Isoenergetic { betas }, _) if no_ladder(betas).is_some() => {
                let why = no_ladder(betas).unwrap_or_default();
                Err(Error::option(format!("{self}: {why}")))
            }
            (Self::Isoenergetic { betas }, Some(Ready::Ising(model))) if betas.len() <= LANES => {
                let pairs = starts.iter().zip(ground.spare.chunks(SPARE));
                pairs.map(|(start, spare)| boxed(BatchPair::new(model, betas, start, spare, &held))).collect()
            }
            (Self::Isoenergetic { betas }, _) => {
                let graph = special.and_then(Ready::neighbours).ok_or_else(Error::no_clusters)?;
                let path = Tempered::new(energy, 1.0).map_err(Error::model)?;
                let pairs = starts.iter().zip(ground.spare.chunks(SPARE));
                pairs
                    .map(|(start, spare)| boxed(LadderPair::new(path, graph, betas, start, spare, &held)))
                    .collect()
            }
            (Self::Exchange { betas }, Some(Ready::Ising(model))) if betas.len() <= LANES => {
                let ladders = starts.iter().zip(ground.spare.chunks(SPARE));
                let ladder = |(start, spare): (&Start, &[LaneRng])| {
                    boxed(ExchangeBatch::new(model, betas, start, spare[0].clone(), &held))
                };
                ladders.map(ladder).collect()
            }
            (Self::Exchange { betas }, _) => {
                let path = Tempered::new(energy, 1.0).map_err(Error::model)?;
                let ladder = |(start, spare): (&Start, &[LaneRng])| {
                    boxed(LadderUnit::new(path, betas, start, spare, &held))
                };
                starts.iter().zip(ground.spare.chunks(SPARE)).map(ladder).collect()
            }
            (Self::SecondOrder { momentum }, _) => {
                let found = ground.arena.alloc(second_order::tuned_from(energy, ground.seed, starts)?);
                let (kernel, _) = found.kernel()?;
                let kernel = kernel.momentum(*momentum).map_err(Error::option)?;
                let kernel: &'e Langevin<'e, Dense<'e>> = ground.kernels.alloc(kernel);
                let one = |start: &Start| -> Result<Box<dyn Unit + 'e>, Error> {
                    let state = Packed::new(energy.layout(), &start.words).map_err(Error::model)?;
                    let memory = moving_memory(energy);
                    let mut chain = Chain::new(energy, memory, state).map_err(Error::model)?;
                    chain.clamp(held).map_err(Error::model)?;
                    let rng = start.rng.clone();
                    let walker = Walker { chain, kernel, rng, acceptance: Acceptance::new() };
                    boxed(Ok(Alone(Warmed::new(walker))))
                };
                starts.iter().map(one).collect()
            }
            _ => self.general(ground),
        }
    }

    fn general<'e>(&self, ground: &Ground<'e>) -> Result<Vec<Box<dyn Unit + 'e>>, Error> {
        let mover = self.mover(ground.energy)?;
        let one = if matches!(mover, Mover::Cyclical(_)) { One::keeping } else { One::new };
        let one = |start| boxed(one(ground.energy, mover.clone(), start, &ground.held));
        ground.starts.iter().map(one).collect()
    }

    /// The kernel for any energy.
    pub(crate) fn mover(&self, energy: &Dyn<'_>) -> Result<Mover, Error> {
        let option = |error: bitmc::step::ParameterError| Error::option(format!("{self}: {error}"));
        Ok(match *self {
            Self::Cyclical { ref positions } if positions.is_empty() => {
                return Err(Error::option("a cycle has no steps"));
            }
            Self::Cyclical { ref positions } => Mover::Cyclical(cyclical::kernels(positions)?),
            Self::Gibbs
            | Self::Exchange { .. }
            | Self::Isoenergetic { .. }
            | Self::BlockGibbs
            | Self::SwendsenWang
            | Self::Wolff
            | Self::SecondOrder { .. } => Mover::Gibbs(Gibbs::systematic()),
            Self::Langevin { step_size } => Mover::Langevin(Langevin::adjusted(step_size).map_err(option)?),
            Self::Balanced { step_size, balance } => {
                Mover::Langevin(Langevin::balanced(step_size, balance).map_err(option)?)
            }
            Self::GibbsWithGradients { indices } => {
                Mover::GibbsWithGradients(GibbsWithGradients::new(indices).map_err(option)?)
            }
            Self::PathAuxiliary { indices } => {
                Mover::PathAuxiliary(PathAuxiliary::new(indices).map_err(option)?)
            }
            Self::LocallyBalanced => Mover::LocallyBalanced(LocallyBalanced),
            Self::HammingBall { sites, radius } => {
                Mover::HammingBall(HammingBall::new(energy.layout(), sites, radius).map_err(option)?)
            }
            Self::RandomWalk { radius } => Mover::RandomWalk(RandomWalk::new(radius).map_err(option)?),
        })
    }

    /// Refuses what reaches only a part of the states. Given are the sites that can move: those of two values, and those of
    /// more.
    ///
    /// # Errors
    /// [`Error::Option`] where each step would change all of these sites, or an even number of sites of two values.
    pub fn check_reach(&self, two: usize, more: usize) -> Result<(), Error> {
        let sites = two + more;
        let all = match *self {
            Self::RandomWalk { radius } => radius >= (sites as f32).max(1.5),
            Self::PathAuxiliary { indices } => indices as usize >= sites && two > 1,
            _ => false,
        };
        if all {
            let what = if matches!(self, Self::RandomWalk { .. }) { "a radius" } else { "a number of indices" };
            return Err(Error::option(format!(
                "{self}: all {sites} sites would change at each step; {what} below {sites} is needed"
            )));
        }
        match *self {
            Self::PathAuxiliary { indices } if indices % 2 == 0 && more == 0 && two > 0 => {
                Err(Error::option(format!(
                    "{self}: an even number of sites would change at each step, and the number of ones would stay even or odd; \
                     take an odd number"
                )))
            }
            _ => Ok(()),
        }
    }

    /// The same sampler with another value of its tuned parameter, and the rate of acceptance it is tuned to. None where it has
    /// no such parameter.
    fn with(&self, value: f32) -> Option<(Self, f32)> {
        match *self {
            Self::Langevin { .. } => Some((Self::Langevin { step_size: value }, RateTuner::LOCALLY_BALANCED)),
            Self::Balanced { balance, .. } => {
                Some((Self::Balanced { step_size: value, balance }, RateTuner::LOCALLY_BALANCED))
            }
            Self::RandomWalk { .. } => Some((Self::RandomWalk { radius: value }, RateTuner::RANDOM_WALK)),
            _ => None,
        }
    }

    /// The sampler tuned to its rate of acceptance by a few hundred steps of the first chains, in turn. Itself where nothing is
    /// to be tuned.
    ///
    /// # Errors
    /// As [`Plan::units`].
    pub(crate) fn tuned(&self, ground: &Ground<'_>) -> Result<Self, Error> {
        const CHAINS: usize = 4;
        const STEPS: usize = 150;
        if let Self::Cyclical { positions } = self
            && positions.is_empty()
        {
            let found = cyclical::tuned_from(ground.energy, ground.seed, ground.starts)?;
            return Ok(Self::Cyclical { positions: found.positions });
        }
        let Some((_, rate)) = self.with(1.0) else { return Ok(self.clone()) };
        let sites = ground.energy.layout().sites() as f32;
        let (first, bounds) = match self {
            Self::RandomWalk { .. } => {
                (1.0_f32.min(sites / 4.0).max(0.5), (0.5_f32.min(sites / 4.0), sites.max(4.0) / 4.0))
            }
            _ => (0.2, (1e-3, 1e3)),
        };
        let mut tuner = RateTuner::new(first, bounds, rate).map_err(Error::option)?;
        let one = |start| One::keeping(ground.energy, (), start, &ground.held);
        let mut chains = ground.starts.iter().take(CHAINS).map(one).collect::<Result<Vec<_>, _>>()?;
        let at = |tuner: &RateTuner| self.with(tuner.parameter()).map_or(self.clone(), |(plan, _)| plan);
        for _ in 0..STEPS {
            let kernel = at(&tuner).mover(ground.energy)?;
            chains.iter_mut().for_each(|chain| tuner.observe(&chain.try_step(&kernel)));
        }
        tuner.freeze();
        Ok(at(&tuner))
    }
}

fn boxed<'e>(unit: Result<impl Unit + 'e, Error>) -> Result<Box<dyn Unit + 'e>, Error> {
    Ok(Box::new(unit?))
}

/// A chain or a ladder that moves on its own.
pub(crate) struct Alone<M>(M);

/// Replica exchange over any energy.
type LadderUnit<'e> = Alone<Tempering<'e, Dyn<'e>, Gibbs>>;

impl<'e> LadderUnit<'e> {
    fn new(
        path: Tempered<'e, Dyn<'e>>,
        betas: &[f32],
        start: &Start,
        spare: &[LaneRng],
        held: &Packed<'_>,
    ) -> Result<Self, Error> {
        let kernels = vec![Gibbs::systematic(); betas.len()];
        if betas.len() >= SPARE {
            return Err(Error::option(format!("{} replicas: at most {} are possible", betas.len(), SPARE - 1)));
        }
        // The generator of the swaps is the one after the replicas'.
        let mut streams = spare.iter().cloned();
        let state = Packed::new(path.layout(), &start.words).map_err(Error::model)?;
        let mut ladder =
            Tempering::new(path, (betas, &kernels), 1, Some(state), &mut streams).map_err(Error::model)?;
        ladder.clamp(*held).map_err(Error::model)?;
        Ok(Self(ladder))
    }
}

impl<M: Moving> Unit for Alone<M> {
    fn chains(&self) -> usize {
        1
    }

    fn advance(&mut self, steps: u64) {
        self.0.advance(steps);
    }

    fn record(&self, tracks: &mut [Track]) {
        tracks[0].words.extend_from_slice(self.0.state().words());
        tracks[0].energies.push(self.0.energy());
    }

    fn refresh(&mut self) {
        self.0.refresh();
    }

    fn acceptance(&mut self) -> &mut Acceptance {
        Moving::acceptance(&mut self.0)
    }

    fn ladder(&self) -> Option<&Ladder<Vec<Rung>>> {
        self.0.ladder()
    }
}

impl<M: Moving> bitmc::snapshot::Snapshot for Alone<M> {
    fn save(&self, to: &mut bitmc::snapshot::Writer<'_>) {
        self.0.save(to);
    }

    fn load(&mut self, from: &mut bitmc::snapshot::Reader<'_>) -> Result<(), bitmc::snapshot::SnapshotError> {
        self.0.load(from)
    }
}

/// Why these β are no ladder that draws at β = 1.
fn no_ladder(betas: &[f32]) -> Option<&'static str> {
    if betas.last() != Some(&1.0) {
        return Some("the last β must be 1, where the draws are made");
    }
    let legal = betas.len() > 1 && betas[0] >= 0.0 && betas.is_sorted_by(|a, b| a < b);
    (!legal).then_some("two or more β are needed, from 0 on, each above the one before")
}
