//! What a run ended with: the same text wherever its replicas were.

use bitmc::Energy;
use bitmc::temper::{Ladder, Rung};
use bitmc_desktop::tempering::Member;
use std::fmt;

/// The end of a run.
pub(crate) struct Outcome {
    pub(crate) ladder: Ladder<Vec<Rung>>,
    /// A digest a replica.
    pub(crate) digests: Vec<u64>,
}

/// FNV-1a over the words of the state, and over the bits of its energy and of its difference from the base's.
pub(crate) fn digest<E: Energy + ?Sized>(member: &Member<'_, E>) -> u64 {
    let replica = member.replica();
    let numbers = [replica.energy().to_bits(), replica.gap().to_bits()];
    fold(replica.state().words().iter().chain(&numbers).map(|&word| u64::from(word)))
}

fn fold(words: impl Iterator<Item = u64>) -> u64 {
    words.fold(0xCBF2_9CE4_8422_2325, |hash, word| (hash ^ word).wrapping_mul(0x0100_0000_01B3))
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ladder = &self.ladder;
        writeln!(f, "{} rounds, {} round trips", ladder.rounds(), ladder.round_trips())?;
        for rung in ladder.rungs() {
            let rate = rung.rate().map_or(String::new(), |rate| format!(", swaps with the next {rate:.3}"));
            writeln!(f, "beta {:.3}: replica {}{rate}", rung.beta(), rung.replica())?;
        }
        write!(f, "digest of all replicas {:016x}", fold(self.digests.iter().copied()))
    }
}
