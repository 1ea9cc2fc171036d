//! Energies by a table of all states: as two functions, and as an energy written by hand.

use super::model::Shape;
use crate::models::Source;
use bitmc::energy::EnergyError;
use bitmc::lane::{Bits, Block, LANES};
use bitmc::{Energy, Function, Kind, Layout, Move, Packed};
use std::ops::Range;

/// What the gradients of a table are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slope {
    /// Differences of energies: of the multilinear extension, +∞ towards a forbidden state. Ordinal sites: half the
    /// difference of the neighbours.
    Exact,
    /// The same, ±4 where it is infinite.
    Finite,
    /// The same with the other sign.
    Wrong,
    /// 0.
    Flat,
    /// Any numbers.
    Misleading,
    /// Any numbers up to the largest float, whose products overflow.
    Huge,
    /// Any numbers, some of them infinite.
    Infinite,
}

impl Slope {
    const ALL: [Self; 7] =
        [Self::Exact, Self::Finite, Self::Wrong, Self::Flat, Self::Misleading, Self::Huge, Self::Infinite];
}

/// Energy and gradient of every state.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// Sites and arities.
    pub(crate) shape: Shape,
    /// `E`, by the number of the state.
    pub(crate) totals: Vec<f32>,
    /// How the gradients came to be.
    pub(crate) slope: Slope,
    slopes: Vec<f32>,
    offsets: Vec<i32>,
}

impl Table {
    /// A random table.
    pub(crate) fn random(shape: &Shape, source: &mut Source) -> Self {
        let totals = totals(shape, source);
        let slope = source.pick(&Slope::ALL);
        let offsets = (0..shape.arities.len()).map(|_| source.below(200) as i32 - 100).collect();
        let mut table = Self { shape: shape.clone(), totals, slope, slopes: vec![], offsets };
        let values = table.row();
        table.slopes = (0..shape.states() * shape.arities.len() * values)
            .map(|at| {
                let (rest, value) = (at / values, at % values);
                table.slope_at(rest / shape.arities.len(), rest % shape.arities.len(), value, source)
            })
            .collect();
        table
    }

    /// Numbers of a site's gradient.
    fn row(&self) -> usize {
        if self.shape.layout.kind() == Kind::Categorical { self.shape.layout.arity() } else { 1 }
    }

    fn slope_at(&self, state: usize, site: usize, value: usize, source: &mut Source) -> f32 {
        let (arity, here) = (self.shape.arities[site], self.shape.value(state, site));
        let at = |value: usize| self.totals[self.shape.with(state, site, value)];
        let exact = match self.shape.layout.kind() {
            _ if at(here) == f32::INFINITY || value >= arity => 0.0,
            Kind::Binary if arity < 2 => 0.0,
            Kind::Binary => at(1) - at(0),
            Kind::Categorical => at(value) - at(here),
            Kind::Ordinal => {
                let (up, down) = ((here + 1).min(arity - 1), here.saturating_sub(1));
                // Two forbidden neighbours have no difference.
                let rise = at(up) - at(down);
                if rise.is_nan() { 0.0 } else { rise / (up - down).max(1) as f32 }
            }
        };
        match self.slope {
            Slope::Exact => exact,
            Slope::Finite if exact.is_infinite() => 4f32.copysign(exact),
            Slope::Finite => exact,
            Slope::Wrong => -exact,
            Slope::Flat => 0.0,
            Slope::Misleading => source.normal([1.0, 10.0, 100.0][site % 3]),
            Slope::Huge => source.pick(&[3e38, -3e38, 1e38, -1e30, 1.0, 0.0]),
            Slope::Infinite => source.pick(&[f32::INFINITY, f32::NEG_INFINITY, 1.0, -1.0, 0.0]),
        }
    }

    /// Whether a product of a gradient may be infinite, so that a sampler may find no proposal and count a fault.
    #[must_use]
    pub(crate) fn wild(&self) -> bool {
        self.slopes.iter().any(|slope| slope.abs() > 1e30)
    }

    fn number(&self, x: Packed<'_>) -> usize {
        self.shape.number(x).expect("an energy is asked about legal states only")
    }

    fn slope_of(&self, state: usize, site: usize, value: usize) -> f32 {
        self.slopes[(state * self.shape.arities.len() + site) * self.row() + value]
    }

    /// The whole gradient at a state, in the order of the sites; NaN for values that a site has not.
    pub(crate) fn gradient_of(&self, state: usize) -> Vec<f32> {
        let (sites, row) = (self.shape.arities.len(), self.row());
        let places = (0..sites).flat_map(|site| (0..row).map(move |value| (site, value)));
        let slope = |(site, value)| {
            if value < self.shape.arities[site] { self.slope_of(state, site, value) } else { f32::NAN }
        };
        places.map(slope).collect()
    }

    fn own(&self) -> Option<&[u16]> {
        self.shape.given.as_deref()
    }
}

/// Energies of all states: without structure, of pairs, or of one number; some states forbidden, some sites with a bias
/// of up to 10⁹.
fn totals(shape: &Shape, source: &mut Source) -> Vec<f32> {
    let sd = source.pick(&[0.0, 0.3, 1.0, 1.0, 3.0, 8.0]);
    let states = shape.states();
    let mut totals: Vec<f64> = match source.below(4) {
        0 | 1 => (0..states).map(|_| source.normal(sd).into()).collect(),
        2 => {
            let sites = shape.arities.len();
            let most = shape.layout.arity();
            let count = (sites * most).pow(2);
            let pairs: Vec<f64> = (0..count).map(|_| source.normal(sd / 2.0).into()).collect();
            let pair = |state: usize, i: usize, j: usize| {
                pairs[((i * sites + j) * most + shape.value(state, i)) * most + shape.value(state, j)]
            };
            let total = |state| {
                (0..sites).flat_map(|i| (0..=i).map(move |j| (i, j))).map(|(i, j)| pair(state, i, j)).sum()
            };
            (0..states).map(total).collect()
        }
        _ => {
            let sum =
                |state| (0..shape.arities.len()).map(|site| shape.value(state, site)).sum::<usize>() as f64;
            (0..states).map(|state| sd * sum(state).sqrt()).collect()
        }
    };
    let walls = source.pick(&[0.0, 0.0, 0.1, 0.5, 0.8]);
    for total in &mut totals {
        if source.uniform() < walls {
            *total = f64::INFINITY;
        }
    }
    if source.one_in(8) {
        let (site, bias) = (source.below(shape.arities.len()), source.pick(&[1e9, -1e9, 1e8, -1e6, 1e4]));
        (0..states).for_each(|state| totals[state] += bias * shape.value(state, site) as f64);
    }
    if source.one_in(8) {
        let offset = source.pick(&[1e9, -1e6, 1e4]);
        totals.iter_mut().for_each(|total| *total += offset);
    }
    let kept = source.below(states);
    if totals.iter().all(|total| total.is_infinite()) {
        totals[kept] = 0.0;
    }
    totals.into_iter().map(|total| total as f32).collect()
}

impl Function for Table {
    fn layout(&self) -> Layout {
        self.shape.layout
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        self.totals[self.number(x)]
    }

    fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
        self.slope_of(self.number(x), site, 0)
    }

    fn component(&self, x: Packed<'_>, site: usize, value: usize) -> f32 {
        assert!(value < self.shape.arities[site], "site {site} has no value {value}");
        self.slope_of(self.number(x), site, value)
    }

    fn arities(&self) -> Option<&[u16]> {
        self.own()
    }

    fn offsets(&self) -> Option<&[i32]> {
        Some(&self.offsets)
    }
}

/// The same as an energy with a cache. It writes NaN wherever an answer is ignored: in lanes past the last site and past
/// the last value of a site.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByHand<'t>(pub &'t Table);

impl ByHand<'_> {
    /// The number of the state that a cache belongs to.
    fn at(&self, cache: &[Bits]) -> usize {
        cache[1][3] as usize
    }
}

impl Energy for ByHand<'_> {
    fn layout(&self) -> Layout {
        self.0.shape.layout
    }

    fn cache_len(&self) -> usize {
        2
    }

    fn arities(&self) -> Option<&[u16]> {
        self.0.own()
    }

    fn offsets(&self) -> Option<&[i32]> {
        Some(&self.0.offsets)
    }

    fn init(&self, x: Packed<'_>, cache: &mut [Bits]) -> Result<f32, EnergyError> {
        let state = self.0.number(x);
        // Nothing else is written: what was there before stays.
        cache[1][3] = state as u32;
        Ok(self.0.totals[state])
    }

    fn gradient(&self, x: Packed<'_>, cache: &[Bits], rows: Range<usize>, out: &mut [Block]) {
        let (state, layout) = (self.0.number(x), self.0.shape.layout);
        assert_eq!(state, self.at(cache), "the cache is that of the state");
        for (row, blocks) in rows.zip(out.chunks_exact_mut(layout.row_blocks())) {
            for (number, block) in blocks.iter_mut().enumerate() {
                for (lane, out) in block.iter_mut().enumerate().take(LANES) {
                    let place = layout.component(row, number, lane);
                    let place = place.filter(|&(site, value)| value < self.0.shape.arities[site]);
                    *out = place.map_or(f32::NAN, |(site, value)| self.0.slope_of(state, site, value));
                }
            }
        }
    }

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        let (from, to) = (self.at(cache), self.0.number(step.to()));
        for site in 0..self.0.shape.arities.len() {
            assert_eq!(
                step.before(site) as usize,
                self.0.shape.value(from, site),
                "a move from the cache's state"
            );
        }
        cache[1][3] = to as u32;
        self.0.totals[to] - self.0.totals[from]
    }

    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        let state = self.at(cache);
        let here = Packed::new(self.0.shape.layout, words).map(|x| self.0.number(x));
        assert_eq!(here, Ok(state), "the cache is that of the state");
        for (value, out) in out.iter_mut().enumerate() {
            let legal = value < self.0.shape.arities[site];
            *out = if legal {
                self.0.totals[self.0.shape.with(state, site, value)] - self.0.totals[state]
            } else {
                f32::NAN
            };
        }
    }
}
