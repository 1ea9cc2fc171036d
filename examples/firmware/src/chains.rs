//! The chains of `bitmc-chains` that an image runs: all of them, or where they do not fit the flash of a board the
//! part that `CHAINS_PART` says when the image is built (`2/3`: the second of three).

use bitmc_chains::{CHAINS, Chain, part};

/// The part of the chains and the number of parts.
const PART: (usize, usize) = match option_env!("CHAINS_PART") {
    None => (1, 1),
    Some(text) => match text.as_bytes() {
        &[] => (1, 1),
        &[part @ b'1'..=b'9', b'/', parts @ b'1'..=b'9'] if part <= parts => {
            ((part - b'0') as usize, (parts - b'0') as usize)
        }
        _ => panic!("CHAINS_PART is a part and the number of parts, as in 2/3"),
    },
};
/// Where the part begins.
pub const FIRST: usize = CHAINS.len() * (PART.0 - 1) / PART.1;
const END: usize = CHAINS.len() * PART.0 / PART.1;
/// Whether it is the last part.
pub const LAST: bool = END == CHAINS.len();
/// The chains of this image.
pub static RUN: [Chain; END - FIRST] = part(FIRST);
