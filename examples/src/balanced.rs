//! Balanced samplers by one call: burn in, estimate W and D, adapt (σ, α), freeze.
//!
//! ```
//! use bitmc::{Ising, SparseMemory, torus};
//! use bitmc::noise::SparseMatrix;
//! use bitmc_examples::balanced::{Curvature, Driver, Known, Room, Which};
//! use bitmc_examples::progress::Progress;
//!
//! let mut memory = SparseMemory::<64, 256>::new();
//! let model = Ising::spins_edges_once(64, torus(8, 8, 0.4), &[], memory.borrow())?;
//! let w = Curvature::of(&SparseMatrix::of(model.form()));
//! let driver = Driver { seed: 1, sweeps: 10, burn_in: 1000, adapt: 4000, precision: false, far: true };
//! let mut room = Room::default();
//! let (kernel, chosen) =
//!     driver.second_order(&model, Known::Whole(&w), Which::Trace, &mut room, &Progress::new(true, 0))?;
//! println!("{chosen}"); // D, σ, α, κ, the acceptance with them, and that they are frozen
//! # let _ = kernel;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Of an energy that is not quadratic W is estimated from the burn-in: in full ([`Known::Nothing`], up to 1,024 sites), or where a
//! pattern has entries ([`Known::Pattern`], any number of sites; beyond 1,024 only the noise of the edges can be asked for).

mod curvature;
mod drive;
mod largest;
pub mod momentum;
mod samplers;
pub mod scale;
mod scan;

pub use curvature::{Curvature, Drawn, Known, Room, Which};
pub use drive::{Chosen, Driver, settled};
pub use samplers::{Extent, Rooms, Tuned, Tuning};
pub use scan::{Scan, scan};
