//! Replica exchange over the ranks of an MPI job: replicas stay where they are, energies and temperatures travel.
//!
//! `mpirun -n 2 target/release/bitmc-mpi` spreads the replicas of a 16 × 16 Ising torus over two ranks. Each
//! round every rank learns the β of its replicas, moves them, and tells how far their energies are from the base's.
//! The first rank decides the swaps. `--threads N` does the same in one process, without MPI: every
//! number is the same for one rank, for four, and for threads.

mod outcome;
mod ranks;
mod threads;

use bitmc::{Ising, Langevin, SparseMemory, torus};
use bitmc_desktop::files::say;
use bitmc_desktop::{Error, cli};
use clap::Parser;
use std::process::ExitCode;

/// Replica exchange on an Ising torus, over MPI ranks
#[derive(Parser, Clone, Debug)]
#[command(name = "bitmc-mpi", version)]
struct Options {
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Replicas, each with a temperature
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..=4096))]
    replicas: u32,

    /// Rounds: transitions at each temperature, then one exchange
    #[arg(long, default_value_t = 2000)]
    rounds: u64,

    /// Transitions of every replica in a round
    #[arg(long, default_value_t = 5)]
    local: u64,

    /// Threads of one process, in place of ranks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

/// Sites of a side.
const SIDE: u32 = 16;
const SITES: usize = (SIDE * SIDE) as usize;

/// Couplings per edge at the hottest and the coldest rung; the critical one is .4407.
const COUPLING: (f32, f32) = (0.3, 0.6);

impl Options {
    /// β of the energy with couplings 1, evenly.
    fn betas(&self) -> Vec<f32> {
        let last = (self.replicas - 1) as f32;
        (0..self.replicas).map(|rung| COUPLING.0 + (COUPLING.1 - COUPLING.0) * (rung as f32 / last)).collect()
    }
}

fn main() -> ExitCode {
    cli::main(run)
}

fn run(options: Options) -> Result<(), Error> {
    let mut couplings = SparseMemory::<SITES, { 4 * SITES }>::new();
    let model = Ising::spins_edges_once(SITES, torus(SIDE, SIDE, 1.0), &[], couplings.borrow());
    let model = model.map_err(Error::option)?;
    let kernel = Langevin::adjusted(0.5).map_err(Error::option)?;
    let outcome = match options.threads {
        Some(threads) => Some(threads::run(&options, &model, kernel, threads)?),
        None => ranks::run(&options, &model, kernel)?,
    };
    if let Some(outcome) = outcome {
        say(&outcome.to_string());
    }
    Ok(())
}
