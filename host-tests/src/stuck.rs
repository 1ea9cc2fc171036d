//! Generators that have failed.

use core::convert::Infallible;
use rand_core::{Rng, SeedableRng, TryRng, utils};
use rand_xoshiro::Xoshiro128PlusPlus;

/// A broken generator.
#[derive(Clone, Debug)]
pub enum Stuck {
    /// The same word for ever.
    At(u32),
    /// Two words in turn.
    Between(u32, u32),
    /// A good generator with some bits stuck at 1.
    High(u32, Xoshiro128PlusPlus),
    /// A good generator with some bits stuck at 0.
    Low(u32, Xoshiro128PlusPlus),
}

impl Stuck {
    /// One of each kind.
    #[must_use]
    pub fn all() -> Vec<(&'static str, Self)> {
        let good = Xoshiro128PlusPlus::seed_from_u64(1);
        vec![
            ("stuck at 0", Self::At(0)),
            ("stuck at all ones", Self::At(u32::MAX)),
            ("alternating bits", Self::At(0x5555_5555)),
            ("alternating bits, the others", Self::At(0xAAAA_AAAA)),
            ("period 2, 0 and all ones", Self::Between(0, u32::MAX)),
            ("period 2, small and large", Self::Between(1, 0x8000_0000)),
            ("top bit stuck at 1", Self::High(1 << 31, good.clone())),
            ("a middle bit stuck at 1", Self::High(1 << 20, good.clone())),
            ("top bit stuck at 0", Self::Low(1 << 31, good.clone())),
            ("top twelve bits stuck at 0", Self::Low(0xFFF0_0000, good.clone())),
            ("lowest bit stuck at 0", Self::Low(1, good)),
        ]
    }

    fn word(&mut self) -> u32 {
        match self {
            Self::At(word) => *word,
            Self::Between(this, other) => {
                core::mem::swap(this, other);
                *other
            }
            Self::High(bits, good) => good.next_u32() | *bits,
            Self::Low(bits, good) => good.next_u32() & !*bits,
        }
    }
}

impl TryRng for Stuck {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.word())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        utils::next_u64_via_u32(self)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for piece in bytes.chunks_mut(4) {
            piece.copy_from_slice(&self.word().to_le_bytes()[..piece.len()]);
        }
        Ok(())
    }
}
