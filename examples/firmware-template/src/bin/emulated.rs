//! The same run in an emulator: the result over semihosting, and an exit status.
#![no_std]
#![no_main]

use cortex_m_rt::entry;
use {cortex_m as _, defmt_semihosting as _};

#[entry]
fn main() -> ! {
    let share = sampling::share_up(1);
    match share {
        Ok(share) => defmt::info!("P(site 0 up) = {=f32}, exactly .741", share),
        Err(failure) => defmt::error!("{}", failure),
    }
    semihosting::process::exit(i32::from(share.is_err()))
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    semihosting::process::exit(101)
}
