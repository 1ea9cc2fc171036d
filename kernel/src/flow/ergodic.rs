//! The point of a trajectory at a given unscaled time, without keeping the trajectory.

use super::vector::copy;
use super::{Esh, Potential, StepSize};
use crate::lane::{Block, exp, exp_m1, ln};
use crate::stats::LogSum;

/// Finds where a trajectory is at an unscaled time (Ver Steeg and Galstyan 2021, Algorithm 2).
///
/// The paper keeps the whole trajectory. A deterministic one can be run twice. The first run gives the total time T
/// ([`LogSum`] over the steps), the second goes from the same start to t = s·T, s uniform. Between two steps x is
/// interpolated linearly in time.
#[derive(Clone, Copy, Debug)]
pub struct Replay {
    /// ln t.
    log_target: f32,
    clock: LogSum,
}

impl Replay {
    /// Towards the share s of the total time; s in (0, 1].
    #[must_use]
    pub fn new(total: LogSum, share: f32) -> Self {
        Self { log_target: total.log() + ln(share.clamp(f32::MIN_POSITIVE, 1.0)), clock: LogSum::new() }
    }

    /// Runs a trajectory up to the time, `steps` steps at most, and leaves x in `out`, which has the blocks of x.
    /// True where the trajectory came to that time.
    pub fn run<P: Potential + ?Sized, B: AsMut<[Block]> + AsRef<[Block]>>(
        mut self,
        chain: &mut Esh<'_, P, B>,
        step_size: StepSize,
        steps: u64,
        out: &mut [Block],
    ) -> bool {
        for _ in 0..steps {
            copy(out, chain.position_blocks());
            let leap = chain.step(step_size);
            self.clock.add(leap.log_time);
            let ahead = self.clock.log() - self.log_target;
            if ahead >= 0.0 {
                // The clock is past t by T(1 − e^−ahead); as a share of this step, from its far end.
                let past = self.clock.log() - leap.log_time + ln(-exp_m1(-ahead));
                let back = exp(past).clamp(0.0, 1.0);
                let there = chain.position_blocks().as_flattened();
                for (here, &there) in out.as_flattened_mut().iter_mut().zip(there) {
                    *here = there + back * (*here - there);
                }
                return true;
            }
        }
        false
    }
}
