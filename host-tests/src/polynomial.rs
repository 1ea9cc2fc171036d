//! Polynomials in float64, straight from their terms, and the kernel's over the same terms.

use crate::models::Source;
use crate::naive::Target;
use crate::used;
use bitmc::Polynomial;
use bitmc::energy::{PolynomialBuffers, PolynomialError};

/// `E = Σ_T w_T Π_{i∈T} vᵢ`, of bits `v = x` or spins `v = 2x − 1`; a term may list a site several times.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Whether sites are spins.
    pub spins: bool,
    /// Sites.
    pub sites: usize,
    /// The sites of each term, and its weight.
    pub terms: Vec<(Vec<u32>, f32)>,
}

/// How weights are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// Whole numbers from −4 to 4.
    Whole,
    /// Multiples of 1/64.
    Coarse,
    /// Any floats, of sizes that differ by a factor of a thousand.
    Fine,
}

impl Terms {
    /// So many random terms that list up to `order` sites, some of them several times; one in ten is a constant.
    #[must_use]
    pub fn random(
        spins: bool,
        (sites, count, order): (usize, usize, usize),
        weights: Weights,
        sd: f64,
        source: &mut Source,
    ) -> Self {
        let mut term = || {
            let length = if source.one_in(10) { 0 } else { 1 + source.below(order) };
            let mut list: Vec<u32> = (0..length).map(|_| source.below(sites) as u32).collect();
            if length > 1 && source.one_in(4) {
                list[length - 1] = list[source.below(length - 1)];
            }
            let weight = match weights {
                Weights::Whole => source.below(9) as f32 - 4.0,
                Weights::Coarse => source.coarse(sd),
                Weights::Fine => source.pick(&[1.0, 0.1, 0.01, 0.001]) * source.normal(sd),
            };
            (list, weight)
        };
        Self { spins, sites, terms: (0..count).map(|_| term()).collect() }
    }

    fn value(&self, x: f64) -> f64 {
        if self.spins { 2.0 * x - 1.0 } else { x }
    }

    /// The sites on which the product of a term depends, each once.
    #[must_use]
    pub fn distinct(&self, term: usize) -> Vec<usize> {
        let list = &self.terms[term].0;
        let times = |site: usize| list.iter().filter(|&&other| other as usize == site).count();
        let stays = |site: &usize| if self.spins { times(*site) % 2 == 1 } else { times(*site) > 0 };
        (0..self.sites).filter(stays).collect()
    }

    /// The largest Σ|w| over the terms of one site, times what `∂E/∂x` has of a weight.
    #[must_use]
    pub fn reach(&self) -> f64 {
        let at = |site: u32| {
            let terms = self.terms.iter().filter(|(list, _)| list.contains(&site));
            terms.map(|(_, w)| f64::from(w.abs())).sum::<f64>()
        };
        let most = (0..self.sites as u32).map(at).fold(0.0, f64::max);
        if self.spins { 2.0 * most } else { most }
    }

    /// Σ|w|, times what a difference has of a weight.
    #[must_use]
    pub fn size(&self) -> f64 {
        let sum: f64 = self.terms.iter().map(|(_, w)| f64::from(w.abs())).sum();
        if self.spins { 2.0 * sum } else { sum }
    }

    /// Memory for the kernel's model, used before.
    #[must_use]
    pub fn memory(&self) -> Memory {
        let several = self.terms.iter().filter(|(list, _)| list.len() > 1);
        let members = several.clone().map(|(list, _)| list.len()).sum();
        Memory {
            sites: used::memory(self.sites),
            terms: used::memory(several.count()),
            members: used::memory(members),
        }
    }

    /// The kernel's model.
    ///
    /// # Errors
    /// [`PolynomialError`] as [`Polynomial::bits`].
    pub fn model<'a>(&self, memory: PolynomialBuffers<'a>) -> Result<Polynomial<'a>, PolynomialError> {
        let terms = self.terms.iter().map(|(list, weight)| (list, *weight));
        if self.spins {
            Polynomial::spins(self.sites, terms, memory)
        } else {
            Polynomial::bits(self.sites, terms, memory)
        }
    }
}

impl Target for Terms {
    fn sites(&self) -> usize {
        self.sites
    }

    fn energy(&self, x: &[f64]) -> f64 {
        let product = |list: &[u32]| list.iter().map(|&site| self.value(x[site as usize])).product::<f64>();
        self.terms.iter().map(|(list, weight)| f64::from(*weight) * product(list)).sum()
    }

    /// Of the multilinear extension: the difference of the site's two values.
    fn gradient(&self, x: &[f64]) -> Vec<f64> {
        let mut gradient = vec![0.0; self.sites];
        for (term, (_, weight)) in self.terms.iter().enumerate() {
            let sites = self.distinct(term);
            for &site in &sites {
                let others = sites.iter().filter(|&&other| other != site);
                let product = others.map(|&other| self.value(x[other])).product::<f64>();
                gradient[site] += f64::from(*weight) * product * (self.value(1.0) - self.value(0.0));
            }
        }
        gradient
    }
}

/// Memory in vectors.
#[derive(Clone, Debug)]
pub struct Memory {
    /// A pair a site.
    pub sites: Vec<[u32; 2]>,
    /// A pair a term.
    pub terms: Vec<[u32; 2]>,
    /// A pair a member.
    pub members: Vec<[u32; 2]>,
}

impl Memory {
    /// For a constructor.
    pub fn borrow(&mut self) -> PolynomialBuffers<'_> {
        PolynomialBuffers::new(&mut self.sites, &mut self.terms, &mut self.members)
    }
}
