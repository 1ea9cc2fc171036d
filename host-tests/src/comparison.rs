//! An energy of the kernel against its float64 reference: totals, differences, gradients and caches.

use crate::heap;
use crate::models::Source;
use crate::naive::Target;
use crate::tolerance::{DOUBLE, ROUNDING};
use crate::used;
use bitmc::energy::{Checked, check};
use bitmc::lane::{Bits, Block, LANES};
use bitmc::{Energy, Kind, Move, Packed};

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
    let mut cache = used::memory(energy.cache_len());
    let words = heap::pack_in(energy.layout(), x);
    let total = energy.init(Packed::new(energy.layout(), &words).unwrap(), &mut cache).unwrap();
    (total, cache)
}

/// The whole gradient at x.
///
/// # Panics
/// Where x has another number of sites than the energy.
#[must_use]
pub fn gradient_of(energy: &dyn Energy, x: &[f64], cache: &[Bits]) -> Vec<Block> {
    let (layout, words) = (energy.layout(), heap::pack_in(energy.layout(), x));
    let mut out = vec![[f32::NAN; LANES]; layout.blocks()];
    energy.gradient(Packed::new(layout, &words).unwrap(), cache, 0..layout.blocks(), &mut out);
    out
}

/// Any value but this one.
fn other(value: f64, arity: usize, source: &mut Source) -> f64 {
    ((value as usize + 1 + source.below(arity - 1)) % arity) as f64
}

/// The same calls through a reference to the type and through a trait object.
///
/// # Panics
/// Where one bit differs.
pub fn same_bits<E: Energy>(energy: &E, x: &[f64], y: &[f64]) {
    fn run<E: Energy + ?Sized>(energy: &E, x: &[f64], y: &[f64]) -> (Vec<u32>, Vec<Bits>) {
        let layout = energy.layout();
        let (here, there) = (heap::pack_in(layout, x), heap::pack_in(layout, y));
        let (here, there) = (Packed::new(layout, &here).unwrap(), Packed::new(layout, &there).unwrap());
        let mut cache = used::memory(energy.cache_len());
        let total = energy.init(here, &mut cache).unwrap();
        let mut words = here.words().to_vec();
        let mut values = vec![0.0; layout.arity()];
        energy.differences(&mut words, &cache, 0, &mut values);
        let shift = energy.shift(&Move::new(here, there).unwrap(), &mut cache);
        let mut gradient = vec![[0.0; LANES]; layout.gradient_blocks()];
        energy.gradient(there, &cache, 0..layout.rows(), &mut gradient);
        let numbers = [total, shift].into_iter().chain(values).chain(gradient.as_flattened().iter().copied());
        (numbers.map(f32::to_bits).collect(), cache)
    }
    assert_eq!(run(energy, x, y), run(energy as &dyn Energy, x, y));
}

/// Compares one number.
///
/// # Panics
/// Where the two are further apart than the bound.
pub fn close(name: &str, found: f32, truth: f64, bound: f64) {
    let error = (f64::from(found) - truth).abs();
    assert!(error <= bound, "{name}: {found} for {truth}, error {error:e}, bound {bound:e}");
}

/// What the kernel itself says of an energy at some states.
///
/// # Panics
/// Where it finds something off.
pub fn consistent<E: Energy + ?Sized>(name: &str, energy: &E, states: &[Vec<u32>]) -> Checked {
    let mut memory = heap::memory(energy);
    let states = states.iter().map(|words| Packed::new(energy.layout(), words).unwrap());
    check(energy, &mut memory, states).unwrap_or_else(|error| panic!("{name}: {error}"))
}

impl Case<'_> {
    /// Walks at random, and compares everything at every state.
    ///
    /// # Panics
    /// Where something is further off than its bound.
    pub fn check(&self, name: &str, source: &mut Source, steps: usize) {
        let (layout, sites) = (self.energy.layout(), self.target.sites());
        assert_eq!(layout.sites(), sites);
        assert_ne!(layout.kind(), Kind::Categorical, "one gradient a site");
        let mut state = || -> Vec<f64> { (0..sites).map(|_| source.below(layout.arity()) as f64).collect() };
        let checked = consistent(name, self.energy, &[state(), state()].map(|x| heap::pack_in(layout, &x)));
        if self.multilinear {
            let (slope, correlation) = checked.slope.zip(checked.correlation).unwrap_or((1.0, 1.0));
            assert!((slope - 1.0).abs() < 1e-3 && correlation > 0.999, "{name}: {checked:?}");
        }
        let mut x: Vec<f64> = (0..sites).map(|_| source.below(layout.arity()) as f64).collect();
        let (total, mut cache) = cache_of(self.energy, &x);
        close(&format!("{name}: total"), total, self.target.energy(&x), (self.total)(&x));
        for step in 0..steps {
            self.check_gradient(name, &x, &cache);
            let mut y = x.clone();
            // From no site to all of them.
            let share = source.uniform().powi(2) * step as f64 / steps as f64;
            y.iter_mut().for_each(|value| {
                if source.uniform() < share {
                    *value = other(*value, layout.arity(), source);
                }
            });
            let site = source.below(sites);
            self.check_differences(name, &x, &cache, site);
            y[site] = other(y[site], layout.arity(), source);
            let (here, there) = (heap::pack_in(layout, &x), heap::pack_in(layout, &y));
            let step = Move::new(Packed::new(layout, &here).unwrap(), Packed::new(layout, &there).unwrap());
            let found = self.energy.shift(&step.unwrap(), &mut cache);
            // What a chain adds up for a move is taken away by the move back, or a long chain's energy drifts.
            let back = Move::new(Packed::new(layout, &there).unwrap(), Packed::new(layout, &here).unwrap());
            let back = self.energy.shift(&back.unwrap(), &mut cache.clone());
            assert_eq!(back, -found, "{name}: the move back");
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
        let words = heap::pack_in(self.energy.layout(), x);
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
        let layout = self.energy.layout();
        let (mut words, before) = (heap::pack_in(layout, x), heap::pack_in(layout, x));
        let mut out = vec![f32::NAN; layout.arity()];
        self.energy.differences(&mut words, cache, site, &mut out);
        assert_eq!(words, before, "{name}: differences left the state changed");
        for (value, &found) in out.iter().enumerate() {
            let value = value as f64;
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
