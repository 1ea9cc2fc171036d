//! Samplers that draw indices, in float64 and naive: every sequence of draws is enumerated, and detailed
//! balance is checked path by path.

use crate::enumerate::{Distribution, values};
use crate::naive::Target;
use crate::planes::Tables;
use crate::stat::table::Table;
use crate::tolerance::{self, LOG_ROUNDINGS, LOGIT_ROUNDINGS, ROUNDING};
use bitmc::step::Choice;

/// Roundings of an index's probability: e^z (two), a sum of sixteen (four), two quotients of sums rounded to
/// f32 (six), two products, and the sum over planes as the largest error of its terms (six again).
const INDEX_ROUNDINGS: f64 = 20.0;

/// Weights are cut at e^(−50) of the largest; those of a site of many values at e^(−30) of its own largest.
const CUT: f64 = 50.0;
const CUT_OF_MANY: f64 = 30.0;

/// What is wrong with a broken variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// Nothing.
    None,
    /// The ratio leaves the proposal out: `A = e^(E(x) − E(y))`.
    NoReverse,
    /// The ratio takes half of the energy.
    HalfEnergy,
    /// Every move is accepted: the locally balanced sampler without Z(x)/Z(y).
    NoRatio,
    /// Only the first index is scored on the way back.
    OneIndexBack,
    /// On the way back nothing is taken away: the sum is over all moves each time.
    FullSumBack,
    /// The way back takes the indices in the order of the way there.
    ForwardOrderBack,
}

/// What is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Indices of a path.
    pub indices: usize,
    /// Whether a site may be drawn again.
    pub replace: bool,
    /// Whether the way back has the reverse order.
    pub backwards: bool,
    /// Whether logits are half of the exact differences; else of gradients.
    pub exact: bool,
}

/// A small model: `E` of every state, and of every single-site move what samplers see. State numbers are
/// mixed radix, site 0 fastest.
#[derive(Clone, Debug)]
pub struct Model {
    /// Values of each site.
    pub arities: Vec<usize>,
    /// The distribution.
    pub distribution: Distribution,
    /// ∂E/∂x · (change) of the move of each site to each value.
    slopes: Vec<Vec<Vec<f64>>>,
    /// The size of the numbers in logits, times the roundings behind them: of gradients and of differences.
    reach: Vec<[f64; 2]>,
    /// A mask of the sites that do not move.
    pub held: usize,
    /// Whether the sites stand in a layout of many values.
    pub many: bool,
}

/// How far a sampler is from detailed balance, path by path.
#[derive(Clone, Copy, Debug, Default)]
pub struct Verdict {
    /// The largest |Σ q(path|x) − 1|.
    pub rows: f64,
    /// The largest |πP − π|, paths summed.
    pub stationarity: f64,
    /// The largest relative asymmetry of π(x) q(path|x) A among flows above [`tolerance::LEAST_FLOW`].
    pub asymmetry: f64,
}

impl Verdict {
    /// Whether the distribution is kept.
    #[must_use]
    pub fn keeps_the_distribution(&self) -> bool {
        self.rows <= tolerance::ROW_SUM && self.stationarity <= tolerance::STATIONARITY
    }

    /// Whether it is kept path by path.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.keeps_the_distribution() && self.asymmetry <= tolerance::ASYMMETRY
    }
}

impl Model {
    /// Of binary sites.
    pub fn binary(target: &(impl Target + ?Sized)) -> Self {
        let (sites, distribution) = (target.sites(), Distribution::of(target));
        let slopes = |state: usize| {
            let x = values(state, sites);
            let gradient = target.gradient(&x);
            let site = |(x, g): (&f64, &f64)| if *x == 0.0 { vec![0.0, *g] } else { vec![-g, 0.0] };
            x.iter().zip(&gradient).map(site).collect()
        };
        let most =
            distribution.energies.iter().filter(|e| e.is_finite()).fold(0.0f64, |most, e| most.max(e.abs()));
        let reach = |state: usize| {
            let reach = target.gradient_reach(&values(state, sites));
            let sum = reach.iter().sum::<f64>();
            [reach.into_iter().fold(0.0, f64::max), most + sum]
        };
        let (slopes, reach) = ((0..1 << sites).map(slopes).collect(), (0..1 << sites).map(reach).collect());
        Self { arities: vec![2; sites], distribution, slopes, reach, held: 0, many: false }
    }

    /// Of tables.
    #[must_use]
    pub fn tables(tables: &Tables) -> Self {
        let arities: Vec<usize> = tables.arities.iter().map(|&arity| usize::from(arity)).collect();
        let distribution = tables.distribution();
        let each = |x: &[usize], of: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
            (0..x.len()).map(|site| (0..arities[site]).map(|value| of(site, value)).collect()).collect()
        };
        let states = 0..tables.states();
        let slopes = states.clone().map(|state| {
            let x = tables.values(state);
            each(&x, &|site, value| tables.slope(&x, site, value))
        });
        let most = distribution.energies.iter().fold(0.0f64, |most, e| most.max(e.abs()));
        let reach = states.map(|state| {
            let x = tables.values(state);
            let sizes = each(&x, &|site, value| {
                tables.gradient(&x, site, value).abs().max(tables.slope(&x, site, value).abs())
            });
            [sizes.into_iter().flatten().fold(0.0, f64::max), most]
        });
        let (slopes, reach) = (slopes.collect(), reach.collect());
        Self { arities, distribution, slopes, reach, held: 0, many: false }
    }

    /// States.
    #[must_use]
    pub fn states(&self) -> usize {
        self.distribution.energies.len()
    }

    /// The values of a state.
    #[must_use]
    pub fn values(&self, mut state: usize) -> Vec<usize> {
        let digit = |&arity: &usize| {
            let value = state % arity;
            state /= arity;
            value
        };
        self.arities.iter().map(digit).collect()
    }

    fn number(&self, x: &[usize]) -> usize {
        x.iter().zip(&self.arities).rev().fold(0, |sum, (value, arity)| sum * arity + value)
    }

    /// Logits relative to the largest, −∞ where there is no move.
    fn logits(&self, rule: Rule, state: usize) -> Vec<Vec<f64>> {
        let x = self.values(state);
        let logit = |site: usize, value: usize| {
            if value == x[site] || (self.held >> site) & 1 == 1 {
                return f64::NEG_INFINITY;
            }
            if !rule.exact {
                return -0.5 * self.slopes[state][site][value];
            }
            let mut y = x.clone();
            y[site] = value;
            -0.5 * (self.distribution.energies[self.number(&y)] - self.distribution.energies[state])
        };
        let all: Vec<Vec<f64>> = (0..x.len())
            .map(|site| (0..self.arities[site]).map(|value| logit(site, value)).collect())
            .collect();
        let most = all.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
        let cut = |site: Vec<f64>| {
            let own = site.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let least = if self.many { own - CUT_OF_MANY } else { most - CUT };
            let cut = |z: f64| if z == f64::NEG_INFINITY { z } else { z.max(least) - most };
            site.into_iter().map(cut).collect()
        };
        all.into_iter().map(cut).collect()
    }

    /// log q of a sequence of draws.
    fn log_q(&self, logits: &[Vec<f64>], path: &[Choice], replace: bool) -> f64 {
        let mut log_q = 0.0;
        for (index, choice) in path.iter().enumerate() {
            let taken = |site: usize| !replace && path[..index].iter().any(|before| before.site == site);
            let left = logits.iter().enumerate().filter(|&(site, _)| !taken(site));
            let left: Vec<f64> = left.flat_map(|(_, z)| z.iter().copied()).collect();
            let most = left.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = left.iter().map(|z| (z - most).exp()).sum();
            log_q += logits[choice.site][choice.value as usize] - most - sum.ln();
        }
        log_q
    }

    /// Every sequence of draws from a state that has a probability.
    #[must_use]
    pub fn paths(&self, rule: Rule, state: usize) -> Vec<Vec<Choice>> {
        let logits = self.logits(rule, state);
        let mut paths = vec![vec![]];
        for _ in 0..rule.indices {
            let mut longer = Vec::new();
            for path in paths {
                let before = longer.len();
                for (site, z) in logits.iter().enumerate() {
                    let taken = !rule.replace && path.iter().any(|choice: &Choice| choice.site == site);
                    for (value, _) in z.iter().enumerate().filter(|&(_, z)| !taken && *z > f64::NEG_INFINITY) {
                        let mut next = path.clone();
                        next.push(Choice { site, value: value as u32 });
                        longer.push(next);
                    }
                }
                if longer.len() == before {
                    longer.push(path); // nothing is left
                }
            }
            paths = longer;
        }
        paths
    }

    /// Where a path leads.
    #[must_use]
    pub fn end(&self, state: usize, path: &[Choice]) -> usize {
        let mut x = self.values(state);
        path.iter().for_each(|choice| x[choice.site] = choice.value as usize);
        self.number(&x)
    }

    /// The path back.
    #[must_use]
    pub fn back(&self, rule: Rule, state: usize, path: &[Choice]) -> Vec<Choice> {
        let x = self.values(state);
        let mut back: Vec<Choice> =
            path.iter().map(|choice| Choice { site: choice.site, value: x[choice.site] as u32 }).collect();
        if rule.backwards {
            back.reverse();
        }
        back
    }

    /// log q and ln A of a path, by a broken variant.
    #[must_use]
    pub fn variant(&self, rule: Rule, defect: Defect, x: usize, path: &[Choice]) -> (f64, f64) {
        let forward = self.log_q(&self.logits(rule, x), path, rule.replace);
        let y = self.end(x, path);
        let order = Rule { backwards: rule.backwards && defect != Defect::ForwardOrderBack, ..rule };
        let mut back = self.back(order, x, path);
        if defect == Defect::OneIndexBack {
            back.truncate(1);
        }
        let replace = rule.replace || defect == Defect::FullSumBack;
        let reverse = self.log_q(&self.logits(rule, y), &back, replace);
        let difference = self.distribution.energies[y] - self.distribution.energies[x];
        let ratio = match defect {
            Defect::NoReverse => -difference,
            Defect::HalfEnergy => reverse - forward - 0.5 * difference,
            Defect::NoRatio => 0.0,
            _ => reverse - forward - difference,
        };
        (forward, if difference == f64::INFINITY { f64::NEG_INFINITY } else { ratio })
    }

    /// Checks a sampler that gives (log q, ln A) of a path from a state.
    pub fn judge(&self, rule: Rule, found: impl Fn(usize, &[Choice]) -> (f64, f64)) -> Verdict {
        let p = &self.distribution.probabilities;
        let (mut verdict, mut net) = (Verdict::default(), vec![0.0; p.len()]);
        let flow = |x: usize, path: &[Choice]| {
            let (log_q, log_a) = found(x, path);
            (log_q, p[x] * (log_q + log_a.min(0.0)).exp())
        };
        for x in (0..p.len()).filter(|&x| p[x] > 0.0) {
            let mut row = 0.0;
            for path in self.paths(rule, x) {
                let (log_q, out) = flow(x, &path);
                let y = self.end(x, &path);
                let back = if p[y] > 0.0 { flow(y, &self.back(rule, x, &path)).1 } else { 0.0 };
                row += log_q.exp();
                net[x] -= out;
                net[y] += out;
                let larger = out.max(back);
                if larger > tolerance::LEAST_FLOW || (out + back).is_nan() {
                    verdict.asymmetry = worse(verdict.asymmetry, (out - back) / larger);
                }
            }
            verdict.rows = worse(verdict.rows, row - 1.0);
        }
        verdict.stationarity = net.into_iter().fold(0.0, worse);
        verdict
    }

    /// The distance of a sampler's log q from the formula, in units of the rounding bound of f32 code.
    #[must_use]
    pub fn error(&self, rule: Rule, x: usize, path: &[Choice], log_q: f64) -> f64 {
        let truth = self.log_q(&self.logits(rule, x), path, rule.replace);
        let reach = self.reach[x][usize::from(rule.exact)];
        // A logit and the largest one are subtracted, in the weight and in the sum.
        let index = 4.0 * LOGIT_ROUNDINGS * reach + INDEX_ROUNDINGS;
        let bound = ROUNDING * (index * path.len() as f64 + LOG_ROUNDINGS * (1.0 + truth.abs()));
        worse(0.0, if log_q == truth { 0.0 } else { (log_q - truth) / bound })
    }

    /// The transition matrix of a broken variant, paths summed.
    #[must_use]
    pub fn table(&self, rule: Rule, defect: Defect) -> Table {
        let row = |x: usize| {
            let mut row = vec![0.0; self.states()];
            if self.distribution.probabilities[x] > 0.0 {
                for path in self.paths(rule, x) {
                    let (log_q, log_a) = self.variant(rule, defect, x, &path);
                    let moved = (log_q + log_a.min(0.0)).exp();
                    row[self.end(x, &path)] += moved;
                    row[x] += log_q.exp() - moved;
                }
            }
            row
        };
        Table { rows: (0..self.states()).map(row).collect() }
    }
}

/// The larger of two sizes, where NaN is as large as can be.
fn worse(most: f64, error: f64) -> f64 {
    if error.is_nan() { f64::INFINITY } else { most.max(error.abs()) }
}
