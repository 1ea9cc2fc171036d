//! What all energies need.

use super::Source;
use crate::naive::Pairwise;
use bitmc::energy::Edge;
use bitmc::{Function, Layout, Packed};

/// Σ|x|.
pub(super) fn size_of(values: &[f32]) -> f64 {
    values.iter().map(|&value| f64::from(value).abs()).sum()
}

/// Σ|J| over edges.
pub(super) fn size_of_edges(edges: &[Edge]) -> f64 {
    edges.iter().map(|edge| f64::from(edge.2).abs()).sum()
}

/// What energies of an Ising model do not pass. As bits a coupling of spins is at most 16J in all: 4J of a pair, 2J on each
/// of its sites, twice where edges are.
pub(super) fn size_of_pairwise(model: &Pairwise) -> f64 {
    16.0 * size_of_edges(&model.edges) + 2.0 * size_of(&model.fields)
}

/// A user's energy over any layout: totals and slopes from tables, by the sum of the state's words.
#[derive(Debug)]
pub(super) struct Wild {
    layout: Layout,
    arities: Option<Vec<u16>>,
    totals: Vec<f32>,
    slopes: Vec<f32>,
}

impl Wild {
    /// Tables of a few numbers, some of them no numbers or −∞.
    pub(super) fn new(layout: Layout, source: &mut Source<'_>) -> Self {
        let mut table = |walls: bool| -> Vec<f32> {
            let numbers = source.some_floats(8);
            let mut wall = |number: f32| match if walls { source.below(16) } else { 0 } {
                15 => f32::NAN,
                13 | 14 => f32::INFINITY,
                12 => f32::NEG_INFINITY,
                _ => number,
            };
            numbers.into_iter().map(&mut wall).collect()
        };
        let (totals, slopes) = (table(true), table(false));
        let some = layout.arity() > 2 && source.one_in(2);
        let mut arity = || (1 + usize::from(source.byte()) % layout.arity()) as u16;
        let arities = some.then(|| (0..layout.sites()).map(|_| arity()).collect());
        Self { layout, arities, totals, slopes }
    }

    /// The largest total.
    pub(super) fn size(&self) -> f64 {
        let finite = self.totals.iter().filter(|total| total.is_finite());
        finite.fold(0.0, |most, total| f64::max(most, total.abs().into()))
    }

    /// The slope at a state, of all values of all sites.
    pub(super) fn slope(&self, x: Packed<'_>) -> f32 {
        self.slopes[sum(x) % self.slopes.len()]
    }
}

fn sum(x: Packed<'_>) -> usize {
    x.words().iter().fold(0, |sum: u32, word| sum.wrapping_add(*word)) as usize
}

impl Function for Wild {
    fn layout(&self) -> Layout {
        self.layout
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        self.totals[sum(x) % self.totals.len()]
    }

    fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
        self.slopes[(sum(x) + site) % self.slopes.len()]
    }

    fn component(&self, x: Packed<'_>, site: usize, value: usize) -> f32 {
        self.slopes[(sum(x) + site + value) % self.slopes.len()]
    }

    fn arities(&self) -> Option<&[u16]> {
        self.arities.as_deref()
    }
}
