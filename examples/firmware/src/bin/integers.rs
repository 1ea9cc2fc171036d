//! Gibbs sweeps without floats on a 12×12 Ising torus in whole numbers, its couplings in flash.
#![no_std]
#![no_main]

use bitmc::LaneRng;
use bitmc::SeedableRng;
use bitmc::quantised::QuantisedGibbs;
use bitmc_chains::hash::Hash;
use bitmc_firmware::torus::{HASH, MODEL, SITES, WORDS};
use bitmc_firmware::{count::Counter, entry, report};

const SWEEPS: u32 = 512;
/// Instructions a site, with its random word, on any of the boards.
const MOST: u32 = 260;

/// What statics and stack may take together.
const RAM: usize = 16_384;

#[entry]
fn main() -> ! {
    report("integers", RAM, sample)
}

#[inline(never)]
fn sample() -> Option<bool> {
    let (mut words, mut fields) = ([0; WORDS], [0; SITES]);
    let mut chain = QuantisedGibbs::new(MODEL, &mut words, &mut fields).ok()?;
    let mut rng = LaneRng::seed_from_u64(1);
    let (mut hash, mut instructions, mut flips) = (Hash::new(), 0, 0);
    for _ in 0..SWEEPS {
        let counter = Counter::start();
        flips += chain.sweep(&mut rng);
        instructions += counter.instructions();
        hash.words(chain.state().words());
    }
    let each = instructions / (SWEEPS * SITES as u32);
    defmt::info!("instructions a site and step: {=u32}", each);
    defmt::info!("flips {=u32}, hash {=u32:08x}", flips, hash.value());
    Some(each <= MOST && hash.value() == HASH)
}
