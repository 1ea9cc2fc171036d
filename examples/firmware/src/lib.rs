//! What an image needs of its machine: a count of instructions, the stack that was used, and a way out.
#![no_std]

pub mod chains;
pub mod count;
pub mod say;
pub mod source;
pub mod stack;
pub mod torus;

#[cfg(target_arch = "arm")]
pub use cortex_m_rt::entry;
#[cfg(target_arch = "riscv32")]
pub use riscv_rt::entry;

#[cfg(target_arch = "arm")]
use cortex_m as _;
#[cfg(target_arch = "riscv32")]
use riscv as _;

#[cfg(feature = "report")]
use defmt_semihosting as _;

/// Ends the run: exit status 0 for a pass, 1 for a failure.
pub fn exit(pass: bool) -> ! {
    semihosting::process::exit(i32::from(!pass))
}

/// Reports a panic and ends the run with status 101.
#[cfg(feature = "report")]
#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    defmt::error!("{}", defmt::Display2Format(info));
    semihosting::process::exit(101)
}
