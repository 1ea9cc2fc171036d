//! Samplers × targets: a comparison that counts what it cost.
//!
//! A [`Target`] is an energy under a name, with exact means and reference samples where they are known. A
//! [`Sampler`] is a kernel under a name. [`compare`] runs every pair, chains over the cores, and tells of each
//! [`Cell`]: acceptance, [`Queries`], effective sample sizes, split R̂, errors of means, squared MMD.
//!
//! ```
//! use bitmc::{Ising, Langevin, SparseMemory, torus};
//! use bitmc_examples::harness::{Plan, Sampler, Target, measure};
//! use bitmc_examples::progress::Progress;
//!
//! let mut memory = SparseMemory::<25, 100>::new();
//! let model = Ising::spins_edges_twice(25, torus(5, 5, 0.1), &[0.2; 25], memory.borrow())?;
//! let target = Target::new("ising", &model).exact_means(vec![0.741_485; 25]);
//! let sampler = Sampler::kernel("DMALA", "α = 0.6", Langevin::adjusted(0.6)?);
//! let plan = Plan { seed: 1, chains: 4, burn_in: 100, steps: 1000 };
//! let cell = measure(&target, &sampler, plan, &Progress::new(true, 0))?;
//! assert!(cell.numbers.ess_min > Some(300.0) && cell.numbers.log_rmse < Some(-3.0));
//! assert_eq!(cell.numbers.queries.gradient, 4000.0); // one a step, and one log density
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Results do not depend on the number of threads. The column "differs" of [`table()`] is made by [`differ()`]. The file
//! `tests/harness.rs` tests it: two copies of one sampler do not differ, and one with half the step size does.

mod cell;
mod count;
mod differ;
mod measure;
mod sampler;
mod table;
mod target;

pub use bitmc_desktop::diagnose::{
    deviation, effective_size, log_rmse, mean, median, r_hat, split_r_hat, standard_error, welch,
};
pub use cell::{Cell, Clock, Numbers, Plan, Point};
pub use count::{Counted, Queries};
pub use differ::differ;
pub use measure::measure;
pub use sampler::{Sampler, Start, Walk};
pub use table::{compare, leaders, table, timing_table, work};
pub use target::{Target, components};
