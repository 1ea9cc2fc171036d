//! Transition matrices over all states of a small model, and what must hold of them.

use crate::enumerate::{Distribution, values};
use crate::heap;
use crate::tolerance;
use bitmc::chain::Ring;
use bitmc::step::Transition;
use bitmc::{Energy, Langevin, Layout, Packed};

/// A sampler's own `log q(y|x)` and `ln A(x, y)` for every pair of states.
#[derive(Clone, Debug)]
pub struct Transitions {
    states: usize,
    log_q: Vec<f64>,
    log_a: Vec<f64>,
}

/// How far a sampler is from what it should be, for states that have a probability.
#[derive(Clone, Copy, Debug, Default)]
pub struct Verdict {
    /// The largest |Σ q(y|x) − 1|.
    pub rows: f64,
    /// The largest |πP − π|.
    pub stationarity: f64,
    /// The largest relative asymmetry of π(x)P(x,y) among flows above [`tolerance::LEAST_FLOW`].
    pub asymmetry: f64,
}

impl Verdict {
    /// From π(x)P(x,y), both in the order of states, and what the probabilities of the moves from each add up to.
    #[must_use]
    pub fn of(flow: &[f64], rows: &[f64]) -> Self {
        let n = rows.len();
        let mut verdict = Self::default();
        for x in 0..n {
            verdict.rows = verdict.rows.max((rows[x] - 1.0).abs());
            let net: f64 = (0..n).map(|y| flow[y * n + x] - flow[x * n + y]).sum();
            verdict.stationarity = verdict.stationarity.max(net.abs());
            for y in 0..x {
                let (there, back) = (flow[x * n + y], flow[y * n + x]);
                verdict.asymmetry = verdict.asymmetry.max((there - back).abs() / there.max(back));
            }
        }
        verdict
    }

    /// Whether the sampler keeps the distribution, within [`tolerance`].
    #[must_use]
    pub fn passes(&self) -> bool {
        self.rows <= tolerance::ROW_SUM
            && self.stationarity <= tolerance::STATIONARITY
            && self.asymmetry <= tolerance::ASYMMETRY
    }
}

impl Transitions {
    /// From a function of (x, y) that gives (log q, ln A).
    pub fn new(states: usize, mut pair: impl FnMut(usize, usize) -> (f64, f64)) -> Self {
        let cells = (0..states * states).map(|cell| pair(cell / states, cell % states));
        let (log_q, log_a) = cells.unzip();
        Self { states, log_q, log_a }
    }

    /// The kernel's, with the sites in the mask `held` clamped. Rows of states where no chain can start are
    /// empty.
    ///
    /// # Panics
    /// Where the reverse probability of a move is not the forward one of the move back, bit for bit, or a
    /// step without a test has a ratio.
    #[must_use]
    pub fn of(energy: &dyn Energy, sampler: &Langevin<'_>, held: usize) -> Self {
        Self::by(energy, held, |ring, to| sampler.transition(ring, to).unwrap())
    }

    /// As [`Transitions::of`], of any kernel that says its probabilities.
    ///
    /// # Panics
    /// As [`Transitions::of`].
    #[must_use]
    pub fn by<E: Energy + ?Sized>(
        energy: &E,
        held: usize,
        transition: impl Fn(Ring<'_, E>, Packed<'_>) -> Transition,
    ) -> Self {
        let layout = energy.layout();
        let sites = layout.sites();
        let words: Vec<Vec<u32>> = (0..1 << sites).map(|state| heap::pack(&values(state, sites))).collect();
        let state = |number: usize| Packed::new(layout, &words[number]).unwrap();
        let start = words.iter().position(|words| heap::chain(energy, words).is_ok()).unwrap();
        let mut chain = heap::chain(energy, &words[start]).unwrap();
        chain.clamp(state(held)).unwrap();
        let states = words.len();
        let mut log_reverse = vec![f32::NEG_INFINITY; states * states];
        let mut log_forward = log_reverse.clone();
        let mut legal = vec![false; states];
        let mut log_a = vec![f64::NEG_INFINITY; states * states];
        for x in 0..states {
            legal[x] = chain.restart(state(x)).is_ok();
            for y in (0..states).filter(|_| legal[x]) {
                let found = transition(chain.ring(), state(y));
                log_forward[x * states + y] = found.log_forward;
                log_reverse[y * states + x] = found.log_reverse;
                log_a[x * states + y] = f64::from(found.log_ratio);
            }
        }
        for cell in 0..states * states {
            if legal[cell / states] && legal[cell % states] {
                let (forward, reverse) = (log_forward[cell], log_reverse[cell]);
                assert_eq!(forward.to_bits(), reverse.to_bits(), "log q of cell {cell}: {forward} {reverse}");
            }
        }
        Self { states, log_q: log_forward.into_iter().map(f64::from).collect(), log_a }
    }

    /// The kernel's between given states of any layout, with the sites in the mask `held` clamped.
    ///
    /// # Panics
    /// Where a state is not one of the energy's, or the energy fails.
    #[must_use]
    pub fn between(energy: &dyn Energy, sampler: &Langevin<'_>, states: &[Vec<f64>], held: u32) -> Self {
        let layout = energy.layout();
        let words: Vec<_> = states.iter().map(|values| heap::pack_in(layout, values)).collect();
        let mut chain = heap::chain(energy, &words[0]).unwrap();
        chain.clamp(Packed::new(Layout::binary(layout.sites()), &[held]).unwrap()).unwrap();
        Self::new(states.len(), |x, y| {
            chain.restart(Packed::new(layout, &words[x]).unwrap()).unwrap();
            let found = sampler.transition(chain.ring(), Packed::new(layout, &words[y]).unwrap()).unwrap();
            assert!(!found.fault);
            (f64::from(found.log_forward), f64::from(found.log_ratio))
        })
    }

    /// Log q(y|x).
    #[must_use]
    pub fn log_q(&self, x: usize, y: usize) -> f64 {
        self.log_q[x * self.states + y]
    }

    /// ln A(x, y).
    #[must_use]
    pub fn log_a(&self, x: usize, y: usize) -> f64 {
        self.log_a[x * self.states + y]
    }

    /// P(x, y) for x ≠ y.
    #[must_use]
    pub fn moves(&self, x: usize, y: usize) -> f64 {
        (self.log_q(x, y) + self.log_a(x, y).min(0.0)).exp()
    }

    /// Compares with a distribution.
    #[must_use]
    pub fn judge(&self, distribution: &Distribution) -> Verdict {
        let mut verdict = Verdict::default();
        let p = &distribution.probabilities;
        for x in (0..self.states).filter(|&x| p[x] > 0.0) {
            let row: f64 = (0..self.states).map(|y| self.log_q(x, y).exp()).sum();
            verdict.rows = verdict.rows.max(distance(row, 1.0));
            let mut net = 0.0;
            for y in (0..self.states).filter(|&y| y != x) {
                let out = p[x] * self.moves(x, y);
                let back = if p[y] > 0.0 { p[y] * self.moves(y, x) } else { 0.0 };
                net += back - out;
                let larger = out.max(back);
                if larger > tolerance::LEAST_FLOW || (out + back).is_nan() {
                    verdict.asymmetry = verdict.asymmetry.max(distance(out, back) / larger);
                }
            }
            verdict.stationarity = verdict.stationarity.max(distance(net, 0.0));
        }
        verdict
    }

    /// The stationary distribution, by state reduction without subtractions (Grassmann, Taksar, Heyman 1985).
    #[must_use]
    pub fn stationary(&self) -> Vec<f64> {
        let n = self.states;
        let mut p: Vec<Vec<f64>> = (0..n).map(|x| (0..n).map(|y| self.moves(x, y)).collect()).collect();
        for last in (1..n).rev() {
            let leave: f64 = p[last][..last].iter().sum();
            for x in 0..last {
                p[x][last] /= leave;
                for y in 0..last {
                    p[x][y] += p[x][last] * p[last][y];
                }
            }
        }
        let mut distribution = vec![1.0; n];
        for y in 1..n {
            distribution[y] = (0..y).map(|x| distribution[x] * p[x][y]).sum();
        }
        let sum: f64 = distribution.iter().sum();
        distribution.into_iter().map(|weight| weight / sum).collect()
    }
}

/// |a − b|, where NaN is as far as can be: `max` would swallow it.
fn distance(a: f64, b: f64) -> f64 {
    let distance = (a - b).abs();
    if distance.is_nan() { f64::INFINITY } else { distance }
}
