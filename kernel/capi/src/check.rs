//! An energy compared with itself.

use crate::handle::{Borrowed, Handle, Span, answer, asked, bytes_of, slice};
use crate::model::{Model, bitmc_model};
use crate::seat::{Place, parts, pieces};
use crate::status::{Outcome, bitmc_status};
use bitmc::chain::Memory;
use bitmc::energy::{Answer, CheckError, Checked, EnergyError, check};
use bitmc::lane::{Bits, Block};
use bitmc::{Energy, Layout, Move, Packed};
use core::cell::Cell;
use core::ops::Range;

/// What is wrong with an energy.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum bitmc_wrong {
    /// Nothing.
    Nothing = 0,
    /// The energy is another one when it is evaluated again.
    Total,
    /// The energy is NaN or minus infinity where `site` has the value `value`.
    Fault,
    /// A difference of energies is off, of one site or many.
    Difference,
    /// The gradient by sites is another one than the whole gradient, or it is another one when it is evaluated again.
    Gradient,
    /// The gradient is NaN.
    NanGradient,
    /// The gradient points the other way.
    Sign,
    /// The energy, `got`, is 2^17 or more in size, and small differences are lost in its rounding. Subtract a constant.
    Large,
    /// Another thing: a fault of the library.
    Other,
}

/// What bitmc_check saw.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct bitmc_checked {
    /// What is wrong.
    pub wrong: bitmc_wrong,
    /// The number of the state where it is, from 0.
    pub state: usize,
    /// The site.
    pub site: usize,
    /// Its value.
    pub value: u32,
    /// What would be right.
    pub need: f32,
    /// What was said.
    pub got: f32,
    /// Moves of one site to an allowed state, over which the gradient was compared with the differences of energies.
    pub moves: u64,
    /// The energy changes by this much of what the gradient says: about 1, and 2 or one half for a forgotten factor. NaN where
    /// the gradient is 0 everywhere.
    pub slope: f32,
    /// Their correlation, about 1; NaN where it has none.
    pub correlation: f32,
    /// The most that the gradient and the difference of a move are apart.
    pub gap: f32,
    /// The site that has it.
    pub gap_site: usize,
}

const NOTHING: bitmc_checked = bitmc_checked {
    wrong: bitmc_wrong::Nothing,
    state: 0,
    site: 0,
    value: 0,
    need: f32::NAN,
    got: f32::NAN,
    moves: 0,
    slope: f32::NAN,
    correlation: f32::NAN,
    gap: 0.0,
    gap_site: 0,
};

impl From<Checked> for bitmc_checked {
    fn from(checked: Checked) -> Self {
        let Checked { moves, slope, correlation, gap, gap_site, .. } = checked;
        let [slope, correlation] = [slope, correlation].map(|number| number.unwrap_or(f32::NAN));
        Self { moves, slope, correlation, gap, gap_site, ..NOTHING }
    }
}

/// What an error says; where the energy could not be looked at, its status.
fn found(error: CheckError) -> Outcome<bitmc_checked> {
    use bitmc_wrong as wrong;
    Ok(match error {
        CheckError::Chain(error) => return Err(error.into()),
        CheckError::Off { answer, state, site, value, need, got } => {
            let wrong = match answer {
                Answer::Gradient | Answer::Gradients | Answer::CacheGradient if need.is_nan() => {
                    wrong::NanGradient
                }
                Answer::Gradient | Answer::Gradients | Answer::CacheGradient => wrong::Gradient,
                Answer::Total if got.is_nan() => wrong::Fault,
                // Of the value that the site would have: no number is off from NaN.
                Answer::Cache if need.is_nan() => wrong::Fault,
                Answer::Total => wrong::Total,
                _ => wrong::Difference,
            };
            bitmc_checked { wrong, state, site, value, need, got, ..NOTHING }
        }
        CheckError::Large { state, energy } => {
            bitmc_checked { wrong: wrong::Large, state, got: energy, ..NOTHING }
        }
        CheckError::Sign { slope } => bitmc_checked { wrong: wrong::Sign, slope, ..NOTHING },
        _ => bitmc_checked { wrong: wrong::Other, ..NOTHING },
    })
}

/// A model, with room for its gradient where that is told as a whole: rows of it are cut out.
struct Whole<'a> {
    model: &'a Model,
    room: Cell<&'a mut [Block]>,
}

impl Energy for Whole<'_> {
    fn layout(&self) -> Layout {
        self.model.layout()
    }

    fn cache_len(&self) -> usize {
        self.model.cache_len()
    }

    fn init(&self, x: Packed<'_>, cache: &mut [Bits]) -> Result<f32, EnergyError> {
        self.model.init(x, cache)
    }

    fn gradient(&self, x: Packed<'_>, cache: &[Bits], rows: Range<usize>, out: &mut [Block]) {
        let (layout, room) = (self.layout(), self.room.take());
        if room.is_empty() {
            return self.model.gradient(x, cache, rows, out);
        }
        self.model.gradient(x, cache, 0..layout.rows(), room);
        let first = rows.start.saturating_mul(layout.row_blocks());
        out.iter_mut().zip(room.iter().skip(first)).for_each(|(to, from)| *to = *from);
        self.room.set(room);
    }

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        self.model.shift(step, cache)
    }

    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        self.model.differences(words, cache, site, out);
    }
}

/// Blocks of the memory of a check behind the weights: a whole gradient.
fn room(model: &Model) -> usize {
    if model.is_whole() { model.layout().gradient_blocks() } else { 0 }
}

/// Bytes of memory for bitmc_check; 0 where there is no model.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_check_bytes(model: *const bitmc_model) -> usize {
    // SAFETY: as the crate says.
    unsafe { Model::borrow(model) }.map_or(0, |model| {
        let blocks = Memory::weights(model.layout()).saturating_add(room(model));
        bytes_of(&pieces(model.layout(), model.cache_len(), blocks))
    })
}

/// Compares the energy of a model with its gradient, at some states: for a test of an energy of the caller's. The
/// states are one behind the other in `words`, and their energies are finite. BITMC_STATUS_CHECK where the energy
/// contradicts itself; what was seen, unless `checked` is null. Moves of many sites are checked from each state to
/// the next: give it a few that differ at many sites. The memory is that of no chain.
///
/// No single number of a gradient is wrong by itself: look at `slope` and `correlation`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_check(
    model: *const bitmc_model,
    words: *const u32,
    word_count: usize,
    memory: *mut u8,
    bytes: usize,
    checked: *mut bitmc_checked,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let look = || unsafe {
        let asked = asked(checked)?;
        let it = Model::borrow(model)?;
        let (span, [own, base]) = (Span::of(memory, bytes), it.memory());
        let read = [Span::of(words, word_count), Span::of(model, 1), own, base, Span::of(checked, 1)];
        Span::all_apart(&[span], &read)?;
        let (layout, cache, words) = (it.layout(), it.cache_len(), slice(words, word_count)?);
        let states = words.chunks_exact(layout.words().max(1));
        if words.is_empty() || !states.remainder().is_empty() {
            return Err(bitmc_status::Count);
        }
        // All of them are states before the first is looked at.
        states.clone().try_for_each(|words| Packed::new(layout, words).map(|_| ()))?;
        let states = states.filter_map(|words| Packed::new(layout, words).ok());
        let weights = Memory::weights(layout);
        let blocks = weights.saturating_add(room(it));
        let mut borrowed = Borrowed::new(memory, bytes, &pieces(layout, cache, blocks))?;
        let place = Place::next(&borrowed, span)?;
        let memory = parts(&mut borrowed, layout, cache, blocks)?;
        let (first, second) = memory.weights.split_at_mut_checked(weights).ok_or(bitmc_status::Memory)?;
        let mut memory = Memory { weights: first, ..memory };
        let said = place.work(|| {
            Model::hold(model.cast_mut(), || {
                check(&Whole { model: it, room: Cell::new(second) }, &mut memory, states)
            })
        })?;
        let (said, status) = match said {
            Ok(seen) => (seen.into(), Ok(())),
            Err(error) => (found(error)?, Err(bitmc_status::Check)),
        };
        if asked {
            answer(checked, said)?;
        }
        status
    };
    bitmc_status::of(look())
}
