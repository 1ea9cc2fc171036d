//! Small networks learned as energies over bits, by objectives without chains or by persistent chains.

use crate::bits::BitRows;
use crate::chains::{memory, streams};
use crate::teach::{Sampleless, TeachError};
use bitmc::energy::Perceptron;
use bitmc::lane::{Block, LANES};
use bitmc::learn::{Adam, Contrast, Learnable, Minibatch, Replay, clip, decay};
use bitmc::random::uniform;
use bitmc::{Chain, Gibbs, Kernel, LaneRng, Layout, Packed, SeedableRng};
use cpu_time::ThreadTime;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// A fully connected network that owns its parameters.
#[derive(Clone, Debug)]
pub struct Network {
    widths: Vec<usize>,
    theta: Vec<Block>,
}

/// How a network learns.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Plan {
    /// Seed of all random numbers.
    pub seed: u64,
    /// Changes of the parameters.
    pub iterations: u64,
    /// Samples of one change.
    pub batch: u32,
    /// Adam's rate at the beginning; it falls to a tenth along a geometric schedule.
    pub rate: f32,
    /// Weight decay.
    pub decay: f32,
}

/// What learning has shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lesson {
    /// Energies evaluated in all.
    pub evaluations: u64,
    /// (iteration, mean since the point before) of the loss: of its logarithm where a sample's loss may be any number.
    pub losses: Vec<(u64, f64)>,
    /// Processor seconds.
    pub seconds: f64,
}

/// A way to learn: an objective of the samples alone, or a persistent chain for each sample with a kernel and steps.
#[derive(Clone, Debug)]
pub enum Way<K> {
    /// Without chains.
    Objective(Sampleless),
    /// Persistent chains that begin at uniform bits.
    Chains(K, u64),
}

/// The norm to which gradients are cut: the paper's forms have rare terms of any size.
const LONGEST: f32 = 10.0;

/// Points of a loss curve.
const POINTS: u64 = 40;

impl Network {
    /// Hidden layers of the given widths over some bits. Weights are uniform within ±√(6/(inputs + outputs)) (Glorot
    /// and Bengio 2010), biases 0.
    #[must_use]
    pub fn new(bits: usize, hidden: &[usize], rng: &mut LaneRng) -> Self {
        let widths: Vec<usize> = std::iter::once(bits).chain(hidden.iter().copied()).collect();
        let mut theta = Vec::with_capacity(Perceptron::parameter_len(&widths));
        for (&inputs, outputs) in widths.iter().zip(widths.iter().copied().skip(1).chain([1])) {
            let (row, reach) = (outputs.div_ceil(LANES), (6.0 / (inputs + outputs) as f32).sqrt());
            theta.resize(theta.len() + row, [0.0; LANES]);
            for _ in 0..inputs {
                let mut blocks = vec![[0.0; LANES]; row];
                let weights = blocks.as_flattened_mut().iter_mut().take(outputs);
                weights.for_each(|weight| *weight = (2.0 * uniform(rng) - 1.0) * reach);
                theta.append(&mut blocks);
            }
        }
        Self { widths, theta }
    }

    /// The energy.
    ///
    /// # Errors
    /// [`TeachError`] where learning has left numbers that are none, or a layer is too wide.
    pub fn energy(&self) -> Result<Perceptron<'_>, TeachError> {
        Ok(Perceptron::new(&self.widths, &self.theta)?)
    }

    /// Learns from samples that `data` writes into words.
    ///
    /// # Errors
    /// [`TeachError`].
    pub fn learn<K>(
        &mut self,
        way: &Way<K>,
        plan: Plan,
        data: impl Fn(&mut LaneRng, &mut [u32]),
        progress: impl Fn(u64),
    ) -> Result<Lesson, TeachError>
    where
        K: for<'m> Kernel<Perceptron<'m>>,
    {
        let layout = Layout::binary(self.widths[0]);
        let blocks = self.theta.len();
        let (mut gradient, mut moments) = (vec![[0.0; LANES]; blocks], vec![[0.0; LANES]; 2 * blocks]);
        let mut adam = Adam::new(&mut moments, plan.rate)?;
        let mut rng = LaneRng::seed_from_u64(plan.seed);
        let mut states = vec![0; layout.words() * plan.batch as usize];
        let mut replay = Replay::new(layout, &mut states)?;
        replay.randomise(&mut rng);
        let mut words = vec![0; layout.words()];
        let mut lesson = Lesson { evaluations: 0, losses: Vec::new(), seconds: 0.0 };
        let (mut sum, mut since) = (0.0, 0);
        for iteration in 0..plan.iterations {
            let clock = ThreadTime::now();
            let model = Perceptron::new(&self.widths, &self.theta)?;
            debug_assert_eq!(model.parameter_len(), blocks);
            let mut room = memory(&model);
            let report = match way {
                Way::Objective(objective) => {
                    let mut batch = Minibatch::new(&model, &mut gradient)?;
                    for _ in 0..plan.batch {
                        data(&mut rng, &mut words);
                        let x = Packed::new(layout, &words).map_err(bitmc::ChainError::from)?;
                        objective.add(&mut batch, &model, x, &mut room, &mut rng)?;
                    }
                    batch.finish()
                }
                Way::Chains(kernel, steps) => {
                    let mut contrast = Contrast::new(&model, plan.batch, plan.batch, &mut gradient)?;
                    for chain in 0..replay.len() {
                        data(&mut rng, &mut words);
                        let x = Packed::new(layout, &words).map_err(bitmc::ChainError::from)?;
                        contrast.data(&model, x, &mut room)?;
                        contrast.persist(
                            &model,
                            (&mut replay, chain),
                            (kernel, *steps),
                            &mut room,
                            &mut rng,
                        )?;
                    }
                    contrast.finish()
                }
            };
            clip(LONGEST, &mut gradient);
            decay(plan.decay, &self.theta, &mut gradient);
            adam.set_rate(plan.rate * 0.1f32.powf(iteration as f32 / plan.iterations as f32))?;
            adam.step(&gradient, &mut self.theta);
            lesson.seconds += clock.elapsed().as_secs_f64();
            lesson.evaluations += report.evaluations;
            let chains = matches!(way, Way::Chains(..));
            sum += f64::from(if chains { report.loss } else { report.log_loss });
            since += 1;
            if (iteration + 1) % plan.iterations.div_ceil(POINTS) == 0 || iteration + 1 == plan.iterations {
                lesson.losses.push((iteration + 1, sum / f64::from(since)));
                (sum, since) = (0.0, 0);
            }
            progress(1);
        }
        Ok(lesson)
    }

    /// States of the law `p ∝ e^(−βE)`: the ends of chains of Gibbs sweeps from uniform bits.
    ///
    /// # Errors
    /// [`TeachError`].
    pub fn sample(&self, beta: f32, (chains, sweeps): (u32, u64), seed: u64) -> Result<BitRows, TeachError> {
        let model = self.energy()?;
        let path = bitmc::energy::Tempered::new(&model, beta)?;
        let one = |mut rng: LaneRng| -> Result<Vec<u32>, TeachError> {
            let mut chain = Chain::random(&path, memory(&path), &mut rng)?;
            chain.run(&Gibbs::systematic(), &mut rng, sweeps, &mut ());
            Ok(chain.state().words().to_vec())
        };
        let streams: Vec<LaneRng> = streams(seed).take(chains as usize).collect();
        let states: Vec<Vec<u32>> = streams.into_par_iter().map(one).collect::<Result<_, _>>()?;
        let layout = Layout::binary(self.widths[0]);
        let mut rows = BitRows::new(layout);
        states.iter().for_each(|words| rows.push(Packed::new(layout, words).expect("a chain's state")));
        Ok(rows)
    }
}
