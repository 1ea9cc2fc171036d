//! The states of all chains.

use super::{CHAINS, SlicedError, SlicedGibbs, SlicedIsing, SlicedLangevin};
use crate::lane::{Bits, LANES};
use crate::layout::Layout;
use crate::packed::{Packed, StateError, set};
use crate::random::words;
use crate::snapshot::{Reader, Snapshot, SnapshotError, Writer, list_len, lists};
use rand_core::Rng;

/// The states of 512 chains of one model in caller-provided memory, a block a site. Bit n of the block, counted from the lowest
/// bit of its first word, is the site's value in chain n.
#[derive(Debug)]
pub struct SlicedChains<'a> {
    model: SlicedIsing<'a>,
    pub(super) blocks: &'a mut [Bits],
}

impl<'a> SlicedChains<'a> {
    /// Bytes in a snapshot, of the chains or of a sampler over them.
    #[must_use]
    pub const fn snapshot_len(sites: usize) -> usize {
        list_len(sites.saturating_mul(LANES), 4).saturating_add(4)
    }

    /// Chains that start with what the blocks hold, one for every site: any bits are states.
    ///
    /// # Errors
    /// [`SlicedError::Memory`] where there are fewer blocks than sites.
    pub fn new(model: SlicedIsing<'a>, blocks: &'a mut [Bits]) -> Result<Self, SlicedError> {
        let (need, got) = (model.sites(), blocks.len());
        let blocks = blocks.get_mut(..need).ok_or(SlicedError::Memory { need, got })?;
        Ok(Self { model, blocks })
    }

    /// Chains that start at fair bits.
    ///
    /// # Errors
    /// As [`SlicedChains::new`].
    pub fn random<R: Rng + ?Sized>(
        model: SlicedIsing<'a>,
        blocks: &'a mut [Bits],
        rng: &mut R,
    ) -> Result<Self, SlicedError> {
        let chains = Self::new(model, blocks)?;
        chains.blocks.iter_mut().for_each(|block| *block = words(rng));
        Ok(chains)
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &SlicedIsing<'a> {
        &self.model
    }

    /// A block for each site.
    #[must_use]
    pub fn blocks(&self) -> &[Bits] {
        self.blocks
    }

    /// The value of a site in a chain; 0 where there is none.
    #[must_use]
    pub fn get(&self, chain: usize, site: usize) -> u32 {
        let word = self.blocks.get(site).and_then(|block| block.get(chain >> 5));
        word.map_or(0, |word| (word >> (chain & 31)) & 1)
    }

    /// Puts a chain into a state; there is nothing to put past the last chain.
    ///
    /// # Errors
    /// [`StateError::Layout`] where the state is no binary one of as many sites.
    pub fn set(&mut self, chain: usize, state: Packed<'_>) -> Result<(), StateError> {
        let state = state.of(Layout::binary(self.model.sites()))?;
        for (block, value) in self.blocks.iter_mut().zip(state.values()) {
            if let Some(word) = block.get_mut(chain >> 5) {
                *word = (*word & !(1 << (chain & 31))) | (value << (chain & 31));
            }
        }
        Ok(())
    }

    /// The state of a chain, written into words; zeros past the last chain.
    ///
    /// # Errors
    /// [`StateError::Words`] where there are fewer than the state has.
    pub fn state<'w>(&self, chain: usize, words: &'w mut [u32]) -> Result<Packed<'w>, StateError> {
        let (layout, got) = (Layout::binary(self.model.sites()), words.len());
        let need = layout.words();
        let words = words.get_mut(..need).ok_or(StateError::Words { need, got })?;
        words.fill(0);
        for site in 0..layout.sites() {
            set(layout, words, site, self.get(chain, site))?;
        }
        Packed::new(layout, words)
    }

    /// The energy of a chain's state, as the model counts it; NaN past the last chain. O(edges).
    #[must_use]
    pub fn energy(&self, chain: usize) -> f32 {
        if chain >= CHAINS {
            return f32::NAN;
        }
        let form = self.model.ising().form();
        let terms = (0..self.model.sites()).filter(|&site| self.get(chain, site) != 0).map(|site| {
            let linear = form.linear().get(site).copied().unwrap_or(0);
            let row = form.row(site).iter();
            let coupled = row.map(|e| i64::from(e.coupling) * i64::from(self.get(chain, e.site as usize)));
            2 * i64::from(linear) + coupled.sum::<i64>()
        });
        let model = self.model.ising();
        model.quarters(model.constant() - 2 * terms.sum::<i64>())
    }

    /// The energy of every chain's state: for a few of them [`SlicedChains::energy`] is faster. O(32 edges).
    pub fn energies(&self, out: &mut [f32; CHAINS]) {
        let model = self.model.ising();
        for bit in 0..32 {
            // As in `energy`, in the chains whose numbers leave this remainder by 32.
            let mut sums = [0i64; LANES];
            for (block, (linear, row)) in self.blocks.iter().zip(model.form().rows()) {
                let mut terms = [2 * i64::from(linear); LANES];
                for entry in row {
                    let Some(other) = self.blocks.get(entry.site as usize) else { continue };
                    let coupled = |word: &u32| i64::from(entry.coupling) * i64::from((word >> bit) & 1);
                    terms.iter_mut().zip(other).for_each(|(term, word)| *term += coupled(word));
                }
                for ((sum, term), word) in sums.iter_mut().zip(terms).zip(block) {
                    *sum += term * i64::from((word >> bit) & 1);
                }
            }
            for (out, sum) in out.iter_mut().skip(bit).step_by(32).zip(sums) {
                *out = model.quarters(model.constant() - 2 * sum);
            }
        }
    }

    /// How many chains have value 1 at a site.
    #[must_use]
    pub fn site_ones(&self, site: usize) -> u32 {
        self.blocks.get(site).map_or(0, |block| block.iter().map(|word| word.count_ones()).sum())
    }

    /// How many sites have value 1 in each chain: its magnetisation is twice that less the number of sites.
    pub fn ones(&self, out: &mut [u32; CHAINS]) {
        for bit in 0..32 {
            let mut counts = [0; LANES];
            for block in self.blocks.iter() {
                for (count, word) in counts.iter_mut().zip(block) {
                    *count += (word >> bit) & 1;
                }
            }
            for (out, count) in out.iter_mut().skip(bit).step_by(32).zip(counts) {
                *out = count;
            }
        }
    }
}

/// The states. Where it is refused they are as they were.
impl Snapshot for SlicedChains<'_> {
    fn save(&self, to: &mut Writer<'_>) {
        to.name(*b"slic");
        self.blocks.as_flattened().save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        from.part(*b"slic", |at| lists([self.blocks.as_flattened_mut()], |_, _| true, at))
    }
}

/// What every sampler of these chains has.
macro_rules! of_chains {
    ($sampler:ident) => {
        impl<'a> $sampler<'a> {
            /// The chains.
            #[must_use]
            pub fn chains(&self) -> &SlicedChains<'a> {
                &self.chains
            }

            /// Gives the chains back, for another sampler.
            #[must_use]
            pub fn into_chains(self) -> SlicedChains<'a> {
                self.chains
            }
        }

        /// That of its chains: everything else is made again.
        impl Snapshot for $sampler<'_> {
            fn save(&self, to: &mut Writer<'_>) {
                self.chains.save(to);
            }

            fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
                self.chains.load(from)
            }
        }
    };
}
of_chains!(SlicedGibbs);
of_chains!(SlicedLangevin);
