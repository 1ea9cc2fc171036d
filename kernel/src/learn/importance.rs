//! Ratio matching over a few neighbours, drawn by the gradient.

use super::minibatch::{Minibatch, Objective, fits};
use super::ratio::Form;
use super::workspace::Workspace;
use super::{LearnError, Learnable, subtract};
use crate::chain::Memory;
use crate::draw::index::{self, Order};
use crate::energy::{Energy, EnergyError};
use crate::lane::{Bits, Block, LANES, Total, exp, ln};
use crate::packed::Packed;
use rand_core::Rng;

/// Ratio matching with gradient-guided importance sampling (Liu, Liu, Ji 2023; METHODS.md §5). Of the d neighbours of
/// a sample s are drawn, with replacement, from probabilities n that one gradient by x gives. With
/// `Δ̂ᵢ = (2xᵢ − 1) ∂E/∂xᵢ` the Taylor estimate of `Δᵢ = E(x) − E(x with site i flipped)`:
///
/// | | n | J(x) | unbiased for |
/// |---|---|---|---|
/// | [`ratio_matching`](Self::ratio_matching) | ∝ σ(Δ̂)² | `(1/s) Σₜ σ(Δₜ)²/nₜ` | Eq. 2, J and ∂J/∂θ |
/// | [`uniform`](Self::uniform) (RMwRAND) | 1/d | `(1/s) Σₜ e^{2Δₜ}/nₜ` | Eq. 3 |
/// | [`basic`](Self::basic) (Eq. 6) | softmax(2Δ̂) | `(1/s) Σₜ e^{2Δₜ}/nₜ` | Eq. 3 |
/// | [`advanced`](Self::advanced) (Eq. 11) | softmax(2Δ̂) | `Σₜ e^{2Δₜ}` | nothing |
///
/// The weights 1/n are not differentiated. The first is what to learn with; the others are the paper's, kept
/// for comparison: Eq. 3 itself learns a quarter of the true parameters
/// ([`RatioMatching::RATIO`](super::RatioMatching::RATIO)), and the advanced form less.
///
/// n is cut at e^(−50) of its largest, and the estimate is made of the n that is drawn from.
///
/// Cost a sample: one gradient by x, d exponentials, s differences of energies, and the model's
/// [`accumulate_changes`](Learnable::accumulate_changes) for at most s neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Importance {
    form: Form,
    guided: bool,
    weighted: bool,
    draws: u32,
}

/// How far below its largest a log n is cut: where whole numbers of 2⁻⁹⁷ still have all bits of a float.
const LOG_CUT: f32 = -50.0;

impl Importance {
    /// RMwGGIS on Eq. 2, with `draws` neighbours.
    ///
    /// # Errors
    /// [`LearnError::Draws`] where they are not 1 to 64.
    pub fn ratio_matching(draws: usize) -> Result<Self, LearnError> {
        Self::new(Form::Sigmoid, true, true, draws)
    }

    /// RMwRAND: Eq. 3 from uniform neighbours. **Biased** as Eq. 3 is.
    ///
    /// # Errors
    /// As [`Importance::ratio_matching`].
    pub fn uniform(draws: usize) -> Result<Self, LearnError> {
        Self::new(Form::Ratio, false, true, draws)
    }

    /// RMwGGIS (basic): Eq. 3 from guided neighbours. **Biased** as Eq. 3 is.
    ///
    /// # Errors
    /// As [`Importance::ratio_matching`].
    pub fn basic(draws: usize) -> Result<Self, LearnError> {
        Self::new(Form::Ratio, true, true, draws)
    }

    /// RMwGGIS (advanced): guided neighbours without their weights. **Biased**.
    ///
    /// # Errors
    /// As [`Importance::ratio_matching`].
    pub fn advanced(draws: usize) -> Result<Self, LearnError> {
        Self::new(Form::Ratio, true, false, draws)
    }

    fn new(form: Form, guided: bool, weighted: bool, draws: usize) -> Result<Self, LearnError> {
        if !(1..=index::MAX_INDICES).contains(&draws) {
            return Err(LearnError::Draws(draws));
        }
        Ok(Self { form, guided, weighted, draws: draws as u32 })
    }

    /// n at a sample, one probability a site, into `out`: what the neighbours are drawn from.
    ///
    /// # Errors
    /// As [`Minibatch::add`].
    pub fn proposal<E: Learnable + ?Sized, W: AsMut<[u32]>, C: AsMut<[Bits]>, B: AsMut<[Block]>>(
        &self,
        model: &E,
        x: Packed<'_>,
        memory: &mut Memory<W, C, B>,
        out: &mut [f32],
    ) -> Result<(), LearnError> {
        let mut workspace = Workspace::new(model, x, memory)?;
        workspace.binary()?;
        let sum = self.propose(model, &mut workspace)?;
        for (out, &weight) in out.iter_mut().zip(workspace.first.as_flattened()).take(workspace.layout.sites())
        {
            *out = weight / sum;
        }
        Ok(())
    }

    /// Adds a sample with neighbours that are given instead of drawn, 1 to 64: with all draws and their
    /// probabilities an expectation can be summed.
    ///
    /// # Errors
    /// As [`Minibatch::add`]; [`LearnError::Site`], [`LearnError::Draws`].
    pub fn observe_given<E: Learnable + ?Sized, W: AsMut<[u32]>, C: AsMut<[Bits]>, B: AsMut<[Block]>>(
        &self,
        model: &E,
        x: Packed<'_>,
        sites: &[usize],
        memory: &mut Memory<W, C, B>,
        batch: &mut Minibatch<'_>,
    ) -> Result<(), LearnError> {
        fits(model, batch.gradient)?;
        let mut workspace = Workspace::new(model, x, memory)?;
        workspace.binary()?;
        if let Some(&site) = sites.iter().find(|&&site| site >= workspace.layout.sites()) {
            return Err(LearnError::Site(site));
        }
        if !(1..=index::MAX_INDICES).contains(&sites.len()) {
            return Err(LearnError::Draws(sites.len()));
        }
        let sum = self.propose(model, &mut workspace)?;
        self.estimate(model, &mut workspace, sum, sites, batch);
        Ok(())
    }

    /// Weights ∝ n, the largest 1, into the first plane; their sum.
    fn propose<E: Energy + ?Sized>(&self, model: &E, workspace: &mut Workspace<'_>) -> Result<f32, LearnError> {
        let layout = workspace.layout;
        let x = Packed::trusted(layout, workspace.words);
        if self.guided {
            model.gradient(x, workspace.cache, 0..layout.rows(), workspace.first);
        }
        let sites = layout.sites();
        let mut most = f32::NEG_INFINITY;
        for (site, slot) in workspace.first.as_flattened_mut().iter_mut().enumerate() {
            *slot = match site < sites {
                false => f32::NEG_INFINITY,
                true if !self.guided => 0.0,
                true if slot.is_nan() => return Err(EnergyError::NanGradient.into()),
                true if x.get(site) == 0 => self.form.log_term(-*slot),
                true => self.form.log_term(*slot),
            };
            most = if *slot > most { *slot } else { most };
        }
        let mut sum = Total::new(0.0);
        for (site, slot) in workspace.first.as_flattened_mut().iter_mut().enumerate() {
            // Equal where both are infinite.
            let log = if *slot == most { 0.0 } else { *slot - most };
            *slot = if site < sites { exp(if log > LOG_CUT { log } else { LOG_CUT }) } else { 0.0 };
            sum.add(*slot);
        }
        Ok(sum.value())
    }

    /// Adds the estimate from the given neighbours; n is in the first plane.
    fn estimate<E: Learnable + ?Sized>(
        &self,
        model: &E,
        workspace: &mut Workspace<'_>,
        sum: f32,
        sites: &[usize],
        batch: &mut Minibatch<'_>,
    ) {
        // ln of 1/(s·n), without the site's own weight.
        let shared = if self.weighted { ln(sum) - ln(sites.len() as f32) } else { 0.0 };
        let mut deltas = [0.0; index::MAX_INDICES];
        let mut most = f32::NEG_INFINITY;
        let own = |first: &[Block], site: usize| match self.weighted {
            true => shared - ln(first.as_flattened().get(site).copied().unwrap_or(1.0)),
            false => 0.0,
        };
        for (slot, &site) in deltas.iter_mut().zip(sites) {
            *slot = workspace.delta(model, site);
            let exponent = self.form.exponent(self.form.log_term(*slot) + own(workspace.first, site));
            most = if exponent > most { exponent } else { most };
        }
        let log_scale = batch.make_room(most);
        workspace.second.fill([0.0; LANES]);
        let mut loss = 0.0;
        for (&delta, &site) in deltas.iter().zip(sites) {
            let term = exp(self.form.log_term(delta) + own(workspace.first, site) - log_scale);
            loss += term;
            subtract(workspace.second, site, self.form.slope(delta) * term);
        }
        batch.add_changes(model, workspace, loss, 1 + sites.len());
    }
}

impl Objective for Importance {
    fn observe<E: Learnable + ?Sized, R: Rng + ?Sized>(
        &self,
        model: &E,
        workspace: &mut Workspace<'_>,
        rng: &mut R,
        batch: &mut Minibatch<'_>,
    ) -> Result<(), LearnError> {
        workspace.binary()?;
        let sum = self.propose(model, workspace)?;
        let sums = workspace.second.as_flattened_mut();
        let (path, _) = index::draw(workspace.first, 1, (self.draws, true), sums, rng);
        let x = Packed::trusted(workspace.layout, workspace.words);
        let mut sites = [0; index::MAX_INDICES];
        for (slot, place) in sites.iter_mut().zip(path.places()) {
            (*slot, _) = Order::Sites.choice(x, *place);
        }
        let drawn = sites.get(..path.places().len()).unwrap_or_default();
        self.estimate(model, workspace, sum, drawn, batch);
        Ok(())
    }
}
