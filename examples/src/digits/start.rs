//! Where chains start.

use crate::bits::BitRows;
use crate::chains::memory;
use crate::model::{DIGIT, DigitData};
use bitmc::random::{bernoulli, uniform};
use bitmc::{Energy, LaneRng, Packed, Rbm};
use clap::ValueEnum;
use serde::Serialize;

/// Where the chains start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// Fair bits
    Noise,
    /// Independent bits with the mean of the training digits
    Mean,
    /// Training digits
    Data,
    /// All at the one training digit of the lowest energy: shows how fast chains leave a mode
    Mode,
}

/// The starts of chain 0, 1, 2, …
#[derive(Clone, Debug)]
pub(super) struct Starts<'d> {
    start: Start,
    data: &'d DigitData,
    means: Vec<f32>,
    likeliest: usize,
    /// Held sites, which are those of a test digit.
    held: Option<Vec<u32>>,
}

impl<'d> Starts<'d> {
    pub(super) fn new(start: Start, data: &'d DigitData, inpaint: bool) -> Self {
        let likeliest = if start == Start::Mode { likeliest(&data.model.rbm(), &data.train) } else { 0 };
        Self { start, data, means: data.train.means(), likeliest, held: inpaint.then(upper_half) }
    }

    /// The words of a chain's first state.
    pub(super) fn words(&self, index: usize, rng: &mut LaneRng) -> Vec<u32> {
        let mut words = vec![0; DIGIT.words()];
        match self.start {
            Start::Noise => bernoulli(DIGIT, 0.5, rng, &mut words),
            Start::Mode => words.copy_from_slice(self.data.train.row(self.likeliest)),
            Start::Data => words.copy_from_slice(self.data.train.row(index)),
            Start::Mean => {
                for (site, &mean) in self.means.iter().enumerate() {
                    words[site / 32] |= u32::from(uniform(rng) < mean) << (site % 32);
                }
            }
        }
        for (held, (word, &given)) in
            self.held.iter().flatten().zip(words.iter_mut().zip(self.data.test.row(index)))
        {
            *word = (given & held) | (*word & !held);
        }
        words
    }

    /// The sites that are held, as a mask.
    pub(super) fn held(&self) -> Option<&[u32]> {
        self.held.as_deref()
    }

    /// The share of ones at each site of the training digits.
    pub(super) fn means(&self) -> &[f32] {
        &self.means
    }
}

/// The row of the lowest energy; the first of equals.
fn likeliest(rbm: &Rbm<'_>, rows: &BitRows) -> usize {
    let mut cache = memory(rbm).cache;
    let mut energy = |row| Packed::new(DIGIT, row).ok().and_then(|x| rbm.init(x, &mut cache).ok());
    let energies = rows.rows().map(|row| energy(row).unwrap_or(f32::INFINITY));
    energies.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(index, _)| index)
}

/// The sites of the upper half, as a mask.
#[must_use]
pub fn upper_half() -> Vec<u32> {
    let held = DIGIT.sites() / 2;
    let word = |word: usize| (0..32).filter(|bit| word * 32 + bit < held).fold(0, |m, bit| m | 1 << bit);
    (0..DIGIT.words()).map(word).collect()
}
