//! An energy of your own, with a hard constraint: guests at a counter of sixteen seats.
//!
//! Guests are shy: nobody sits beside another, so such a seating has E = +∞. Seats near the window, which is
//! at the high end, are better: E = −Σ viewᵢ xᵢ. How often is each seat taken?

use bitmc::stats::{Acceptance, Means};
use bitmc::{Chain, Function, LaneRng, Langevin, Layout, Packed, Plain, SeedableRng, memory};
use bitmc_examples::cli::{self, Failure, say};
use clap::Parser;
use std::process::ExitCode;

/// An energy of your own with a hard constraint, beside the exact answers
#[derive(Parser)]
#[command(name = "own_energy", version)]
struct Options {
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

const SEATS: usize = 16;
const L: Layout = Layout::binary(SEATS);

struct Counter;

fn view(seat: usize) -> f32 {
    0.1 * seat as f32
}

impl Function for Counter {
    fn layout(&self) -> Layout {
        L
    }
    fn total(&self, x: Packed<'_>) -> f32 {
        let beside = (1..SEATS).any(|seat| x.get(seat - 1) + x.get(seat) == 2);
        let pleasure: f32 = (0..SEATS).map(|seat| view(seat) * x.get(seat) as f32).sum();
        if beside { f32::INFINITY } else { -pleasure }
    }
    /// A hard constraint has no slope. Any guess will do, for the Metropolis test corrects it. This one keeps a distance.
    fn gradient(&self, x: Packed<'_>, seat: usize) -> f32 {
        4.0 * (x.get(seat.wrapping_sub(1)) + x.get(seat + 1)) as f32 - view(seat)
    }
}

fn main() -> ExitCode {
    cli::main(|options: Options| {
        let mut rng = LaneRng::seed_from_u64(options.seed);
        let empty = Packed::new(L, &[0]).map_err(Failure::option)?;
        let memory = memory!(L, Plain::<Counter>::CACHE_LEN);
        let mut chain = Chain::new(&Plain(Counter), memory, empty).map_err(Failure::option)?;
        let sampler = Langevin::adjusted(1.0).map_err(Failure::option)?;
        let (mut rate, mut means) = (Acceptance::new(), Means::new([0; SEATS]));
        chain.run(&sampler, &mut rng, 1_000_000, &mut (&mut rate, &mut means));

        let mut exact = [0.0; SEATS + 1]; // the weight of all seatings that take a seat; last: of all
        for seating in (0..1 << SEATS).map(|bits| [bits]) {
            let x = Packed::new(L, &seating).map_err(Failure::option)?;
            let weight = f64::from(-Counter.total(x)).exp();
            for (sum, taken) in exact.iter_mut().zip(x.values().chain([1])) {
                *sum += weight * f64::from(taken);
            }
        }
        let (accepted, moved) = (rate.rate(), rate.jump_distance());
        say(&format!("acceptance {accepted:.3}, {moved:.2} seats change a step\nseat  drawn  exact"));
        for (seat, weight) in exact[..SEATS].iter().enumerate() {
            let drawn = means.mean(seat).unwrap_or(f32::NAN);
            say(&format!("{seat:4} {drawn:6.3} {:6.3}", weight / exact[SEATS]));
        }
        Ok(())
    })
}
