//! An energy of the kernel against its float64 reference: totals, differences, gradients and caches.

use crate::heap;
use crate::models::Source;
use crate::naive::Target;
use crate::tolerance::{DOUBLE, ROUNDING};
use bitmc::lane::{Bits, Block, LANES};
use bitmc::{Energy, Layout, Move, Packed};

/// A model under test: what the kernel may be off by.
pub struct Case<'a> {
    /// The kernel's.
    pub energy: &'a dyn Energy,
    /// The reference.
    pub target: &'a dyn Target,
    /// Of a total or a difference.
    pub total: &'a dyn Fn(&[f64]) -> f64,
    /// Of a component of the gradient.
    pub gradient: &'a dyn Fn(&[f64]) -> Vec<f64>,
    /// Whether a difference of one site is the gradient's component.
    pub multilinear: bool,
}

/// `E(x)` and the cache of x, from nothing.
///
/// # Panics
/// Where the energy cannot start there.
#[must_use]
pub fn cache_of(energy: &dyn Energy, x: &[f64]) -> (f32, Vec<Bits>) {
    let mut cache = vec![[0xDEAD_BEEF; LANES]; energy.cache_len()];
    let words = heap::pack(x);
    let total = energy.init(Packed::new(energy.layout(), &words).unwrap(), &mut cache).unwrap();
    (total, cache)
}

/// The whole gradient at x.
///
/// # Panics
/// Where x has another number of sites than the energy.
#[must_use]
pub fn gradient_of(energy: &dyn Energy, x: &[f64], cache: &[Bits]) -> Vec<Block> {
    let (layout, words) = (energy.layout(), heap::pack(x));
    let mut out = vec![[f32::NAN; LANES]; layout.blocks()];
    energy.gradient(Packed::new(layout, &words).unwrap(), cache, 0..layout.blocks(), &mut out);
    out
}

/// Compares one number.
///
/// # Panics
/// Where the two are further apart than the bound.
pub fn close(name: &str, found: f32, truth: f64, bound: f64) {
    let error = (f64::from(found) - truth).abs();
    assert!(error <= bound, "{name}: {found} for {truth}, error {error:e}, bound {bound:e}");
}

impl Case<'_> {
    /// Walks at random, and compares everything at every state.
    ///
    /// # Panics
    /// Where something is further off than its bound.
    pub fn check(&self, name: &str, source: &mut Source, steps: usize) {
        let (layout, sites) = (self.energy.layout(), self.target.sites());
        assert_eq!(layout, Layout::binary(sites));
        let mut x = source.state(sites);
        let (total, mut cache) = cache_of(self.energy, &x);
        close(&format!("{name}: total"), total, self.target.energy(&x), (self.total)(&x));
        for step in 0..steps {
            self.check_gradient(name, &x, &cache);
            let mut y = x.clone();
            // From no site to all of them.
            let share = source.uniform().powi(2) * step as f64 / steps as f64;
            y.iter_mut().for_each(|value| {
                if source.uniform() < share {
                    *value = 1.0 - *value;
                }
            });
            let site = source.below(sites);
            self.check_differences(name, &x, &cache, site);
            y[site] = 1.0 - y[site];
            let (here, there) = (heap::pack(&x), heap::pack(&y));
            let step = Move::new(Packed::new(layout, &here).unwrap(), Packed::new(layout, &there).unwrap());
            let found = self.energy.shift(&step.unwrap(), &mut cache);
            let truth = self.target.energy(&y) - self.target.energy(&x);
            close(&format!("{name}: shift"), found, truth, (self.total)(&x) + (self.total)(&y));
            x = y;
            // Free of history: the cache is that of the state, bit for bit.
            let (total, fresh) = cache_of(self.energy, &x);
            assert_eq!(cache, fresh, "{name}: the cache remembers the way here");
            close(&format!("{name}: total"), total, self.target.energy(&x), (self.total)(&x));
        }
    }

    fn check_gradient(&self, name: &str, x: &[f64], cache: &[Bits]) {
        let found = gradient_of(self.energy, x, cache);
        let (truth, bounds) = (self.target.gradient(x), (self.gradient)(x));
        for (site, (&truth, &bound)) in truth.iter().zip(&bounds).enumerate() {
            close(&format!("{name}: gradient"), found[site / LANES][site % LANES], truth, bound);
        }
        // Any range of blocks gives the same bits.
        let words = heap::pack(x);
        let state = Packed::new(self.energy.layout(), &words).unwrap();
        for first in 0..found.len() {
            for last in first..=found.len() {
                let mut part = vec![[f32::NAN; LANES]; last - first];
                self.energy.gradient(state, cache, first..last, &mut part);
                let sites = x.len().saturating_sub(first * LANES).min(part.len() * LANES);
                let bits = |blocks: &[Block]| -> Vec<u32> {
                    blocks.as_flattened()[..sites].iter().map(|value| value.to_bits()).collect()
                };
                assert_eq!(bits(&part), bits(&found[first..last]), "{name}: blocks {first}..{last}");
            }
        }
    }

    fn check_differences(&self, name: &str, x: &[f64], cache: &[Bits], site: usize) {
        let (mut words, before) = (heap::pack(x), heap::pack(x));
        let mut out = [f32::NAN; 2];
        self.energy.differences(&mut words, cache, site, &mut out);
        assert_eq!(words, before, "{name}: differences left the state changed");
        for (value, &found) in [0.0, 1.0].into_iter().zip(&out) {
            let mut y = x.to_vec();
            y[site] = value;
            let truth = self.target.energy(&y) - self.target.energy(x);
            close(&format!("{name}: difference"), found, truth, (self.total)(x) + (self.total)(&y));
            if value == x[site] {
                assert_eq!(found, 0.0, "{name}: the difference to itself");
            } else if self.multilinear {
                let step = (value - x[site]) * self.target.gradient(x)[site];
                // The bound holds a rounding of the sum of all terms, at least.
                let size = 1.0 + (self.total)(x) / ROUNDING;
                assert!((truth - step).abs() <= DOUBLE * size, "the reference disagrees with itself");
            }
        }
    }
}
