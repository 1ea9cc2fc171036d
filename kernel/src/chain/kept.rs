//! Chains that are kept over a stop.

use super::{Chain, Core};
use crate::energy::Energy;
use crate::lane::{Bits, Block, Total};
use crate::layout::{Kind, Layout};
use crate::packed::{Packed, clear_single, is_mask_word};
use crate::snapshot::{Reader, Snapshot, SnapshotError, Writer};

/// Bytes of a chain in a snapshot.
#[must_use]
pub const fn snapshot_len(layout: Layout) -> usize {
    layout.words().saturating_mul(8).saturating_add(33)
}

/// Which layout a chain has; one of another is refused.
fn shape(layout: Layout) -> (u8, (u64, u64)) {
    let kind = match layout.kind() {
        Kind::Binary => 0,
        Kind::Categorical => 1,
        Kind::Ordinal => 2,
    };
    (kind, (layout.sites() as u64, layout.arity() as u64))
}

pub(super) fn save_shape(to: &mut Writer<'_>, layout: Layout) {
    let (kind, sizes) = shape(layout);
    kind.save(to);
    (sizes.0 as u32).save(to);
    (sizes.1 as u32).save(to);
}

/// Refuses another layout.
pub(super) fn load_shape(at: &mut Reader<'_>, layout: Layout) -> Result<(), SnapshotError> {
    let [kind] = at.array()?;
    let sizes = (u32::from_le_bytes(at.array()?), u32::from_le_bytes(at.array()?));
    if (kind, (u64::from(sizes.0), u64::from(sizes.1))) == shape(layout) {
        return Ok(());
    }
    let (sites, arity) = (sizes.0 as usize, sizes.1 as usize);
    let got = match kind {
        0 => Layout::binary(sites),
        1 => Layout::categorical(sites, arity),
        _ => Layout::ordinal(sites, arity),
    };
    // A forged one may have numbers that are cut to those of this layout.
    Err(if got == layout { SnapshotError::Value } else { SnapshotError::Layout { need: layout, got } })
}

/// Writes the state and the mask of free sites.
pub(crate) fn save(to: &mut Writer<'_>, layout: Layout, core: Core, words: &[u32]) {
    to.name(*b"chai");
    save_shape(to, layout);
    core.energy.save(to);
    core.faults.save(to);
    core.steps.save(to);
    let length = layout.words();
    let free = words.get(2 * length..3 * length).unwrap_or_default();
    for word in core.state(layout, words).words().iter().chain(free) {
        word.save(to);
    }
}

/// The state, its energy and its counters, the sites that are clamped. The energy is not in it: a chain over
/// the same one goes on bit for bit, with every kernel. Bytes: [`snapshot_len`].
///
/// Where it is refused the chain is as it was.
impl<E, W, C, B> Snapshot for Chain<'_, E, W, C, B>
where
    E: Energy + ?Sized,
    W: AsMut<[u32]> + AsRef<[u32]>,
    C: AsMut<[Bits]>,
    B: AsMut<[Block]>,
{
    fn save(&self, to: &mut Writer<'_>) {
        save(to, self.energy.layout(), self.core, self.memory.words.as_ref());
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let layout = self.energy.layout();
        let mut at = *from;
        at.name(*b"chai")?;
        load_shape(&mut at, layout)?;
        let (mut energy, mut faults, mut steps) = (Total::default(), 0, 0);
        energy.load(&mut at)?;
        if !energy.value().is_finite() {
            return Err(SnapshotError::Value);
        }
        faults.load(&mut at)?;
        steps.load(&mut at)?;
        if let Err(error) = self.load_words(&mut at) {
            // Steps rely on a legal state there, too.
            self.ring().copy_words();
            return Err(error);
        }
        // The weights are made again from the state: they are a function of it and the parameters alone.
        self.core = Core { energy, faults, steps, weights_of: None, ..self.core };
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
        for index in 0..layout.words() {
            if !is_mask_word(layout, index, u32::from_le_bytes(at.array()?)) {
                return Err(SnapshotError::Value);
            }
        }
        self.settle()?;
        self.free().iter_mut().try_for_each(|word| word.load(&mut masks))?;
        clear_single(layout, self.energy.arities(), self.free());
        Ok(())
    }
}
