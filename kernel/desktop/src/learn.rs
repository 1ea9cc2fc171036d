//! Models learned from data: persistent contrastive divergence with any sampler, and objectives without chains.
//!
//! `p(x) ∝ e^(−E(x; θ))`. Each change of θ is a step of Adam along the gradient of the negative log likelihood,
//! `⟨∂E/∂θ⟩_data − ⟨∂E/∂θ⟩_chains`, or along that of an [`Objective`]. One call learns an RBM, which is then
//! sampled as any other model:
//!
//! ```
//! use bitmc_desktop::bits::BitRows;
//! use bitmc_desktop::learn::{Learner, Method, Mover, Plan, RbmFamily};
//! use bitmc::{Layout, Packed};
//!
//! // Rows of four bits: the first two are equal, and so are the last two.
//! let mut data = BitRows::new(Layout::binary(4));
//! for word in [0b0000, 0b0011, 0b1100, 0b1111] {
//!     data.push(Packed::new(data.layout(), &[word])?);
//! }
//! let family = RbmFamily { visible: 4, hidden: 8 };
//! let plan = Plan { iterations: 1000, rate: 0.02, ..Plan::default() };
//! let learned = Learner::new(&family, &data, Method::Chains(Mover::Sweeps, 1), plan).run()?;
//! let samples = family.model(&learned.theta)?.sampler().run()?;
//! assert!(samples.correlation(0, 1) > Some(0.5) && samples.correlation(1, 2) < Some(0.2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! How likely held-out data are under the result is measured by [`measure`].

mod family;
mod likelihood;
mod method;

pub use family::{Family, IsingFamily, NetworkFamily, RbmFamily};
pub use likelihood::{Annealing, Likelihood, Mean, Split, glance, independent, measure};
pub use method::{Method, Mover, Objective, RunningFloor};

use crate::Error;
use crate::bits::BitRows;
use crate::chains::{memory, streams};
use crate::checkpoint::{Checkpoint, Fnv};
use bitmc::energy::Tempered;
use bitmc::lane::{Block, LANES};
use bitmc::learn::{Adam, Contrast, CyclicalLearning, Minibatch, Replay, Report, clip, decay, lasso};
use bitmc::snapshot::{Reader, Snapshot, SnapshotError, Writer};
use bitmc::{LaneRng, Layout, Packed, Rng, SeedableRng};
use method::{By, retune};
use rayon::prelude::*;
use serde::Serialize;

/// How long, from which seed, and with what penalties.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// Seed of all random numbers.
    pub seed: u64,
    /// Changes of θ.
    pub iterations: u64,
    /// Samples of one change, and chains that move for it.
    pub batch: u32,
    /// States of the replay buffer in which the chains wait: `batch`, or more, of which some are drawn for each change. 0 is
    /// `batch`.
    pub replay: u32,
    /// Adam's rate at the beginning; it falls to a tenth along a geometric schedule.
    pub rate: f32,
    /// ℓ1 on all but the biases.
    pub lasso: f32,
    /// ℓ2 on all but the biases: weight decay.
    pub decay: f32,
    /// The Euclidean norm to which a gradient is cut; 0 for none.
    pub clip: f32,
    /// Whether the biases are learned.
    pub biases: bool,
    /// Parts of a batch, each with its own generator and chains. Threads share the parts; the result depends on their number,
    /// and not on that of the threads.
    pub parts: u32,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            seed: 1,
            iterations: 1000,
            batch: 100,
            replay: 0,
            rate: 0.01,
            lasso: 0.0,
            decay: 0.0,
            clip: 0.0,
            biases: true,
            parts: 1,
        }
    }
}

/// What was learned.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Learned {
    /// θ.
    pub theta: Vec<Block>,
    /// Changes of θ: fewer than planned where a look ended it.
    pub iterations: u64,
    /// Energies evaluated: of samples, neighbours and proposals, and those of tuning.
    pub evaluations: u64,
    /// Where the chains are, part by part, a state after the other; without chains, where they would begin.
    pub chains: Vec<u32>,
}

/// After a change of θ.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Look<'l> {
    /// Changes so far.
    pub iteration: u64,
    /// θ.
    pub theta: &'l [Block],
    /// The loss of this change's samples: an objective's, or mean E of the data less mean E of the chains.
    pub loss: f64,
    /// Its logarithm, which fits where the loss does not; NaN where that is negative.
    pub log_loss: f64,
    /// Energies evaluated so far.
    pub evaluations: u64,
}

/// A source of samples: rows, of which each is as likely; or a function that writes the words of a new sample.
pub trait Data: Sync {
    /// Whether it has samples of this shape.
    ///
    /// # Errors
    /// [`Error::Model`] where it has none.
    fn check(&self, layout: Layout) -> Result<(), Error>;

    /// Writes a sample.
    fn draw(&self, rng: &mut LaneRng, words: &mut [u32]);

    /// A number by which a [checkpoint](Learner::checkpoint) knows its data. It is made from a few samples, unless the source
    /// has all of them at hand, as rows have.
    fn fingerprint(&self, layout: Layout) -> u64 {
        let (mut hash, mut rng, mut words) = (Fnv::new(), LaneRng::seed_from_u64(0), vec![0; layout.words()]);
        for _ in 0..64 {
            self.draw(&mut rng, &mut words);
            hash.add_words(&words);
        }
        hash.finish()
    }
}

impl Data for &BitRows {
    fn check(&self, layout: Layout) -> Result<(), Error> {
        match self.layout() == layout && !self.is_empty() {
            true => Ok(()),
            false => Err(Error::model(format!(
                "{} rows of data with {} sites: rows of {} are needed",
                self.len(),
                self.layout().sites(),
                layout.sites()
            ))),
        }
    }

    fn draw(&self, rng: &mut LaneRng, words: &mut [u32]) {
        words.copy_from_slice(self.row(rng.next_u32() as usize));
    }

    fn fingerprint(&self, _layout: Layout) -> u64 {
        let mut hash = Fnv::new();
        self.rows().for_each(|row| hash.add_words(row));
        hash.finish()
    }
}

impl<F: Fn(&mut LaneRng, &mut [u32]) + Sync> Data for F {
    fn check(&self, _layout: Layout) -> Result<(), Error> {
        Ok(())
    }

    fn draw(&self, rng: &mut LaneRng, words: &mut [u32]) {
        self(rng, words);
    }
}

/// Learns the parameters of a [`Family`] from data by a [`Method`]. [`Learner::run`] takes the threads of the rayon pool that
/// it is called from.
#[derive(Clone, Debug)]
pub struct Learner<'a, F, D> {
    family: &'a F,
    data: D,
    method: Method,
    plan: Plan,
    theta: Option<Vec<Block>>,
    base: &'a [f32],
    kept: Checkpoint,
}

impl<'a, F: Family, D: Data> Learner<'a, F, D> {
    /// From uniform chains and the family's own θ.
    #[must_use]
    pub fn new(family: &'a F, data: D, method: Method, plan: Plan) -> Self {
        Self { family, data, method, plan, theta: None, base: &[], kept: Checkpoint::default() }
    }

    /// Begins at this θ.
    #[must_use]
    pub fn theta(self, theta: Vec<Block>) -> Self {
        Self { theta: Some(theta), ..self }
    }

    /// Begins at independent sites with these logits, as those of the data ([`Split::fields`]): the chains, and the
    /// [start](Family::start) of θ.
    #[must_use]
    pub fn base(self, fields: &'a [f32]) -> Self {
        Self { base: fields, ..self }
    }

    /// Keeps the run in a file, written after every so many changes of θ ([`Checkpoint::at`]). A run that goes on from the file
    /// has the bits of one that was never stopped. The file must be of a run with the same family, [data](Data::fingerprint),
    /// start, method and plan.
    #[must_use]
    pub fn checkpoint(self, kept: Checkpoint) -> Self {
        Self { kept, ..self }
    }

    /// Learns.
    ///
    /// # Errors
    /// * [`Error::Option`] where a number of the plan is illegal.
    /// * [`Error::Model`] where a sample is no state of the family, the objective is not defined for it, or a
    ///   gradient is not finite.
    /// * [`Error::File`] where the checkpoint cannot be written or is of another run.
    pub fn run(self) -> Result<Learned, Error> {
        self.watched(|_| Ok(true))
    }

    /// Learns, and looks after each change of θ. It ends early where the look is false.
    ///
    /// # Errors
    /// As [`Learner::run`], and what the look returns.
    pub fn watched(self, mut look: impl FnMut(&Look<'_>) -> Result<bool, Error>) -> Result<Learned, Error> {
        let Self { family, plan, .. } = &self;
        let mut run = self.begin()?;
        let question = self.question(&run.theta);
        let mut moments = vec![[0.0; LANES]; 2 * run.theta.len()];
        let mut adam = Adam::new(&mut moments, plan.rate)?;
        self.kept.resume(&question, |mut reader| {
            reader.get(&mut run)?.get(&mut adam)?;
            reader.finish()
        })?;
        let mut room = vec![[0; LANES]; family.room_len()];
        let mut gradient = vec![[0.0; LANES]; run.theta.len()];
        while run.iteration < plan.iterations {
            let (loss, log_loss) = self.change(&mut run, &mut gradient, &mut room)?;
            adam.set_rate(plan.rate * 0.1f32.powf(run.iteration as f32 / plan.iterations as f32))?;
            adam.step(&gradient, &mut run.theta);
            run.iteration += 1;
            if adam.skipped() > 0 {
                return Err(Error::model(format!(
                    "iteration {}: a gradient is not finite; a limit of its norm helps (clip)",
                    run.iteration
                )));
            }
            if run.iteration.is_multiple_of(self.kept.every().max(1)) {
                self.kept.keep(&question, &[&run, &adam])?;
            }
            let (iteration, evaluations) = (run.iteration, run.evaluations);
            if !look(&Look { iteration, theta: &run.theta, loss, log_loss, evaluations })? {
                break;
            }
        }
        let chains = run.parts.into_iter().flat_map(|part| part.words).collect();
        Ok(Learned { theta: run.theta, iterations: run.iteration, evaluations: run.evaluations, chains })
    }

    /// Which run begins at this θ: what a file to go on from must be of.
    fn question(&self, theta: &[Block]) -> String {
        let start = |numbers: &[f32]| {
            let mut hash = Fnv::new();
            numbers.iter().for_each(|number| hash.add_words(&[number.to_bits()]));
            hash.finish()
        };
        format!(
            "{}; data {:016x}; start {:016x}; base {:016x}; {:?}; {:?}",
            self.family.name(),
            self.data.fingerprint(self.family.layout()),
            start(theta.as_flattened()),
            start(self.base),
            self.method,
            self.plan
        )
    }

    /// Before the first change.
    fn begin(&self) -> Result<Run, Error> {
        let Self { family, plan, base, .. } = self;
        let layout = family.layout();
        if layout.sites() == 0 {
            return Err(Error::model(format!("{}: a site is needed", family.name())));
        }
        self.data.check(layout)?;
        let (parts, replay) = (plan.parts, plan.replay.max(plan.batch));
        if plan.batch == 0 || parts == 0 || parts > plan.batch {
            let reason = format!("a batch of {} in {parts} parts: each needs a sample", plan.batch);
            return Err(Error::option(reason));
        }
        for (name, value) in [("lasso", plan.lasso), ("decay", plan.decay), ("clip", plan.clip)] {
            if !(0.0..=f32::MAX).contains(&value) {
                return Err(Error::option(format!("{name} {value}: 0 or more, and finite")));
            }
        }
        if !base.is_empty() && base.len() != layout.sites() {
            let reason = format!("{} logits of independent sites: there are {}", base.len(), layout.sites());
            return Err(Error::option(reason));
        }
        let mut rngs: Vec<LaneRng> = streams(plan.seed).take(parts as usize).collect();
        let theta = self.theta.clone().unwrap_or_else(|| family.start(base, &mut rngs[0]));
        let mut room = vec![[0; LANES]; family.room_len()];
        let model = family.energy(&theta, &mut room)?;
        let share = |all: u32, part: u32| (u64::from(all) * u64::from(part) / u64::from(parts)) as u32;
        let part = |(part, mut rng): (u32, LaneRng)| -> Result<Part, Error> {
            let share = |all| share(all, part + 1) - share(all, part);
            let mut words = vec![0; layout.words() * share(replay) as usize];
            if base.is_empty() {
                Replay::new(layout, &mut words)?.randomise(&mut rng);
            } else {
                let base = Tempered::from_base(&model, base, 0.0)?.base();
                words.chunks_exact_mut(layout.words()).for_each(|words| base.draw(&mut rng, words));
            }
            Ok(Part { rng, words, samples: share(plan.batch), gradient: vec![[0.0; LANES]; theta.len()] })
        };
        let parts = (0..).zip(rngs).map(part).collect::<Result<_, _>>()?;
        drop(model);
        let cycle = if let Method::Cyclical(cycle) = self.method { Some(cycle) } else { None };
        Ok(Run { iteration: 0, evaluations: 0, theta, parts, cycle, floor: RunningFloor::default() })
    }

    /// The gradient of one change, with penalties; the loss and its logarithm.
    fn change(
        &self,
        run: &mut Run,
        gradient: &mut [Block],
        room: &mut [bitmc::lane::Bits],
    ) -> Result<(f64, f64), Error> {
        let Self { family, plan, .. } = self;
        let Run { iteration, evaluations, theta, parts, cycle, floor } = run;
        let model = family.energy(theta, room)?;
        let chains = match (self.method, cycle) {
            (Method::Chains(mover, steps), _) => Some((mover, steps)),
            (Method::Cyclical(_), Some(cycle)) => {
                if cycle.is_due(*iteration) {
                    *evaluations += retune(cycle, floor, &model, parts)?;
                }
                let (kernel, steps) = cycle.at(*iteration)?;
                Some((Mover::Langevin(kernel), steps))
            }
            _ => None,
        };
        let turn = |part: &mut Part| match (chains, self.method) {
            (Some((mover, steps)), _) => part.chains(&model, &self.data, (&By(*family, mover), steps)),
            (None, Method::Objective(objective)) => part.objective(&model, &self.data, objective),
            _ => unreachable!("chains are those of all other methods"),
        };
        let reports: Vec<Report> = parts.par_iter_mut().map(turn).collect::<Result<_, Error>>()?;
        let scale = reports.iter().map(|report| report.log_scale).fold(0.0, f32::max);
        gradient.fill([0.0; LANES]);
        let (mut loss, mut logs) = (0.0, Vec::new());
        for (part, report) in parts.iter().zip(&reports) {
            let share = f64::from(part.samples) / f64::from(plan.batch);
            let factor = share as f32 * (report.log_scale - scale).exp();
            let sums = gradient.as_flattened_mut().iter_mut().zip(part.gradient.as_flattened());
            sums.for_each(|(sum, term)| *sum += factor * term);
            loss += share * f64::from(report.loss);
            logs.push(f64::from(report.log_loss) + share.ln());
            *evaluations += report.evaluations;
        }
        if scale > 0.0 {
            // Where it is cut, its length does not matter.
            let scale = if plan.clip > 0.0 { scale.min(40.0) } else { scale };
            gradient.as_flattened_mut().iter_mut().for_each(|term| *term *= scale.exp());
        }
        let biases = family.biases();
        if !plan.biases {
            gradient[..biases].fill([0.0; LANES]);
        }
        if plan.clip > 0.0 {
            clip(plan.clip, gradient);
        }
        lasso(plan.lasso, &theta[biases..], &mut gradient[biases..]);
        decay(plan.decay, &theta[biases..], &mut gradient[biases..]);
        Ok((loss, log_sum(&logs)))
    }
}

/// ln Σ e^l; NaN where a term is.
fn log_sum(logs: &[f64]) -> f64 {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let nan = logs.iter().any(|log| log.is_nan());
    match logs {
        _ if nan => f64::NAN,
        _ if !most.is_finite() => most,
        _ => most + logs.iter().map(|log| (log - most).exp()).sum::<f64>().ln(),
    }
}

/// Everything that changes but for the optimiser.
struct Run {
    iteration: u64,
    evaluations: u64,
    theta: Vec<Block>,
    parts: Vec<Part>,
    cycle: Option<CyclicalLearning>,
    floor: RunningFloor,
}

impl Snapshot for Run {
    fn save(&self, to: &mut Writer<'_>) {
        to.name(*b"lern");
        (self.iteration, self.evaluations).save(to);
        self.theta.as_flattened().save(to);
        for part in &self.parts {
            part.rng.save(to);
            part.words[..].save(to);
        }
        if let Some(cycle) = &self.cycle {
            cycle.save(to);
            self.floor.save(to);
        }
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        from.name(*b"lern")?;
        let mut counts = (0, 0);
        counts.load(from)?;
        (self.iteration, self.evaluations) = counts;
        self.theta.as_flattened_mut().load(from)?;
        for part in &mut self.parts {
            part.rng.load(from)?;
            part.words[..].load(from)?;
        }
        let Some(cycle) = &mut self.cycle else { return Ok(()) };
        cycle.load(from)?;
        self.floor.load(from)
    }
}

/// A part of the batch.
struct Part {
    rng: LaneRng,
    /// Its states of the replay buffer.
    words: Vec<u32>,
    /// Its samples, and chains, of one change.
    samples: u32,
    gradient: Vec<Block>,
}

impl Part {
    /// The contrast of its samples and its chains.
    fn chains<E: bitmc::learn::Learnable>(
        &mut self,
        model: &E,
        data: &impl Data,
        kernel: (&impl bitmc::Kernel<E>, u64),
    ) -> Result<Report, Error> {
        let (Self { rng, words, samples, gradient }, mut room) = (self, memory(model));
        let layout = model.layout();
        let mut sample = vec![0; layout.words()];
        let mut contrast = Contrast::new(model, *samples, *samples, gradient)?;
        let mut replay = Replay::new(layout, words)?;
        for slot in 0..*samples as usize {
            contrast.data(model, draw(data, layout, &mut sample, rng)?, &mut room)?;
            let slot = if replay.len() > *samples as usize { replay.pick(rng) } else { slot };
            contrast.persist(model, (&mut replay, slot), kernel, &mut room, rng)?;
        }
        Ok(contrast.finish())
    }

    /// An objective of its samples.
    fn objective<E: bitmc::learn::Learnable>(
        &mut self,
        model: &E,
        data: &impl Data,
        objective: Objective,
    ) -> Result<Report, Error> {
        let (Self { rng, samples, gradient, .. }, mut room) = (self, memory(model));
        let mut sample = vec![0; model.layout().words()];
        let mut batch = Minibatch::new(model, gradient)?;
        for _ in 0..*samples {
            let x = draw(data, model.layout(), &mut sample, rng)?;
            objective.add(&mut batch, model, x, &mut room, rng)?;
        }
        Ok(batch.finish())
    }
}

/// A sample of the data.
fn draw<'w>(
    data: &impl Data,
    layout: Layout,
    words: &'w mut [u32],
    rng: &mut LaneRng,
) -> Result<Packed<'w>, Error> {
    data.draw(rng, words);
    Ok(Packed::new(layout, words)?)
}
