//! The same run with a report over RTT: the result, and the processor's cycles.
#![no_std]
#![no_main]

use cortex_m::peripheral::DWT;
use cortex_m_rt::entry;
use {defmt_rtt as _, panic_probe as _};

#[entry]
fn main() -> ! {
    let mut core = cortex_m::Peripherals::take().expect("nobody else takes them");
    core.DCB.enable_trace();
    core.DWT.enable_cycle_counter();
    let before = DWT::cycle_count();
    let share = sampling::share_up(1);
    let cycles = DWT::cycle_count().wrapping_sub(before);
    match share {
        Ok(share) => defmt::info!("P(site 0 up) = {=f32}, exactly .741", share),
        Err(failure) => defmt::error!("{}", failure),
    }
    defmt::info!("{=u32} cycles a sweep of 25 sites", cycles / sampling::SWEEPS as u32);
    loop {
        cortex_m::asm::wfi();
    }
}
