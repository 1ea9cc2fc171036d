//! The command `bitmc`: samples, minima and ln Z of a model in a file.

mod anneal;
mod info;
mod logz;
mod output;
mod sample;

use bitmc_desktop::{Error, builds, cli};
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// What `--help` says of the files.
const FILES: &str = "\
Models, by the name of the file (all of it: cargo doc --open -p bitmc-desktop, read):
  .uai            a graphical model, E = −ln of the product of its tables; --given FILE.evid for evidence
  .qubo           a quadratic form over bits: E = Σ q x x′ + Σ c x
  .json           a binary quadratic model of dimod
  .poly           a polynomial over bits or spins
  .npy .npz       a dense matrix; an Ising model, a QUBO or an RBM by the names of the arrays
  .edges .csv .tsv  an Ising model as a list of edges: E = −Σ J s s′ − Σ h s
  .rudy .mc .txt  a weighted graph, as a file without an ending: E = Σ w s s′, whose lowest energy is the largest cut
Samples are of p(x) ∝ e^(−E(x)/T). The same seed gives the same bytes, on any machine, with any number of threads.";

/// Samples discrete models
#[derive(Parser, Debug)]
#[command(name = "bitmc", version, after_help = FILES)]
struct Command {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// Draws samples, with means, errors and diagnostics
    Sample(sample::Options),
    /// Looks for states of low energy
    Anneal(anneal::Options),
    /// Estimates ln Z by annealed importance sampling or population annealing
    Logz(logz::Options),
    /// Says what a file holds
    Info(info::Options),
}

fn main() -> ExitCode {
    builds::start_the_best();
    cli::main(|command: Command| -> Result<(), Error> {
        match command.what {
            What::Sample(mut options) => {
                options.input.with_evidence();
                sample::run(&options)
            }
            What::Anneal(mut options) => {
                options.input.with_evidence();
                anneal::run(&options)
            }
            What::Logz(mut options) => {
                options.input.with_evidence();
                logz::run(&options)
            }
            What::Info(mut options) => {
                options.input.with_evidence();
                info::run(&options)
            }
        }
    })
}
