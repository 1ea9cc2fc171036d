//! Statistics of a run, in fixed memory.

use crate::handle::{Handle, answer};
use crate::status::bitmc_status;
use bitmc::stats::{Acceptance, BatchMeans, Means, Observer};
use bitmc::{Info, Packed};

/// Statistics of a run.
#[repr(C)]
pub struct bitmc_stats {
    opaque: [u64; 64],
}

/// What they say.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct bitmc_summary {
    /// Steps seen.
    pub steps: u64,
    /// Steps that met NaN or minus infinity.
    pub faults: u64,
    /// The share of accepted steps.
    pub acceptance: f32,
    /// Sites that change in a step, on average.
    pub jump_distance: f32,
    /// Mean energy.
    pub energy: f32,
    /// Its standard error, from batch means; NaN before there are enough steps.
    pub energy_error: f32,
    /// The effective sample size of the energy; NaN before there are enough steps.
    pub energy_ess: f32,
}

pub(crate) struct Statistics {
    pub(crate) acceptance: Acceptance,
    pub(crate) energy: BatchMeans<32>,
    pub(crate) means: Means<&'static mut [u32]>,
}

impl Handle<bitmc_stats> for Statistics {
    const MAGIC: u64 = u64::from_be_bytes(*b"bm stats");
}

impl Observer for Statistics {
    fn observe(&mut self, x: Packed<'_>, energy: f32, info: &Info) {
        self.acceptance.observe(x, energy, info);
        self.energy.observe(x, energy, info);
        self.means.observe(x, energy, info);
    }
}

/// Statistics that have seen nothing. `sums` are the sums of the values of the first `sites` sites, the memory of
/// bitmc_stats_mean; none are kept where it is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_stats_init(
    stats: *mut bitmc_stats,
    sums: *mut u32,
    sites: usize,
) -> bitmc_status {
    let sums: &'static mut [u32] = if sums.is_null() || sites == 0 {
        &mut []
    } else if sites > isize::MAX as usize / 4 {
        return bitmc_status::Argument;
    } else {
        // SAFETY: as the crate says; the memory is made numbers before it is looked at.
        unsafe {
            core::ptr::write_bytes(sums, 0, sites);
            core::slice::from_raw_parts_mut(sums, sites)
        }
    };
    let value =
        Statistics { acceptance: Acceptance::new(), energy: BatchMeans::new(), means: Means::new(sums) };
    // SAFETY: as the crate says.
    bitmc_status::of(unsafe { value.place(stats) })
}

/// What they say so far.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_stats_summary(
    stats: *mut bitmc_stats,
    summary: *mut bitmc_summary,
) -> bitmc_status {
    let read = |stats: &mut Statistics| bitmc_summary {
        steps: stats.acceptance.steps,
        faults: stats.acceptance.faults,
        acceptance: stats.acceptance.rate(),
        jump_distance: stats.acceptance.jump_distance(),
        energy: stats.energy.mean(),
        energy_error: stats.energy.standard_error().unwrap_or(f32::NAN),
        energy_ess: stats.energy.ess().unwrap_or(f32::NAN),
    };
    // SAFETY: as the crate says.
    bitmc_status::of(unsafe { Statistics::with(stats, read).and_then(|value| answer(summary, value)) })
}

/// The mean value of a site.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_stats_mean(
    stats: *mut bitmc_stats,
    site: usize,
    mean: *mut f32,
) -> bitmc_status {
    // SAFETY: as the crate says.
    bitmc_status::of(unsafe {
        Statistics::with(stats, |stats| stats.means.mean(site)).and_then(|value| answer(mean, value))
    })
}
