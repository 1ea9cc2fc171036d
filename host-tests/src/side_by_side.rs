//! Sixteen chains that run alone, beside a batch of the same.

use crate::heap::{self, HeapChain};
use bitmc::{Energy, Info, Kernel, Packed, SeedableRng};
use rand_xoshiro::Xoshiro128PlusPlus;

/// Chains that start at random states, each with the generator that it has in a batch of the same seed.
pub struct Alone<'e, E> {
    chains: Vec<HeapChain<'e, E>>,
    generators: Vec<Xoshiro128PlusPlus>,
}

/// The generator of a chain of a batch.
#[must_use]
pub fn generator(seed: u64, chain: usize) -> Xoshiro128PlusPlus {
    let mut generator = Xoshiro128PlusPlus::seed_from_u64(seed);
    (0..chain).for_each(|_| generator.jump());
    generator
}

/// What a step did, so that −0 is not 0.
#[must_use]
pub fn bits(info: Info) -> (bool, u32, bool, [u32; 2]) {
    let Info { accepted, proposed, log_ratio, difference, fault, .. } = info;
    (accepted, proposed, fault, [log_ratio, difference].map(f32::to_bits))
}

impl<'e, E: Energy> Alone<'e, E> {
    /// Sixteen chains over `energy`.
    ///
    /// # Panics
    /// Where the energy refuses a start.
    #[must_use]
    pub fn new(energy: &'e E, seed: u64) -> Self {
        let mut generators: Vec<_> = (0..16).map(|chain| generator(seed, chain)).collect();
        let chains = generators.iter_mut().map(|rng| heap::random_chain(energy, rng).unwrap()).collect();
        Self { chains, generators }
    }

    /// Holds sites in every chain.
    ///
    /// # Panics
    /// Where `sites` is not a binary state of as many sites.
    pub fn clamp(&mut self, sites: Packed<'_>) {
        self.chains.iter_mut().for_each(|chain| chain.clamp(sites).unwrap());
    }

    /// Frees every site in every chain.
    pub fn release(&mut self) {
        self.chains.iter_mut().for_each(HeapChain::release);
    }

    /// Moves one chain to a state.
    ///
    /// # Panics
    /// Where it is no state of the energy, or there is no such chain.
    pub fn restart(&mut self, chain: usize, start: Packed<'_>) {
        self.chains[chain].restart(start).unwrap();
    }

    /// Steps every chain; whether all did and are what the batch says of its own: what the step did, the words of the
    /// state, the energy, bit for bit.
    pub fn step<K: Kernel<E>>(
        &mut self,
        kernels: &[K; 16],
        batch: impl Fn(usize) -> (Option<Info>, Vec<u32>, f32),
    ) -> bool {
        let chains = self.chains.iter_mut().zip(&mut self.generators).zip(kernels);
        chains.enumerate().fold(true, |same, (number, ((chain, rng), kernel))| {
            let alone = chain.step(kernel, rng);
            let (info, words, energy) = batch(number);
            same && info.map(bits) == Some(bits(alone))
                && words == chain.state().words()
                && energy.to_bits() == chain.energy().to_bits()
        })
    }
}
