//! Comparisons without randomness, or by enumerated laws: each within a bound of `tolerance`.

mod blocks;
mod chromatic;
mod coarse;
#[cfg(feature = "conic")]
mod conic;
mod cycle;
mod energies;
mod factors;
mod faults;
mod gaussian;
mod gibbs;
mod input;
mod ising_balanced;
mod ising_langevin;
mod learning;
mod network;
mod noise;
mod paths;
mod planes;
mod properties;
mod quantised;
mod quantised_langevin;
mod random_walk;
mod references;
mod regression;
mod resume;
mod runs;
mod shift;
mod snapshot;
mod snapshot_each;
mod snapshot_refused;
mod synthetic;
mod temper;
mod together;
mod transition;
mod tune;
