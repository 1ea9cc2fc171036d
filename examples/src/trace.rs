//! What a run looked like: mean energy, acceptance and distance to the law, at steps 1, 2, …, 10, 12, ….

use crate::bits::BitRows;
use crate::chains::{self, Walker};
use crate::mmd::Mmd;
use crate::progress::Progress;
use bitmc::stats::Acceptance;
use bitmc::{Energy, Kernel};
use serde::Serialize;
use std::time::Instant;

/// The chains at one step.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Point {
    /// Steps that every chain has made.
    pub step: u64,
    /// E, averaged over the chains.
    pub mean_energy: f64,
    /// The share of accepted proposals since the point before.
    pub acceptance: Option<f64>,
    /// Squared MMD to the reference samples, where there are any.
    pub mmd2: Option<f64>,
}

/// A run.
#[derive(Clone, Debug)]
pub struct Trace {
    /// From step 0 to the last.
    pub points: Vec<Point>,
    /// Seconds of sampling up to each point.
    pub seconds: Vec<f64>,
    /// Acceptance and flips of the whole run.
    pub total: Acceptance,
    /// The final states.
    pub states: BitRows,
}

impl Trace {
    /// Seconds of sampling, all in all.
    #[must_use]
    pub fn elapsed(&self) -> f64 {
        self.seconds.last().copied().unwrap_or(0.0)
    }

    /// Steps a second of all chains together.
    #[must_use]
    pub fn chain_steps_per_second(&self) -> f64 {
        self.total.steps as f64 / self.elapsed().max(f64::MIN_POSITIVE)
    }

    /// The last point.
    #[must_use]
    pub fn end(&self) -> Point {
        self.points[self.points.len() - 1]
    }
}

/// Steps at which to look: about ten for each power of ten, and the last.
#[must_use]
pub fn checkpoints(steps: u64) -> Vec<u64> {
    const ROUND: [u64; 10] = [10, 12, 15, 20, 25, 30, 40, 50, 60, 80];
    let scales = std::iter::successors(Some(1u64), |scale| scale.checked_mul(10));
    let round = scales.flat_map(|scale| ROUND.map(|number| number.saturating_mul(scale)));
    (1..10).chain(round).take_while(|&step| step < steps).chain([steps]).collect()
}

/// How many steps to make between two looks at the progress bar.
const STRIDE: u64 = 40;

/// Moves the chains by `steps` steps and looks at them on the way. Looking is not in the seconds.
pub fn record<E, K>(
    energy: &E,
    walkers: &mut [Walker<'_, E>],
    kernel: &K,
    steps: u64,
    mmd: Option<&Mmd<'_>>,
    progress: &Progress,
) -> Trace
where
    E: Energy + Sync + ?Sized,
    K: Kernel<E> + Sync,
{
    let mut states = chains::states(energy, walkers);
    let look = |step, walkers: &[Walker<'_, E>], states: &BitRows, since: Acceptance| Point {
        step,
        mean_energy: chains::mean_energy(walkers),
        acceptance: (since.steps > 0).then(|| since.accepted as f64 / since.steps as f64),
        mmd2: mmd.and_then(|mmd| mmd.squared(states)),
    };
    let mut points = vec![look(0, walkers, &states, Acceptance::new())];
    let mut seconds = vec![0.0];
    let (mut total, mut elapsed, mut done) = (Acceptance::new(), 0.0, 0);
    for checkpoint in checkpoints(steps) {
        while done < checkpoint {
            let stride = STRIDE.min(checkpoint - done);
            let start = Instant::now();
            chains::advance(walkers, kernel, stride, progress);
            elapsed += start.elapsed().as_secs_f64();
            done += stride;
            let (energy, rate) = (chains::mean_energy(walkers), chains::acceptance(walkers).rate());
            progress.note(format!("step {done}, acceptance {rate:.3}, mean energy {energy:.1}"));
        }
        let since = chains::acceptance(walkers);
        walkers.iter_mut().for_each(|walker| walker.acceptance = Acceptance::new());
        total = chains::add(total, since);
        states = chains::states(energy, walkers);
        points.push(look(checkpoint, walkers, &states, since));
        seconds.push(elapsed);
    }
    Trace { points, seconds, total, states }
}
