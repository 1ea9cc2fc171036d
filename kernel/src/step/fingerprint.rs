//! Keys that tell kernels apart.

/// One round of a 64-bit hash (the finaliser of SplitMix64), to tell parameters apart.
pub(crate) fn mix(key: u64, value: u64) -> u64 {
    let z = key.wrapping_add(0x9E37_79B9_7F4A_7C15) ^ value;
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
