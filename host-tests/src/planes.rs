//! Categorical and ordinal models in float64, and a naive Langevin sampler over them with broken variants.

use crate::enumerate::Distribution;
use crate::matrix::Transitions;
use crate::models::Source;
use bitmc::{Function, Kind, Layout, Packed};

/// Random tables over sites and pairs of sites: every value is on the grid of 1/64.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Values of each site.
    pub arities: Vec<u16>,
    kind: Kind,
    /// `E = Σ single[i][xᵢ] + Σ_pairs pair[i][j][xᵢ][xⱼ]` for categorical sites.
    single: Vec<Vec<f64>>,
    pairs: Vec<(usize, usize, Vec<Vec<f64>>)>,
    /// `E = Σ a[i](xᵢ − m)²/m + Σ_pairs b xᵢxⱼ/m` for ordinal ones, m = arity/2.
    quadratic: Vec<f64>,
}

impl Tables {
    /// Random tables with entries of standard deviation `sd`; every pair of sites is coupled.
    #[must_use]
    pub fn new(kind: Kind, arities: &[u16], sd: f64, seed: u64) -> Self {
        let mut source = Source::new(seed);
        let mut draw = |count: u16| (0..count).map(|_| f64::from(source.coarse(sd))).collect::<Vec<_>>();
        let single = arities.iter().map(|&arity| draw(arity)).collect();
        let quadratic = draw(arities.len() as u16).into_iter().map(f64::abs).collect();
        let mut pairs = Vec::new();
        for j in 0..arities.len() {
            for i in 0..j {
                pairs.push((i, j, (0..arities[i]).map(|_| draw(arities[j])).collect()));
            }
        }
        Self { arities: arities.to_vec(), kind, single, pairs, quadratic }
    }

    /// The tables of a Potts model: `E = −Σ_edges Jᵢⱼ[xᵢ = xⱼ] − Σᵢ wᵢ(xᵢ)`.
    #[must_use]
    pub fn potts(edges: &[(u32, u32, f32)], arity: usize, fields: &[f32]) -> Self {
        let row = |row: &[f32]| row.iter().map(|&w| -f64::from(w)).collect();
        let single: Vec<Vec<f64>> = fields.chunks(arity).map(row).collect();
        let agree = |j: f32| {
            let value = |a: usize, b: usize| if a == b { -f64::from(j) } else { 0.0 };
            (0..arity).map(|a| (0..arity).map(|b| value(a, b)).collect()).collect()
        };
        let pairs = edges.iter().map(|&(a, b, j)| (a as usize, b as usize, agree(j))).collect();
        let arities = vec![arity as u16; single.len()];
        Self { quadratic: vec![0.0; arities.len()], arities, kind: Kind::Categorical, single, pairs }
    }

    fn middle(&self) -> f64 {
        f64::from(self.arities.iter().copied().max().unwrap_or(2)) / 2.0
    }

    /// `E(x)`.
    #[must_use]
    pub fn energy(&self, x: &[usize]) -> f64 {
        if self.kind == Kind::Ordinal {
            let m = self.middle();
            let own = x.iter().zip(&self.quadratic).map(|(&x, a)| a * (x as f64 - m).powi(2) / m);
            let pairs = self.pairs.iter().map(|(i, j, b)| b[0][0] * (x[*i] * x[*j]) as f64 / m);
            return own.sum::<f64>() + pairs.sum::<f64>();
        }
        let own = x.iter().zip(&self.single).map(|(&x, table)| table[x]);
        let pairs = self.pairs.iter().map(|(i, j, table)| table[x[*i]][x[*j]]);
        own.sum::<f64>() + pairs.sum::<f64>()
    }

    /// `∂E/∂xᵢₖ` of the multilinear extension over one-hot vectors, or `∂E/∂xᵢ` of an ordinal site.
    #[must_use]
    pub fn gradient(&self, x: &[usize], site: usize, value: usize) -> f64 {
        self.component(|other| x[other], site, value)
    }

    fn component(&self, x: impl Fn(usize) -> usize, site: usize, value: usize) -> f64 {
        let m = self.middle();
        if self.kind == Kind::Ordinal {
            let own = 2.0 * self.quadratic[site] * (x(site) as f64 - m) / m;
            let pairs = self.pairs.iter().map(|(i, j, b)| match site {
                s if s == *i => b[0][0] * x(*j) as f64 / m,
                s if s == *j => b[0][0] * x(*i) as f64 / m,
                _ => 0.0,
            });
            return own + pairs.sum::<f64>();
        }
        let pairs = self.pairs.iter().map(|(i, j, table)| match site {
            s if s == *i => table[value][x(*j)],
            s if s == *j => table[x(*i)][value],
            _ => 0.0,
        });
        self.single[site][value] + pairs.sum::<f64>()
    }

    /// `∂E/∂x · (change)` of the move of one site to a value: what E would change by if it were linear.
    #[must_use]
    pub fn slope(&self, x: &[usize], site: usize, value: usize) -> f64 {
        if self.kind == Kind::Ordinal {
            self.gradient(x, site, 0) * (value as f64 - x[site] as f64)
        } else {
            self.gradient(x, site, value) - self.gradient(x, site, x[site])
        }
    }

    /// The values of state number `state`: mixed radix, site 0 fastest.
    #[must_use]
    pub fn values(&self, mut state: usize) -> Vec<usize> {
        let digit = |&arity: &u16| {
            let value = state % usize::from(arity);
            state /= usize::from(arity);
            value
        };
        self.arities.iter().map(digit).collect()
    }

    /// States.
    #[must_use]
    pub fn states(&self) -> usize {
        self.arities.iter().map(|&arity| usize::from(arity)).product()
    }

    /// The distribution by enumeration.
    #[must_use]
    pub fn distribution(&self) -> Distribution {
        let energies = (0..self.states()).map(|state| self.energy(&self.values(state))).collect();
        Distribution::from_energies(self.arities.len(), energies)
    }
}

/// What a user would write for the same energy.
#[derive(Clone, Copy, Debug)]
pub struct Own<'t>(pub &'t Tables);

fn values_of(x: Packed<'_>) -> Vec<usize> {
    x.values().map(|value| value as usize).collect()
}

impl Function for Own<'_> {
    fn layout(&self) -> Layout {
        let most = usize::from(self.0.arities.iter().copied().max().unwrap_or(2));
        match self.0.kind {
            Kind::Ordinal => Layout::ordinal(self.0.arities.len(), most),
            Kind::Binary | Kind::Categorical => Layout::categorical(self.0.arities.len(), most),
        }
    }

    fn arities(&self) -> Option<&[u16]> {
        Some(&self.0.arities)
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        self.0.energy(&values_of(x)) as f32
    }

    fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
        self.0.component(|other| x.get(other) as usize, site, 0) as f32
    }

    fn component(&self, x: Packed<'_>, site: usize, value: usize) -> f32 {
        self.0.component(|other| x.get(other) as usize, site, value) as f32
    }
}

/// The same as sites of 70 values, most of which no site has: a chain works on one site after the other.
#[derive(Clone, Copy, Debug)]
pub struct Wide<'t>(pub Own<'t>);

impl Function for Wide<'_> {
    fn layout(&self) -> Layout {
        let layout = self.0.layout();
        if layout.kind() == Kind::Ordinal {
            Layout::ordinal(layout.sites(), 70)
        } else {
            Layout::categorical(layout.sites(), 70)
        }
    }

    fn arities(&self) -> Option<&[u16]> {
        self.0.arities()
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        self.0.total(x)
    }

    fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
        self.0.gradient(x, site)
    }

    fn component(&self, x: Packed<'_>, site: usize, value: usize) -> f32 {
        self.0.component(x, site, value)
    }
}

/// What is wrong with a broken variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// Nothing.
    None,
    /// The ratio leaves the proposal out.
    NoReverse,
    /// The ratio takes half of the energy.
    HalfEnergy,
    /// The way back is computed with the gradient at the start.
    StaleReverse,
    /// A move costs c/2, as if one-hot vectors were at squared distance 1, on the way back only.
    HalfDistance,
}

/// The naive sampler's parameters: METHODS.md §1.
#[derive(Clone, Copy, Debug)]
pub struct Proposal {
    /// β.
    pub balance: f64,
    /// c.
    pub curvature: f64,
    /// How far an ordinal value may move.
    pub window: usize,
}

impl Proposal {
    /// log q of moving to `y` by the gradients at `at`, the logits measured from `x`.
    fn log_q(&self, tables: &Tables, at: &[usize], x: &[usize], y: &[usize], c: f64) -> f64 {
        let limit = f64::from(bitmc::draw::LOGIT_LIMIT);
        let site = |site: usize| {
            let logits: Vec<f64> = (0..usize::from(tables.arities[site]))
                .map(|k| {
                    let v = k as f64 - x[site] as f64;
                    if tables.kind == Kind::Ordinal {
                        let slope = self.balance * tables.gradient(at, site, 0);
                        if v.abs() > self.window as f64 {
                            f64::NEG_INFINITY
                        } else {
                            -slope * v - 0.5 * c * v * v
                        }
                    } else {
                        let rise = tables.gradient(at, site, k) - tables.gradient(at, site, x[site]);
                        -self.balance * rise - if v == 0.0 { 0.0 } else { c }
                    }
                })
                .collect();
            let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let cut = |z: f64| if z == f64::NEG_INFINITY { z } else { (z - most).max(-limit) };
            cut(logits[y[site]]) - logits.iter().map(|&z| cut(z).exp()).sum::<f64>().ln()
        };
        (0..x.len()).map(site).sum()
    }

    /// log q(y|x).
    #[must_use]
    pub fn log_forward(&self, tables: &Tables, x: &[usize], y: &[usize]) -> f64 {
        self.log_q(tables, x, x, y, self.curvature)
    }

    /// The transitions of a broken variant.
    #[must_use]
    pub fn variant(&self, tables: &Tables, defect: Defect) -> Transitions {
        Transitions::new(tables.states(), |x, y| {
            let (x, y) = (tables.values(x), tables.values(y));
            let forward = self.log_forward(tables, &x, &y);
            let reverse = match defect {
                Defect::NoReverse => forward,
                Defect::StaleReverse => self.log_q(tables, &x, &y, &x, self.curvature),
                Defect::HalfDistance => self.log_q(tables, &y, &y, &x, 0.5 * self.curvature),
                Defect::None | Defect::HalfEnergy => self.log_forward(tables, &y, &x),
            };
            let scale = if defect == Defect::HalfEnergy { 0.5 } else { 1.0 };
            let ratio = scale * (tables.energy(&x) - tables.energy(&y)) + reverse - forward;
            (forward, if forward == f64::NEG_INFINITY { f64::NEG_INFINITY } else { ratio })
        })
    }
}
