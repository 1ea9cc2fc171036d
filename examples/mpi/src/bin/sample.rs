//! Samples a file over the ranks of an MPI job: the bytes of `bitmc sample` on one machine.
//!
//! `mpirun -n 4 target/release/bitmc-mpi-sample model.uai --threads 1 --chains 64 --save samples.npz`

use bitmc_desktop::cli::{self, within};
use bitmc_desktop::files::say;
use bitmc_desktop::{Choice, Error};
use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;

/// Samples a model over MPI ranks
#[derive(Parser, Clone, Debug)]
#[command(name = "bitmc-mpi-sample", version)]
struct Options {
    /// A model, as `bitmc sample` reads it; every rank reads it
    file: PathBuf,

    /// A sampler by its name, as `bitmc sample` has them
    #[arg(long, default_value = "auto")]
    sampler: String,

    /// Independent chains, dealt out to the ranks; of Ising and Potts models sixteen at a time
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    chains: u32,

    /// Draws of each chain
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000_000))]
    draws: u64,

    /// Samples e^(−E/T); from 1e-20 to 1e20
    #[arg(long, value_name = "T", default_value_t = 1.0, value_parser = within(1e-20, 1e20))]
    temperature: f32,

    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// End after so many seconds, all ranks at one draw
    #[arg(long, value_name = "N", value_parser = within(0.0, 1e9))]
    seconds: Option<f32>,

    /// Threads of each rank [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Write states, energies and diagnostics as an .npz file
    #[arg(long, value_name = "FILE.npz")]
    save: Option<PathBuf>,

    /// In this process, without MPI
    #[arg(long)]
    alone: bool,
}

fn main() -> ExitCode {
    cli::main(run)
}

fn run(options: Options) -> Result<(), Error> {
    let choice: Choice = options.sampler.parse()?;
    let (world, model) = bitmc_mpi::begin(options.alone, &options.file)?;
    let sampler = model
        .sampler()
        .with(choice)
        .chains(options.chains as usize)
        .draws(options.draws as usize)
        .temperature(options.temperature)
        .seed(options.seed)
        .threads(options.threads.unwrap_or(0).into());
    let sampler = match options.seconds {
        Some(seconds) => sampler.seconds(seconds.into()),
        None => sampler,
    };
    let samples = match &world {
        Some(world) => sampler.run_over(world)?,
        None => sampler.run()?,
    };
    if world.is_none_or(|world| world.is_first()) {
        if let Some(path) = &options.save {
            samples.save(path)?;
        }
        let (report, summary) = (samples.report(), samples.summary());
        say(&format!("{}\n\n{}", report.why, summary.table(4)));
        summary.warning().iter().for_each(|warning| say(warning));
    }
    Ok(())
}
