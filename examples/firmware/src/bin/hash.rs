//! Every chain of `bitmc-chains` and its committed hash.
#![no_std]
#![no_main]

use bitmc_chains::{CHAINS, hash::Hash};
use bitmc_firmware::{entry, exit, stack};

#[entry]
fn main() -> ! {
    stack::paint();
    let (mut total, mut wrong) = (Hash::new(), 0usize);
    for chain in CHAINS {
        let hash = (chain.run)();
        total.word(hash);
        if hash != chain.hash {
            wrong += 1;
            defmt::error!("{=u32:08x} instead of {=u32:08x}: {=str}", hash, chain.hash, chain.name);
        }
    }
    let (statics, used) = (stack::statics(), stack::used());
    defmt::info!("RAM, statics and stack, chains {=usize} bytes", statics + used);
    defmt::info!("hash {=u32:08x}, {=usize} chains, {=usize} differ", total.value(), CHAINS.len(), wrong);
    exit(wrong == 0)
}
