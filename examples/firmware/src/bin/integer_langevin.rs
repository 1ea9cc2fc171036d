//! DMALA without floats on a 12×12 Ising torus in whole numbers, its couplings in flash.
#![no_std]
#![no_main]

use bitmc::LaneRng;
use bitmc::SeedableRng;
use bitmc::quantised::{Penalty, QuantisedLangevin};
use bitmc_chains::hash::Hash;
use bitmc_firmware::torus::{self, SITES, WORDS};
use bitmc_firmware::{count::Counter, entry, exit, stack};

const STEPS: u32 = 512;
/// 1/(2α) at α = ¼.
const PENALTY: u32 = 189_096;
/// Instructions a site, with its random word, its share of two products and of the flips, on any of the boards.
const MOST: u32 = 420;
/// The hash of the states from zeros: the same on every machine.
const HASH: u32 = 0xa227_5999;

#[entry]
fn main() -> ! {
    stack::paint();
    let passed = sample();
    let all = stack::statics() + stack::used();
    defmt::info!("RAM, statics and stack: chain {=usize} bytes", all);
    let pass = passed == Some(true);
    defmt::info!("integer_langevin: {=str}", if pass { "pass" } else { "FAIL" });
    exit(pass)
}

#[inline(never)]
fn sample() -> Option<bool> {
    let (mut words, mut fields, mut flips) = ([0; WORDS], [0; SITES], [0; WORDS]);
    let (model, penalty) = (torus::model().ok()?, Penalty::from_units(PENALTY).ok()?);
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
