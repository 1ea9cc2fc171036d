//! Independent replicas over the cores, and draws from tabulated distributions.

use crate::heap;
use bitmc::{Energy, Kernel, Layout, Packed, Rng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use rayon::prelude::*;

/// Pieces that work is cut into; a piece has generators of its own, so the number of threads does not
/// matter.
pub const PIECES: u32 = 64;

/// Runs every piece, over all cores; the results are in the order of the pieces.
pub fn pieces<T: Send>(work: impl Fn(u32) -> T + Sync) -> Vec<T> {
    (0..PIECES).into_par_iter().map(&work).collect()
}

/// The generator of a piece's references: of another kind than the kernel's own.
#[must_use]
pub fn reference_rng(seed: u64, piece: u32) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed ^ (u64::from(piece) << 32))
}

/// A uniform in [0, 1) of 53 bits.
pub fn uniform(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Draws from a table of probabilities, by inversion.
#[derive(Clone, Debug)]
pub struct Dice {
    cumulative: Vec<f64>,
}

impl Dice {
    /// From probabilities; their sum may miss 1 by rounding.
    #[must_use]
    pub fn new(distribution: &[f64]) -> Self {
        let mut sum = 0.0;
        let cumulative = distribution.iter().map(|p| {
            sum += p;
            sum
        });
        Self { cumulative: cumulative.collect() }
    }

    /// Outcomes.
    #[must_use]
    pub fn faces(&self) -> usize {
        self.cumulative.len()
    }

    /// One draw. An outcome of probability 0 never comes.
    pub fn roll(&self, rng: &mut impl Rng) -> usize {
        let total = self.cumulative.last().copied().unwrap_or(0.0);
        let at = uniform(rng) * total;
        self.cumulative.partition_point(|&sum| sum <= at)
    }
}

/// Replicas that start at independent draws from a distribution and take a few steps.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Replicas, a multiple of [`PIECES`].
    pub replicas: u64,
    /// Steps of each.
    pub steps: u32,
    /// Of all randomness.
    pub seed: u64,
}

impl Plan {
    /// A million replicas of twenty steps.
    #[must_use]
    pub fn million(seed: u64) -> Self {
        Self { replicas: 1_000_000, steps: 20, seed }
    }

    /// An eighth of a million replicas of twenty steps: twice what sees every defect known here.
    #[must_use]
    pub fn usual(seed: u64) -> Self {
        Self { replicas: 128_000, ..Self::million(seed) }
    }

    /// For broken variants: they must be seen with half of the usual replicas.
    #[must_use]
    pub fn control(seed: u64) -> Self {
        Self { replicas: 64_000, ..Self::million(seed) }
    }

    /// Replicas of a piece.
    ///
    /// # Panics
    /// Where they cannot be shared evenly.
    #[must_use]
    pub fn share(&self) -> u64 {
        assert_eq!(self.replicas % u64::from(PIECES), 0, "replicas in equal pieces");
        self.replicas / u64::from(PIECES)
    }

    /// Counts of the states in which replicas end, of up to 20 sites; `start` is the distribution they start from,
    /// and the sites in the mask `held` keep their values.
    ///
    /// # Panics
    /// Where a chain cannot start or meets a fault.
    pub fn ends<E: Energy + Sync + ?Sized, K: Kernel<E> + Sync>(
        &self,
        energy: &E,
        sampler: &K,
        start: &[f64],
        held: u32,
    ) -> Vec<u64> {
        let dice = Dice::new(start);
        total(pieces(|piece| self.piece(piece, energy, sampler, &dice, (held, 0))))
    }

    /// As [`Plan::ends`] with every site free, in chains with so many blocks for a momentum. At the start it is drawn anew.
    ///
    /// # Panics
    /// As [`Plan::ends`].
    pub fn ends_moving<E: Energy + Sync + ?Sized, K: Kernel<E> + Sync>(
        &self,
        energy: &E,
        sampler: &K,
        start: &[f64],
        momentum: usize,
    ) -> Vec<u64> {
        let dice = Dice::new(start);
        total(pieces(|piece| self.piece(piece, energy, sampler, &dice, (0, momentum))))
    }

    /// As [`Plan::ends`] with every site free, where each piece makes an energy of its own.
    ///
    /// # Panics
    /// As [`Plan::ends`].
    pub fn ends_of<E: Energy, K: Kernel<E> + Sync>(
        &self,
        energy: impl Fn(u32) -> E + Sync,
        sampler: &K,
        start: &[f64],
    ) -> Vec<u64> {
        let dice = Dice::new(start);
        total(pieces(|piece| self.piece(piece, &energy(piece), sampler, &dice, (0, 0))))
    }

    fn piece<E: Energy + ?Sized, K: Kernel<E>>(
        &self,
        piece: u32,
        energy: &E,
        sampler: &K,
        start: &Dice,
        (held, momentum): (u32, usize),
    ) -> Vec<u64> {
        let layout = energy.layout();
        let mut reference = reference_rng(self.seed, piece);
        let mut rng = bitmc::LaneRng::stream(self.seed, piece);
        let mut counts = vec![0; start.faces()];
        let first = [start.roll(&mut reference) as u32];
        let memory = heap::moving_memory(energy, momentum);
        let mut chain = bitmc::Chain::new(energy, memory, state(layout, &first)).expect("a chain");
        chain.clamp(state(Layout::binary(layout.sites()), &[held])).expect("a mask");
        for _ in 0..self.share() {
            chain.restart(state(layout, &[start.roll(&mut reference) as u32])).expect("a start");
            for _ in 0..self.steps {
                chain.step(sampler, &mut rng);
            }
            counts[chain.state().words()[0] as usize] += 1;
        }
        assert_eq!(chain.faults(), 0);
        counts
    }
}

/// Words as a state.
///
/// # Panics
/// Where they are none.
#[must_use]
pub fn state(layout: Layout, words: &[u32]) -> Packed<'_> {
    Packed::new(layout, words).expect("a state of the layout")
}

/// The sum of counts, cell by cell.
#[must_use]
pub fn total(counts: Vec<Vec<u64>>) -> Vec<u64> {
    let add = |mut sum: Vec<u64>, counts: Vec<u64>| {
        sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        sum
    };
    counts.into_iter().reduce(add).unwrap_or_default()
}
