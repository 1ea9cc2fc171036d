//! Factor graphs in float64, straight from `E(x) = −Σ_f t_f(x_f)`, and the kernel's over the same tables.

use crate::enumerate::Distribution;
use crate::models::Source;
use crate::used;
use bitmc::energy::{FactorError, FactorsBuffers};
use bitmc::{Factor, Factors};

/// A table of log values over some sites, the last one fastest.
#[derive(Clone, Debug)]
pub struct Table {
    /// One to three sites.
    pub sites: Vec<usize>,
    /// One log value for each combination of their values.
    pub values: Vec<f32>,
}

/// A model of tables.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Values of each site.
    pub arities: Vec<u16>,
    /// The tables.
    pub tables: Vec<Table>,
}

impl Graph {
    /// A table over each site and over random pairs and triples of sites, entries of standard deviation `sd` on
    /// the grid of 1/64 (off it where `fine`); a share `walls` of them is −∞, but one state stays possible.
    #[must_use]
    pub fn random(arities: &[u16], sd: f64, walls: f64, fine: bool, seed: u64) -> Self {
        let mut source = Source::new(seed);
        let sites = arities.len();
        let possible: Vec<usize> = arities.iter().map(|&arity| source.below(arity.into())).collect();
        let mut scopes: Vec<Vec<usize>> = (0..sites).map(|site| vec![site]).collect();
        for size in [2, 3] {
            for _ in 0..if size <= sites { sites } else { 0 } {
                let mut scope = Vec::new();
                while scope.len() < size {
                    let site = source.below(sites);
                    if !scope.contains(&site) {
                        scope.push(site);
                    }
                }
                scopes.push(scope);
            }
        }
        let mut graph = Self { arities: arities.to_vec(), tables: Vec::new() };
        for sites in scopes {
            let size: usize = sites.iter().map(|&site| usize::from(arities[site])).product();
            let mut table = Table { sites, values: vec![0.0; size] };
            let kept = graph.entry(&table, &possible);
            for (entry, value) in table.values.iter_mut().enumerate() {
                *value = if fine { source.normal(sd) } else { source.coarse(sd) };
                if source.uniform() < walls && entry != kept {
                    *value = f32::NEG_INFINITY;
                }
            }
            graph.tables.push(table);
        }
        graph
    }

    fn entry(&self, table: &Table, x: &[usize]) -> usize {
        table.sites.iter().fold(0, |entry, &site| entry * usize::from(self.arities[site]) + x[site])
    }

    /// `E(x)`.
    #[must_use]
    pub fn energy(&self, x: &[usize]) -> f64 {
        -self.tables.iter().map(|table| f64::from(table.values[self.entry(table, x)])).sum::<f64>()
    }

    /// The tables that see a site add up to this at x, and forbid it so many times.
    #[must_use]
    pub fn field(&self, x: &[usize], site: usize) -> (f64, usize) {
        let seen = self.tables.iter().filter(|table| table.sites.contains(&site));
        let values: Vec<f32> = seen.map(|table| table.values[self.entry(table, x)]).collect();
        let finite = values.iter().filter(|value| value.is_finite());
        (finite.map(|&v| f64::from(v)).sum(), values.iter().filter(|v| !v.is_finite()).count())
    }

    /// The largest Σ|t| over the factors of one site.
    #[must_use]
    pub fn reach(&self) -> f64 {
        let size = |table: &Table| {
            let finite = table.values.iter().filter(|value| value.is_finite());
            finite.fold(0.0, |most: f64, &v| most.max(f64::from(v.abs())))
        };
        let at = |site: usize| self.tables.iter().filter(|t| t.sites.contains(&site)).map(size).sum();
        (0..self.arities.len()).map(at).fold(0.0, f64::max)
    }

    /// States.
    #[must_use]
    pub fn states(&self) -> usize {
        self.arities.iter().map(|&arity| usize::from(arity)).product()
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

    /// The distribution by enumeration.
    #[must_use]
    pub fn distribution(&self) -> Distribution {
        let energies = (0..self.states()).map(|state| self.energy(&self.values(state))).collect();
        Distribution::from_energies(self.arities.len(), energies)
    }

    /// The same in the kernel's form.
    #[must_use]
    pub fn compiled(&self) -> Compiled {
        let (mut factors, mut tables) = (Vec::new(), Vec::new());
        for table in &self.tables {
            let start = tables.len() as u32;
            factors.push(match table.sites.iter().map(|&site| site as u32).collect::<Vec<_>>()[..] {
                [a] => Factor::one(a, start),
                [a, b] => Factor::two(a, b, start),
                [a, b, c] => Factor::three(a, b, c, start),
                _ => unreachable!("one to three sites"),
            });
            tables.extend(&table.values);
        }
        let members = factors.iter().map(|factor| factor.sites().len()).sum();
        let memory = (used::memory(self.arities.len()), used::memory(members));
        Compiled { arities: self.arities.clone(), factors, tables, memory }
    }
}

/// What the kernel's model borrows.
#[derive(Clone, Debug)]
pub struct Compiled {
    arities: Vec<u16>,
    factors: Vec<Factor>,
    tables: Vec<f32>,
    memory: (Vec<u32>, Vec<u32>),
}

impl Compiled {
    /// The kernel's model.
    ///
    /// # Errors
    /// [`FactorError`] as [`Factors::new`].
    pub fn model(&mut self) -> Result<Factors<'_>, FactorError> {
        let memory = FactorsBuffers::new(&mut self.memory.0, &mut self.memory.1);
        Factors::new(&self.arities, &self.factors, &self.tables, memory)
    }
}
