//! Generators, sound and failed.

use bitmc::{LaneRng, Rng};
use core::convert::Infallible;
use rand_core::TryRng;

/// How a generator can fail: the two words that it gives in turn.
pub const FAILURES: [(u32, u32); 4] = [(0, 0), (!0, !0), (0x5555_5555, 0x5555_5555), (0, !0)];

/// A generator, sound or with two words in turn.
#[expect(clippy::large_enum_variant, reason = "without an allocator there is no box")]
pub enum Source {
    /// A sound one.
    Sound(LaneRng),
    /// One that has failed.
    Stuck(u32, u32),
}

impl Source {
    /// The next word.
    pub fn word(&mut self) -> u32 {
        match self {
            Self::Sound(rng) => rng.next_u32(),
            Self::Stuck(this, other) => {
                core::mem::swap(this, other);
                *other
            }
        }
    }
}

impl TryRng for Source {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.word())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(u64::from(self.word()) | u64::from(self.word()) << 32)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        if let Self::Sound(rng) = self {
            rng.fill_bytes(bytes);
            return Ok(());
        }
        for piece in bytes.chunks_mut(4) {
            let word = self.word().to_le_bytes();
            piece.iter_mut().zip(word).for_each(|(to, from)| *to = from);
        }
        Ok(())
    }
}
