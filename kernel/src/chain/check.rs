//! An energy compared with itself: whether all that samplers read of it agrees with its totals.

mod error;

pub use error::{Answer, CheckError};

use super::{Chain, Core, Memory, Point, Ring, check_values, copy};
use crate::energy::{Energy, EnergyError, Slope};
use crate::lane::{Bits, Block, F32s, LANES, Total};
use crate::layout::Kind;
use crate::packed::{Move, Packed, set};
use core::ops::Range;

/// How [`check`] found the gradient. The caller decides whether that is good enough.
///
/// It is about moves of one site from x to y; of an ordinal site, those to the next values. The exact difference is
/// d = `E(y) − E(x)`. The prediction of the gradient, from both ends of the move, is p =
/// `½ (∂E/∂x + ∂E/∂y) · (y − x)`. For categorical sites of [many values](crate::Layout::many_values) p is from x
/// alone. If the energy has at most second degree along a move, p equals d, up to rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Checked {
    /// Moves to an allowed state.
    pub moves: u64,
    /// `Σ pd / Σ p²`: about 1. 2 or ½ hint at a forgotten factor. `None` where all p are 0.
    pub slope: Option<f32>,
    /// `Σ pd / √(Σ p² Σ d²)`: about 1. `None` where all p or d are 0.
    pub correlation: Option<f32>,
    /// The largest `|p − d|`.
    pub gap: f32,
    /// The site that has it.
    pub gap_site: usize,
}

/// Moves whose p or d is larger are not in the sums of [`Checked`].
const MOST: f32 = 1e15;
/// A correlation below this is a wrong sign: that of a gradient that says nothing is 0, up to rounding.
const AGAINST: f32 = -0.1;
/// From here on totals are exact to a sixty-fourth at best.
const LARGE: f32 = 131_072.0;
/// 2⁻²⁰: of the totals and differences this may be lost.
const ROUNDING: f32 = 1.0 / 1_048_576.0;

/// Compares an energy with itself at some states. Call it in a test of an energy of your own.
///
/// It compares [`Energy::differences`] and [`Energy::shift`] with totals of [`Energy::init`], and
/// [`Energy::gradients`] and single rows of [`Energy::gradient`] with the whole gradient. It compares what all of them
/// say behind a `shift` with what they say of a new cache. The first answer that is off is the error.
///
/// Give it a few states that differ at many sites: moves of many sites are checked from each state to the next. All
/// states must be allowed. Hard constraints are checked too: a difference is +∞ exactly where the total is.
///
/// * An energy of 2¹⁷ or more in size is an error where its differences are those of totals, and small ones are lost. That is
///   where one is smaller than `2⁻¹⁷ |E(x)|`.
/// * A difference may be off by `2⁻²⁰ (|E(x)| + |E(y)| + Σᵢ maxₖ |E(xᵢ = k) − E(x)|)`, the rounding of totals.
/// * Rows and batches of gradients must be equal bit for bit, and no component may be NaN.
/// * The gradient must have the right sign on the whole: a [correlation](Checked::correlation) with differences below
///   −.1 is an error. No single component can be called wrong, for the gradient may be that of any continuous
///   extension of E. The result, [`Checked`], says how well it predicts differences.
///
/// Cost of a state: one total, one row of the gradient and one `shift` for every value of every site, and twice that for
/// every site. Each of them comes with a copy of the cache. The memory is that of a chain.
///
/// ```
/// use bitmc::energy::{CheckError, check};
/// use bitmc::{Function, Layout, Packed, Plain, State, memory};
///
/// struct Pull(f32); // E = ½ (ones − 3)²; the gradient should have the factor 1
/// impl Function for Pull {
///     fn layout(&self) -> Layout {
///         Layout::binary(10)
///     }
///     fn total(&self, x: Packed<'_>) -> f32 {
///         0.5 * (x.ones() as f32 - 3.0).powi(2)
///     }
///     fn gradient(&self, x: Packed<'_>, _site: usize) -> f32 {
///         self.0 * (x.ones() as f32 - 3.0)
///     }
/// }
/// let zeros = State::<1>::zeros(Layout::binary(10))?;
/// let ones = Packed::new(Layout::binary(10), &[1023])?;
/// let mut memory = memory!(Layout::binary(10), Plain::<Pull>::CACHE_LEN);
/// let checked = check(&Plain(Pull(1.0)), &mut memory, [zeros.view(), ones])?;
/// assert!(checked.slope > Some(0.999) && checked.correlation > Some(0.999) && checked.gap < 1e-4);
/// let wrong = check(&Plain(Pull(-1.0)), &mut memory, [zeros.view(), ones]);
/// assert!(matches!(wrong, Err(CheckError::Sign { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`CheckError`]: the first answer that is off.
pub fn check<'x, E: Energy + ?Sized, W: AsMut<[u32]>, C: AsMut<[Bits]>, B: AsMut<[Block]>>(
    energy: &E,
    memory: &mut Memory<W, C, B>,
    states: impl IntoIterator<Item = Packed<'x>>,
) -> Result<Checked, CheckError> {
    let mut chain = Chain { energy, memory: memory.borrow(), core: Core::at(0.0) };
    chain.clear()?;
    let Ring { layout, mut here, mut there, .. } = chain.ring();
    let mut seen = Seen::default();
    for (state, x) in states.into_iter().enumerate() {
        seen.look(energy, [&mut here, &mut there], (state, x.of(layout)?))?;
    }
    seen.answer()
}

#[derive(Default)]
struct Seen {
    /// The total of the state before.
    before: f32,
    /// Σ p², Σ pd, Σ d².
    sums: [Total; 3],
    checked: Checked,
}

impl Seen {
    /// One state. `here` is the state before with its cache, and then x with its own; `there` is room.
    fn look<E: Energy + ?Sized>(
        &mut self,
        energy: &E,
        [here, there]: [&mut Point<'_>; 2],
        (state, x): (usize, Packed<'_>),
    ) -> Result<(), CheckError> {
        check_values(energy, x)?;
        copy(there.words, x.words());
        let total = start(energy, x, there.cache)?;
        if state == 0 {
            copy(here.words, x.words());
            copy(here.cache, there.cache);
            self.before = total;
        }
        let mut look = Look { energy, state, x, total, scale: 0.0 };
        for (site, value) in x.values().enumerate() {
            let most = |most: f32, &d: &f32| if d.is_finite() { most.max(d.abs()) } else { most };
            look.scale += differences(energy, there, site).iter().fold(0.0, most);
            if there.words != x.words() {
                let got = Packed::trusted(x.layout(), there.words).get(site);
                return Err(look.off(Answer::Words, (site, value), value as f32, got as f32));
            }
        }
        look.gradients(here, there)?;
        copy(there.cache, here.cache);
        let step = Move::trusted(x.layout(), here.words, x.words());
        if let Some(first) = step.changes().next() {
            let got = energy.shift(&step, there.cache);
            look.agrees(Answer::Move, (first.site, first.to), total - self.before, got, self.before)?;
            let back = energy.shift(&Move::trusted(x.layout(), x.words(), here.words), there.cache);
            look.agrees(Answer::Back, (first.site, first.from), self.before - total, back, self.before)?;
            energy.shift(&step, there.cache);
        }
        copy(here.words, x.words());
        start(energy, x, here.cache)?;
        look.caches(here, there)?;
        look.moves(here, there, self)?;
        look.behind_moves(here, there)?;
        self.before = total;
        Ok(())
    }

    /// A move of one site of which the gradient says p and that changes the energy by d.
    fn take(&mut self, site: usize, p: f32, d: f32) {
        if d < f32::INFINITY {
            self.checked.moves += 1;
            if p.abs() <= MOST && d.abs() <= MOST {
                let terms = [p * p, p * d, d * d];
                self.sums.iter_mut().zip(terms).for_each(|(sum, term)| sum.add_one_of_many(term));
                if (p - d).abs() > self.checked.gap {
                    (self.checked.gap, self.checked.gap_site) = ((p - d).abs(), site);
                }
            }
        }
    }

    fn answer(self) -> Result<Checked, CheckError> {
        let [pp, pd, dd] = self.sums.map(Total::value);
        let root = |x| F32s::splat(x).sqrt().first();
        let slope = (pp > 0.0).then_some(pd / pp);
        let correlation = (pp > 0.0 && dd > 0.0).then(|| pd / root(pp) / root(dd));
        match slope.zip(correlation) {
            Some((slope, correlation)) if correlation < AGAINST => Err(CheckError::Sign { slope }),
            _ => Ok(Checked { slope, correlation, ..self.checked }),
        }
    }
}

/// What is compared at one state.
struct Look<'a, E: ?Sized> {
    energy: &'a E,
    state: usize,
    x: Packed<'a>,
    total: f32,
    /// Σᵢ maxₖ |E(xᵢ = k) − E(x)|.
    scale: f32,
}

impl<E: Energy + ?Sized> Look<'_, E> {
    fn off(&self, answer: Answer, (site, value): (usize, u32), need: f32, got: f32) -> CheckError {
        CheckError::Off { answer, state: self.state, site, value, need, got }
    }

    /// Compares a difference, with the total at its other end.
    fn agrees(
        &self,
        answer: Answer,
        place: (usize, u32),
        need: f32,
        got: f32,
        other: f32,
    ) -> Result<(), CheckError> {
        let slack = ROUNDING * (self.total.abs() + other.abs() + self.scale);
        let same = need == got || (need.is_finite() && (need - got).abs() <= slack);
        if same { Ok(()) } else { Err(self.off(answer, place, need, got)) }
    }

    /// The gradient of all rows against both points at once, and against each row.
    fn gradients(&self, here: &mut Point<'_>, there: &mut Point<'_>) -> Result<(), CheckError> {
        let (energy, x) = (self.energy, self.x);
        let (rows, blocks) = (x.layout().rows(), x.layout().row_blocks());
        if x.layout().row_is_site() {
            return (0..rows).try_for_each(|row| {
                let (one, two) = (part(here.weights, blocks), part(there.weights, blocks));
                energy.gradient(x, there.cache, row..row + 1, one);
                energy.gradient(x, there.cache, row..row + 1, two);
                self.same(Answer::Gradient, row..row + 1, one, two)
            });
        }
        let (one, two) = (part(here.weights, rows * blocks), part(there.weights, rows * blocks));
        energy.gradients(&mut [
            Slope { x: Packed::trusted(x.layout(), here.words), cache: here.cache, out: one },
            Slope { x, cache: there.cache, out: two },
        ]);
        energy.gradient(x, there.cache, 0..rows, one);
        self.same(Answer::Gradients, 0..rows, one, two)?;
        one.chunks(blocks).enumerate().try_for_each(|(row, whole)| {
            let two = part(two, blocks);
            energy.gradient(x, there.cache, row..row + 1, two);
            self.same(Answer::Gradient, row..row + 1, whole, two)
        })
    }

    /// Compares components of some rows, bit for bit.
    fn same(
        &self,
        answer: Answer,
        rows: Range<usize>,
        need: &[Block],
        got: &[Block],
    ) -> Result<(), CheckError> {
        let layout = self.x.layout();
        let places = rows.flat_map(|row| (0..layout.row_blocks() * LANES).map(move |at| (row, at)));
        let numbers = need.as_flattened().iter().zip(got.as_flattened());
        for ((row, at), (&need, &got)) in places.zip(numbers) {
            let place = layout.component(row, at / LANES, at % LANES);
            let Some((site, value)) = place.filter(|&(site, value)| value < self.arity(site)) else { continue };
            if need.is_nan() || need.to_bits() != got.to_bits() {
                let answer = if need.is_nan() { Answer::Gradient } else { answer };
                return Err(self.off(answer, (site, value as u32), need, got));
            }
        }
        Ok(())
    }

    /// The cache that was made here against the one that was moved there.
    fn caches(&self, here: &mut Point<'_>, there: &mut Point<'_>) -> Result<(), CheckError> {
        for site in 0..self.x.layout().sites() {
            let (need, got) = (differences(self.energy, here, site), differences(self.energy, there, site));
            for (value, (&need, &got)) in (0..).zip(need.iter().zip(&*got)) {
                self.agrees(Answer::Cache, (site, value), need, got, self.total)?;
            }
        }
        (0..self.x.layout().rows()).try_for_each(|row| {
            self.row(row, self.x, here.cache, here.weights);
            self.row(row, self.x, there.cache, there.weights);
            self.rows_agree(row, here.weights, there.weights)
        })
    }

    fn row(&self, row: usize, x: Packed<'_>, cache: &[Bits], out: &mut [Block]) {
        self.energy.gradient(x, cache, row..row + 1, part(out, x.layout().row_blocks()));
    }

    /// A row of the gradient by a new cache, and by one that was moved.
    fn rows_agree(&self, row: usize, need: &[Block], got: &[Block]) -> Result<(), CheckError> {
        let layout = self.x.layout();
        let numbers = need.as_flattened().iter().zip(got.as_flattened()).take(layout.row_blocks() * LANES);
        for (at, (&need, &got)) in numbers.enumerate() {
            let place = layout.component(row, at / LANES, at % LANES);
            if let Some((site, value)) = place.filter(|&(site, value)| value < self.arity(site)) {
                self.agrees(Answer::CacheGradient, (site, value as u32), need, got, self.total)?;
            }
        }
        Ok(())
    }

    /// What is said behind a move of one site: of each site the first that is allowed.
    fn behind_moves(&self, here: &mut Point<'_>, there: &mut Point<'_>) -> Result<(), CheckError> {
        let (energy, x) = (self.energy, self.x);
        let layout = x.layout();
        for (site, present) in x.values().enumerate() {
            let row = if layout.row_is_site() { site } else { site / LANES };
            for value in (0..self.arity(site) as u32).filter(|&value| value != present) {
                // The site exists, and the value is below its arity.
                let _ = set(layout, there.words, site, value);
                let y = Packed::trusted(layout, there.words);
                let other = energy.init(y, there.cache).unwrap_or(f32::INFINITY);
                if other == f32::INFINITY {
                    continue;
                }
                self.row(row, y, there.cache, here.weights);
                copy(there.cache, here.cache);
                energy.shift(&Move::trusted(layout, x.words(), y.words()), there.cache);
                self.row(row, y, there.cache, there.weights);
                self.rows_agree(row, here.weights, there.weights)?;
                let back = energy.shift(&Move::trusted(layout, y.words(), x.words()), there.cache);
                self.agrees(Answer::Back, (site, present), self.total - other, back, other)?;
                break;
            }
            let _ = set(layout, there.words, site, present);
        }
        Ok(())
    }

    /// Every move of one site from here.
    fn moves(&self, here: &mut Point<'_>, there: &mut Point<'_>, seen: &mut Seen) -> Result<(), CheckError> {
        let (energy, x) = (self.energy, self.x);
        let layout = x.layout();
        let (blocks, by_site) = (layout.row_blocks(), layout.row_is_site());
        let categorical = layout.kind() == Kind::Categorical;
        let number = |weights: &[Block], at: usize| weights.as_flattened().get(at).copied().unwrap_or(f32::NAN);
        let (mut least, mut by_totals) = (f32::INFINITY, true);
        for (site, present) in x.values().enumerate() {
            let row = if by_site { site } else { site / LANES };
            // p at one end of a move, from the row there.
            let said = |weights: &[Block], value: u32| {
                let lane = |value: u32| match (by_site, categorical) {
                    (true, _) => number(weights, value as usize),
                    (_, true) => number(weights, value as usize * LANES + site % LANES),
                    _ => number(weights, site % LANES) * value as f32,
                };
                lane(value) - lane(present)
            };
            energy.gradient(x, here.cache, row..row + 1, part(there.weights, blocks));
            let line = number(there.weights, site % LANES);
            let arity = differences(energy, here, site).len();
            // Behind the differences there is room for this end, unless values are many.
            if categorical && !by_site {
                let slots = here.weights.as_flattened_mut().iter_mut().skip(arity).take(arity);
                slots.zip(0..).for_each(|(slot, value)| *slot = said(there.weights, value));
            }
            for value in 0..arity as u32 {
                let place = (site, value);
                // The site exists, and the value is below its arity.
                let _ = set(layout, there.words, site, value);
                let y = Packed::trusted(layout, there.words);
                let other = energy.init(y, there.cache).unwrap_or(f32::NAN);
                if other.is_nan() || (value == present && other.to_bits() != self.total.to_bits()) {
                    return Err(self.off(Answer::Total, place, self.total, other));
                }
                let (need, got) = (other - self.total, number(here.weights, value as usize));
                self.agrees(Answer::Differences, place, need, got, other)?;
                if value == present {
                    continue;
                }
                by_totals &= need.to_bits() == got.to_bits();
                least = if need.abs() < least { need.abs() } else { least };
                let p = if by_site {
                    said(there.weights, value)
                } else {
                    energy.gradient(y, there.cache, row..row + 1, part(there.weights, blocks));
                    let change = value as f32 - present as f32;
                    let from =
                        if categorical { number(here.weights, arity + value as usize) } else { line * change };
                    0.5 * (from + said(there.weights, value))
                };
                if layout.kind() != Kind::Ordinal || value.abs_diff(present) == 1 {
                    seen.take(site, p, need);
                }
                copy(there.cache, here.cache);
                let got = energy.shift(&Move::trusted(layout, x.words(), y.words()), there.cache);
                self.agrees(Answer::Shift, place, need, got, other)?;
            }
            let _ = set(layout, there.words, site, present);
        }
        let size = self.total.abs();
        if size >= LARGE && by_totals && least < size / LARGE {
            return Err(CheckError::Large { state: self.state, energy: self.total });
        }
        Ok(())
    }

    fn arity(&self, site: usize) -> usize {
        self.x.layout().arity_at(self.energy.arities(), site)
    }
}

/// The total, which a chain must be able to start from.
pub(super) fn start<E: Energy + ?Sized>(
    energy: &E,
    x: Packed<'_>,
    cache: &mut [Bits],
) -> Result<f32, EnergyError> {
    let total = energy.init(x, cache)?;
    if total == f32::INFINITY { Err(EnergyError::Forbidden) } else { Ok(total) }
}

/// The differences of one site, in place of the weights. Samplers want both values of a binary site always.
fn differences<'p, E: Energy + ?Sized>(energy: &E, at: &'p mut Point<'_>, site: usize) -> &'p mut [f32] {
    let layout = energy.layout();
    let arity = layout.arity_at(energy.arities(), site);
    let room = if layout.kind() == Kind::Binary { 2 } else { arity };
    let out = at.weights.as_flattened_mut();
    energy.differences(at.words, at.cache, site, out.get_mut(..room).unwrap_or_default());
    out.get_mut(..arity).unwrap_or_default()
}

fn part(blocks: &mut [Block], length: usize) -> &mut [Block] {
    blocks.get_mut(..length).unwrap_or_default()
}
