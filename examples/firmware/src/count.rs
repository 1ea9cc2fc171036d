//! Instructions, not cycles: the emulator gives every instruction the same time.

/// Counts the instructions from its start on.
pub struct Counter(u32);

#[cfg(target_arch = "arm")]
mod timer {
    use cortex_m::peripheral::{SYST, syst::SystClkSource};

    const WRAP: u32 = 0x00FF_FFFF;
    /// An instruction takes 128 ns, which is 3.2 ticks at 25 MHz, or 2.048 at 16 MHz: (factor, shift).
    const INSTRUCTIONS: (u32, u32) = if cfg!(machine = "microbit") { (125, 8) } else { (5, 4) };

    pub(super) fn start() -> u32 {
        // SAFETY: nothing else in the image uses the timer.
        let mut timer = unsafe { cortex_m::Peripherals::steal() }.SYST;
        timer.set_clock_source(SystClkSource::Core);
        timer.set_reload(WRAP);
        timer.clear_current();
        timer.enable_counter();
        SYST::get_current()
    }

    /// Right for up to 5 million instructions: the timer has 24 bits.
    pub(super) fn since(start: u32) -> u32 {
        let ticks = start.wrapping_sub(SYST::get_current()) & WRAP;
        (ticks * INSTRUCTIONS.0) >> INSTRUCTIONS.1
    }

    pub(super) fn wrapped() -> bool {
        // SAFETY: nothing else in the image uses the timer.
        unsafe { cortex_m::Peripherals::steal() }.SYST.has_wrapped()
    }
}

#[cfg(target_arch = "riscv32")]
mod timer {
    pub(super) fn start() -> u32 {
        riscv::register::minstret::read() as u32
    }

    pub(super) fn since(start: u32) -> u32 {
        (riscv::register::minstret::read() as u32).wrapping_sub(start)
    }

    pub(super) fn wrapped() -> bool {
        false
    }
}

impl Counter {
    /// Starts to count.
    #[must_use]
    pub fn start() -> Self {
        Self(timer::start())
    }

    /// Instructions since the start; up to five million.
    #[must_use]
    pub fn instructions(&self) -> u32 {
        timer::since(self.0)
    }

    /// Instructions since the start, or nothing where the timer has begun anew since then.
    #[must_use]
    pub fn checked_instructions(&self) -> Option<u32> {
        let instructions = self.instructions();
        (!timer::wrapped()).then_some(instructions)
    }
}
