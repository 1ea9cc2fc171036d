//! The C face of `bitmc`: what `include/bitmc.h` declares. `README.md` is the page of use.
//!
//! # Safety
//! Every function takes addresses. What a caller promises is the same for all. An address is null, which is refused, or that of
//! as many elements as the argument beside it says, aligned as its type. What is given to an `_init` function stays in its
//! place as long as the struct is used, and nobody else writes to it. A struct is used by one thread at a time. Magic words
//! tell a struct that was not initialised, and one that is used from within its own callback: both are refused. Numbers
//! (`seat.rs`) tell a chain whose model or memory is another's now.
#![no_std]
#![allow(non_camel_case_types, clippy::missing_safety_doc, clippy::too_many_arguments)]

mod chain;
mod check;
mod exchange;
mod handle;
mod model;
mod open;
mod quantised;
mod quantised_langevin;
mod random;
mod sampler;
mod seat;
mod snapshot;
mod statistics;
mod status;

pub use chain::*;
pub use check::*;
pub use exchange::*;
pub use model::*;
pub use open::*;
pub use quantised::*;
pub use quantised_langevin::*;
pub use random::*;
pub use sampler::*;
pub use snapshot::*;
pub use statistics::*;
pub use status::*;

#[cfg(not(feature = "hosted"))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    #[cfg(feature = "prove")]
    {
        unsafe extern "C" {
            fn a_panic_path_is_reachable() -> !;
        }
        // SAFETY: never linked.
        unsafe { a_panic_path_is_reachable() }
    }
    // Never reached: the library has no panic path.
    #[cfg(not(feature = "prove"))]
    loop {}
}
