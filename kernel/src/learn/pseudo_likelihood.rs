//! Pseudo-likelihood.

use super::minibatch::{Minibatch, Objective};
use super::workspace::Workspace;
use super::{LearnError, Learnable};
use crate::lane::{LANES, exp, ln};
use crate::layout::Kind;
use rand_core::Rng;

/// The negative log pseudo-likelihood (Besag 1975): `J(x) = −Σᵢ ln p(xᵢ | the other sites)`,
/// `= Σᵢ ln Σₖ e^{E(x) − E(x with xᵢ = k)}`. Consistent, and free of samplers.
///
/// `∂J/∂θ = Σᵢₖ pᵢₖ (∂E/∂θ(x) − ∂E/∂θ(x with xᵢ = k))`. Every exponential comes after the largest of its site.
///
/// Cost a sample: the differences of every site, one exponential a site and value, and the model's
/// [`accumulate_changes`](Learnable::accumulate_changes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PseudoLikelihood;

impl Objective for PseudoLikelihood {
    fn observe<E: Learnable + ?Sized, R: Rng + ?Sized>(
        &self,
        model: &E,
        workspace: &mut Workspace<'_>,
        _rng: &mut R,
        batch: &mut Minibatch<'_>,
    ) -> Result<(), LearnError> {
        let layout = workspace.layout;
        if layout.many_values() {
            return Err(LearnError::ManyValues);
        }
        // A binary site has one plane: that of its flip.
        let planes = if layout.kind() == Kind::Binary { 1 } else { layout.arity() };
        let arities = model.arities();
        let mut loss = 0.0;
        let mut evaluations = 1;
        workspace.second.fill([0.0; LANES]);
        for site in 0..layout.sites() {
            let arity = layout.arity_at(arities, site);
            let here = workspace.state().get(site) as usize;
            let room = workspace.first.as_flattened_mut().get_mut(..arity).unwrap_or_default();
            model.differences(workspace.words, workspace.cache, site, room);
            let least = room.iter().fold(0.0, |least, &d| if d < least { d } else { least });
            let sum: f32 = room.iter().map(|&d| exp(least - d)).sum();
            loss += ln(sum) - least;
            evaluations += arity - 1;
            for (value, &difference) in room.iter().enumerate().filter(|&(value, _)| value != here) {
                let plane = if planes == 1 { 0 } else { value };
                let slot = workspace.second.get_mut(site / LANES * planes + plane);
                if let Some(slot) = slot.and_then(|block| block.get_mut(site % LANES)) {
                    *slot = -exp(least - difference) / sum;
                }
            }
        }
        batch.add_changes(model, workspace, loss, evaluations);
        Ok(())
    }
}
