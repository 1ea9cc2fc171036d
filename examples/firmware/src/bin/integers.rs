//! Gibbs sweeps without floats on a 12×12 Ising torus in whole numbers, its couplings in flash.
#![no_std]
#![no_main]

use bitmc::LaneRng;
use bitmc::SeedableRng;
use bitmc::energy::Entry;
use bitmc::quantised::{QuantisedGibbs, QuantisedIsing};
use bitmc_chains::hash::Hash;
use bitmc_firmware::{count::Counter, entry, exit, stack};

const SIDE: u32 = 12;
const SITES: usize = 144;
const SWEEPS: u32 = 512;
/// K = 4J and b = −2ΣJ at J = .3 on spins, in units of ln 2/65,536.
const COUPLING: i32 = 113_459;
const FIELD: i32 = -2 * COUPLING;
/// Instructions a site, with its random word, on any of the boards.
const MOST: u32 = 260;
/// The hash of every state: the same on every machine.
const HASH: u32 = 0x076c_0f80;

static ENDS: [u32; SITES] = {
    let (mut ends, mut site) = ([0; SITES], 0);
    while site < SITES {
        ends[site] = 4 * (site as u32 + 1);
        site += 1;
    }
    ends
};

static ENTRIES: [Entry; 4 * SITES] = {
    let mut entries = [Entry { site: 0, coupling: COUPLING }; 4 * SITES];
    let mut site = 0;
    while site < SITES as u32 {
        let (row, column) = (site / SIDE, site % SIDE);
        let (up, down) = ((row + SIDE - 1) % SIDE * SIDE + column, (row + 1) % SIDE * SIDE + column);
        let (left, right) = (row * SIDE + (column + SIDE - 1) % SIDE, row * SIDE + (column + 1) % SIDE);
        let sites = [up, down, left, right];
        let mut place = 0;
        while place < 4 {
            // Ascending: a neighbour stands behind those that are smaller.
            let (mut smaller, mut other) = (0, 0);
            while other < 4 {
                smaller += (sites[other] < sites[place]) as usize;
                other += 1;
            }
            entries[4 * site as usize + smaller].site = sites[place];
            place += 1;
        }
        site += 1;
    }
    entries
};

#[entry]
fn main() -> ! {
    stack::paint();
    let passed = sample();
    let all = stack::statics() + stack::used();
    defmt::info!("RAM, statics and stack: chain {=usize} bytes", all);
    let pass = passed == Some(true);
    defmt::info!("integers: {=str}", if pass { "pass" } else { "FAIL" });
    exit(pass)
}

#[inline(never)]
fn sample() -> Option<bool> {
    let (mut words, mut fields) = ([0; SITES.div_ceil(32)], [0; SITES]);
    let model = QuantisedIsing::from_rows(&ENDS, &ENTRIES, &[FIELD; SITES]).ok()?;
    let mut chain = QuantisedGibbs::new(model, &mut words, &mut fields).ok()?;
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
