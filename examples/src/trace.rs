//! What a run looked like: mean energy, acceptance and distance to the distribution, at steps 1, 2, …, 10, 12, ….

use crate::bits::BitRows;
use crate::chains::{self, Moving};
use crate::cli::Failure;
use crate::mmd::Mmd;
use crate::progress::Progress;
use bitmc::snapshot::{Reader, Snapshot, SnapshotError, Writer};
use bitmc::stats::Acceptance;
use bitmc::{Layout, Packed};
use cpu_time::ProcessTime;
use serde::Serialize;

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

/// A run as far as it has come, beside its chains.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Steps that every chain has made.
    pub done: u64,
    points: Vec<Point>,
    seconds: Vec<f64>,
    total: Acceptance,
    /// After the last point.
    since: Acceptance,
    elapsed: f64,
}

/// Where a run may end before its last step.
#[derive(Clone, Copy, Debug)]
pub struct Enough {
    /// At this squared MMD or a smaller one,
    pub mmd2: f64,
    /// from this step on.
    pub from: u64,
}

/// What is to be done by some chains.
#[derive(Clone, Debug)]
pub struct Task<'a> {
    /// Of their states.
    pub layout: Layout,
    /// Steps of every chain.
    pub steps: u64,
    /// Where fewer do.
    pub enough: Option<Enough>,
    /// The distance to reference samples, where there are any.
    pub mmd: Option<&'a Mmd<'a>>,
    /// Where to show how far it is.
    pub progress: &'a Progress,
}

impl Task<'_> {
    /// Moves the chains from where the recording stands to the last step and looks at them on the way; looking
    /// is not in the seconds, which are the processor's, all threads together. After every `every` steps `keep` is shown how far it is.
    ///
    /// # Errors
    /// What `keep` returns.
    pub fn run<W: Moving>(
        &self,
        walkers: &mut [W],
        mut now: Recording,
        every: u64,
        mut keep: impl FnMut(&Recording, &[W]) -> Result<(), Failure>,
    ) -> Result<Trace, Failure> {
        let progress = self.progress;
        progress.advance(now.done * walkers.len() as u64);
        if now.points.is_empty() {
            now.points.push(self.look(0, walkers, Acceptance::new()));
            now.seconds.push(0.0);
        }
        let before = now.done;
        for checkpoint in checkpoints(self.steps).into_iter().skip_while(|&step| step <= before) {
            while now.done < checkpoint {
                let stride = STRIDE.min(checkpoint - now.done).min(every - now.done % every);
                let start = ProcessTime::now();
                chains::advance(walkers, stride, progress);
                now.elapsed += start.elapsed().as_secs_f64();
                now.done += stride;
                now.since = chains::add(now.since, chains::acceptance(walkers));
                let (mean, rate) = (chains::mean_energy(walkers), now.since.rate());
                progress.note(format!("step {}, acceptance {rate:.3}, mean energy {mean:.1}", now.done));
                if now.done == checkpoint {
                    let since = std::mem::replace(&mut now.since, Acceptance::new());
                    now.total = chains::add(now.total, since);
                    now.points.push(self.look(checkpoint, walkers, since));
                    now.seconds.push(now.elapsed);
                }
                if now.done.is_multiple_of(every) {
                    keep(&now, walkers)?;
                }
            }
            if self.is_enough(now.points.last()) {
                progress.advance((self.steps - now.done) * walkers.len() as u64);
                break;
            }
        }
        let states = chains::states(self.layout, walkers);
        Ok(Trace { points: now.points, seconds: now.seconds, total: now.total, states })
    }

    fn is_enough(&self, point: Option<&Point>) -> bool {
        let below = |enough: Enough, point: &Point| {
            point.step >= enough.from && point.mmd2.is_some_and(|mmd2| mmd2 <= enough.mmd2)
        };
        self.enough.zip(point).is_some_and(|(enough, point)| below(enough, point))
    }

    fn look(&self, step: u64, walkers: &[impl Moving], since: Acceptance) -> Point {
        Point {
            step,
            mean_energy: chains::mean_energy(walkers),
            acceptance: (since.steps > 0).then(|| since.accepted as f64 / since.steps as f64),
            mmd2: self.mmd.and_then(|mmd| mmd.squared(&chains::states(self.layout, walkers))),
        }
    }
}

impl Snapshot for Recording {
    fn save(&self, to: &mut Writer<'_>) {
        (self.done, self.elapsed.to_bits()).save(to);
        self.total.save(to);
        self.since.save(to);
        save_points(&self.points, &self.seconds, to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let mut numbers = (0, 0);
        numbers.load(from)?;
        (self.done, self.elapsed) = (numbers.0, f64::from_bits(numbers.1));
        self.total.load(from)?;
        self.since.load(from)?;
        (self.points, self.seconds) = load_points(from)?;
        Ok(())
    }
}

/// With the layout of its states, which must be that of the trace it is loaded to.
impl Snapshot for Trace {
    fn save(&self, to: &mut Writer<'_>) {
        self.total.save(to);
        save_points(&self.points, &self.seconds, to);
        self.states.len().save(to);
        self.states.rows().flatten().for_each(|word| word.save(to));
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.total.load(from)?;
        (self.points, self.seconds) = load_points(from)?;
        let (layout, mut rows) = (self.states.layout(), 0usize);
        rows.load(from)?;
        self.states = BitRows::new(layout);
        for _ in 0..rows {
            let mut words = vec![0u32; layout.words()];
            words.iter_mut().try_for_each(|word| word.load(from))?;
            self.states.push(Packed::new(layout, &words).map_err(|_| SnapshotError::Value)?);
        }
        Ok(())
    }
}

impl Trace {
    /// A trace of nothing, to load one to.
    #[must_use]
    pub fn empty(layout: Layout) -> Self {
        Self { points: Vec::new(), seconds: Vec::new(), total: Acceptance::new(), states: BitRows::new(layout) }
    }
}

fn save_points(points: &[Point], seconds: &[f64], to: &mut Writer<'_>) {
    points.len().save(to);
    for (point, seconds) in points.iter().zip(seconds) {
        (point.step, point.mean_energy.to_bits()).save(to);
        (point.acceptance.map(f64::to_bits), point.mmd2.map(f64::to_bits)).save(to);
        seconds.to_bits().save(to);
    }
}

fn load_points(from: &mut Reader<'_>) -> Result<(Vec<Point>, Vec<f64>), SnapshotError> {
    let (mut count, mut points, mut all) = (0usize, Vec::new(), Vec::new());
    count.load(from)?;
    for _ in 0..count {
        let (mut numbers, mut options, mut seconds) = ((0, 0), (None, None), 0);
        numbers.load(from)?;
        options.load(from)?;
        seconds.load(from)?;
        let (step, mean_energy) = (numbers.0, f64::from_bits(numbers.1));
        let (acceptance, mmd2) = (options.0.map(f64::from_bits), options.1.map(f64::from_bits));
        points.push(Point { step, mean_energy, acceptance, mmd2 });
        all.push(f64::from_bits(seconds));
    }
    Ok((points, all))
}
