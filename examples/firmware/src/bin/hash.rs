//! Every chain of `bitmc-chains`, or a part of them, and its committed hash. The hash of a part goes on from the
//! committed hashes of the chains before it, so that the last part ends with the hash of all.
#![no_std]
#![no_main]

use bitmc_chains::{CHAINS, before};
use bitmc_firmware::chains::{FIRST, RUN};
use bitmc_firmware::{entry, exit, stack};

#[entry]
fn main() -> ! {
    stack::paint();
    let (mut total, mut wrong) = (const { before(FIRST) }, 0usize);
    for chain in &RUN {
        let hash = (chain.run)();
        total.word(hash);
        if hash != chain.hash {
            wrong += 1;
            defmt::error!("{=u32:08x} instead of {=u32:08x}: {=str}", hash, chain.hash, chain.name);
        }
    }
    let (statics, used) = (stack::statics(), stack::used());
    defmt::info!("RAM, statics and stack, chains {=usize} bytes", statics + used);
    defmt::info!(
        "hash {=u32:08x}, {=usize} of {=usize} chains, {=usize} differ",
        total.value(),
        RUN.len(),
        CHAINS.len(),
        wrong
    );
    exit(wrong == 0)
}
