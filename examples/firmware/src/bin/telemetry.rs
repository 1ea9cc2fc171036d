//! Telemetry: a chain on the device, and its statistics over defmt as they grow. Only numbers leave the device; the text
//! stays in the image, where `defmt-print` finds it.
#![no_std]
#![no_main]

use bitmc::stats::{Acceptance, BatchMeans, Best, Means, Pairs};
use bitmc::{Chain, Ising, LaneRng, Langevin, Packed, SeedableRng, memory, torus};
use bitmc_chains::models::{ISING, ISING_COUPLING, ISING_FIELDS, ISING_MEAN_SPIN, IsingMemory};
use bitmc_firmware::{entry, report};

/// Reports, and steps between two of them.
const REPORTS: u32 = 4;
const STEPS: u64 = 1_024;
/// The image `ising` finds the standard error of this mean at .0049 after 12,288 steps: .0085 after 4,096, and a false
/// alarm in a million is 4.9 of them.
const OFF: f32 = 0.042;

/// What statics and stack may take together.
const RAM: usize = 16_384;

#[entry]
fn main() -> ! {
    report("telemetry", RAM, run)
}

#[inline(never)]
fn run() -> Option<bool> {
    let mut couplings = IsingMemory::new();
    let edges = torus(5, 5, ISING_COUPLING);
    let model = Ising::spins_edges_twice(25, edges, &ISING_FIELDS, couplings.borrow()).ok()?;
    let mut rng = LaneRng::seed_from_u64(1);
    let mut chain = Chain::random(&model, memory!(ISING, Ising::cache_len(25)), &mut rng).ok()?;
    let sampler = Langevin::adjusted(0.6).ok()?;
    let mut steps = Acceptance::new();
    let (mut means, mut energy) = (Means::new([0; 25]), BatchMeans::<16>::new());
    let (mut pairs, mut best) = (Pairs::new([(0, 1), (0, 12)]), Best::new([0; 1]));
    for _ in 0..REPORTS {
        let observers = &mut ((&mut steps, &mut energy), (&mut means, (&mut pairs, &mut best)));
        chain.run(&sampler, &mut rng, STEPS, observers);
        defmt::info!("{}, rate {=f32}", steps, steps.rate());
        defmt::info!("{}", means);
        defmt::info!("energy: {}; {}", energy, best);
        defmt::info!("{}", pairs);
    }
    defmt::info!("last step: {}", chain.step(&sampler, &mut rng));
    // Errors are as plain: a state with a bit outside its sites.
    if let Err(error) = Packed::new(ISING, &[1 << 30]) {
        defmt::info!("refused: {}", error);
    }
    let mean = (0..25).map(|site| means.mean(site)).sum::<Option<f32>>()? / 25.0;
    let off = mean - (1.0 + ISING_MEAN_SPIN) / 2.0;
    Some(off.abs() < OFF && best.energy().is_some())
}
