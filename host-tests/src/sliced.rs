//! 512 chains side by side in scalar float64: the scalar baseline of the bit-sliced samplers, which reads the same random
//! planes, and can be given a defect; and what the tests of the samplers share.

use crate::heap::Couplings;
use crate::naive::{Convention, Pairwise, sigmoid, softplus};
use crate::used;
use bitmc::lane::{Bits, LANES};
use bitmc::random::{uniforms, words};
use bitmc::sliced::{SlicedChains, SlicedGibbs, SlicedIsing, SlicedLangevin};
use bitmc::{LaneRng, Rng, SeedableRng};

/// Chains.
const CHAINS: usize = bitmc::sliced::CHAINS;

/// What is wrong with a sampler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// Nothing.
    None,
    /// The probabilities that are drawn are those of one more neighbour that pushes up, where there is one.
    WrongCount,
    /// Every proposal is accepted.
    NoRatio,
    /// Planes are compared from the least significant one on.
    LeastFirst,
    /// The first five planes of all sites of a sweep or step are the same.
    TakenAgain,
}

/// The planes past a site's own: who has taken a bit of each does not again.
struct Shared {
    planes: Vec<Bits>,
    taken: Vec<bool>,
}

impl Shared {
    fn none() -> Self {
        Self { planes: vec![], taken: vec![true; CHAINS] }
    }

    /// Planes none of whose bits for these chains was seen.
    fn take(&mut self, open: &[bool], rng: &mut impl Rng) {
        if open.iter().zip(&self.taken).any(|(&open, &taken)| open && taken) {
            self.planes = (0..5).map(|_| words(rng)).collect();
            self.taken.fill(false);
        }
        self.taken.iter_mut().zip(open).for_each(|(taken, &open)| *taken |= open);
    }
}

/// The chains.
#[derive(Clone, Debug)]
pub struct Sliced<'m> {
    model: &'m Pairwise,
    /// The neighbours of every site with their couplings.
    rows: Vec<Vec<(usize, f64)>>,
    /// One state a chain.
    pub x: Vec<Vec<bool>>,
    /// What is wrong.
    pub defect: Defect,
}

fn sign(value: bool) -> f64 {
    if value { 1.0 } else { -1.0 }
}

impl<'m> Sliced<'m> {
    /// Starts where the blocks are, one a site.
    #[must_use]
    pub fn new(model: &'m Pairwise, blocks: &[Bits], defect: Defect) -> Self {
        let value = |chain: usize, block: &Bits| (block[chain / 32] >> (chain % 32)) & 1 == 1;
        let x = (0..CHAINS).map(|chain| blocks.iter().map(|block| value(chain, block)).collect()).collect();
        let mut rows = vec![vec![]; blocks.len()];
        for &(a, b, coupling) in &model.edges {
            rows[a as usize].push((b as usize, f64::from(coupling)));
            rows[b as usize].push((a as usize, f64::from(coupling)));
        }
        Self { model, rows, x, defect }
    }

    /// The states as blocks.
    #[must_use]
    pub fn blocks(&self) -> Vec<Bits> {
        let mut blocks = vec![[0; LANES]; self.model.fields.len()];
        for (chain, state) in self.x.iter().enumerate() {
            for (block, _) in blocks.iter_mut().zip(state).filter(|(_, value)| **value) {
                block[chain / 32] |= 1 << (chain % 32);
            }
        }
        blocks
    }

    /// `w + Σ J s` at a site, miscounted or not.
    fn local(&self, state: &[bool], site: usize, mut miscounted: bool) -> f64 {
        let mut sum = f64::from(self.model.fields[site]);
        for &(other, coupling) in &self.rows[site] {
            let term = coupling * sign(state[other]);
            // The first neighbour that pushes down is taken to push up.
            let wrong = miscounted && term < 0.0;
            miscounted &= !wrong;
            sum += if wrong { -term } else { term };
        }
        sum
    }

    /// True with these probabilities.
    fn draw(&self, p: &[f64], shared: &mut Shared, rng: &mut impl Rng) -> Vec<bool> {
        // The thresholds that a comparison from the lowest of ten bits on would have.
        let reverse = |p: f64| f64::from(((1024.0 * p) as u32).reverse_bits() >> 22) / 1024.0;
        let mut rest: Vec<f64> = match self.defect {
            Defect::LeastFirst => p.iter().map(|&p| reverse(p)).collect(),
            _ => p.to_vec(),
        };
        let mut below = vec![false; CHAINS];
        let mut open = vec![true; CHAINS];
        for plane in 0..64 {
            let again = self.defect == Defect::TakenAgain;
            if again && shared.planes.is_empty() || !again && plane == 8 {
                shared.take(&open, rng);
            }
            if plane >= 13 && !open.contains(&true) {
                break;
            }
            let random = match plane {
                0..5 if again => shared.planes[plane],
                8..13 if !again => shared.planes.get(plane - 8).copied().unwrap_or_default(),
                _ => words(rng),
            };
            for chain in 0..CHAINS {
                rest[chain] *= 2.0;
                let threshold = rest[chain] >= 1.0;
                rest[chain] -= if threshold { 1.0 } else { 0.0 };
                let bit = (random[chain / 32] >> (chain % 32)) & 1 == 1;
                if open[chain] && bit != threshold {
                    (below[chain], open[chain]) = (threshold, false);
                }
            }
        }
        below
    }

    /// A sweep of Gibbs sampling. The rarer value is drawn: 0 where both are as likely.
    pub fn sweep(&mut self, rng: &mut impl Rng) {
        let mut shared = Shared::none();
        for site in 0..self.model.fields.len() {
            let wrong = self.defect == Defect::WrongCount;
            let z: Vec<f64> = self.x.iter().map(|state| 2.0 * self.local(state, site, wrong)).collect();
            // Two sums of the same numbers in another order may differ in the last bit: that is a tie.
            let even = |z: f64| z.abs() < 1e-9;
            let rare: Vec<f64> = z.iter().map(|z| if even(*z) { 0.5 } else { sigmoid(-z.abs()) }).collect();
            let drawn = self.draw(&rare, &mut shared, rng);
            // A tie counts as 0 for a site whose field does not point down.
            let down = self.model.fields[site] < 0.0;
            for (chain, state) in self.x.iter_mut().enumerate() {
                let likely = if even(z[chain]) { down } else { z[chain] > 0.0 };
                state[site] = likely ^ drawn[chain];
            }
        }
    }

    /// `z` of every site: log odds of a flip.
    fn flips(&self, state: &[bool], step_size: f32, wrong: bool) -> Vec<f64> {
        let half = f64::from(0.5 * (1.0 / step_size));
        (0..state.len()).map(|site| -sign(state[site]) * self.local(state, site, wrong) - half).collect()
    }

    /// A step of the discrete Langevin sampler, by its printed ratio; how many chains moved.
    pub fn step(&mut self, step_size: f32, adjusted: bool, rng: &mut impl Rng) -> usize {
        let wrong = self.defect == Defect::WrongCount;
        let z: Vec<Vec<f64>> = self.x.iter().map(|state| self.flips(state, step_size, wrong)).collect();
        let (mut y, mut shared) = (self.x.clone(), Shared::none());
        for site in 0..self.model.fields.len() {
            let p: Vec<f64> = z.iter().map(|z| sigmoid(z[site])).collect();
            let drawn = self.draw(&p, &mut shared, rng);
            y.iter_mut().zip(drawn).for_each(|(y, flip)| y[site] ^= flip);
        }
        let mut accepted = 0;
        let mut uniform = vec![0.0; CHAINS];
        if adjusted {
            for bit in 0..32 {
                for (word, u) in uniforms(rng).into_iter().enumerate() {
                    uniform[32 * word + bit] = f64::from(u);
                }
            }
        }
        for (chain, y) in y.into_iter().enumerate() {
            let log_q = |from: &[bool], to: &[bool]| {
                let z = self.flips(from, step_size, false);
                let term = |site: usize| {
                    let z = z[site];
                    if from[site] == to[site] { -softplus(z) } else { z - softplus(z) }
                };
                (0..from.len()).map(term).sum::<f64>()
            };
            let energy = |state: &[bool]| {
                let x: Vec<f64> = state.iter().map(|&v| f64::from(u8::from(v))).collect();
                crate::naive::Target::energy(self.model, &x)
            };
            let x = &self.x[chain];
            let log_ratio = energy(x) - energy(&y) + log_q(&y, x) - log_q(x, &y);
            if !adjusted || self.defect == Defect::NoRatio || uniform[chain] < log_ratio.exp() {
                self.x[chain] = y;
                accepted += 1;
            }
        }
        accepted
    }
}

/// Memory for a sampler of either kind, in vectors.
pub struct Room {
    /// A block a site.
    pub blocks: Vec<Bits>,
    table: Vec<u32>,
    room: Vec<Bits>,
}

impl Room {
    /// As much as the model needs, used before: the chains start at any bits.
    #[must_use]
    pub fn new(model: &SlicedIsing<'_>) -> Self {
        let words = SlicedGibbs::words(model).max(SlicedLangevin::words(model));
        let room = used::memory(SlicedLangevin::blocks(model));
        Self { blocks: used::memory(model.sites()), table: used::memory(words), room }
    }

    /// Gibbs sampling from the blocks on.
    ///
    /// # Panics
    /// Where it cannot be made.
    pub fn gibbs<'a>(&'a mut self, model: SlicedIsing<'a>) -> SlicedGibbs<'a> {
        SlicedGibbs::new(SlicedChains::new(model, &mut self.blocks).unwrap(), &mut self.table).unwrap()
    }

    /// The adjusted Langevin sampler from the blocks on.
    ///
    /// # Panics
    /// Where it cannot be made.
    pub fn langevin<'a>(&'a mut self, model: SlicedIsing<'a>, step_size: f32) -> SlicedLangevin<'a> {
        let chains = SlicedChains::new(model, &mut self.blocks).unwrap();
        SlicedLangevin::adjusted(chains, step_size, &mut self.table, &mut self.room).unwrap()
    }

    /// The unadjusted one.
    ///
    /// # Panics
    /// Where it cannot be made.
    pub fn unadjusted<'a>(&'a mut self, model: SlicedIsing<'a>, step_size: f32) -> SlicedLangevin<'a> {
        let chains = SlicedChains::new(model, &mut self.blocks).unwrap();
        SlicedLangevin::unadjusted(chains, step_size, &mut self.table, &mut self.room).unwrap()
    }
}

/// Spins 0 … n − 1, two of them coupled where i + j ≥ n − 1: every degree from 1 to n − 1. Signs are random, and so is
/// whether a field is h, −h or, but for `all`, 0.
#[must_use]
pub fn graph(sites: u32, coupling: f32, field: f32, all: bool, seed: u64) -> Pairwise {
    let mut rng = LaneRng::seed_from_u64(seed);
    let mut signed = |size: f32| if rng.next_u32() >> 31 == 0 { size } else { -size };
    let pairs = (0..sites).flat_map(|a| (a + 1..sites).map(move |b| (a, b)));
    let edges = pairs.filter(|(a, b)| a + b >= sites - 1).map(|(a, b)| (a, b, signed(coupling))).collect();
    let fields = (0..sites).map(|site| if all || site % 3 != 0 { signed(field) } else { 0.0 }).collect();
    Pairwise { convention: Convention::SpinsEdgesOnce, edges, fields }
}

/// The model, sliced.
///
/// # Panics
/// Where it cannot be.
pub fn sliced<'a>(model: &Pairwise, memory: &'a mut Couplings) -> SlicedIsing<'a> {
    SlicedIsing::new(memory.ising(model).unwrap()).unwrap()
}
