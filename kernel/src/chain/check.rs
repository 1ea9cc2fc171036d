//! An energy compared with itself: whether all that samplers read of it agrees with its totals.

mod error;
mod look;

pub use error::{Answer, CheckError};

use super::{Chain, Core, Memory, Point, Ring, check_values, copy};
use crate::energy::{Energy, EnergyError};
use crate::lane::{Bits, Block, F32s, Total};
use crate::packed::{Move, Packed};
use look::{Look, differences};

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

/// The total, which a chain must be able to start from.
pub(super) fn start<E: Energy + ?Sized>(
    energy: &E,
    x: Packed<'_>,
    cache: &mut [Bits],
) -> Result<f32, EnergyError> {
    let total = energy.init(x, cache)?;
    if total == f32::INFINITY { Err(EnergyError::Forbidden) } else { Ok(total) }
}
