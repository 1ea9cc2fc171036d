//! Many temperatures: replica exchange over any kernel, cluster moves between replicas, annealed importance sampling,
//! population annealing.
//!
//! All walk along a [`Tempered`](crate::energy::Tempered) path `E_β = βE + (1 − β)E₀`. A [`Replica`] is a chain whose β can be
//! changed. A [`Ladder`] knows which replica is at which β. It decides swaps from energies alone, so that replicas
//! may live anywhere. The functions [`forward`] and [`reverse`] take one replica along the whole path and weigh it.
//! The functions [`begin`], [`next_beta`] and [`resample`] take a population along it.
//!
//! Replica exchange by hand is three lines, in any order over the replicas: set β, take local steps,
//! exchange. For replicas in one slice, [`round`] does so.
//!
//! ```
//! use bitmc::temper::{Ladder, Replica, Rung, round};
//! use bitmc::energy::Tempered;
//! use bitmc::{Ising, LaneRng, Langevin, Layout, SeedableRng, SparseMemory, memory, torus};
//!
//! const L: Layout = Layout::binary(25);
//! let mut couplings = SparseMemory::<25, 100>::new();
//! let model = Ising::spins_edges_once(25, torus(5, 5, 0.6), &[], couplings.borrow())?;
//! let betas = [0.25, 0.5, 0.75, 1.0];
//! let mut ladder = Ladder::new([Rung::default(); 4], &betas)?;
//! let mut rng = LaneRng::seed_from_u64(1);
//! let path = Tempered::new(&model, 1.0)?;
//! let room = || memory!(L, Tempered::cache_len(Ising::cache_len(25)));
//! let mut replica = || Replica::random(path, room(), &mut rng);
//! let mut replicas = [replica()?, replica()?, replica()?, replica()?];
//! let kernels = [Langevin::adjusted(0.6)?; 4]; // one a rung
//! for _ in 0..1000 {
//!     round(&mut ladder, &mut replicas, &kernels, 1, &mut rng);
//! }
//! assert!(ladder.round_trips() > 10);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod anneal;
mod block_gibbs;
mod isoenergetic;
mod ladder;
mod population;
mod replica;
mod snapshot;

pub use anneal::{AnnealError, forward, reverse};
pub use block_gibbs::block_gibbs_round;
pub use isoenergetic::{Isoenergetic, IsoenergeticError, Neighbours};
pub use ladder::{End, Ladder, LadderError, Rung, log_swap_ratio};
pub use population::{Families, PopulationError, Resampling, Reweighted, begin, next_beta, resample};
pub use replica::{Kept, Replica, round};
