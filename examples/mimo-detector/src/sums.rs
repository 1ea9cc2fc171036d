//! Sums of weights of states, by the value of every site.

use crate::numbers::{exponentials, logarithms};
use crate::{Line, Modulation, Ratios, Seen};

/// Below any weight that is told from 0. It bounds the ratios.
const LEAST: f32 = 1e-30;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Sums<const N: usize> {
    by_value: [[f32; 4]; N],
    /// The energy whose weight is 1: the lowest of all.
    lowest: f32,
}

impl<const N: usize> Sums<N> {
    pub(crate) const fn new() -> Self {
        Self { by_value: [[0.0; 4]; N], lowest: f32::INFINITY }
    }

    /// Adds e^(−E) of the states that are new.
    pub(crate) fn add_new<const TABLE: usize>(&mut self, line: &Line, seen: &mut Seen<TABLE>) {
        let mut energies = [f32::INFINITY; 4];
        let mut any = false;
        for (value, (energy, &of)) in (0..).zip(energies.iter_mut().zip(&line.energies)) {
            if of < f32::INFINITY && seen.insert(line.with(value)) {
                (*energy, any) = (of, true);
            }
        }
        if !any {
            return;
        }
        let lowest = energies.iter().fold(self.lowest, |least, &e| if e < least { e } else { least });
        if lowest < self.lowest {
            let [factor, ..] = exponentials([lowest - self.lowest; 4]);
            self.by_value.as_flattened_mut().iter_mut().for_each(|sum| *sum *= factor);
            self.lowest = lowest;
        }
        let weights = exponentials(energies.map(|energy| lowest - energy));
        let total = weights.iter().sum::<f32>();
        let bits = line.layout.field_bits();
        for (site, sums) in self.by_value.iter_mut().enumerate() {
            if site == line.site {
                sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += weight);
            } else {
                let value = line.word >> (bits * site as u32) & ((1 << bits) - 1);
                sums.iter_mut().skip(value as usize).take(1).for_each(|sum| *sum += total);
            }
        }
    }

    /// Adds the conditional probabilities of an update.
    pub(crate) fn add_shares(&mut self, line: &Line) {
        if let Some(sums) = self.by_value.get_mut(line.site) {
            sums.iter_mut().zip(line.shares).for_each(|(sum, share)| *sum += share);
        }
    }

    pub(crate) fn ratios(&self, modulation: Modulation) -> Ratios<N> {
        self.by_value.map(|sums| {
            let sum = |bit: usize, is: u32| {
                let of = (0..).zip(sums).filter(|&(value, _)| modulation.bits(value)[bit] == is);
                let sum = of.map(|(_, sum)| sum).sum::<f32>();
                if sum > LEAST { sum } else { LEAST }
            };
            let [a, b, c, d] = logarithms([sum(0, 1), sum(0, 0), sum(1, 1), sum(1, 0)]);
            [a - b, if modulation.bits_a_site() == 2 { c - d } else { 0.0 }]
        })
    }
}
