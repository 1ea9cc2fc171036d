//! What an image needs of its machine: a count of instructions, the stack that was used, and a way out.
#![no_std]

pub mod chains;
pub mod changing;
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

/// Runs a sample, says how much RAM it took and whether it passed, and ends the run: it passes where the sample does
/// and its statics and stack fit into `ram` bytes.
#[cfg(feature = "report")]
pub fn report(name: &str, ram: usize, sample: fn() -> Option<bool>) -> ! {
    stack::paint();
    let passed = sample() == Some(true);
    let used = stack::statics() + stack::used();
    defmt::info!("RAM, statics and stack: chain {=usize} bytes", used);
    let pass = passed && used <= ram;
    defmt::info!("{=str}: {=str}", name, if pass { "pass" } else { "FAIL" });
    exit(pass)
}

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
