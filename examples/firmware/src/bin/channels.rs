//! A channel plan that needs no coordinator: 24 access points, 13 channels. Every processor arrives at the same plan.
#![no_std]
#![no_main]

use bitmc_chains::hash::Hash;
use bitmc_chains::plan::{CASES, SEARCH, SITES, case};
use bitmc_firmware::{count::Counter, entry, report};

/// What statics and stack may take together.
const RAM: usize = 16_384;

#[entry]
fn main() -> ! {
    report("channels", RAM, sample)
}

#[inline(never)]
fn sample() -> Option<bool> {
    let (mut total, mut equal) = (Hash::new(), true);
    for each in CASES {
        let (mut counter, mut instructions) = (Counter::start(), 0u64);
        let swept = || {
            instructions += u64::from(counter.instructions());
            counter = Counter::start();
        };
        let (harm, hash) = case(each, swept, |plan| (plan.harm, plan.hash))?;
        let steps = SEARCH.sweeps * SITES as u64;
        defmt::info!("instructions a site and step: {=u64}", instructions / steps);
        defmt::info!("{=str}: harm {=f32}, {=u32:08x}", each.0, harm, hash);
        total.word(hash);
        equal &= hash == each.3;
    }
    defmt::info!("hash {=u32:08x}", total.value());
    Some(equal)
}
