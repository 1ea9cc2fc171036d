//! The smallest program: no logger, and a release build that links only if nothing in it can panic.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use cortex_m_rt::entry;

/// The result in units of 2⁻¹⁶, for a debugger or for the rest of the firmware. All ones where there is none.
#[used]
static SHARE: AtomicU32 = AtomicU32::new(u32::MAX);

#[entry]
fn main() -> ! {
    if let Ok(share) = sampling::share_up(1) {
        SHARE.store((share * 65_536.0) as u32, Relaxed);
    }
    loop {
        cortex_m::asm::wfi();
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    #[cfg(not(debug_assertions))]
    {
        unsafe extern "C" {
            fn a_panic_path_is_reachable() -> !;
        }
        // SAFETY: nobody defines it, so an image with this call does not link.
        unsafe { a_panic_path_is_reachable() }
    }
    #[cfg(debug_assertions)]
    loop {}
}
