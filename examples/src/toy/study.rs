//! One density learned by one objective, and how near the learned distribution is.

use super::{Code, REACH, Shape, shares, total_variation};
use crate::bits::BitRows;
use crate::chains::memory;
use crate::cli::Failure;
use crate::mmd::Mmd;
use crate::teach::{self, Lesson};
use bitmc::{Energy, LaneRng, Packed, SeedableRng};
use bitmc_desktop::learn::{Family, Method, NetworkFamily, Objective, Plan};
use serde::{Deserialize, Serialize};

/// A density with the size of its codes, and what is held out of it.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The density.
    pub shape: Shape,
    code: Code,
    held_out: BitRows,
    cells: Vec<f64>,
    /// What samples of the density itself have, as many as are drawn from a learned distribution.
    pub own: Distances,
}

/// How far a distribution is from the density.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distances {
    /// Squared MMD of samples to those held out, with the kernel exp(−hamming/d).
    pub mmd2: Option<f64>,
    /// The same with the linear kernel, as in the paper of RMwGGIS: the means of all bits alone.
    pub linear_mmd2: Option<f64>,
    /// Total variation over 16 × 16 cells of the square between samples and those held out.
    pub of_samples: Option<f64>,
    /// The same between e^(−E) on a grid and samples held out.
    pub of_energy: Option<f64>,
}

/// How a distribution is sampled and looked at.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Look {
    /// Chains of Gibbs sweeps from uniform bits; none where Gibbs is too slow for the size.
    pub chains: u32,
    /// Sweeps of each.
    pub sweeps: u64,
    /// Points of the grid, each way.
    pub grid: usize,
}

/// What was learned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The objective.
    pub objective: String,
    /// How it went.
    pub lesson: Lesson,
    /// The learned distribution.
    pub distribution: Distances,
    /// The distribution of four times the learned energy, which is what an objective on Eq. 3 should have learned.
    pub fourfold: Distances,
    /// The energies on the grid, low to high in 0 to 255 over 8 nats, the first coordinate slow.
    pub picture: Vec<u8>,
}

/// Cells of the square, each way, over which distributions are compared.
const SIDE: usize = 16;

/// Nats between the lowest energies and the palest of a picture.
const NATS: f32 = 8.0;

impl Subject {
    /// With samples held out, and as many others as are drawn from learned distributions.
    #[must_use]
    pub fn new(shape: Shape, bits: usize, held_out: usize, look: Look, seed: u64) -> Self {
        let code = Code::new(bits);
        let mut rng = LaneRng::seed_from_u64(seed);
        let mut draw = |count: usize| {
            let (mut rows, mut words) = (BitRows::new(code.layout()), vec![0; code.layout().words()]);
            for _ in 0..count {
                code.encode(shape.draw(&mut rng), &mut rng, &mut words);
                rows.push(Packed::new(code.layout(), &words).expect("a code"));
            }
            rows
        };
        let (held_out, others) = (draw(held_out), draw(look.chains.max(2) as usize));
        let cells = shares(held_out.rows().map(|row| (code.decode(row), 1.0)), SIDE);
        let none = Distances { mmd2: None, linear_mmd2: None, of_samples: None, of_energy: None };
        let mut subject = Self { shape, code, held_out, cells, own: none };
        subject.own = subject.distances(&others);
        subject
    }

    /// Bits of a sample.
    #[must_use]
    pub fn bits(&self) -> usize {
        self.code.layout().sites()
    }

    /// The held-out samples' cells on a grid as a picture like that of a cell.
    #[must_use]
    pub fn picture(&self, grid: usize) -> Vec<u8> {
        let cells = shares(self.held_out.rows().map(|row| (self.code.decode(row), 1.0)), grid);
        let most = cells.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        cells.into_iter().map(|share| 255 - (255.0 * (share / most).sqrt()) as u8).collect()
    }

    fn distances(&self, samples: &BitRows) -> Distances {
        let found = shares(samples.rows().map(|row| (self.code.decode(row), 1.0)), SIDE);
        Distances {
            mmd2: Mmd::new(&self.held_out).squared(samples),
            linear_mmd2: Mmd::linear(&self.held_out).squared(samples),
            of_samples: Some(total_variation(&found, &self.cells)),
            of_energy: None,
        }
    }

    /// Learns a network of the given hidden layers from new samples, and looks at its distribution.
    ///
    /// # Errors
    /// [`Failure::Option`] where it cannot be learned.
    pub fn learn(
        &self,
        objective: Objective,
        hidden: &[usize],
        (plan, look): (Plan, Look),
        progress: impl Fn(u64),
    ) -> Result<Cell, Failure> {
        let family = NetworkFamily::new(self.bits(), hidden);
        let mut rng = LaneRng::seed_from_u64(plan.seed);
        let theta = family.start(&[], &mut rng);
        let data = |rng: &mut LaneRng, words: &mut [u32]| self.code.encode(self.shape.draw(rng), rng, words);
        let method = Method::Objective(objective);
        let (theta, lesson) = teach::learn(&family, Some(theta), data, (method, plan), progress)?;
        let model = family.energy(&theta, &mut [])?;
        let energies = self.energies(&model, look.grid, &mut rng)?;
        let distribution = |beta: f32| -> Result<Distances, Failure> {
            let mut distances = Distances { mmd2: None, linear_mmd2: None, of_samples: None, of_energy: None };
            if look.chains >= 2 {
                let samples = teach::sample(&model, beta, (look.chains, look.sweeps), !plan.seed)?;
                distances = self.distances(&samples);
            }
            let least = energies.iter().map(|&(_, energy)| energy).fold(f32::INFINITY, f32::min);
            let weights = energies.iter().map(|&(point, e)| (point, f64::from(beta * (least - e)).exp()));
            Ok(Distances { of_energy: Some(total_variation(&shares(weights, SIDE), &self.cells)), ..distances })
        };
        let (distribution, fourfold) = (distribution(1.0)?, distribution(4.0)?);
        Ok(Cell {
            objective: objective.to_string(),
            lesson,
            distribution,
            fourfold,
            picture: picture(&energies),
        })
    }

    /// The energy at every point of a grid.
    fn energies(
        &self,
        model: &impl Energy,
        grid: usize,
        rng: &mut LaneRng,
    ) -> Result<Vec<([f64; 2], f32)>, Failure> {
        let (mut cache, mut words) = (memory(model).cache, vec![0; self.code.layout().words()]);
        let step = 2.0 * REACH / grid as f64;
        let at = |index: usize| (index as f64 + 0.5) * step - REACH;
        let mut energies = Vec::with_capacity(grid * grid);
        for place in 0..grid * grid {
            let point = [at(place / grid), at(place % grid)];
            self.code.encode(point, rng, &mut words);
            let x = Packed::new(self.code.layout(), &words)?;
            energies.push((point, model.init(x, &mut cache).map_err(bitmc::ChainError::from)?));
        }
        Ok(energies)
    }
}

/// From the hundredth part of the lowest energies upwards.
fn picture(energies: &[([f64; 2], f32)]) -> Vec<u8> {
    let mut sorted: Vec<f32> = energies.iter().map(|&(_, energy)| energy).collect();
    sorted.sort_by(f32::total_cmp);
    let low = sorted.get(sorted.len() / 100).copied().unwrap_or(0.0);
    let ink = |energy: f32| (255.0 * ((energy - low) / NATS).clamp(0.0, 1.0)) as u8;
    energies.iter().map(|&(_, energy)| ink(energy)).collect()
}
