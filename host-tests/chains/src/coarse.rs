//! RBMs whose proposals have a gradient of 16-bit integers: one chain, and four that step together.

use crate::hash::Hash;
use crate::run::{BROKEN, from_noise};
use crate::steps;
use crate::used::{memory, used};
use bitmc::energy::CoarseRbm;
use bitmc::lane::{Block, LANES};
use bitmc::{Chain, Info, Langevin, Layout, Memory, Rbm, SeedableRng};
use rand_xoshiro::Xoshiro128PlusPlus;

/// Three blocks of hidden units: the last one has no partner.
static WEIGHTS: [[Block; 3]; 16] = rows(40);
static HIDDEN: [Block; 3] = biases(40);
const BIASES: [f32; 16] = [0.25; 16];
const LAYOUT: Layout = Layout::binary(16);

static FEW_WEIGHTS: [[Block; 2]; 16] = rows(20);
static FEW_HIDDEN: [Block; 2] = biases(20);

const fn rows<const B: usize, const N: usize>(hidden: usize) -> [[Block; B]; N] {
    let mut rows = [[[0.0; LANES]; B]; N];
    let mut at = 0;
    while at < N * hidden {
        let (row, column) = (at / hidden, at % hidden);
        rows[row][column / LANES][column % LANES] =
            ((7 * row + 5 * column + row * column) % 23) as f32 * 0.0625 - 0.7;
        at += 1;
    }
    rows
}

const fn biases<const B: usize>(hidden: usize) -> [Block; B] {
    let mut blocks = [[0.0; LANES]; B];
    let mut unit = 0;
    while unit < hidden {
        blocks[unit / LANES][unit % LANES] = (unit % 7) as f32 * 0.125 - 0.5;
        unit += 1;
    }
    blocks
}

/// One chain.
pub(crate) fn alone() -> u32 {
    let mut room = used::<_, { CoarseRbm::room_len(16, 40) }>();
    let Ok(model) = Rbm::new(WEIGHTS.as_flattened(), &BIASES, &HIDDEN, 40) else { return BROKEN };
    let Ok(model) = CoarseRbm::new(model, &mut room) else { return BROKEN };
    let memory = memory!(LAYOUT, CoarseRbm::cache_len(40));
    from_noise(&model, memory, &Langevin::adjusted(0.4), steps(500))
}

/// Four chains.
pub(crate) fn together() -> u32 {
    let mut room = used::<_, { CoarseRbm::room_len(16, 20) }>();
    let Ok(model) = Rbm::new(FEW_WEIGHTS.as_flattened(), &BIASES, &FEW_HIDDEN, 20) else { return BROKEN };
    let Ok(model) = CoarseRbm::new(model, &mut room) else { return BROKEN };
    let mut rngs = [1, 2, 3, 4].map(Xoshiro128PlusPlus::seed_from_u64);
    // Borrowed: moved about, four memories would lie on the stack of a small core more than once.
    let mut memories = [memory!(LAYOUT, CoarseRbm::cache_len(20)); 4];
    let borrowed = memories.each_mut().map(|memory| Memory {
        weights: memory.weights.as_mut_slice(),
        cache: memory.cache.as_mut_slice(),
        words: memory.words.as_mut_slice(),
    });
    let mut generators = rngs.iter_mut();
    let chains = borrowed.map(|memory| Chain::random(&model, memory, generators.next()?).ok());
    let [Some(a), Some(b), Some(c), Some(d)] = chains else { return BROKEN };
    let Ok(sampler) = Langevin::adjusted(0.4) else { return BROKEN };
    let (mut hash, mut chains) = (Hash::new(), [a, b, c, d]);
    for _ in 0..steps(200) {
        let mut infos = [Info::default(); 4];
        if sampler.step_together(&mut chains, &mut rngs, &mut infos).is_err() {
            return BROKEN;
        }
        infos.iter().for_each(|info| hash.info(info));
        chains.iter().for_each(|chain| hash.words(chain.state().words()));
    }
    hash.value()
}
