//! The chains of `bitmc-chains` that an image runs: all of them, or where they do not fit the flash of a board the
//! part that `CHAINS_PART` says when the image is built (`2/3`: the second of three).

use bitmc_chains::{CHAINS, Chain, part};

/// The part of the chains and the number of parts.
const PART: (usize, usize) = match option_env!("CHAINS_PART") {
    None => (1, 1),
    Some(text) => match text.as_bytes() {
        [] => (1, 1),
        text => {
            let (part, parts) = (number(text, 0), number(text, after_slash(text)));
            assert!(1 <= part && part <= parts, "CHAINS_PART is a part and the number of parts, as in 2/3");
            (part, parts)
        }
    },
};

/// The digits from `at` on.
const fn number(text: &[u8], mut at: usize) -> usize {
    let mut value = 0;
    while at < text.len() && text[at].is_ascii_digit() {
        value = 10 * value + (text[at] - b'0') as usize;
        at += 1;
    }
    value
}

const fn after_slash(text: &[u8]) -> usize {
    let mut at = 0;
    while at < text.len() && text[at] != b'/' {
        at += 1;
    }
    at + 1
}

/// Where the part begins.
pub const FIRST: usize = CHAINS.len() * (PART.0 - 1) / PART.1;
const END: usize = CHAINS.len() * PART.0 / PART.1;
/// Whether it is the last part.
pub const LAST: bool = END == CHAINS.len();
/// The chains of this image.
pub static RUN: [Chain; END - FIRST] = part(FIRST);
