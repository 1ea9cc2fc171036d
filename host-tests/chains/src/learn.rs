//! Learning, and hashes of what was learned.

use crate::hash::Hash;
use crate::steps;
use crate::used::{memory, used};
use bitmc::chain::FixedMemory;
use bitmc::energy::Boltzmann;
use bitmc::lane::Block;
use bitmc::learn::{
    Adam, Contrast, CyclicalLearning, Importance, LearnError, Minibatch, PseudoLikelihood, RatioMatching,
    Replay, Report, Sgd, clip, decay, lasso,
};
use bitmc::{LaneRng, Layout, Packed, Rbm, SeedableRng};

/// The hash of what could not be learned: no committed hash is 0.
const BROKEN: u32 = 0;

const SITES: usize = 8;
const L: Layout = Layout::binary(SITES);
const DATA: [u32; 5] = [0b1101_0001, 0b0000_1111, 0b1001_1110, 0b0110_0000, 0b1111_1011];

/// A dense Boltzmann machine by every objective in turn.
pub(crate) fn boltzmann() -> u32 {
    const BLOCKS: usize = Boltzmann::parameter_len(SITES);
    let (mut theta, mut gradient) = ([[0.0; 16]; BLOCKS], used::<_, BLOCKS>());
    let (mut moments, mut couplings) =
        (used::<_, { 2 * BLOCKS }>(), used::<_, { Boltzmann::memory_len(SITES) }>());
    let Ok(mut adam) = Adam::new(&mut moments, 0.05) else { return BROKEN };
    let (mut rng, mut hash) = (LaneRng::stream(11, 0), Hash::new());
    for iteration in 0..steps(120) {
        let Ok(model) = Boltzmann::spins(&theta, SITES, &mut couplings) else { return BROKEN };
        let Ok(report) = objective(iteration, &model, &mut gradient, &mut rng) else { return BROKEN };
        hash.floats(&[report.loss, report.log_loss, report.variance, report.log_scale]);
        hash.word(report.evaluations as u32);
        hash.float(lasso(0.01, &theta, &mut gradient));
        hash.float(decay(0.02, &theta, &mut gradient));
        hash.float(clip(2.0, &mut gradient));
        adam.step(&gradient, &mut theta);
    }
    hash.floats(theta.as_flattened());
    hash.value()
}

fn objective(
    iteration: u32,
    model: &Boltzmann<'_>,
    gradient: &mut [Block],
    rng: &mut LaneRng,
) -> Result<Report, LearnError> {
    let mut room = memory!(L, Boltzmann::cache_len(SITES));
    let mut batch = Minibatch::new(model, gradient)?;
    for word in &DATA {
        let x = Packed::new(L, core::slice::from_ref(word))?;
        match iteration % 6 {
            0 => batch.add(&RatioMatching::SIGMOID, model, x, &mut room, rng)?,
            1 => batch.add(&RatioMatching::RATIO, model, x, &mut room, rng)?,
            2 => batch.add(&Importance::ratio_matching(3)?, model, x, &mut room, rng)?,
            3 => batch.add(&Importance::basic(2)?, model, x, &mut room, rng)?,
            4 => batch.add(&Importance::uniform(2)?, model, x, &mut room, rng)?,
            _ => batch.add(&PseudoLikelihood, model, x, &mut room, rng)?,
        }
    }
    Ok(batch.finish())
}

/// An RBM by persistent contrastive divergence with a cyclical sampler.
pub(crate) fn rbm() -> u32 {
    const HIDDEN: usize = 5;
    const BLOCKS: usize = Rbm::parameter_len(SITES, HIDDEN);
    let (mut theta, mut gradient) = ([[0.0; 16]; BLOCKS], used::<_, BLOCKS>());
    // Weights that are all equal would stay so.
    for (unit, row) in theta.iter_mut().skip(2).enumerate() {
        for (hidden, weight) in row.iter_mut().take(HIDDEN).enumerate() {
            *weight = 0.25 * ((unit * 3 + hidden * 5) % 7) as f32 - 0.75;
        }
    }
    let (Ok(sgd), mut states) = (Sgd::new(0.1), [0; 4]) else { return BROKEN };
    let Ok(mut replay) = Replay::new(L, &mut states) else { return BROKEN };
    let mut rng = LaneRng::seed_from_u64(12);
    replay.randomise(&mut rng);
    let mut hash = Hash::new();
    for iteration in 0..steps(60).into() {
        let Ok(model) = Rbm::from_parameters(&theta, SITES, HIDDEN) else { return BROKEN };
        let found = cycle(iteration, &model, &mut gradient, &mut replay, &mut rng);
        let Ok(report) = found else { return BROKEN };
        hash.floats(&[report.loss, report.variance]);
        sgd.step(&gradient, &mut theta);
        hash.words(replay.words());
    }
    hash.floats(theta.as_flattened());
    hash.value()
}

fn cycle(
    iteration: u64,
    model: &Rbm<'_>,
    gradient: &mut [Block],
    replay: &mut Replay<'_>,
    rng: &mut LaneRng,
) -> Result<Report, LearnError> {
    let schedule =
        CyclicalLearning { period: 4, large: (4.0, 0.9, 2), small: (0.4, 3), retune: 0, adjusted: false };
    let Ok((kernel, steps)) = schedule.at(iteration) else { return Err(LearnError::NoSamples) };
    let mut room: FixedMemory<3, 6, 2> = memory!(L, Rbm::cache_len(5));
    let mut contrast = Contrast::new(model, 5, 4, gradient)?;
    for word in &DATA {
        contrast.data(model, Packed::new(L, core::slice::from_ref(word))?, &mut room)?;
    }
    for chain in 0..replay.len() {
        contrast.persist(model, (replay, chain), (&kernel, steps), &mut room, rng)?;
    }
    Ok(contrast.finish())
}
