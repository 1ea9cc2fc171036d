//! Continuous chains.

use super::Source;
use crate::used;
use bitmc::flow::{
    DenseGaussian, DiagonalGaussian, Esh, Funnel, Hmc, HmcChain, Leap, Mixture, Mlp, NoseHoover, Potential,
    Reservoir, StepControl, StepSize, Unscaled, blocks,
};
use bitmc::lane::{Block, LANES};

/// One potential, and one of the samplers.
pub(super) fn run(source: &mut Source<'_>) {
    let dim = 1 + source.below(20);
    // `None` where something is refused.
    let _ = match source.below(5) {
        0 => gaussian(dim, source),
        1 => dense(dim, source),
        2 => Funnel::new(dim, source.parameter()).ok().and_then(|model| chain(&model, source)),
        3 => mixture(dim, source),
        _ => network(dim, source),
    };
}

/// Vectors, one behind the other.
fn vectors(dim: usize, count: usize, mut number: impl FnMut() -> f32) -> Vec<Block> {
    let mut vectors = vec![[0.0; LANES]; count * blocks(dim)];
    for vector in vectors.chunks_mut(blocks(dim)) {
        vector.as_flattened_mut()[..dim].fill_with(&mut number);
    }
    vectors
}

fn gaussian(dim: usize, source: &mut Source<'_>) -> Option<()> {
    let means = vectors(dim, 1, || source.float());
    let precisions = vectors(dim, 1, || source.float().abs());
    chain(&DiagonalGaussian::new(dim, &means, &precisions).ok()?, source)
}

fn dense(dim: usize, source: &mut Source<'_>) -> Option<()> {
    let means = vectors(dim, 1, || source.float());
    let mut rows = vectors(dim, dim, || 0.0);
    for a in 0..dim {
        for b in 0..=a {
            let entry = if a == b { 64.0 + source.float() } else { source.float() / 4.0 };
            for (row, column) in [(a, b), (b, a)] {
                rows[row * blocks(dim) + column / LANES][column % LANES] = entry;
            }
        }
    }
    chain(&DenseGaussian::new(dim, &means, &rows).ok()?, source)
}

fn mixture(dim: usize, source: &mut Source<'_>) -> Option<()> {
    let weights = source.some_floats(4);
    let means = vectors(dim, weights.len(), || source.float());
    chain(&Mixture::new(dim, &means, &weights, source.parameter()).ok()?, source)
}

fn network(dim: usize, source: &mut Source<'_>) -> Option<()> {
    let widths = [dim, 1 + source.below(20)];
    let mut numbers = source.some_floats(64).into_iter().cycle();
    let mut next = || numbers.next().unwrap();
    let parameters = [vectors(widths[1], 1 + dim, &mut next), vectors(1, 1 + widths[1], &mut next)].concat();
    chain(&Mlp::new(&widths, &parameters).ok()?, source)
}

/// What a leap may report.
fn leapt(leap: &Leap) {
    assert!(leap.fault || (leap.energy.is_finite() && !leap.log_time.is_nan()), "{leap:?}");
}

fn chain(model: &dyn Potential, source: &mut Source<'_>) -> Option<()> {
    let (dim, size) = (model.dim(), StepSize::new(source.parameter()).ok()?);
    let (start, direction) = (source.floats(dim), source.floats(dim));
    let memory: Vec<Block> = used::memory(5 * blocks(dim) + model.scratch_len());
    let steps = 1 + source.below(20);
    match source.below(4) {
        0 => {
            let mut chain = HmcChain::new(model, memory, &start).ok()?;
            let hmc = match source.below(3) {
                0 => Hmc::langevin(size),
                1 => Hmc::unadjusted_langevin(size),
                _ => Hmc::new(size, source.below(16) as u32).ok()?,
            };
            for _ in 0..steps {
                let before = (chain.position().to_vec(), chain.energy());
                let proposal = chain.step(&hmc, source);
                assert!(!proposal.log_ratio.is_nan(), "{proposal:?}");
                assert!(!proposal.accepted || !proposal.fault, "{proposal:?}");
                assert!(proposal.accepted || (chain.position(), chain.energy()) == (&before.0, before.1));
                assert!(chain.energy().is_finite() && chain.position().iter().all(|x| x.is_finite()));
            }
        }
        1 => {
            let mut control = StepControl::new(size, source.parameter()).ok()?;
            let mut chain = Esh::new(model, memory, &start, &direction).ok()?;
            let mut kept = Reservoir::new(vec![[0.0; LANES]; blocks(dim)]);
            for _ in 0..steps {
                let leap = chain.step(control.step_size());
                leapt(&leap);
                control.observe(&leap);
                kept.offer(chain.position_blocks(), leap.log_time, source);
                if source.one_in(8) {
                    chain.refresh(source);
                    chain.reverse();
                }
            }
        }
        2 => {
            let mut chain = NoseHoover::new(model, memory, &start, source.parameter(), source).ok()?;
            (0..steps).for_each(|_| leapt(&chain.step(size)));
        }
        _ => {
            let mut chain = Unscaled::new(model, memory, &start, &direction).ok()?;
            (0..steps).for_each(|_| leapt(&chain.step(size)));
        }
    }
    Some(())
}
