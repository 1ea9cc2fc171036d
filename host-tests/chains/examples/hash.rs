//! Runs every chain and compares its hash: `cargo run --release -p bitmc-chains --example hash`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut total = bitmc_chains::hash::Hash::new();
    let mut wrong = 0;
    for chain in bitmc_chains::CHAINS {
        let hash = (chain.run)();
        total.word(hash);
        let verdict = if hash == chain.hash { "equal" } else { "DIFFERS" };
        wrong += u32::from(hash != chain.hash);
        println!("{hash:08x}  {verdict:7}  {}", chain.name);
    }
    println!("hash {:08x}, {} chains, {wrong} differ", total.value(), bitmc_chains::CHAINS.len());
    ExitCode::from(u8::from(wrong != 0))
}
