//! A main loop with a budget of instructions a tick: Gibbs sampling takes what a tick has left, as many sites as surely
//! fit, and a sweep ends when it ends. The chain is that of `integers`, bit for bit. (A Langevin step proposes for all sites
//! at once and cannot be cut: its tick is a whole step, and `stuck` counts the most that one takes.)
//!
//! The bound: `CALL + SITE × sites` instructions, whatever the state and the generator are. A site with four neighbours
//! draws at most three words, multiplies twice and adds to four fields; each sixteenth word makes a block of them.
#![no_std]
#![no_main]

use bitmc::quantised::QuantisedGibbs;
use bitmc::{LaneRng, SeedableRng};
use bitmc_chains::hash::Hash;
use bitmc_firmware::source::{FAILURES, Source};
use bitmc_firmware::torus::{HASH, MODEL, SITES, WORDS};
use bitmc_firmware::{count::Counter, entry, exit, stack};

/// Instructions of a tick for sampling.
const BUDGET: u32 = 6_000;
/// Instructions a site and a call take at most, on any of the boards.
const SITE: u32 = 360;
const CALL: u32 = 1_200;
/// Sites a tick.
const SLICE: usize = ((BUDGET - CALL) / SITE) as usize;
const SWEEPS: u32 = 512;

#[entry]
fn main() -> ! {
    stack::paint();
    let sound = run(Source::Sound(LaneRng::seed_from_u64(1)), SWEEPS);
    let mut pass = matches!(sound, Some((most, hash)) if most <= BUDGET && hash == HASH);
    let (mut most, hash) = sound.unwrap_or((0, 0));
    for (this, other) in FAILURES {
        let stuck = run(Source::Stuck(this, other), 16);
        pass &= matches!(stuck, Some((most, _)) if most <= BUDGET);
        most = stuck.map_or(most, |(stuck, _)| stuck.max(most));
    }
    defmt::info!("{=usize} sites a tick, {=usize} ticks a sweep", SLICE, SITES.div_ceil(SLICE));
    defmt::info!("most instructions of a tick: {=u32} of {=u32}", most, BUDGET);
    defmt::info!("hash {=u32:08x}", hash);
    defmt::info!("RAM, statics and stack: chain {=usize} bytes", stack::statics() + stack::used());
    defmt::info!("budget: {=str}", if pass { "pass" } else { "FAIL" });
    exit(pass)
}

/// The most instructions of a tick, and the hash of the states.
#[inline(never)]
fn run(mut rng: Source, sweeps: u32) -> Option<(u32, u32)> {
    let (mut words, mut fields) = ([0; WORDS], [0; SITES]);
    let mut chain = QuantisedGibbs::new(MODEL, &mut words, &mut fields).ok()?;
    let (mut hash, mut most, mut site, mut done) = (Hash::new(), 0, 0, 0);
    while done < sweeps {
        // A product waits for its timer here, and does what it is for: reads a sensor, drives a motor.
        let counter = Counter::start();
        let end = (site + SLICE).min(SITES);
        chain.sweep_sites(site..end, &mut rng);
        most = counter.instructions().max(most);
        site = end;
        if site == SITES {
            hash.words(chain.state().words());
            (site, done) = (0, done + 1);
        }
    }
    Some((most, hash.value()))
}
