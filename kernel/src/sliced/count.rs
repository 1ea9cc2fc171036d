//! Counting neighbours in bits.

use crate::energy::Entry;
use crate::lane::{Bits, LANES, PARTS, U32s};

static NOWHERE: Bits = [0; LANES];

/// The block of a site; zeros where there is none.
#[inline(always)]
pub(super) fn block(blocks: &[Bits], site: usize) -> &Bits {
    blocks.get(site).unwrap_or(&NOWHERE)
}

/// Makes the words of a block, each register from the one before and its number.
#[inline(always)]
pub(super) fn remake(block: &mut Bits, with: impl Fn(U32s, usize) -> U32s) {
    for part in 0..PARTS {
        with(U32s::load(block, part), part).store(block, part);
    }
}

/// Counts the neighbours that push a site up, or down where `turn` is all ones. Where `own` is given, it counts those
/// that push away from that value, or towards it where `turn` is all ones. A neighbour of value 1 pushes up along a
/// positive coupling, and down along a negative one. Level k, from 0, of the zeros in `levels` becomes the chains in
/// which more than k are counted; there is one for each neighbour.
#[inline(always)]
pub(super) fn count(row: &[Entry], blocks: &[Bits], turn: u32, own: Option<&Bits>, levels: &mut [Bits]) {
    for (before, entry) in row.iter().enumerate() {
        let neighbour = block(blocks, entry.site as usize);
        let turn = U32s::splat(turn ^ (entry.coupling >> 31) as u32);
        for part in 0..PARTS {
            let mut counted = U32s::load(neighbour, part) ^ turn;
            if let Some(own) = own {
                counted = counted ^ U32s::load(own, part);
            }
            // More than k now: more than k before, or k and this one.
            for level in levels.iter_mut().take(before + 1) {
                let old = U32s::load(level, part);
                (old | counted).store(level, part);
                counted = counted & old;
            }
        }
    }
}

/// Runs code with a row and with so many blocks of zeros. Loops are laid out for the usual degrees where there are as
/// many blocks, and vectors.
macro_rules! laid_out {
    ($row:ident, $number:expr, |$inner:ident, $blocks:ident| $run:expr) => {
        match ($row.len(), $number, $row.first_chunk::<4>(), $row.first_chunk::<6>()) {
            (4, 4, Some($inner), _) if PARTS == 1 => {
                let $blocks = &mut [[0; LANES]; 4];
                $run
            }
            (6, 6, _, Some($inner)) if PARTS == 1 => {
                let $blocks = &mut [[0; LANES]; 6];
                $run
            }
            (_, number, _, _) => {
                let mut blocks = [[0; LANES]; MAX_FEATURES];
                let ($inner, $blocks) = ($row, blocks.get_mut(..number).unwrap_or_default());
                $run
            }
        }
    };
}
pub(super) use laid_out;
