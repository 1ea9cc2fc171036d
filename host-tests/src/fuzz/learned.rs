//! Energies that are learned from samples.

use super::Source;
use crate::heap::{self, Couplings};
use crate::used;
use bitmc::energy::Boltzmann;
use bitmc::lane::{Block, LANES};
use bitmc::learn::{
    Adam, Contrast, Importance, Learnable, Minibatch, Objective, PseudoLikelihood, RatioMatching, Replay,
    Report, SparseIsing, SparsePotts,
};
use bitmc::{Langevin, Packed, Rbm};

/// Some iterations over one of them, each from the parameters that the last one left.
pub(super) fn run(source: &mut Source<'_>) -> Option<()> {
    let (sites, few) = (source.sites().min(24), 1 + source.below(20));
    let edges = source.edges(sites);
    let mut pairs: Vec<_> = edges.iter().map(|&(a, b, _)| (a.min(b), a.max(b))).collect();
    pairs.sort_unstable();
    let mut couplings = Couplings::new(sites, pairs.len());
    let mut memory = used::memory(Boltzmann::memory_len(sites));
    let (kind, arity) = (source.below(5), 2 + source.below(4));
    let len = match kind {
        0 | 1 => SparseIsing::parameter_len(sites, pairs.len()),
        2 => Boltzmann::parameter_len(sites),
        3 => SparsePotts::parameter_len(sites, arity, pairs.len()),
        _ => Rbm::parameter_len(sites, few),
    };
    let mut theta = vec![[0.0; LANES]; len];
    let mut moments = used::memory(2 * len);
    let mut adam = Adam::new(&mut moments, source.parameter()).ok()?;
    for _ in 0..1 + source.below(3) {
        let gradient = match kind {
            0 => iterate(
                &SparseIsing::spins(&theta, sites, &pairs, couplings.borrow().allow_rounding()).ok()?,
                source,
            ),
            1 => iterate(
                &SparseIsing::bits(&theta, sites, &pairs, couplings.borrow().allow_rounding()).ok()?,
                source,
            ),
            2 => iterate(&Boltzmann::bits(&theta, sites, &mut memory).ok()?, source),
            3 => iterate(
                &SparsePotts::new(&theta, (sites, arity), &pairs, couplings.borrow().allow_rounding()).ok()?,
                source,
            ),
            _ => iterate(&Rbm::from_parameters(&theta, sites, few).ok()?, source),
        }?;
        adam.step(&gradient, &mut theta);
        assert!(theta.as_flattened().iter().all(|number| !number.is_nan()), "{theta:?} by {gradient:?}");
        // The way of learning is short; from here on it may begin anywhere.
        let lanes = theta.as_flattened_mut().iter_mut().zip(gradient.as_flattened());
        lanes.filter(|(_, gradient)| **gradient != 0.0).for_each(|(slot, _)| *slot += source.float());
    }
    Some(())
}

/// The gradient of some objective over some samples.
fn iterate(model: &dyn Learnable, source: &mut Source<'_>) -> Option<Vec<Block>> {
    let mut gradient = used::memory(model.parameter_len());
    let samples = 1 + source.below(4);
    let draws = source.below(66);
    let report = match source.below(8) {
        0 => batch(&RatioMatching::SIGMOID, model, samples, &mut gradient, source),
        1 => batch(&RatioMatching::RATIO, model, samples, &mut gradient, source),
        2 => batch(&Importance::ratio_matching(draws).ok()?, model, samples, &mut gradient, source),
        3 => batch(&Importance::uniform(draws).ok()?, model, samples, &mut gradient, source),
        4 => batch(&Importance::basic(draws).ok()?, model, samples, &mut gradient, source),
        5 => batch(&Importance::advanced(draws).ok()?, model, samples, &mut gradient, source),
        6 => batch(&PseudoLikelihood, model, samples, &mut gradient, source),
        _ => contrast(model, samples, &mut gradient, source),
    }?;
    assert!(report.samples <= samples as u64, "{report:?}");
    if source.is_tame() {
        assert!(!report.loss.is_nan() && !report.variance.is_nan(), "{report:?}");
        assert!(gradient.as_flattened().iter().all(|number| number.is_finite()), "{gradient:?} of {report:?}");
    }
    Some(gradient)
}

/// A random state of an energy.
fn state(model: &dyn Learnable, source: &mut Source<'_>) -> Option<Vec<u32>> {
    Some(heap::random_chain(model, source).ok()?.state().words().to_vec())
}

fn batch(
    objective: &impl Objective,
    model: &dyn Learnable,
    samples: usize,
    gradient: &mut [Block],
    source: &mut Source<'_>,
) -> Option<Report> {
    let mut batch = Minibatch::new(model, gradient).ok()?;
    let mut memory = heap::memory(model);
    for _ in 0..samples {
        let words = state(model, source)?;
        let x = Packed::new(model.layout(), &words).expect("a state");
        // Refused where the objective is of bits and the sites are not.
        batch.add(objective, model, x, &mut memory, source).ok()?;
    }
    Some(batch.finish())
}

fn contrast(
    model: &dyn Learnable,
    samples: usize,
    gradient: &mut [Block],
    source: &mut Source<'_>,
) -> Option<Report> {
    let layout = model.layout();
    let kernel = Langevin::adjusted(source.parameter()).ok()?;
    let mut buffer = vec![0; 2 * layout.words()];
    let mut replay = Replay::new(layout, &mut buffer).ok()?;
    replay.randomise(source);
    let mut memory = heap::memory(model);
    let mut contrast = Contrast::new(model, samples as u32, samples as u32, gradient).ok()?;
    for _ in 0..samples {
        let words = state(model, source)?;
        let x = Packed::new(layout, &words).expect("a state");
        let steps = source.below(4) as u64;
        if source.one_in(2) {
            contrast.diverge(model, x, (&kernel, steps), &mut memory, source).ok()?;
        } else {
            let index = replay.pick(source);
            contrast.data(model, x, &mut memory).ok()?;
            contrast.persist(model, (&mut replay, index), (&kernel, steps), &mut memory, source).ok()?;
        }
    }
    (0..replay.len()).for_each(|index| super::trial::legal(model, replay.state(index)));
    Some(contrast.finish())
}
