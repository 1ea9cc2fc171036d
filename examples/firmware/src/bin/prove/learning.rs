//! Learning: every objective, every optimiser and what they keep.

use super::returns;
use bitmc::energy::{Boltzmann, Perceptron};
use bitmc::learn::{
    Adam, Contrast, CyclicalLearning, Importance, Learnable, Minibatch, PseudoLikelihood, RatioMatching,
    Replay, Sgd, SparseIsing, SparsePotts, clip, decay, lasso,
};
use bitmc::{LaneRng, Layout, Packed, Rbm, SeedableRng, SparseMemory, memory};
use core::hint::black_box;

/// Every objective over the models that can be learned, by direct calls.
#[inline(never)]
pub(crate) fn learned(number: f32, size: usize) -> bool {
    const SITES: usize = 5;
    let mut theta = [[0.0; 16]; Boltzmann::parameter_len(SITES)];
    if let Some(slot) = theta.first_mut().and_then(|block| block.get_mut(size)) {
        *slot = number;
    }
    let (mut couplings, sites) = ([[0; 16]; Boltzmann::memory_len(SITES)], size / 5);
    let Ok(model) = Boltzmann::spins(&theta, sites, &mut couplings) else { return false };
    let pass = objectives(&model, number, size);
    let mut couplings = [[0; 16]; Boltzmann::memory_len(SITES)];
    pass & Boltzmann::bits(&theta, sites, &mut couplings).is_ok()
}

/// The same through a trait object, over models of a given sparsity, an RBM and a network.
#[inline(never)]
pub(crate) fn taught(number: f32, size: usize) -> bool {
    let theta = [[number; 16]; 12];
    let part = |blocks: usize| theta.get(..blocks).unwrap_or_default();
    let edges = [(0, 1), (1, size as u32 / 5 - 3), (3, 4)];
    let mut memory = SparseMemory::<5, 6>::new();
    let mut pass = SparseIsing::bits(part(2), 5, &edges, memory.borrow()).is_ok();
    if let Ok(model) = SparseIsing::spins(part(2), 5, &edges, memory.borrow()) {
        pass &= objectives(&model as &dyn Learnable, number, size);
    }
    if let Ok(model) = SparsePotts::new(part(2), (5, size / 8), &edges, memory.borrow()) {
        pass &= objectives(&model as &dyn Learnable, number, size);
    }
    if let Ok(model) = Rbm::from_parameters(part(7), size / 5, black_box(4)) {
        pass &= objectives(&model as &dyn Learnable, number, size);
    }
    if let Ok(model) = Perceptron::new(&[5, black_box(3), 2], part(11)) {
        pass &= objectives(&model as &dyn Learnable, number, size);
    }
    pass
}

#[inline(never)]
fn objectives<E: Learnable + ?Sized>(model: &E, number: f32, size: usize) -> bool {
    let mut rng = LaneRng::seed_from_u64(size as u64);
    let mut room = memory!(Layout::categorical(5, 3), 8);
    let (mut gradient, mut moments, mut theta) = ([[0.0; 16]; 12], [[0.0; 16]; 24], [[number; 16]; 12]);
    let length = model.parameter_len();
    let Some(gradient) = gradient.get_mut(..length) else { return false };
    let words = [size as u32 & 1];
    let Ok(x) = Packed::new(model.layout(), &words) else { return false };
    let Ok(mut batch) = Minibatch::new(model, gradient) else { return false };
    let mut pass = batch.add(&PseudoLikelihood, model, x, &mut room, &mut rng).is_ok();
    pass &= batch.add(&RatioMatching::SIGMOID, model, x, &mut room, &mut rng).is_ok();
    pass &= batch.add(&RatioMatching::RATIO, model, x, &mut room, &mut rng).is_ok();
    for form in [Importance::ratio_matching(size), Importance::basic(size), Importance::uniform(size)] {
        let Ok(form) = form else { return false };
        pass &= batch.add(&form, model, x, &mut room, &mut rng).is_ok();
        pass &= form.observe_given(model, x, &[size], &mut room, &mut batch).is_ok();
        pass &= form.proposal(model, x, &mut room, &mut [0.0; 5]).is_ok();
    }
    pass &= returns(&mut batch) & batch.finish().loss.is_finite();
    let mut states = [0; 3];
    let Ok(mut replay) = Replay::new(model.layout(), &mut states) else { return false };
    replay.randomise(&mut rng);
    let slot = replay.pick(&mut rng);
    pass &= replay.set(slot, size, 1).is_ok();
    let schedule =
        CyclicalLearning { period: 4, large: (number, 0.9, 2), small: (number, 3), retune: 2, adjusted: false };
    let Ok((kernel, steps)) = schedule.at(size as u64) else { return false };
    pass &= schedule.is_due(size as u64);
    let Ok(mut contrast) = Contrast::new(model, 2, size as u32, gradient) else { return false };
    pass &= contrast.data(model, x, &mut room).is_ok();
    pass &= contrast.diverge(model, x, (&kernel, steps), &mut room, &mut rng).is_ok();
    pass &= contrast.persist(model, (&mut replay, size), (&kernel, steps), &mut room, &mut rng).is_ok();
    pass &= returns(&mut contrast) & returns(&mut replay) & contrast.finish().loss.is_finite();
    let (Ok(mut sgd), Ok(mut adam)) = (Sgd::new(number), Adam::new(&mut moments, number)) else { return false };
    let penalty = lasso(number, &theta, gradient) + decay(number, &theta, gradient) + clip(number, gradient);
    sgd.step(gradient, &mut theta);
    adam.step(gradient, &mut theta);
    pass &= returns(&mut sgd) & returns(&mut adam) & returns(&mut { schedule });
    pass & penalty.is_finite() & (adam.skipped() == 0)
}
