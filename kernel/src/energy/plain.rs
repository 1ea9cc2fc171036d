//! An energy from two functions: the total and its gradient.

use super::{Energy, EnergyError, checked};
use crate::lane::{Bits, Block, LANES};
use crate::layout::{Kind, Layout};
use crate::open::{gradient_len, spread};
use crate::packed::{self, Move, Packed};
use core::ops::Range;

/// What a user writes for an energy of their own: the total and its gradient. [`Plain`] does the rest. With `∂E/∂θ` it
/// can be learned: [`LearnableFunction`](crate::learn::LearnableFunction).
///
/// ```
/// use bitmc::{Function, Layout, Packed, Plain, energy::Energy};
/// struct Count(f32);                       // E(x) = k · (ones − 3)²
/// impl Function for Count {
///     fn layout(&self) -> Layout {
///         Layout::binary(10)
///     }
///     fn total(&self, x: Packed<'_>) -> f32 {
///         self.0 * (x.ones() as f32 - 3.0) * (x.ones() as f32 - 3.0)
///     }
///     fn gradient(&self, x: Packed<'_>, _site: usize) -> f32 {
///         2.0 * self.0 * (x.ones() as f32 - 3.0)
///     }
/// }
/// let energy: &dyn Energy = &Plain(Count(0.5));
/// # let state = bitmc::State::<1>::zeros(energy.layout()).unwrap();
/// # assert_eq!(energy.init(state.view(), &mut [[0; 16]]), Ok(4.5));
/// ```
pub trait Function {
    /// Sites and arity.
    fn layout(&self) -> Layout;

    /// `E(x)`. `+∞` forbids a state.
    fn total(&self, x: Packed<'_>) -> f32;

    /// `∂E/∂xᵢ` at `x` for one site: on the {0,1} scale for binary sites, by value for ordinal ones.
    fn gradient(&self, x: Packed<'_>, site: usize) -> f32;

    /// `∂E/∂xᵢₖ` for the one-hot component k of a categorical site, k below the site's own arity; not called for
    /// other sites. Write this
    /// one for categorical sites: the default has the same slope for every value and so proposes blindly.
    fn component(&self, x: Packed<'_>, site: usize, _value: usize) -> f32 {
        self.gradient(x, site)
    }

    /// The whole gradient at once, where that is cheaper than site by site, as for a network: `[site]`, or
    /// `[site][value]` where sites are categorical ([`gradient_len`](crate::open::gradient_len)). By default it goes
    /// site by site. For a whole gradient [`Plain`] calls this method. Categorical sites of [`Layout::MANY`] values
    /// or more are the exception: for these it calls [`Function::component`].
    fn gradient_all(&self, x: Packed<'_>, out: &mut [f32]) {
        let (layout, arities) = (self.layout(), self.arities());
        let categorical = layout.kind() == Kind::Categorical;
        for (site, slopes) in out.chunks_mut(layout.slopes()).enumerate() {
            let arity = layout.arity_at(arities, site);
            for (value, slope) in slopes.iter_mut().enumerate().take(arity) {
                *slope = if categorical { self.component(x, site, value) } else { self.gradient(x, site) };
            }
        }
    }

    /// The arity of every site, where they differ: see [`Energy::arities`].
    fn arities(&self) -> Option<&[u16]> {
        None
    }

    /// The whole number that value 0 of every site means, one a site: see [`Energy::offsets`].
    fn offsets(&self) -> Option<&[i32]> {
        None
    }
}

impl<F: Function + ?Sized> Function for &F {
    fn layout(&self) -> Layout {
        F::layout(self)
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        F::total(self, x)
    }

    fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
        F::gradient(self, x, site)
    }

    fn component(&self, x: Packed<'_>, site: usize, value: usize) -> f32 {
        F::component(self, x, site, value)
    }

    fn gradient_all(&self, x: Packed<'_>, out: &mut [f32]) {
        F::gradient_all(self, x, out);
    }

    fn arities(&self) -> Option<&[u16]> {
        F::arities(self)
    }

    fn offsets(&self) -> Option<&[i32]> {
        F::offsets(self)
    }
}

/// A [`Function`] as an [`Energy`]: differences are differences of totals, one total a step.
///
/// Rounding: a difference has the rounding error of the totals, 2⁻²⁴ |E|.
///
/// What a step computes, over n sites of k values (a gradient of categories with k > 2 is computed value by value):
///
/// | a step of | totals | gradients |
/// |---|---|---|
/// | a sweep of Gibbs sampling | n k, and one a site that changes | 0 |
/// | `u` updates of Gibbs sampling | u k, and one a site that changes | 0 |
/// | DMALA, DULA, AB of first order | 1 | n |
/// | AB of second order, ACS | 1 | 2n |
/// | the start of a chain | 1 | n |
#[derive(Clone, Copy, Debug)]
pub struct Plain<F>(pub F);

impl<F> Plain<F> {
    /// Blocks of cache: for [`memory!`](crate::memory).
    pub const CACHE_LEN: usize = 1;
}

impl<F: Function> Energy for Plain<F> {
    fn layout(&self) -> Layout {
        self.0.layout()
    }

    fn cache_len(&self) -> usize {
        1
    }

    fn init(&self, x: Packed<'_>, cache: &mut [Bits]) -> Result<f32, EnergyError> {
        let total = checked(self.0.total(x))?;
        let [kept, ..] = cache.first_mut().ok_or(EnergyError::Cache { need: 1, got: 0 })?;
        *kept = total.to_bits();
        Ok(total)
    }

    fn arities(&self) -> Option<&[u16]> {
        self.0.arities()
    }

    fn offsets(&self) -> Option<&[i32]> {
        self.0.offsets()
    }

    fn gradient(&self, x: Packed<'_>, _cache: &[Bits], rows: Range<usize>, out: &mut [Block]) {
        let (layout, arities) = (self.0.layout(), self.0.arities());
        out.fill([0.0; LANES]);
        if rows == (0..layout.rows()) && !layout.row_is_site() {
            // The slopes, one after the other, and then every one in its lane.
            let slopes = out.as_flattened_mut().get_mut(..gradient_len(layout)).unwrap_or_default();
            self.0.gradient_all(x, slopes);
            return spread(layout, out);
        }
        for (row, blocks) in rows.zip(out.chunks_exact_mut(layout.row_blocks())) {
            for (at, out) in blocks.as_flattened_mut().iter_mut().enumerate() {
                let Some((site, value)) = layout.component(row, at / LANES, at % LANES) else { continue };
                if layout.kind() != Kind::Categorical {
                    *out = self.0.gradient(x, site);
                } else if value < layout.arity_at(arities, site) {
                    *out = self.0.component(x, site, value);
                }
            }
        }
    }

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        let Some([kept, ..]) = cache.first_mut() else { return f32::NAN };
        let (before, after) = (f32::from_bits(*kept), self.0.total(step.to()));
        *kept = after.to_bits();
        after - before
    }

    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        let layout = self.0.layout();
        let here = Packed::trusted(layout, words).get(site);
        let before = cache.first().map_or(f32::NAN, |&[kept, ..]| f32::from_bits(kept));
        // Values that the site has not are forbidden, and the function is not called for them.
        let arity = layout.arity_at(self.0.arities(), site).min(out.len());
        let (legal, others) = out.split_at_mut_checked(arity).unwrap_or_default();
        others.fill(f32::INFINITY);
        for (value, out) in (0..).zip(legal) {
            // A site that does not exist leaves the state as it is, and every difference 0.
            let _ = packed::set(layout, words, site, value);
            *out = self.0.total(Packed::trusted(layout, words)) - before;
        }
        let _ = packed::set(layout, words, site, here);
    }
}
