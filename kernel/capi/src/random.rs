//! Generators.

use crate::handle::Handle;
use crate::status::{Outcome, bitmc_status};
use bitmc::{LaneRng, Rng};

/// A generator: xoshiro128++ in sixteen lanes.
#[repr(C)]
pub struct bitmc_rng {
    opaque: [u64; 52],
}

impl Handle<bitmc_rng> for LaneRng {
    const MAGIC: u64 = u64::from_be_bytes(*b"bm rng 1");
}

/// Works with a generator, which has not moved where nothing comes of it.
pub(crate) unsafe fn drawing<T>(
    rng: *mut bitmc_rng,
    work: impl FnOnce(&mut LaneRng) -> Outcome<T>,
) -> Outcome<T> {
    // SAFETY: as the crate says.
    unsafe {
        LaneRng::with(rng, |rng| {
            let before = rng.clone();
            work(rng).inspect_err(|_| *rng = before)
        })?
    }
}

/// The generator of chain `stream` under `seed`; streams do not overlap. Takes time in proportion to `stream`, about 0.1 us
/// each on a PC. Number the chains of one run by it, and tell devices or runs apart by the seed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_rng_init(rng: *mut bitmc_rng, seed: u64, stream: u32) -> bitmc_status {
    // SAFETY: as the crate says.
    bitmc_status::of(unsafe { LaneRng::make(rng, || Ok(LaneRng::stream(seed, stream))) })
}

/// The next 32 bits; 0 where there is no generator, or it is in use by the call that a callback belongs to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_rng_next(rng: *mut bitmc_rng) -> u32 {
    // SAFETY: as the crate says.
    unsafe { LaneRng::with(rng, |rng| rng.next_u32()) }.unwrap_or(0)
}
