//! What a step costs, by a table: the choice of a sampler must not depend on a clock.
//!
//! Nanoseconds of one core, as measured once for builds of the baseline processor. Only ratios matter: between samplers of
//! one model.

use crate::model::{Form, Model};
use crate::plan::{BATCH_FROM, POTTS_BATCH, Plan};

/// What one evaluation of a model costs, in nanoseconds.
struct Work {
    /// A gradient of all sites.
    gradient: f64,
    /// The differences of energies at one site.
    difference: f64,
    /// A change of one site.
    flip: f64,
}

/// The cost of one multiply-add in a row of numbers.
const ROW: f64 = 0.25;
/// The cost of one exponential or logarithm in lanes.
const EXP: f64 = 1.5;
/// The cost of one ln(1 + e^x) in lanes.
const SOFTPLUS: f64 = 8.0;
/// The cost of touching one entry of a list.
const ENTRY: f64 = 1.2;

fn work(model: &Model) -> Work {
    let sites = model.sites() as f64;
    let arity = model.layout().arity() as f64;
    let plane = if arity > 2.0 { arity } else { 1.0 };
    let sparse = |entries: usize| {
        let degree = 2.0 * entries as f64 / sites;
        Work { gradient: 0.5 * sites * plane, difference: 6.0 + plane, flip: 15.0 + ENTRY * degree }
    };
    match &model.form {
        Form::Spins { edges, .. } | Form::Bits { edges, .. } | Form::Potts { edges, .. } => sparse(edges.len()),
        Form::Gaussian { edges, .. } => sparse(edges.len()),
        Form::Rbm { hidden, .. } => {
            let units = hidden.len() as f64;
            let change = (ROW + SOFTPLUS) * units;
            Work { gradient: ROW * sites * units, difference: change, flip: change }
        }
        Form::Logistic { outcomes, .. } => {
            let rows = outcomes.len() as f64;
            let change = (ROW + SOFTPLUS) * rows;
            Work { gradient: ROW * sites * rows, difference: change, flip: change }
        }
        Form::Factors { tables, .. } => {
            let entries: usize = tables.iter().map(|table| table.weights.len() * table.sites.len()).sum();
            Work {
                gradient: 0.5 * sites * plane,
                difference: 10.0 + plane,
                flip: 30.0 + 2.0 * ENTRY * entries as f64 / sites,
            }
        }
        Form::Polynomial { terms, .. } => {
            let touched: usize = terms.iter().map(|(sites, _)| sites.len()).sum();
            Work { gradient: 0.5 * sites, difference: 8.0, flip: 20.0 + 3.0 * ENTRY * touched as f64 / sites }
        }
        // Two functions of all sites: a difference is a total.
        Form::Own(_) => Work { gradient: 20.0 * sites * plane, difference: 10.0 * sites, flip: 10.0 * sites },
    }
}

/// Nanoseconds of a step of one chain that changes so many sites, where so many chains run.
pub(crate) fn of(model: &Model, plan: &Plan, chains: usize, moved: f64) -> f64 {
    let Work { gradient, difference, flip } = work(model);
    let (sites, arity) = (model.sites() as f64, model.layout().arity() as f64);
    let plane = if arity > 2.0 { arity } else { 1.0 };
    let batched = chains >= BATCH_FROM;
    let ising = matches!(model.form, Form::Spins { .. } | Form::Bits { .. });
    let potts = matches!(model.form, Form::Potts { .. }) && arity <= POTTS_BATCH as f64;
    match plan {
        Plan::Gibbs if ising && batched => 1.4 * sites + 0.15 * flip * sites / 15.0,
        Plan::Gibbs if ising => 5.0 * sites + flip * moved,
        Plan::Gibbs if potts && batched => 6.0 * sites * plane,
        Plan::Gibbs => sites * (difference + EXP * plane + 15.0) + flip * moved,
        Plan::BlockGibbs => 2.0 * gradient + EXP * sites + 500.0,
        // Bonds and trees at all sites, then the flips; or at one cluster, of which each entry is met anywhere in memory.
        Plan::SwendsenWang => (EXP + 2.0 * flip) * sites + flip * moved,
        Plan::Wolff => 2.0 * sites + (EXP + 3.5 * flip) * moved,
        Plan::Langevin { .. } if ising => 1.0 * sites + 2.0 * flip * moved,
        Plan::Langevin { .. } | Plan::Balanced { .. } => {
            gradient + 6.0 * EXP * sites * plane + flip * (moved + 1.0)
        }
        // The chain keeps its gradient; of second order, and a row of the couplings a change.
        Plan::Cyclical { .. } => gradient + 8.0 * EXP * sites * plane + flip * (moved + 1.0),
        Plan::SecondOrder { .. } => {
            gradient + 8.0 * EXP * sites + (flip + ROW * sites) * (moved + 1.0) + ROW * sites * sites
        }
        Plan::GibbsWithGradients { indices } | Plan::PathAuxiliary { indices } => {
            gradient + 2.0 * EXP * sites * plane + (flip + 60.0) * f64::from(*indices)
        }
        Plan::LocallyBalanced => 2.0 * sites * (difference + EXP * plane),
        Plan::HammingBall { sites: block, radius } => {
            let values = plane.max(2.0);
            let states = (*block as f64 * (values - 1.0)).powi(*radius as i32).min(values.powi(*block as i32));
            states * (flip + EXP)
        }
        Plan::RandomWalk { radius } => 2.0 * sites + flip * f64::from(*radius),
        // Two ladders, and about as much for the clusters.
        Plan::Isoenergetic { betas } => {
            4.0 * of(model, &Plan::Exchange { betas: betas.clone() }, chains, moved)
        }
        Plan::Exchange { betas } => {
            let replicas = betas.len() as f64;
            // A batch moves all its lanes, whether they are replicas or not.
            let own = if ising && betas.len() <= 16 { 16.0 } else { replicas };
            own * of(model, &Plan::Gibbs, if ising { 16 } else { 1 }, moved)
        }
    }
}
