//! Hello: 25 spins on a 5×5 torus, `f = a sᵀAs + b Σs` (DLP §7.1), beside the exact answers.
//!
//! `cargo run --release --example ising` runs one chain in arrays on the stack; the energy is a trait object.

use bitmc::stats::{Acceptance, BatchMeans, Watch};
use bitmc::{
    Chain, Energy, Info, Ising, LaneRng, Langevin, Layout, Packed, SeedableRng, SparseMemory, memory, torus,
};
use bitmc_examples::cli::{self, Failure, say};
use clap::Parser;
use std::process::ExitCode;

/// 25 spins on a torus, beside the exact answers
#[derive(Parser)]
#[command(name = "ising", version)]
struct Options {
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Steps of the chain
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    steps: u64,
    /// Step size, on the {0,1} scale
    #[arg(long, value_name = "ALPHA", default_value_t = 0.6)]
    step_size: f32,
}

const L: Layout = Layout::binary(25);

fn main() -> ExitCode {
    cli::main(|options: Options| {
        let sampler = Langevin::adjusted(options.step_size).map_err(Failure::option)?;
        let mut lent = SparseMemory::<25, 100>::new();
        let model =
            Ising::spins_edges_twice(torus(5, 5, 0.1), &[0.2; 25], lent.lend()).map_err(Failure::option)?;
        let energy: &dyn Energy = &model;
        let mut rng = LaneRng::seed_from_u64(options.seed);
        let mut chain =
            Chain::random(energy, memory!(L, Ising::cache_len(25)), &mut rng).map_err(Failure::option)?;

        chain.run(&sampler, &mut rng, 1000, &mut Acceptance::new()); // burn-in
        let (mut accepted, mut spin, mut pair) =
            (Acceptance::new(), BatchMeans::<64>::new(), BatchMeans::<64>::new());
        let mut watch = Watch(|x: Packed<'_>, _: f32, _: &Info| {
            let edges = torus(5, 5, 1.0).filter(|&(a, b, _)| x.get(a as usize) == x.get(b as usize));
            spin.push(x.ones() as f32 * 2.0 / 25.0 - 1.0);
            pair.push(edges.count() as f32 * 2.0 / 50.0 - 1.0);
        });
        chain.run(&sampler, &mut rng, options.steps, &mut (&mut accepted, &mut watch));

        say(&format!("acceptance {:.3}, {:.2} sites move a step", accepted.rate(), accepted.jump_distance()));
        for (name, mean, exact) in [("mean spin ⟨s⟩", spin, 0.482_970), ("on an edge ⟨ss'⟩", pair, 0.368_767)]
        {
            let spread = match (mean.standard_error(), mean.ess()) {
                (Some(error), Some(ess)) => format!("± {error:.5}, exact {exact:.5}, ESS {ess:.0}"),
                _ => format!("exact {exact:.5}; too few steps for an error"),
            };
            say(&format!("{name:<16} {:.5} {spread}", mean.mean()));
        }
        Ok(())
    })
}
