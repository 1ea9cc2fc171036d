//! Open chains that are kept over a stop, between the halves of a step too.

use super::ask::{LangevinHalf, PathHalf};
use super::{Half, Open};
use crate::chain::snapshot::{load_momentum, load_name, load_shape, read, read_each, save_momentum, shape};
use crate::chain::{Core, split};
use crate::lane::{Bits, Block, LANES, LogProduct, Total};
use crate::layout::{Kind, Layout};
use crate::packed::{clear_single, is_mask_word, is_value_word};
use crate::snapshot::{BoundedSnapshot, Reader, Snapshot, SnapshotError, Writer, plain};
use crate::step::langevin::{Asked, Rule};
use crate::step::path::Paths;

const NAME: [u8; 4] = *b"open";
/// Of a chain with a momentum.
const MOVING: [u8; 4] = *b"opmo";

/// The most bytes of an open chain in a snapshot, without a momentum:
/// [`momentum_snapshot_len`](crate::chain::momentum_snapshot_len) more.
#[must_use]
pub const fn open_snapshot_len(layout: Layout) -> usize {
    // Two states and a mask; a gradient, curvatures and a noise; the numbers of the longest half.
    let floats = layout.plane_blocks().saturating_mul(3 * 4 * LANES);
    let numbers = 39 + PathHalf::LEN + LogProduct::LEN;
    layout.words().saturating_mul(12).saturating_add(floats).saturating_add(numbers)
}

plain!(Asked, b"askd", { chosen, auxiliary, proposed, uniform }, |asked| {
    (0.0..1.0).contains(&asked.uniform) && !asked.auxiliary.is_nan()
});

plain!(LangevinHalf, b"lang", { asked, balance, curvature, window, adjusted, noise }, |half| {
    half.balance > 0.0 && half.balance <= 1.0 && half.window < i32::MAX as u32
});

plain!(PathHalf, b"path", { product, log, uniform, sites, len, indices, replace, backwards }, |half| {
    (0.0..1.0).contains(&half.uniform) && Paths::indices(half.indices).is_ok() && half.len <= half.indices
});

impl Half {
    fn save(&self, to: &mut Writer<'_>) {
        match self {
            Self::Failed => 1u8.save(to),
            Self::Langevin(half, Rule { momentum: false, metropolis: false }) => (2u8, *half).save(to),
            Self::Langevin(half, rule) => ((5u8, rule.momentum), (rule.metropolis, *half)).save(to),
            Self::Path(half) => (3u8, *half).save(to),
            Self::Walk { uniform } => (4u8, *uniform).save(to),
        }
    }

    /// A half whose numbers are legal.
    fn load(layout: Layout, from: &mut Reader<'_>) -> Result<Option<Self>, SnapshotError> {
        let [tag] = from.array()?;
        let (half, legal) = match tag {
            0 => return Ok(None),
            1 => (Self::Failed, true),
            2 | 5 => {
                let (momentum, metropolis) = if tag == 5 { read(from)? } else { (false, false) };
                let (rule, half) = (Rule { momentum, metropolis }, read::<LangevinHalf>(from)?);
                let bits = layout.kind() == Kind::Binary || !rule.metropolis;
                (Self::Langevin(half, rule), bits && !(half.noise && layout.row_is_site()))
            }
            3 => {
                let mut half = PathHalf::EMPTY;
                half.load(from)?;
                let legal = half.sites.iter().all(|&site| (site as usize) < layout.sites());
                (Self::Path(half), legal)
            }
            4 => {
                let uniform = read(from)?;
                (Self::Walk { uniform }, (0.0..1.0).contains(&uniform))
            }
            _ => return Err(SnapshotError::Value),
        };
        if legal { Ok(Some(half)) } else { Err(SnapshotError::Value) }
    }

    /// Whether curvatures are in the plane of there, and η in its weights.
    fn floats(&self) -> (bool, bool) {
        match self {
            Self::Langevin(half, _) => (half.curvature.is_none(), half.noise),
            _ => (false, false),
        }
    }
}

/// The state, its energy and gradient, the counters, the sites that are clamped, and a proposal that is not told yet. Bytes:
/// at most [`open_snapshot_len`]. Where it is refused the chain is as it was.
impl<W, C, B> Snapshot for Open<'_, W, C, B>
where
    W: AsMut<[u32]> + AsRef<[u32]>,
    C: AsMut<[Bits]>,
    B: AsMut<[Block]> + AsRef<[Block]>,
{
    fn save(&self, to: &mut Writer<'_>) {
        let layout = self.told.layout;
        to.name(if self.core.momentum.is_some() { MOVING } else { NAME });
        shape(layout).save(to);
        (self.core.energy, (self.energy, self.core.faults, self.core.steps)).save(to);
        let (length, words) = (layout.words(), self.memory.words.as_ref());
        let free = words.get(2 * length..3 * length).unwrap_or_default();
        self.state().words().iter().chain(free).for_each(|word| word.save(to));
        let (weights, plane) = (layout.weight_blocks(), layout.plane_blocks());
        let blocks = self.memory.weights.as_ref();
        let put = |to: &mut Writer<'_>, first: usize, len: usize| {
            let blocks = blocks.get(first..first + len).unwrap_or_default();
            blocks.as_flattened().iter().for_each(|number| number.save(to));
        };
        let (here, there) = if self.core.there_first { (1, 0) } else { (0, 1) };
        self.core.slope.save(to);
        if self.core.slope {
            put(to, 2 * weights + here * plane, plane);
        }
        if let Some(kept) = self.core.momentum {
            save_momentum(to, layout, kept, blocks);
        }
        let Some(half) = &self.pending else { return 0u8.save(to) };
        half.save(to);
        self.core.normaliser.save(to);
        self.core.other_state(layout, words).words().iter().for_each(|word| word.save(to));
        let (curvatures, noise) = half.floats();
        if curvatures {
            put(to, 2 * weights + there * plane, layout.blocks());
        }
        if noise {
            put(to, there * weights, layout.gradient_blocks());
        }
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        // Once to look, once to take.
        let looked = self.read(*from, false)?;
        self.read(*from, true)?;
        *from = looked;
        Ok(())
    }
}

impl<W: AsMut<[u32]> + AsRef<[u32]>, C: AsMut<[Bits]>, B: AsMut<[Block]> + AsRef<[Block]>> Open<'_, W, C, B> {
    /// Reads a chain, and takes it with `take`: where the rest follows.
    fn read<'r>(&mut self, from: Reader<'r>, take: bool) -> Result<Reader<'r>, SnapshotError> {
        let (layout, arities, mut at) = (self.told.layout, self.told.arities, from);
        let moves = load_name(&mut at, [NAME, MOVING])?;
        load_shape(&mut at, layout)?;
        let (energy, (told, faults, steps)): (Total, (f32, u32, u64)) = read(&mut at)?;
        if !(energy.value().is_finite() && told.is_finite()) {
            return Err(SnapshotError::Value);
        }
        let length = layout.words();
        let (here, rest) = split(self.memory.words.as_mut(), length);
        let (there, free) = split(rest, length);
        let value = |index, word| is_value_word(layout, arities, index, word);
        let mask = |index, word| is_mask_word(layout, index, word);
        read_each(&mut at, here, take, value)?;
        read_each(&mut at, free.get_mut(..length).unwrap_or_default(), take, mask)?;
        let (weights, plane) = (layout.weight_blocks(), layout.plane_blocks());
        let (slope, mut normaliser) = (read(&mut at)?, LogProduct::ONE);
        let mut gradient_at = at;
        if slope {
            (0..plane * LANES).try_for_each(|_| at.array::<4>().map(|_| ()))?;
        }
        let blocks = self.memory.weights.as_mut();
        let momentum = if moves { Some(load_momentum(&mut at, layout, blocks, take)?) } else { None };
        let (_, rest) = split(blocks, weights);
        let (eta, rest) = split(rest, weights);
        let (gradient, rest) = split(rest, plane);
        let (curvatures, _) = split(rest, plane);
        if slope {
            read_floats(&mut gradient_at, gradient, plane, take)?;
        }
        let half = Half::load(layout, &mut at)?;
        if let Some(half) = &half {
            normaliser.load(&mut at)?;
            read_each(&mut at, there, take, value)?;
            let (each, noise) = half.floats();
            if each {
                read_floats(&mut at, curvatures, layout.blocks(), take)?;
            }
            if noise {
                read_floats(&mut at, eta, layout.gradient_blocks(), take)?;
            }
        }
        if take {
            clear_single(layout, arities, free);
            (self.energy, self.pending) = (told, half);
            self.core = Core { energy, faults, steps, slope, normaliser, momentum, ..Core::at(0.0) };
        }
        Ok(at)
    }
}

fn read_floats(at: &mut Reader<'_>, blocks: &mut [Block], len: usize, take: bool) -> Result<(), SnapshotError> {
    read_each(at, blocks.get_mut(..len).unwrap_or_default().as_flattened_mut(), take, |_, _| true)
}
