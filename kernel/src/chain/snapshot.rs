//! Chains that are kept over a stop.

use super::{Buffer, Chain, ChainError, Core, Kept, Memory, behind};
use crate::energy::Energy;
use crate::lane::{Bits, Block, LANES, Total};
use crate::layout::{Kind, Layout};
use crate::packed::{Packed, clear_single, is_mask_word};
use crate::snapshot::{Reader, Snapshot, SnapshotError, Writer};

/// Bytes of a chain in a snapshot.
#[must_use]
pub const fn snapshot_len(layout: Layout) -> usize {
    layout.words().saturating_mul(8).saturating_add(33)
}

/// Bytes that a momentum adds to a chain in a snapshot. It has the blocks of a gradient; of
/// [`IsingBalanced`](crate::step::IsingBalanced) see its `momentum_blocks`.
#[must_use]
pub const fn momentum_snapshot_len(blocks: usize) -> usize {
    blocks.saturating_mul(64).saturating_add(12)
}

/// Writes the momentum. `weights` are those of the whole chain.
pub(crate) fn save_momentum(to: &mut Writer<'_>, layout: Layout, kept: Kept, weights: &[Block]) {
    (kept.key, kept.blocks).save(to);
    let first = 2 * layout.weight_blocks();
    let first = first + behind(layout, weights.len().saturating_sub(first));
    let missing = core::iter::repeat(&[0.0; LANES]);
    let blocks = weights.get(first..).unwrap_or_default().iter().chain(missing);
    blocks.take(kept.blocks as usize).flatten().for_each(|number| number.save(to));
}

/// Reads it, and takes it with `take`.
pub(crate) fn load_momentum(
    at: &mut Reader<'_>,
    layout: Layout,
    weights: &mut [Block],
    take: bool,
) -> Result<Kept, SnapshotError> {
    let (key, blocks) = read(at)?;
    let (all, first) = (weights.len(), 2 * layout.weight_blocks());
    let first = first + behind(layout, all.saturating_sub(first));
    let need = first.saturating_add(blocks as usize);
    let short = ChainError::Memory { buffer: Buffer::Weights, need, got: all };
    let room = weights.get_mut(first..need).ok_or(SnapshotError::Chain(short))?;
    // With `Kept::WHOLE` a float holds two whole numbers.
    read_each(at, room.as_flattened_mut(), take, |_, number: f32| {
        key & Kept::WHOLE != 0 || number.is_finite()
    })?;
    Ok(Kept { key, blocks })
}

/// A value of which nothing is known yet.
pub(crate) fn read<T: Snapshot + Default>(at: &mut Reader<'_>) -> Result<T, SnapshotError> {
    let mut value = T::default();
    value.load(at)?;
    Ok(value)
}

/// Reads one value a slot, of which each must be legal at its index, and writes them with `take`.
pub(crate) fn read_each<T: Snapshot + Default + Copy>(
    at: &mut Reader<'_>,
    slots: &mut [T],
    take: bool,
    legal: impl Fn(usize, T) -> bool,
) -> Result<(), SnapshotError> {
    for (index, slot) in slots.iter_mut().enumerate() {
        let value = read(at)?;
        if !legal(index, value) {
            return Err(SnapshotError::Value);
        }
        if take {
            *slot = value;
        }
    }
    Ok(())
}

/// Which layout a chain has: its kind, sites and arity.
pub(crate) fn shape(layout: Layout) -> (u8, u32, u32) {
    let kind = match layout.kind() {
        Kind::Binary => 0,
        Kind::Categorical => 1,
        Kind::Ordinal => 2,
    };
    (kind, layout.sites() as u32, layout.arity() as u32)
}

/// Refuses another layout.
pub(crate) fn load_shape(at: &mut Reader<'_>, layout: Layout) -> Result<(), SnapshotError> {
    let got: (u8, u32, u32) = read(at)?;
    if got == shape(layout) {
        return Ok(());
    }
    let (kind, sites, arity) = (got.0, got.1 as usize, got.2 as usize);
    let got = match kind {
        0 => Layout::binary(sites),
        1 => Layout::categorical(sites, arity),
        _ => Layout::ordinal(sites, arity),
    };
    // A forged one may have numbers that are cut to those of this layout.
    Err(if got == layout { SnapshotError::Value } else { SnapshotError::Layout { need: layout, got } })
}

const NAME: [u8; 4] = *b"chai";
/// Of a chain with a momentum.
const MOVING: [u8; 4] = *b"chmo";

/// Takes the name of a part that may have a momentum; whether it has.
pub(crate) fn load_name(at: &mut Reader<'_>, [plain, moving]: [[u8; 4]; 2]) -> Result<bool, SnapshotError> {
    let mut look = *at;
    let moves = look.name(moving).is_ok();
    at.name(if moves { moving } else { plain })?;
    Ok(moves)
}

/// Writes the state, the mask of free sites and the momentum. `weights` are those of the whole chain.
pub(crate) fn save(to: &mut Writer<'_>, layout: Layout, core: Core, words: &[u32], weights: &[Block]) {
    to.name(if core.momentum.is_some() { MOVING } else { NAME });
    shape(layout).save(to);
    (core.energy, core.faults, core.steps).save(to);
    let length = layout.words();
    let free = words.get(2 * length..3 * length).unwrap_or_default();
    core.state(layout, words).words().iter().chain(free).for_each(|word| word.save(to));
    if let Some(kept) = core.momentum {
        save_momentum(to, layout, kept, weights);
    }
}

/// The state, its energy and its counters, the sites that are clamped, and a [momentum](crate::Langevin::momentum).
/// The energy is not in it: a chain over the same one goes on bit for bit, with every kernel. Bytes:
/// [`snapshot_len`], with a momentum [`momentum_snapshot_len`] more.
///
/// Where it is refused the chain is as it was.
impl<E, W, C, B> Snapshot for Chain<'_, E, W, C, B>
where
    E: Energy + ?Sized,
    W: AsMut<[u32]> + AsRef<[u32]>,
    C: AsMut<[Bits]>,
    B: AsMut<[Block]> + AsRef<[Block]>,
{
    fn save(&self, to: &mut Writer<'_>) {
        let Memory { words, weights, .. } = &self.memory;
        save(to, self.energy.layout(), self.core, words.as_ref(), weights.as_ref());
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let layout = self.energy.layout();
        let mut at = *from;
        let moves = load_name(&mut at, [NAME, MOVING])?;
        load_shape(&mut at, layout)?;
        let energy: Total = read(&mut at)?;
        if !energy.value().is_finite() {
            return Err(SnapshotError::Value);
        }
        let (faults, steps) = read(&mut at)?;
        if moves {
            let mut look = at;
            (0..2 * layout.words()).try_for_each(|_| look.array::<4>().map(|_| ()))?;
            load_momentum(&mut look, layout, self.memory.weights.as_mut(), false)?;
        }
        if let Err(error) = self.load_words(&mut at) {
            // Steps rely on a legal state there, too.
            self.ring().copy_words();
            return Err(error);
        }
        let weights = self.memory.weights.as_mut();
        let momentum = if moves { Some(load_momentum(&mut at, layout, weights, true)?) } else { None };
        // The weights are made again from the state: they are a function of it and the parameters alone.
        self.core = Core { energy, faults, steps, momentum, weights_of: None, ..self.core };
        *from = at;
        Ok(())
    }
}

impl<E, W, C, B> Chain<'_, E, W, C, B>
where
    E: Energy + ?Sized,
    W: AsMut<[u32]> + AsRef<[u32]>,
    C: AsMut<[Bits]>,
    B: AsMut<[Block]>,
{
    /// Starts at a state and with a mask that are read. Where one is refused, both of here are as they were.
    fn load_words(&mut self, at: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let layout = self.energy.layout();
        let there = self.ring().there.words;
        there.iter_mut().try_for_each(|word| word.load(at))?;
        Packed::new(layout, there).map_err(|error| SnapshotError::Chain(error.into()))?;
        let mut masks = *at;
        read_each(at, self.memory.free(layout), false, |index, word| is_mask_word(layout, index, word))?;
        self.settle()?;
        self.memory.free(layout).iter_mut().try_for_each(|word| word.load(&mut masks))?;
        clear_single(layout, self.energy.arities(), self.memory.free(layout));
        Ok(())
    }
}
