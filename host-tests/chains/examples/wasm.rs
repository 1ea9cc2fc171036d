//! The chains behind two functions that JavaScript calls: see `wasm.mjs`.

/// Runs a chain and returns its hash.
// A name without a prefix is what the loader sees; no other symbol of this module has it.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn hash(index: u32) -> u32 {
    bitmc_chains::CHAINS.get(index as usize).map_or(0, |chain| (chain.run)())
}

/// The committed hash of a chain; 0 past the last one.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn committed(index: u32) -> u32 {
    bitmc_chains::CHAINS.get(index as usize).map_or(0, |chain| chain.hash)
}
