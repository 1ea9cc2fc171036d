//! Generators.

use crate::handle::Handle;
use crate::status::bitmc_status;
use bitmc::{LaneRng, Rng};

/// A generator: xoshiro128++ in sixteen lanes.
#[repr(C)]
pub struct bitmc_rng {
    opaque: [u64; 48],
}

impl Handle<bitmc_rng> for LaneRng {
    const MAGIC: u64 = u64::from_be_bytes(*b"bm rng 1");
}

/// The generator of chain `stream` under `seed`; streams do not overlap. Takes time in proportion to `stream`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_rng_init(rng: *mut bitmc_rng, seed: u64, stream: u32) -> bitmc_status {
    // SAFETY: as the crate says.
    bitmc_status::of(unsafe { LaneRng::stream(seed, stream).place(rng) })
}

/// The next 32 bits; 0 where there is no generator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_rng_next(rng: *mut bitmc_rng) -> u32 {
    // SAFETY: as the crate says.
    unsafe { LaneRng::with(rng, |rng| rng.next_u32()) }.unwrap_or(0)
}
