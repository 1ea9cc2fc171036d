//! ln Z of a file by population annealing over the ranks of an MPI job: the bits of one process.
//!
//! `mpirun -n 4 target/release/bitmc-mpi-population model.uai --threads 1 --population 100000`

use bitmc_desktop::Error;
use bitmc_desktop::cli;
use bitmc_desktop::files::say;
use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;

/// Estimates ln Z by population annealing over MPI ranks
#[derive(Parser, Clone, Debug)]
#[command(name = "bitmc-mpi-population", version)]
struct Options {
    /// A model, as `bitmc logz` reads it; every rank reads it
    file: PathBuf,

    /// Replicas, of which each rank has a share
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(2..))]
    population: u32,

    /// ln Σ e^(−E/T); from 1e-20 to 1e20
    #[arg(long, value_name = "T", default_value_t = 1.0, value_parser = cli::temperature)]
    temperature: f64,

    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Threads of each rank [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// In this process, without MPI
    #[arg(long)]
    alone: bool,
}

fn main() -> ExitCode {
    cli::main(run)
}

fn run(options: Options) -> Result<(), Error> {
    let (world, model) = bitmc_mpi::begin(options.alone, &options.file)?;
    let log_z = model
        .log_z()
        .population(options.population as usize)
        .temperature(options.temperature)
        .seed(options.seed)
        .threads(options.threads.unwrap_or(0).into());
    let estimate = match &world {
        Some(world) => log_z.run_over(world)?,
        None => log_z.run()?,
    };
    if world.is_none_or(|world| world.is_first()) {
        let families = estimate.families.unwrap_or(0);
        say(&format!(
            "ln Z = {} ± {:.2e}, {} temperatures, {families} families of {} replicas",
            estimate.log_z, estimate.error, estimate.temperatures, estimate.runs
        ));
        estimate.warning.iter().for_each(|warning| say(warning));
    }
    Ok(())
}
