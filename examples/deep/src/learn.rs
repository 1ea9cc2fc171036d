//! A network learned from pictures by persistent contrastive divergence, with chains in a replay buffer.

use crate::network::{Network, Shape};
use crate::product::add_times;
use bitmc::energy::Tempered;
use bitmc::lane::{Block, LANES};
use bitmc::learn::{Adam, Contrast, CyclicalLearning, Replay, clip};
use bitmc::random::uniform;
use bitmc::snapshot::{Reader, Snapshot, SnapshotError, Writer};
use bitmc::tune::CycleSettings;
use bitmc::{Chain, GibbsWithGradients, LaneRng, Langevin, Packed, Rng};
use bitmc_desktop::learn::{Mover, RunningFloor, Split};
use bitmc_examples::bits::BitRows;
use bitmc_examples::chains::{memory, streams};
use bitmc_examples::checkpoint::Checkpoint;
use bitmc_examples::cli::Failure;
use clap::ValueEnum;
use cpu_time::ProcessTime;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// Parts of a batch, each with its part of the buffer and a generator. Their number is fixed, so that the result does not
/// depend on the threads.
pub const SHARDS: usize = 4;

/// Chains that tune ACS, each with one step for a candidate.
const TUNERS: usize = 8;
/// Rounds of five candidates at each end of the cycle: 200 steps of every chain (D.5).
const ROUNDS: u32 = 40;

/// What moves the chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Sampler {
    /// The discrete Langevin proposal with the Metropolis test
    Dmala,
    /// Automatic cyclical scheduling for learning (the paper's Algorithm 6)
    Acs,
    /// The same with the Metropolis test for the large steps too
    AcsAdjusted,
    /// Gibbs with gradients, one index a step
    Gwg,
}

impl Sampler {
    /// Whether its step sizes go in cycles.
    #[must_use]
    pub fn is_cyclical(self) -> bool {
        matches!(self, Self::Acs | Self::AcsAdjusted)
    }
}

/// How a network learns.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Of all random numbers.
    pub seed: u64,
    /// What is learned.
    pub shape: Shape,
    /// Changes of the parameters.
    pub iterations: u64,
    /// Steps of every chain for one change. The first iteration of a cycle of ACS takes half of them.
    pub steps: u64,
    /// Samples of one change, and chains that are moved.
    pub batch: usize,
    /// States of the replay buffer.
    pub buffer: usize,
    /// Adam's rate after the warm-up; it falls to a tenth along a geometric schedule.
    pub rate: f32,
    /// Iterations over which the rate rises.
    pub warm_up: u64,
    /// Adam's decay of the running mean of gradients.
    pub momentum: f32,
    /// The norm to which a gradient is cut; 0 for none.
    pub clip: f32,
    /// Strength of a penalty on the square of the net, at the data and at the chains.
    pub penalty: f32,
    /// The share of chains that begin again at the base distribution, in the first seven tenths of the iterations.
    pub restarts: f32,
    /// α of DMALA.
    pub step_size: f32,
    /// Decay of the running mean of the parameters, which is the result.
    pub average: f32,
    /// Iterations of a cycle of ACS, and cycles between two tunings.
    pub cycle: (u32, u32),
}

/// Means over some iterations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Changes of the parameters so far.
    pub iteration: u64,
    /// Mean E of the chains less mean E of the data.
    pub gap: f32,
    /// The smallest and the largest step size of the cycle; 0 without one.
    pub ends: (f32, f32),
}

/// What was learned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lesson {
    /// The running mean of the parameters, 16 numbers a block.
    pub theta: Vec<Block>,
    /// Over the iterations.
    pub curve: Vec<Point>,
    /// States of the buffer, of each part the first ones.
    pub buffer: Vec<u8>,
    /// Energies evaluated, those of tuning too.
    pub evaluations: u64,
    /// Of them, those of tuning.
    pub tuning: u64,
    /// Of processor time.
    pub milliseconds: u64,
}

/// A part of a batch.
struct Shard {
    rng: LaneRng,
    words: Vec<u32>,
    gradient: Vec<Block>,
}

impl Shard {
    /// Adds up its part of the gradient; returns mean E of the chains less that of the data, and evaluations.
    fn turn(
        &mut self,
        network: &Network,
        digits: &Split,
        plan: &Plan,
        (mover, steps): (&Mover, u64),
        restarts: f32,
    ) -> Result<(f32, u64), Failure> {
        let batch = plan.batch as u32;
        let mut replay = Replay::new(digits.train.layout(), &mut self.words).map_err(Failure::model)?;
        let mut contrast = Contrast::new(network, batch, batch, &mut self.gradient).map_err(Failure::model)?;
        let mut room = memory(network);
        let base = Tempered::from_base(network, &digits.fields, 0.0).map_err(Failure::model)?.base();
        let mut words = vec![0; digits.train.layout().words()];
        let mut seen = Vec::new();
        for _ in 0..plan.batch / SHARDS {
            let row = digits.train.row(self.rng.next_u32() as usize);
            let sample = Packed::new(digits.train.layout(), row).map_err(Failure::model)?;
            contrast.data(network, sample, &mut room).map_err(Failure::model)?;
            let at = replay.pick(&mut self.rng);
            if uniform(&mut self.rng) < restarts {
                base.draw(&mut self.rng, &mut words);
                let state = Packed::new(digits.train.layout(), &words).map_err(Failure::model)?;
                replay.put(at, state);
            }
            let chain = (&mut replay, at);
            contrast
                .persist(network, chain, (mover, steps), &mut room, &mut self.rng)
                .map_err(Failure::model)?;
            seen.push((sample, at));
        }
        let report = contrast.finish();
        if plan.penalty > 0.0 {
            let (strength, into) = (plan.penalty / plan.batch as f32, self.gradient.as_flattened_mut());
            for (sample, at) in seen {
                network.accumulate_square(sample, strength, into).map_err(Failure::model)?;
                network.accumulate_square(replay.state(at), strength, into).map_err(Failure::model)?;
            }
        }
        Ok((-report.loss, report.evaluations))
    }
}

/// The whole run but for the optimiser: what a checkpoint keeps.
struct State {
    iteration: u64,
    evaluations: u64,
    tuning: u64,
    /// Of processor time.
    milliseconds: u64,
    theta: Vec<Block>,
    average: Vec<Block>,
    shards: Vec<Shard>,
    rng: LaneRng,
    cycle: CyclicalLearning,
    floor: RunningFloor,
    /// Gaps since the last point.
    sum: f32,
    since: u64,
    curve: Vec<Point>,
}

impl Snapshot for State {
    fn save(&self, to: &mut Writer<'_>) {
        to.name(*b"deep");
        (self.iteration, self.evaluations, self.tuning).save(to);
        self.milliseconds.save(to);
        self.theta.as_flattened().save(to);
        self.average.as_flattened().save(to);
        for shard in &self.shards {
            shard.rng.save(to);
            shard.words[..].save(to);
        }
        self.rng.save(to);
        self.cycle.save(to);
        self.floor.save(to);
        self.curve.len().save(to);
        (self.sum, self.since).save(to);
        for point in &self.curve {
            (point.iteration, point.gap, point.ends).save(to);
        }
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        from.name(*b"deep")?;
        let mut counts = (0, 0, 0);
        counts.load(from)?;
        (self.iteration, self.evaluations, self.tuning) = counts;
        self.milliseconds.load(from)?;
        self.theta.as_flattened_mut().load(from)?;
        self.average.as_flattened_mut().load(from)?;
        for shard in &mut self.shards {
            shard.rng.load(from)?;
            shard.words[..].load(from)?;
        }
        self.rng.load(from)?;
        self.cycle.load(from)?;
        self.floor.load(from)?;
        let mut points = 0usize;
        points.load(from)?;
        // A byte of the file for each, at the least, so that no length takes memory that is not there.
        if points > self.iteration as usize {
            return Err(SnapshotError::Value);
        }
        let mut window = (0.0, 0);
        window.load(from)?;
        (self.sum, self.since) = window;
        self.curve = vec![Point::default(); points];
        for point in &mut self.curve {
            let mut kept = (0, 0.0, (0.0, 0.0));
            kept.load(from)?;
            *point = Point { iteration: kept.0, gap: kept.1, ends: kept.2 };
        }
        Ok(())
    }
}

/// Points of the curve.
const POINTS: u64 = 200;

impl State {
    fn new(digits: &Split, sampler: Sampler, plan: &Plan) -> Result<Self, Failure> {
        let layout = digits.train.layout();
        let mut streams = streams(plan.seed);
        let mut rng = streams.next().expect("streams have no end");
        let theta = plan.shape.start(&mut rng);
        let network = Network::new(&plan.shape, &digits.fields, &theta)?;
        let base = Tempered::from_base(&network, &digits.fields, 0.0).map_err(Failure::model)?.base();
        let shard = |mut rng: LaneRng| {
            let mut words = vec![0; layout.words() * (plan.buffer / SHARDS)];
            words.chunks_exact_mut(layout.words()).for_each(|words| base.draw(&mut rng, words));
            Shard { rng, words, gradient: vec![[0.0; LANES]; theta.len()] }
        };
        let shards = streams.take(SHARDS).map(shard).collect();
        let large = (5.0, 0.9, plan.steps.div_ceil(2));
        let cycle = CyclicalLearning {
            period: plan.cycle.0,
            large,
            small: (0.15, plan.steps),
            retune: plan.cycle.1,
            adjusted: sampler == Sampler::AcsAdjusted,
        };
        Ok(Self {
            iteration: 0,
            evaluations: 0,
            tuning: 0,
            milliseconds: 0,
            average: theta.clone(),
            theta,
            shards,
            rng,
            cycle,
            floor: RunningFloor::default(),
            sum: 0.0,
            since: 0,
            curve: Vec::new(),
        })
    }

    /// Tunes both ends of the cycle with chains of the buffer, which go on there.
    fn tune(&mut self, network: &Network, digits: &Split) -> Result<(), Failure> {
        let layout = digits.train.layout();
        let count = TUNERS;
        let settings = CycleSettings {
            chains: count as u32,
            steps: 1,
            rounds: ROUNDS,
            burn_in: 0,
            ..CycleSettings::default()
        };
        let mut places = Vec::new();
        let mut chains = Vec::new();
        for number in 0..count {
            let shard = number % SHARDS;
            let states = self.shards[shard].words.len() / layout.words();
            // Another state each time, and no state twice.
            let state = (self.floor.searches() * count + number) / SHARDS % states;
            let words = &self.shards[shard].words[state * layout.words()..(state + 1) * layout.words()];
            let start = Packed::new(layout, words).map_err(Failure::model)?;
            chains.push(Chain::new(network, memory(network), start).map_err(Failure::model)?);
            places.push((shard, state));
        }
        let tuned = self.floor.tune(&mut self.cycle, settings, &mut chains, &mut self.rng);
        let steps = tuned.map_err(Failure::model)?;
        self.tuning += steps;
        self.evaluations += steps;
        for ((shard, state), chain) in places.into_iter().zip(&chains) {
            let at = state * layout.words();
            self.shards[shard].words[at..at + layout.words()].copy_from_slice(chain.state().words());
        }
        Ok(())
    }
}

/// The rate of an iteration.
fn rate(plan: &Plan, iteration: u64) -> f32 {
    let rise = ((iteration + 1) as f32 / plan.warm_up.max(1) as f32).min(1.0);
    plan.rate * rise * 0.1f32.powf(iteration as f32 / plan.iterations as f32)
}

/// Learns, or goes on learning from a checkpoint that answers the same question. Where `progress` returns false it ends early,
/// without another checkpoint.
///
/// # Errors
/// [`Failure`] where a number of the plan is illegal, or a checkpoint cannot be written.
pub fn learn(
    digits: &Split,
    sampler: Sampler,
    plan: &Plan,
    (checkpoint, question): (&Checkpoint, &str),
    progress: impl FnMut(u64, &Point) -> bool,
) -> Result<Lesson, Failure> {
    descend(digits, sampler, plan, (checkpoint, question), progress, 1.0)
}

/// Along `sign` times the gradient.
fn descend(
    digits: &Split,
    sampler: Sampler,
    plan: &Plan,
    (checkpoint, question): (&Checkpoint, &str),
    mut progress: impl FnMut(u64, &Point) -> bool,
    sign: f32,
) -> Result<Lesson, Failure> {
    if !plan.batch.is_multiple_of(SHARDS) || !plan.buffer.is_multiple_of(SHARDS) || plan.buffer < 10 * SHARDS {
        let reason = format!(
            "a batch of {} and a buffer of {}: multiples of {SHARDS} are needed, and 40 states",
            plan.batch, plan.buffer
        );
        return Err(Failure::Option(reason));
    }
    let mut state = State::new(digits, sampler, plan)?;
    let mut moments = vec![[0.0; LANES]; 2 * state.theta.len()];
    let adam = Adam::new(&mut moments, plan.rate).and_then(|adam| adam.with(plan.momentum, 0.999, 1e-8));
    let mut adam = adam.map_err(Failure::model)?;
    checkpoint.resume(question, |mut reader| {
        reader.get(&mut state)?.get(&mut adam)?;
        reader.finish()
    })?;
    let mut gradient = vec![[0.0; LANES]; state.theta.len()];
    while state.iteration < plan.iterations {
        let clock = ProcessTime::now();
        let network = Network::new(&plan.shape, &digits.fields, &state.theta)?;
        let (mover, steps) = match sampler {
            Sampler::Gwg => (Mover::Gradients(GibbsWithGradients::new(1).map_err(Failure::model)?), plan.steps),
            Sampler::Dmala => {
                (Mover::Langevin(Langevin::adjusted(plan.step_size).map_err(Failure::model)?), plan.steps)
            }
            Sampler::Acs | Sampler::AcsAdjusted => {
                if state.cycle.is_due(state.iteration) {
                    state.tune(&network, digits)?;
                }
                let (kernel, steps) = state.cycle.at(state.iteration).map_err(Failure::model)?;
                (Mover::Langevin(kernel), steps)
            }
        };
        // Chains of the end are long.
        let restarts = if 10 * state.iteration < 7 * plan.iterations { plan.restarts } else { 0.0 };
        let turns: Vec<_> = (state.shards.par_iter_mut())
            .map(|shard| shard.turn(&network, digits, plan, (&mover, steps), restarts))
            .collect::<Result<_, _>>()?;
        gradient.as_flattened_mut().fill(0.0);
        for shard in &state.shards {
            add_times(gradient.as_flattened_mut(), sign, shard.gradient.as_flattened());
        }
        if plan.clip > 0.0 {
            clip(plan.clip, &mut gradient);
        }
        adam.set_rate(rate(plan, state.iteration)).map_err(Failure::model)?;
        adam.step(&gradient, &mut state.theta);
        state.iteration += 1;
        // Early on the mean is over few iterations.
        let kept = plan.average.min(state.iteration as f32 / (state.iteration + 10) as f32);
        let theta = state.theta.as_flattened().iter();
        for (mean, theta) in state.average.as_flattened_mut().iter_mut().zip(theta) {
            *mean += (1.0 - kept) * (theta - *mean);
        }
        state.evaluations += turns.iter().map(|turn| turn.1).sum::<u64>();
        state.sum += turns.iter().map(|turn| turn.0).sum::<f32>() / SHARDS as f32;
        state.since += 1;
        let ends = if sampler.is_cyclical() { (state.cycle.small.0, state.cycle.large.0) } else { (0.0, 0.0) };
        let point = Point { iteration: state.iteration, gap: state.sum / state.since as f32, ends };
        if state.iteration.is_multiple_of(plan.iterations.div_ceil(POINTS))
            || state.iteration == plan.iterations
        {
            state.curve.push(point);
            (state.sum, state.since) = (0.0, 0);
        }
        state.milliseconds += clock.elapsed().as_millis() as u64;
        if state.iteration.is_multiple_of(checkpoint.every()) {
            checkpoint.keep(question, &[&state, &adam])?;
        }
        if !progress(1, &point) {
            break;
        }
    }
    if adam.skipped() > 0 {
        let reason = format!("{} parameters had a gradient that is not finite", adam.skipped());
        return Err(Failure::model(reason));
    }
    let layout = digits.train.layout();
    let mut buffer = BitRows::new(layout);
    for shard in &state.shards {
        for words in shard.words.chunks_exact(layout.words()).take(100 / SHARDS) {
            buffer.push(Packed::new(layout, words).map_err(Failure::model)?);
        }
    }
    let State { average: theta, curve, evaluations, tuning, milliseconds, .. } = state;
    Ok(Lesson { theta, curve, buffer: buffer.to_bytes(), evaluations, tuning, milliseconds })
}
