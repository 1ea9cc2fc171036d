//! One hash (L0.8): every chain of `bitmc-chains` has its committed hash on this processor and build.

use bitmc_chains::{CHAINS, total};

#[test]
fn every_chain_has_its_committed_hash() {
    let got: Vec<u32> = CHAINS.iter().map(|chain| (chain.run)()).collect();
    let wrong: Vec<_> = CHAINS.iter().zip(&got).filter(|(chain, got)| chain.hash != **got).collect();
    for (chain, got) in &wrong {
        // To be pasted into the line of `CHAINS` with this name.
        println!("name: \"{}\" … hash: 0x{got:08x} }},", chain.name);
    }
    assert!(wrong.is_empty(), "{} of {} chains differ; total {:08x}", wrong.len(), CHAINS.len(), total());
}

/// Two chains with one hash would be one chain listed twice, or one that ignores its sampler; 0 is what a
/// chain returns that could not be built.
#[test]
fn the_committed_hashes_differ_and_none_is_zero() {
    let hashes: std::collections::BTreeSet<u32> = CHAINS.iter().map(|chain| chain.hash).collect();
    assert_eq!(hashes.len(), CHAINS.len());
    assert!(!hashes.contains(&0));
}
