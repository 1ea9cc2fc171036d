//! Bit-sliced spins: 512 chains of one Ising model at once, a bit each, where all couplings have one magnitude.
//!
//! A site is one block of sixteen words, and its bit *n* belongs to chain *n*. Sixteen words of logic update a site
//! in all 512 chains. Neighbours are counted by adding bits, not numbers. The few probabilities that can occur, one
//! for every count, are in a table as planes of 64 bits. They are compared with random bit planes from the most
//! significant bit on, until every chain is decided. That takes ten planes or so. Two chains in 512 come past the
//! eighth. So the five planes behind it are drawn once for some fourteen sites. A chain takes its bits of them at one
//! site alone.
//!
//! ```
//! use bitmc::sliced::{SlicedChains, SlicedGibbs, SlicedIsing};
//! use bitmc::{Ising, LaneRng, SeedableRng, SparseMemory, torus};
//!
//! let mut memory = SparseMemory::<36, 144>::new();
//! let model = Ising::spins_edges_once(36, torus(6, 6, 0.2), &[], memory.borrow())?;
//! let model = SlicedIsing::new(model)?; // couplings of several magnitudes would be refused here
//!
//! let (mut blocks, mut table) = ([[0; 16]; 36], [0; SlicedGibbs::kind_words(4, false)]);
//! let mut rng = LaneRng::seed_from_u64(1);
//! let chains = SlicedChains::random(model, &mut blocks, &mut rng)?;
//! let mut gibbs = SlicedGibbs::new(chains, &mut table)?;
//! (0..200).for_each(|_| gibbs.sweep(&mut rng));
//!
//! let energy: f32 = (0..512).map(|chain| gibbs.chains().energy(chain)).sum();
//! let per_site = energy / (512.0 * 36.0);
//! assert!((per_site + 0.0857).abs() < 0.01); // J times −.428 on a torus of this temperature
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Which words a chain sees
//! Bit *n* of every random block is chain *n*'s, and the chains share the blocks. All 512 decide how many a site takes, and
//! which site takes a bit. So a chain's draws depend on the chains beside it. They are the same on every processor.

mod chains;
mod compare;
mod count;
mod gibbs;
mod langevin;
mod model;
mod odds;
mod table;
mod tally;

pub use chains::SlicedChains;
pub use gibbs::SlicedGibbs;
pub use langevin::SlicedLangevin;
pub use model::{SlicedError, SlicedIsing};

/// Chains that are updated together.
pub const CHAINS: usize = 512;

/// The largest number of neighbours.
pub const MAX_DEGREE: usize = 8;
