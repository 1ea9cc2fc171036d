//! The stack that a run used: paint what is free, run, and look how far the paint is gone.

const PAINT: u32 = 0x5AFE_5AFE;

unsafe extern "C" {
    #[cfg_attr(target_arch = "arm", link_name = "_stack_end")]
    #[cfg_attr(target_arch = "riscv32", link_name = "__estack")]
    static mut LOWEST: u32;
    #[link_name = "_stack_start"]
    static HIGHEST: u32;
    #[cfg_attr(target_arch = "arm", link_name = "_ram_start")]
    #[cfg_attr(target_arch = "riscv32", link_name = "__sdata")]
    static STATICS: u32;
}

/// Bytes below the caller's frame that stay unpainted: the painter's own.
const MARGIN: usize = 128;

fn lowest() -> *mut u32 {
    &raw mut LOWEST
}

/// Paints the free stack. Call it first.
#[inline(never)]
pub fn paint() {
    let here = 0u32;
    let top = core::hint::black_box(&raw const here) as usize - MARGIN;
    let mut word = lowest();
    while (word as usize) < top {
        // SAFETY: from the end of the statics to below this frame, memory belongs to nobody.
        unsafe {
            word.write_volatile(PAINT);
            word = word.add(1);
        }
    }
}

/// Bytes between the top of the stack and the deepest word that was written since [`paint`].
#[must_use]
pub fn used() -> usize {
    let top = &raw const HIGHEST as usize;
    let mut word = lowest().cast_const();
    // SAFETY: the words between the end of the statics and the top of the stack are memory.
    while (word as usize) < top && unsafe { word.read_volatile() } == PAINT {
        word = unsafe { word.add(1) };
    }
    top - word as usize
}

/// Bytes of static variables.
#[must_use]
pub fn statics() -> usize {
    lowest() as usize - &raw const STATICS as usize
}
