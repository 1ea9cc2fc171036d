//! Ratio matching over every neighbour.

use super::minibatch::{Minibatch, Objective};
use super::workspace::Workspace;
use super::{LearnError, Learnable};
use crate::lane::{LANES, exp, ln_1p_exp};
use rand_core::Rng;

/// Ratio matching over binary sites (Hyvärinen 2007; METHODS.md §5), `Δᵢ = E(x) − E(x with site i flipped)`.
///
/// * [`RatioMatching::SIGMOID`] is RMwGGIS Eq. 2: `J(x) = Σᵢ σ(Δᵢ)²`,
///   `∂J/∂θ = Σᵢ 2σ²(1−σ) (∂E/∂θ(x) − ∂E/∂θ(x₋ᵢ))`. Bounded, and consistent.
/// * [`RatioMatching::RATIO`] is RMwGGIS Eq. 3: `J(x) = Σᵢ e^{2Δᵢ}`. **Biased**: its minimiser is p^{1/4}, a
///   quarter of the true parameters. The paper says that it agrees with Eq. 2. For comparison only.
///
/// Cost a sample: d differences of energies and d exponentials, and the model's
/// [`accumulate_changes`](Learnable::accumulate_changes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RatioMatching {
    form: Form,
}

/// The term of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// σ(Δ)².
    Sigmoid,
    /// e^{2Δ}.
    Ratio,
}

impl Form {
    /// The logarithm of a neighbour's term.
    pub(super) fn log_term(self, delta: f32) -> f32 {
        match self {
            Self::Sigmoid => -2.0 * ln_1p_exp(-delta),
            Self::Ratio => 2.0 * delta,
        }
    }

    /// The derivative by Δ of the term's logarithm.
    pub(super) fn slope(self, delta: f32) -> f32 {
        match self {
            Self::Sigmoid => 2.0 * exp(-ln_1p_exp(delta)),
            Self::Ratio => 2.0,
        }
    }

    /// The largest exponent for which a batch must make room: none where terms are below 1.
    pub(super) fn exponent(self, log_term: f32) -> f32 {
        if self == Self::Sigmoid { 0.0 } else { log_term }
    }
}

impl RatioMatching {
    /// Eq. 2: what to learn with.
    pub const SIGMOID: Self = Self { form: Form::Sigmoid };
    /// Eq. 3: biased, for comparison.
    pub const RATIO: Self = Self { form: Form::Ratio };
}

impl Objective for RatioMatching {
    fn observe<E: Learnable + ?Sized, R: Rng + ?Sized>(
        &self,
        model: &E,
        workspace: &mut Workspace<'_>,
        _rng: &mut R,
        batch: &mut Minibatch<'_>,
    ) -> Result<(), LearnError> {
        workspace.binary()?;
        let sites = workspace.layout.sites();
        workspace.second.fill([0.0; LANES]);
        let mut most = f32::NEG_INFINITY;
        for site in 0..sites {
            let delta = workspace.delta(model, site);
            let exponent = self.form.exponent(self.form.log_term(delta));
            most = if exponent > most { exponent } else { most };
            if let Some(slot) = workspace.second.as_flattened_mut().get_mut(site) {
                *slot = delta;
            }
        }
        let log_scale = batch.make_room(most);
        let mut loss = 0.0;
        for slot in workspace.second.as_flattened_mut().iter_mut().take(sites) {
            let term = exp(self.form.log_term(*slot) - log_scale);
            loss += term;
            *slot = -self.form.slope(*slot) * term;
        }
        batch.add_changes(model, workspace, loss, 1 + sites);
        Ok(())
    }
}
