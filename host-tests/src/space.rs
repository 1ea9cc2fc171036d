//! All states of a small model of any kind, its distribution, and the transition matrices of samplers over them.

use crate::enumerate::{Distribution, values};
use crate::heap::{self, HeapChain};
use crate::matrix::{Transitions, Verdict};
use crate::naive::Target;
use crate::planes::Tables;
use crate::stat::replicas::{Dice, Plan, pieces, reference_rng, total};
use crate::stat::table::Table;
use crate::tolerance;
use bitmc::step::Transition;
use bitmc::{Energy, Kernel, LaneRng, Layout, Packed, StateError, packed};
use std::collections::HashMap;

/// The states of a small model by number, and its distribution.
#[derive(Clone, Debug)]
pub struct Space {
    /// The layout of the states.
    pub layout: Layout,
    /// Every state in words.
    pub words: Vec<Vec<u32>>,
    /// The distribution, one probability a state.
    pub distribution: Vec<f64>,
    exact: Distribution,
    numbers: HashMap<Vec<u32>, usize>,
}

impl Space {
    /// Of a binary model: site i is bit i of a state's number.
    #[must_use]
    pub fn binary(target: &(impl Target + ?Sized)) -> Self {
        let (sites, distribution) = (target.sites(), Distribution::of(target));
        let words = (0..1 << sites).map(|state| heap::pack(&values(state, sites))).collect();
        Self::new(Layout::binary(sites), words, distribution)
    }

    /// Of tables over categorical or ordinal sites.
    #[must_use]
    pub fn tables(tables: &Tables, layout: Layout) -> Self {
        let pack = |state| {
            let mut words = vec![0; layout.words()];
            for (site, value) in tables.values(state).into_iter().enumerate() {
                packed::set(layout, &mut words, site, value as u32).unwrap();
            }
            words
        };
        Self::new(layout, (0..tables.states()).map(pack).collect(), tables.distribution())
    }

    /// Of given states and their distribution.
    #[must_use]
    pub fn new(layout: Layout, words: Vec<Vec<u32>>, distribution: Distribution) -> Self {
        let numbers = words.iter().cloned().zip(0..).collect();
        Self { layout, words, distribution: distribution.probabilities.clone(), exact: distribution, numbers }
    }

    /// The distribution with its energies.
    #[must_use]
    pub fn exact(&self) -> &Distribution {
        &self.exact
    }

    /// States.
    #[must_use]
    pub fn states(&self) -> usize {
        self.words.len()
    }

    /// A state.
    #[must_use]
    pub fn state(&self, number: usize) -> Packed<'_> {
        Packed::new(self.layout, &self.words[number]).unwrap()
    }

    /// The number of a state.
    ///
    /// # Panics
    /// Where it is none of the layout's.
    #[must_use]
    pub fn number(&self, state: Packed<'_>) -> usize {
        self.numbers[state.words()]
    }

    /// The distribution that remains where the sites of the mask `held` keep the values that they have in state `at`.
    #[must_use]
    pub fn given(&self, held: u32, at: usize) -> Self {
        let same = |state: usize, site: usize| self.state(state).get(site) == self.state(at).get(site);
        let keeps = |state: usize| (0..self.layout.sites()).all(|i| (held >> i) & 1 == 0 || same(state, i));
        let energy = |state| if keeps(state) { self.exact.energies[state] } else { f64::INFINITY };
        let distribution =
            Distribution::from_energies(self.layout.sites(), (0..self.states()).map(energy).collect());
        Self::new(self.layout, self.words.clone(), distribution)
    }

    /// A chain over the energy with the sites in the mask `held` clamped.
    ///
    /// # Panics
    /// Where no state has a probability.
    pub fn chain<'e, E: Energy + ?Sized>(&self, energy: &'e E, held: u32) -> HeapChain<'e, E> {
        let start = self.distribution.iter().position(|&p| p > 0.0).unwrap();
        let mask = Layout::binary(self.layout.sites());
        let mut chain = heap::chain(energy, &self.words[start]).unwrap();
        chain.clamp(Packed::new(mask, &[held & mask.last_word()]).unwrap()).unwrap();
        chain
    }

    /// The matrix whose row at x `row` writes into zeros, from a chain that stands at x. Rows of states without
    /// a probability stay empty.
    pub fn table<'e, E: Energy + ?Sized>(
        &self,
        energy: &'e E,
        held: u32,
        mut row: impl FnMut(&mut HeapChain<'e, E>, usize, &mut [f64]),
    ) -> Table {
        let mut chain = self.chain(energy, held);
        let mut rows = vec![vec![0.0; self.states()]; self.states()];
        for (x, out) in rows.iter_mut().enumerate() {
            if chain.restart(self.state(x)).is_ok() {
                row(&mut chain, x, out);
            }
        }
        Table { rows }
    }

    /// The matrix of a sampler with a Metropolis test, from the probabilities that it reports.
    pub fn transitions(
        &self,
        energy: &dyn Energy,
        held: u32,
        sampler: impl Fn(bitmc::chain::Ring<'_, dyn Energy + '_>, Packed<'_>) -> Result<Transition, StateError>,
    ) -> Transitions {
        let mut chain = self.chain(energy, held);
        Transitions::new(self.states(), |x, y| match chain.restart(self.state(x)) {
            Ok(()) => {
                let found = sampler(chain.ring(), self.state(y)).unwrap();
                (f64::from(found.log_forward), f64::from(found.log_ratio))
            }
            Err(_) => (f64::NEG_INFINITY, f64::NEG_INFINITY),
        })
    }

    /// What is to be said of a matrix of whole steps.
    #[must_use]
    pub fn judge(&self, table: &Table) -> Verdict {
        Transitions::new(self.states(), |x, y| (table.rows[x][y].ln(), 0.0)).judge(&self.exact)
    }

    /// Counts of the states in which replicas end that start from the distribution; sites in `held` keep their values.
    ///
    /// # Panics
    /// Where a chain meets a fault.
    pub fn ends<E: Energy + Sync + ?Sized, K: Kernel<E> + Sync>(
        &self,
        plan: &Plan,
        energy: &E,
        sampler: &K,
        held: u32,
    ) -> Vec<u64> {
        let dice = Dice::new(&self.distribution);
        total(pieces(|piece| {
            let (mut reference, mut rng) = (reference_rng(plan.seed, piece), LaneRng::stream(plan.seed, piece));
            let mut chain = self.chain(energy, held);
            let mut counts = vec![0; self.states()];
            for _ in 0..plan.share() {
                chain.restart(self.state(dice.roll(&mut reference))).unwrap();
                for _ in 0..plan.steps {
                    chain.step(sampler, &mut rng);
                }
                counts[self.number(chain.state())] += 1;
            }
            assert_eq!(chain.faults(), 0);
            counts
        }))
    }

    /// Counts of where one step from state `from` leads.
    pub fn counts<E: Energy + ?Sized, K: Kernel<E>>(
        &self,
        chain: &mut HeapChain<'_, E>,
        sampler: &K,
        from: usize,
        steps: u32,
        rng: &mut LaneRng,
    ) -> Vec<u64> {
        let mut counts = vec![0; self.states()];
        for _ in 0..steps {
            chain.restart(self.state(from)).unwrap();
            chain.step(sampler, rng);
            counts[self.number(chain.state())] += 1;
        }
        counts
    }
}

impl Verdict {
    /// Whether a sampler that is not reversible keeps the distribution.
    #[must_use]
    pub fn stationary(&self) -> bool {
        self.rows <= tolerance::ROW_SUM && self.stationarity <= tolerance::STATIONARITY
    }
}

impl Table {
    /// The matrix that changes nothing.
    #[must_use]
    pub fn identity(states: usize) -> Self {
        let row = |x| (0..states).map(|y| f64::from(u8::from(x == y))).collect();
        Self { rows: (0..states).map(row).collect() }
    }

    /// A step of this matrix and then one of another.
    #[must_use]
    pub fn then(&self, next: &Self) -> Self {
        Self { rows: self.rows.iter().map(|row| next.after(row)).collect() }
    }

    /// One of several matrices, each with the same probability.
    #[must_use]
    pub fn mean(tables: &[Self]) -> Self {
        let states = tables[0].rows.len();
        let entry = |x: usize, y: usize| tables.iter().map(|t| t.rows[x][y]).sum::<f64>() / tables.len() as f64;
        Self { rows: (0..states).map(|x| (0..states).map(|y| entry(x, y)).collect()).collect() }
    }
}
