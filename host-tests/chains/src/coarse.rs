//! An RBM whose proposals have a gradient of 16-bit integers.

use crate::run::{BROKEN, from_noise};
use bitmc::energy::CoarseRbm;
use bitmc::lane::{Block, LANES};
use bitmc::{Langevin, Layout, Rbm, memory};

const VISIBLE: usize = 20;
/// Three blocks: the last one has no partner.
const HIDDEN: usize = 40;
const LAYOUT: Layout = Layout::binary(VISIBLE);

static WEIGHTS: [[Block; 3]; VISIBLE] = {
    let mut rows = [[[0.0; LANES]; 3]; VISIBLE];
    let mut at = 0;
    while at < VISIBLE * HIDDEN {
        let (row, column) = (at / HIDDEN, at % HIDDEN);
        rows[row][column / LANES][column % LANES] =
            ((7 * row + 5 * column + row * column) % 23) as f32 * 0.0625 - 0.7;
        at += 1;
    }
    rows
};
const BIASES: [f32; VISIBLE] = [0.25; VISIBLE];
static HIDDEN_BIASES: [Block; 3] = {
    let mut blocks = [[0.0; LANES]; 3];
    let mut unit = 0;
    while unit < HIDDEN {
        blocks[unit / LANES][unit % LANES] = (unit % 7) as f32 * 0.125 - 0.5;
        unit += 1;
    }
    blocks
};

/// One chain.
pub(crate) fn alone() -> u32 {
    let mut room = [[0; LANES]; CoarseRbm::room_len(VISIBLE, HIDDEN)];
    let Ok(model) = Rbm::new(WEIGHTS.as_flattened(), &BIASES, &HIDDEN_BIASES, HIDDEN) else { return BROKEN };
    let Ok(model) = CoarseRbm::new(model, &mut room) else { return BROKEN };
    let memory = memory!(LAYOUT, CoarseRbm::cache_len(HIDDEN));
    from_noise(&model, memory, &Langevin::adjusted(0.4), 500)
}
