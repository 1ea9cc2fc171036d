//! DMALA without floats on a 12×12 Ising torus in whole numbers, its couplings in flash.
#![no_std]
#![no_main]

use bitmc::LaneRng;
use bitmc::SeedableRng;
use bitmc::quantised::{Penalty, QuantisedLangevin};
use bitmc_chains::hash::Hash;
use bitmc_firmware::torus::{MODEL, SITES, WORDS};
use bitmc_firmware::{count::Counter, entry, report};

const STEPS: u32 = 512;
/// 1/(2α) at α = ¼.
const PENALTY: u32 = 189_096;
/// Instructions a site, with its random word, its share of two products and of the flips, on any of the boards.
const MOST: u32 = 420;
/// The hash of the states from zeros: the same on every machine.
const HASH: u32 = 0xa227_5999;

/// What statics and stack may take together.
const RAM: usize = 16_384;

#[entry]
fn main() -> ! {
    report("integer_langevin", RAM, sample)
}

#[inline(never)]
fn sample() -> Option<bool> {
    let (mut words, mut fields, mut flips) = ([0; WORDS], [0; SITES], [0; WORDS]);
    let (model, penalty) = (MODEL, Penalty::from_units(PENALTY).ok()?);
    let mut chain = QuantisedLangevin::new(model, penalty, &mut words, &mut fields, &mut flips).ok()?;
    let mut rng = LaneRng::seed_from_u64(1);
    let (mut hash, mut instructions, mut accepted, mut proposed) = (Hash::new(), 0, 0, 0);
    for _ in 0..STEPS {
        let counter = Counter::start();
        let step = chain.step(&mut rng);
        instructions += counter.instructions();
        accepted += u32::from(step.accepted);
        proposed += step.proposed;
        hash.words(chain.state().words());
    }
    let each = instructions / (STEPS * SITES as u32);
    defmt::info!("instructions a site and step: {=u32}", each);
    defmt::info!("{=u32} of {=u32} steps accepted, {=u32} flips proposed", accepted, STEPS, proposed);
    defmt::info!("hash {=u32:08x}", hash.value());
    Some(each <= MOST && accepted > STEPS / 2 && hash.value() == HASH)
}
