//! Statistics of a run, in fixed memory.

use crate::handle::{Handle, Span, answer, slice};
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
    /// How many sums there are.
    room: usize,
    /// How many sites have a mean.
    pub(crate) sites: usize,
    /// Where the sums lie.
    pub(crate) sums: Span,
    pub(crate) means: Means<&'static mut [u32]>,
}

impl Handle<bitmc_stats> for Statistics {
    const MAGIC: u64 = u64::from_be_bytes(*b"bm stats");
}

impl Statistics {
    /// What was loaded is of a chain of so many sites.
    pub(crate) fn loaded(&mut self, sites: usize) {
        self.sites = self.room.min(sites);
    }

    /// A chain of so many sites is shown.
    pub(crate) fn see(&mut self, sites: usize) {
        self.sites = self.sites.min(sites);
    }

    /// An answer, if there was a step.
    fn if_any(&self, answer: f32) -> f32 {
        if self.acceptance.steps == 0 { f32::NAN } else { answer }
    }
}

impl Observer for Statistics {
    fn observe(&mut self, x: Packed<'_>, energy: f32, info: &Info) {
        self.acceptance.observe(x, energy, info);
        self.energy.observe(x, energy, info);
        self.means.observe(x, energy, info);
    }
}

/// Statistics that have seen nothing. `sums` are the sums of the values of the first `sites` sites, the memory of
/// bitmc_stats_mean. They are overwritten with 0. For none, they are null and `sites` is 0. Where a sum is full (of bits after
/// 4e9 steps) all means stop changing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_stats_init(
    stats: *mut bitmc_stats,
    sums: *mut u32,
    sites: usize,
) -> bitmc_status {
    // SAFETY: as the crate says; the memory is made numbers before it is looked at.
    let build = || unsafe {
        slice(sums.cast_const(), sites)?;
        let span = Span::of(sums, sites);
        span.apart(Span::of(stats, 1))?;
        Statistics::make(stats, || {
            let sums: &'static mut [u32] = if sites == 0 {
                &mut []
            } else {
                core::ptr::write_bytes(sums, 0, sites);
                core::slice::from_raw_parts_mut(sums, sites)
            };
            Ok(Statistics {
                acceptance: Acceptance::new(),
                energy: BatchMeans::new(),
                room: sites,
                sites,
                sums: span,
                means: Means::new(sums),
            })
        })
    };
    bitmc_status::of(build())
}

/// What they say so far; before the first step all but `steps` and `faults` are NaN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_stats_summary(
    stats: *mut bitmc_stats,
    summary: *mut bitmc_summary,
) -> bitmc_status {
    let read = |stats: &mut Statistics| bitmc_summary {
        steps: stats.acceptance.steps,
        faults: stats.acceptance.faults,
        acceptance: stats.if_any(stats.acceptance.rate()),
        jump_distance: stats.if_any(stats.acceptance.jump_distance()),
        energy: stats.if_any(stats.energy.mean()),
        energy_error: stats.energy.standard_error().unwrap_or(f32::NAN),
        energy_ess: stats.energy.ess().unwrap_or(f32::NAN),
    };
    // SAFETY: as the crate says.
    bitmc_status::of(unsafe { Statistics::with(stats, read).and_then(|value| answer(summary, value)) })
}

/// The mean value of a site. BITMC_STATUS_INDEX where it has no sum or does not exist, BITMC_STATUS_NOT_READY before the first step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_stats_mean(
    stats: *mut bitmc_stats,
    site: usize,
    mean: *mut f32,
) -> bitmc_status {
    let read = |stats: &mut Statistics| match stats.means.mean(site) {
        _ if site >= stats.sites => Err(bitmc_status::Index),
        mean => mean.ok_or(bitmc_status::NotReady),
    };
    // SAFETY: as the crate says.
    bitmc_status::of(unsafe { Statistics::with(stats, read).and_then(|value| answer(mean, value?)) })
}
