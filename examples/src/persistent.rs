//! Restricted Boltzmann machines learned from digits by persistent contrastive divergence, one cell a sampler.

mod likelihood;
mod sampler;

pub use likelihood::{Annealing, Likelihood, Mean, glance, independent, measure};
pub use sampler::Sampler;

use crate::bits::BitRows;
use crate::chains::memory;
use crate::teach::TeachError;
use bitmc::energy::Tempered;
use bitmc::lane::{Block, LANES};
use bitmc::learn::{Adam, Contrast, Replay, decay};
use bitmc::random::normals;
use bitmc::{BlockGibbs, LaneRng, Packed, Rbm, Rng, SeedableRng};
use cpu_time::ThreadTime;
use serde::{Deserialize, Serialize};

/// How a machine learns, whichever sampler moves its chains.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Plan {
    /// Seed of all random numbers.
    pub seed: u64,
    /// Hidden units.
    pub hidden: u32,
    /// Changes of the parameters.
    pub iterations: u64,
    /// Steps of every chain for one change.
    pub steps: u64,
    /// Samples of one change, and persistent chains.
    pub batch: u32,
    /// Adam's rate at the beginning; it falls to a tenth along a geometric schedule.
    pub rate: f32,
    /// Weight decay.
    pub decay: f32,
    /// Looks at the likelihood on the way.
    pub looks: u64,
}

/// The digits.
#[derive(Clone, Debug)]
pub struct Digits {
    /// To learn from.
    pub train: BitRows,
    /// Held out.
    pub test: BitRows,
    /// The logits of the training digits' means, which are kept within .01 and .99 (METHODS.md §4).
    pub fields: Vec<f32>,
}

/// What was learned with one sampler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The sampler.
    pub sampler: String,
    /// Its parameters.
    pub parameters: String,
    /// Energies evaluated while learning, those of tuning too.
    pub evaluations: u64,
    /// On the way, from short annealing.
    pub series: Vec<Point>,
    /// At the end.
    pub end: Likelihood,
    /// States of the learned law, where annealing ended.
    pub drawn: Vec<Vec<u32>>,
    /// Processor seconds of learning, without the looks.
    pub seconds: f64,
}

/// A look on the way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Changes of the parameters so far.
    pub iteration: u64,
    /// Mean ln p of the training digits, by forward annealing.
    pub train: f64,
    /// Mean ln p of the digits held out.
    pub test: f64,
}

impl Digits {
    /// Splits digits: the last `held_out` ones are not learned from.
    #[must_use]
    pub fn split(digits: &BitRows, held_out: usize) -> Self {
        let layout = digits.layout();
        let part = |rows: &mut dyn Iterator<Item = &[u32]>| {
            let mut part = BitRows::new(layout);
            rows.for_each(|row| part.push(Packed::new(layout, row).expect("a row of digits")));
            part
        };
        let learned = digits.len().saturating_sub(held_out);
        let train = part(&mut digits.rows().take(learned));
        let fields = train.means().into_iter().map(|mean| mean.clamp(0.01, 0.99));
        let fields = fields.map(|mean| (mean / (1.0 - mean)).ln()).collect();
        Self { train, test: part(&mut digits.rows().skip(learned)), fields }
    }

    /// One of the digits to learn from.
    #[must_use]
    pub fn sample(&self, rng: &mut LaneRng) -> Packed<'_> {
        let row = self.train.row(rng.next_u32() as usize % self.train.len());
        Packed::new(self.train.layout(), row).expect("a row of the digits")
    }
}

/// Learns a machine with one sampler, and measures it. Chains start at draws from the first machine, which has
/// independent pixels but for weights of deviation .01.
///
/// # Errors
/// [`TeachError`].
pub fn learn(
    digits: &Digits,
    mut sampler: Sampler,
    plan: Plan,
    (annealing, look): (Annealing, Annealing),
    progress: impl Fn(u64),
) -> Result<Cell, TeachError> {
    let (layout, hidden) = (digits.train.layout(), plan.hidden as usize);
    let mut rng = LaneRng::seed_from_u64(plan.seed);
    let mut theta = start(digits, hidden, &mut rng);
    let (first, blocks) = (digits.fields.len().div_ceil(LANES) + Rbm::row_blocks(hidden), theta.len());
    let (mut gradient, mut moments) = (vec![[0.0; LANES]; blocks], vec![[0.0; LANES]; 2 * blocks]);
    let mut adam = Adam::new(&mut moments, plan.rate)?;
    let mut words = vec![0; layout.words() * plan.batch as usize];
    let independent = Rbm::from_parameters(&theta, layout.sites(), hidden)?;
    let base = Tempered::from_base(&independent, &digits.fields, 0.0)?.base();
    words.chunks_exact_mut(layout.words()).for_each(|words| base.draw(&mut rng, words));
    let mut replay = Replay::new(layout, &mut words)?;
    let (mut series, mut seconds, mut evaluations) = (Vec::new(), 0.0, 0);

    for iteration in 0..plan.iterations {
        let clock = ThreadTime::now();
        let model = Rbm::from_parameters(&theta, layout.sites(), hidden)?;
        let (mover, tuning) = sampler.at(iteration, (&model, replay.state(0)), &mut rng)?;
        let mut room = memory(&model);
        let mut contrast = Contrast::new(&model, plan.batch, plan.batch, &mut gradient)?;
        for chain in 0..replay.len() {
            contrast.data(&model, digits.sample(&mut rng), &mut room)?;
            contrast.persist(&model, (&mut replay, chain), (&mover, plan.steps), &mut room, &mut rng)?;
        }
        evaluations += tuning + contrast.finish().evaluations;
        decay(plan.decay, &theta[first..], &mut gradient[first..]);
        adam.set_rate(plan.rate * 0.1f32.powf(iteration as f32 / plan.iterations as f32))?;
        adam.step(&gradient, &mut theta);
        seconds += clock.elapsed().as_secs_f64();
        if (iteration + 1) % plan.iterations.div_ceil(plan.looks).max(1) == 0 {
            let model = Rbm::from_parameters(&theta, layout.sites(), hidden)?;
            let (train, test) = glance(&model, digits, look)?;
            series.push(Point { iteration: iteration + 1, train, test });
        }
        progress(1);
    }
    let model = Rbm::from_parameters(&theta, layout.sites(), hidden)?;
    let (end, drawn) = measure(&model, digits, annealing, &BlockGibbs)?;
    Ok(Cell {
        sampler: sampler.name.into(),
        parameters: sampler.parameters,
        evaluations,
        series,
        end,
        drawn,
        seconds,
    })
}

/// Weights of deviation .01, the visible biases of independent pixels, hidden biases 0.
fn start(digits: &Digits, hidden: usize, rng: &mut LaneRng) -> Vec<Block> {
    let (visible, row) = (digits.fields.len(), Rbm::row_blocks(hidden));
    let mut theta = vec![[0.0; LANES]; Rbm::parameter_len(visible, hidden)];
    let biases = visible.div_ceil(LANES);
    theta.as_flattened_mut()[..visible].copy_from_slice(&digits.fields);
    for blocks in theta[biases + row..].chunks_exact_mut(row) {
        for block in blocks.iter_mut() {
            *block = normals(rng).map(|normal| 0.01 * normal);
        }
        blocks.as_flattened_mut()[hidden..].fill(0.0);
    }
    theta
}
