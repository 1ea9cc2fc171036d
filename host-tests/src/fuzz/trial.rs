//! A chain, and what every step of it must keep.

use super::Source;
use super::kernels::{AnyKernel, Room};
use crate::heap::{self, HeapChain};
use crate::tolerance::ROUNDING;
use bitmc::{Energy, Info, Kernel, Layout, Packed, Rng};

/// Terms that may add up to more than this may overflow, at last to NaN: their energies are not compared.
pub(super) const COMPARED: f64 = 1e36;

/// Roundings of a total computed anew, of the size of the sum of its terms' magnitudes: each term with its logarithm
/// (five), and one addition a term, at most 70 terms.
const FRESH: f64 = 75.0;

/// Roundings of the difference of one site's move: those of its terms before and after, and its sum.
const MOVED: f64 = 12.0;

/// A chain under watch.
#[derive(Debug)]
pub struct Trial<'e, E: Energy + ?Sized> {
    energy: &'e E,
    chain: HeapChain<'e, E>,
    /// The sum of the magnitudes of the energy's terms, over any state.
    size: f64,
    /// Single-site moves so far, at most.
    moves: f64,
    /// Sites that are held, with their values.
    held: Vec<(usize, u32)>,
}

impl<'e, E: Energy + ?Sized> Trial<'e, E> {
    /// A chain from a random state, perhaps with some sites held. `None` where the energy cannot start there.
    pub fn start(energy: &'e E, size: f64, source: &mut Source<'_>) -> Option<Self> {
        let mut chain = heap::random_chain(energy, source).ok()?;
        let mut held = Vec::new();
        if source.one_in(4) {
            let mask = Layout::binary(energy.layout().sites());
            let mut words: Vec<u32> = (0..mask.words()).map(|_| source.word()).collect();
            *words.last_mut()? &= mask.last_word();
            let mask = Packed::new(mask, &words).unwrap();
            chain.clamp(mask).unwrap();
            let values = chain.state().values().enumerate().zip(mask.values());
            held = values.filter(|&(_, mask)| mask != 0).map(|(value, _)| value).collect();
        }
        Some(Self { energy, chain, size, moves: 0.0, held })
    }

    /// Some steps each of some samplers that take any energy.
    pub fn run(&mut self, source: &mut Source<'_>) {
        for _ in 0..1 + source.below(4) {
            let mut room = Room::default();
            if let Some(kernel) = AnyKernel::choose(self.energy.layout(), &mut room, source) {
                self.steps(&kernel, source);
            }
        }
    }

    /// Up to eight steps.
    pub fn steps(&mut self, kernel: &impl Kernel<E>, source: &mut Source<'_>) {
        for _ in 0..1 + source.below(8) {
            self.step(kernel, source);
        }
        self.compare();
    }

    /// One step, and what it said.
    ///
    /// # Panics
    /// Where it breaks a rule.
    pub fn step(&mut self, kernel: &impl Kernel<E>, rng: &mut (impl Rng + ?Sized)) -> Info {
        let chain = &mut self.chain;
        let before = (chain.state().words().to_vec(), chain.energy(), chain.faults());
        let info = chain.step(kernel, rng);
        report(&info);
        assert!(
            info.accepted || chain.state().words() == before.0,
            "moved by a step that was rejected: {info:?}"
        );
        assert!(info.accepted || chain.energy().to_bits() == before.1.to_bits(), "{info:?}");
        assert_eq!(chain.faults(), before.2.saturating_add(info.fault.into()), "{info:?}");
        legal(self.energy, chain.state());
        for &(site, value) in &self.held {
            assert_eq!(chain.state().get(site), value, "site {site} is held");
        }
        self.moves += self.energy.layout().sites() as f64;
        info
    }

    /// Compares the chain's energy with the state's.
    ///
    /// # Panics
    /// Where they differ.
    pub fn compare(&self) {
        compare(self.energy, self.chain.state(), self.chain.energy(), self.size, self.moves);
    }
}

/// What a step may report.
pub(super) fn report(info: &Info) {
    assert!(!info.log_ratio.is_nan(), "{info:?}");
    assert!(info.fault || !info.accepted || !info.difference.is_nan(), "{info:?}");
}

/// Whether a state is one of an energy's.
pub(super) fn legal<E: Energy + ?Sized>(energy: &E, state: Packed<'_>) {
    Packed::new(energy.layout(), state.words()).expect("an illegal state");
    for (site, &arity) in energy.arities().unwrap_or_default().iter().enumerate() {
        assert!(state.get(site) < u32::from(arity), "site {site} of {arity} values is {}", state.get(site));
    }
}

/// Whether an energy that was carried along for so many moves is that of the state.
pub(super) fn compare<E: Energy + ?Sized>(energy: &E, state: Packed<'_>, carried: f32, size: f64, moves: f64) {
    if size < COMPARED {
        let fresh = energy.init(state, &mut heap::memory(energy).cache).expect("a state with an energy");
        // A product below the normal numbers is rounded to a multiple of the least float.
        let bound = (ROUNDING * size + f64::from(f32::from_bits(1))) * (FRESH + MOVED * moves);
        let error = (f64::from(fresh) - f64::from(carried)).abs();
        // NaN is not within it.
        assert!(error <= bound, "{carried} is carried along, {fresh} is right within {bound}");
    }
}
