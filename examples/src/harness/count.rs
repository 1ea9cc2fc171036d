//! An energy that counts what it is asked.

use bitmc::energy::EnergyError;
use bitmc::lane::{Bits, Block};
use bitmc::{Energy, Layout, Move, Packed};
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::ops::Range;

/// How often a model was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Queries {
    /// Log densities of states, as totals or as differences.
    pub log_density: u64,
    /// Gradients; of parts of the sites in proportion.
    pub gradient: f64,
}

impl Queries {
    /// All of them: a gradient counts as much as a log density.
    #[must_use]
    pub fn total(self) -> f64 {
        self.log_density as f64 + self.gradient
    }
}

impl std::ops::Add for Queries {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { log_density: self.log_density + other.log_density, gradient: self.gradient + other.gradient }
    }
}

/// An [`Energy`] that counts queries; one a chain.
///
/// A total and a move are one log density each, [`Energy::differences`] of a site with S values are S − 1.
/// Where the log density is known, a move is free: one of no site, and one of a single site whose differences
/// were asked since the last move.
#[derive(Debug)]
pub struct Counted<'e, E: ?Sized> {
    energy: &'e E,
    log_density: Cell<u64>,
    gradient_rows: Cell<u64>,
    /// Which sites were asked for their differences since the move with this number.
    asked: RefCell<Vec<u64>>,
    moves: Cell<u64>,
}

impl<'e, E: Energy + ?Sized> Counted<'e, E> {
    /// Nothing asked yet.
    #[must_use]
    pub fn new(energy: &'e E) -> Self {
        Self {
            energy,
            log_density: Cell::new(0),
            gradient_rows: Cell::new(0),
            asked: RefCell::new(vec![0; energy.layout().sites()]),
            moves: Cell::new(1),
        }
    }

    /// The energy itself.
    #[must_use]
    pub fn energy(&self) -> &'e E {
        self.energy
    }

    /// What was asked since the last call.
    pub fn take(&self) -> Queries {
        let rows = self.energy.layout().rows().max(1) as f64;
        Queries { log_density: self.log_density.take(), gradient: self.gradient_rows.take() as f64 / rows }
    }

    /// Counts what was asked past this wrapper, by a sampler that knows its model.
    pub fn add(&self, log_densities: usize) {
        self.count(log_densities);
    }

    fn count(&self, log_densities: usize) {
        self.log_density.set(self.log_density.get() + log_densities as u64);
    }
}

impl<E: Energy + ?Sized> Energy for Counted<'_, E> {
    fn layout(&self) -> Layout {
        self.energy.layout()
    }

    fn cache_len(&self) -> usize {
        self.energy.cache_len()
    }

    fn init(&self, x: Packed<'_>, cache: &mut [Bits]) -> Result<f32, EnergyError> {
        self.count(1);
        self.energy.init(x, cache)
    }

    fn arities(&self) -> Option<&[u16]> {
        self.energy.arities()
    }

    fn offsets(&self) -> Option<&[i32]> {
        self.energy.offsets()
    }

    #[inline]
    fn gradient(&self, x: Packed<'_>, cache: &[Bits], rows: Range<usize>, out: &mut [Block]) {
        self.gradient_rows.set(self.gradient_rows.get() + rows.len() as u64);
        self.energy.gradient(x, cache, rows, out);
    }

    #[inline]
    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        let mut changes = step.changes();
        let known = match (changes.next(), changes.next()) {
            (None, _) => true,
            (Some(one), None) => self.asked.borrow().get(one.site) == Some(&self.moves.get()),
            _ => false,
        };
        self.count(usize::from(!known));
        self.moves.set(self.moves.get() + 1);
        self.energy.shift(step, cache)
    }

    #[inline]
    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        let arity = self.arities().and_then(|arities| arities.get(site).copied());
        self.count(arity.map_or(self.layout().arity(), usize::from).saturating_sub(1));
        if let Some(asked) = self.asked.borrow_mut().get_mut(site) {
            *asked = self.moves.get();
        }
        self.energy.differences(words, cache, site, out);
    }
}
