//! Models in whole numbers, and generators that say what they are told.

use crate::models::Source;
use crate::naive::Target;
use crate::space::Space;
use crate::stat::chi_square;
use crate::stat::replicas::{Dice, reference_rng};
use bitmc::energy::Entry;
use bitmc::quantised::{Odds, PER_OCTAVE, QuantisedIsing};
use bitmc::{LaneRng, SeedableRng};
use std::f64::consts::LN_2;

/// Log odds of one unit.
pub const UNIT: f64 = LN_2 / PER_OCTAVE as f64;

/// A model in whole numbers, with nothing of the kernel's.
#[derive(Clone, Debug)]
pub struct Whole {
    /// b.
    pub linear: Vec<i32>,
    /// Pairs and their K.
    pub couplings: Vec<(usize, usize, i32)>,
}

impl Whole {
    /// All pairs of sites, log odds of standard deviation `sd` each.
    #[must_use]
    pub fn random(sites: usize, sd: f64, seed: u64) -> Self {
        let mut source = Source::new(seed);
        let mut draw = || (f64::from(source.normal(sd)) / UNIT) as i32;
        let linear = (0..sites).map(|_| draw()).collect();
        let pairs = (0..sites).flat_map(|a| (0..a).map(move |b| (a, b)));
        Self { linear, couplings: pairs.map(|(a, b)| (a, b, draw())).collect() }
    }

    /// Ends and entries of the rows.
    #[must_use]
    pub fn rows(&self) -> (Vec<u32>, Vec<Entry>) {
        let (mut ends, mut entries) = (vec![], vec![]);
        for site in 0..self.linear.len() {
            let mut row: Vec<Entry> = self
                .couplings
                .iter()
                .filter(|c| c.0 == site || c.1 == site)
                .map(|&(a, b, coupling)| Entry { site: (a + b - site) as u32, coupling })
                .collect();
            row.sort_by_key(|entry| entry.site);
            entries.extend(row);
            ends.push(entries.len() as u32);
        }
        (ends, entries)
    }
}

impl Target for Whole {
    fn sites(&self) -> usize {
        self.linear.len()
    }

    fn energy(&self, x: &[f64]) -> f64 {
        let linear: f64 = self.linear.iter().zip(x).map(|(&b, x)| f64::from(b) * x).sum();
        let pairs: f64 = self.couplings.iter().map(|&(a, b, k)| f64::from(k) * x[a] * x[b]).sum();
        -UNIT * (linear + pairs)
    }

    fn gradient(&self, _x: &[f64]) -> Vec<f64> {
        unreachable!("no sampler here asks for it")
    }
}

/// Odds as a number.
#[must_use]
pub fn value(odds: Odds) -> f64 {
    f64::from(odds.mantissa) * (-30.0 - f64::from(odds.octaves)).exp2()
}

/// The distribution of a space of bits given that those outside of `free` are as in `clamped`.
#[must_use]
pub fn given(space: &Space, free: u32, clamped: u32) -> Vec<f64> {
    let mut given = space.distribution.clone();
    (0u32..).zip(&mut given).filter(|(x, _)| x & !free != clamped).for_each(|(_, p)| *p = 0.0);
    let sum: f64 = given.iter().sum();
    given.iter_mut().for_each(|p| *p /= sum);
    given
}

/// 100,000 chains of seven sites that start from the distribution, each run for a while, must end in it; with couplings an eighth
/// too weak they must not.
///
/// # Panics
/// Otherwise.
pub fn stays_exact(seed: u64, run: impl Fn(QuantisedIsing<'_>, &mut [u32], &mut LaneRng)) {
    let whole = Whole::random(7, 0.8, 21);
    let space = Space::binary(&whole);
    let dice = Dice::new(&space.distribution);
    let ends = |of: &Whole, seed: u64| {
        let (ends, entries) = of.rows();
        let model = QuantisedIsing::from_rows(&ends, &entries, &of.linear).unwrap();
        let (mut start, mut rng) = (reference_rng(seed, 0), LaneRng::seed_from_u64(seed));
        let mut counts = vec![0; space.states()];
        for _ in 0..100_000 {
            let mut words = space.words[dice.roll(&mut start)].clone();
            run(model, &mut words, &mut rng);
            counts[words[0] as usize] += 1;
        }
        counts
    };
    chi_square("the chain", &ends(&whole, seed), &space.distribution).must_pass();
    let mut weak = whole.clone();
    weak.couplings.iter_mut().for_each(|coupling| coupling.2 -= coupling.2 / 8);
    chi_square("couplings an eighth too weak", &ends(&weak, seed + 1), &space.distribution).must_fail();
}
