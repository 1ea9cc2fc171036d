//! Chains of second order whose W, D and parameters come from a burn-in of their own.

use crate::hash::Hash;
use crate::models::{self, Ladder};
use crate::run::BROKEN;
use crate::steps;
use crate::used::{borrowed, memory, used};
use bitmc::lane::{Bits, Block, LANES};
use bitmc::noise::{
    Adaptation, Dense, DenseMatrix, Edgewise, Fit, MinTrace, Noise, NoiseError, Parameters, Regression,
    SparseMatrix, SparseRegression,
};
use bitmc::{Chain, Energy, Ising, LaneRng, Langevin, Move, Packed, SparseMemory};
use bitmc::{Layout, Plain, torus};

/// Steps whose moves W is estimated from, steps that adapt, and steps after them.
const BURN_IN: u32 = steps(400);
const ADAPT: u32 = steps(2000);
const FROZEN: u32 = steps(400);
/// The ridge, and the most iterations.
const RIDGE: f32 = 1e-3;
const ITERATIONS: u32 = 50;

/// A full W by least squares, D of the smallest trace; on a torus of nine spins.
pub(crate) fn full() -> u32 {
    const SITES: usize = 9;
    let mut couplings = SparseMemory::<SITES, 36>::new();
    let model = Ising::spins_edges_once(SITES, torus(3, 3, 0.2), &[0.1; SITES], borrowed(&mut couplings));
    let Ok(model) = model else { return BROKEN };
    let mut rng = LaneRng::stream(9, 5);
    let memory = memory!(Layout::binary(SITES), Ising::cache_len(SITES));
    let Ok(mut chain) = Chain::random(&model, memory, &mut rng) else { return BROKEN };
    let mut hash = Hash::new();
    let mut run = || {
        let mut memory = used::<_, { Regression::blocks(SITES) }>();
        let mut regression = Regression::new(SITES, &mut memory)?;
        burn_in(&mut chain, &mut rng, |step, before, after| _ = regression.push(step, before, after));
        let mut rows = used::<_, { DenseMatrix::blocks(SITES) }>();
        let mut scratch = used::<_, { 3 * DenseMatrix::blocks(SITES) }>();
        found(&mut hash, regression.solve(RIDGE, ITERATIONS, &mut rows, &mut scratch)?);
        let w = DenseMatrix::new(SITES, &rows)?;
        let (mut d, mut vectors) = (used::<_, 1>(), used::<_, { MinTrace::blocks(SITES) }>());
        MinTrace::new(2e-3, 100).solve(&w, &mut d, &mut vectors, &mut scratch)?;
        let mut root = used::<_, { Dense::root_blocks(SITES) }>();
        let noise = Dense::new(w, &mut d, &mut root)?;
        adapted(&mut hash, &mut chain, &mut rng, noise)
    };
    run().map_or(BROKEN, |()| hash.value())
}

/// W by least squares where a chain of sites has couplings, and its own D; whole numbers.
pub(crate) fn on_a_pattern() -> u32 {
    const SITES: usize = 20;
    let (mut pattern, mut couplings) = (SparseMemory::<SITES, 38>::new(), SparseMemory::<SITES, 38>::new());
    let edges = (0..19).map(|site| (site, site + 1, 1.0));
    let Ok(pattern) = Ising::bits_edges_once(SITES, edges, &[], borrowed(&mut pattern)) else { return BROKEN };
    let (model, mut rng) = (Plain(Ladder), LaneRng::stream(9, 6));
    let Ok(mut chain) = Chain::random(&model, memory!(models::LADDER, 1), &mut rng) else { return BROKEN };
    let mut hash = Hash::new();
    let mut run = || {
        // Σ (degree + 1)(degree + 2) numbers.
        let mut memory = used::<_, 16>();
        let mut regression = SparseRegression::new(pattern.form(), &mut memory)?;
        burn_in(&mut chain, &mut rng, |step, before, after| _ = regression.push(step, before, after));
        let (mut w, mut scratch) = (used::<_, 4>(), used::<_, 12>());
        found(&mut hash, regression.solve(RIDGE, ITERATIONS, &mut w, &mut scratch)?);
        let mut diagonal = [0.0; SITES];
        regression.diagonal(&w, &mut diagonal);
        let model = Ising::bits_edges_once(SITES, regression.edges(&w), &[], borrowed(&mut couplings));
        let Ok(model) = model else { return Err(NoiseError::Gradient) };
        let matrix = SparseMatrix::with_diagonal(model.form(), &diagonal)?;
        let mut d = used::<_, { SITES.div_ceil(LANES) }>();
        let noise = Edgewise::new(matrix, &mut d)?;
        adapted(&mut hash, &mut chain, &mut rng, noise)
    };
    run().map_or(BROKEN, |()| hash.value())
}

/// Steps of first order, and each that moves with the gradients at both ends.
fn burn_in<E: Energy, W: AsMut<[u32]> + AsRef<[u32]>, C: AsMut<[Bits]>, B: AsMut<[Block]>>(
    chain: &mut Chain<'_, E, W, C, B>,
    rng: &mut LaneRng,
    mut push: impl FnMut(&Move<'_>, &[Block], &[Block]),
) {
    let (model, layout) = (chain.model(), chain.model().layout());
    let gradient = |x: Packed<'_>| {
        let (mut cache, mut out) = (used::<_, 2>(), used::<_, 2>());
        let known = model.init(x, &mut cache).is_ok();
        model.gradient(x, &cache, 0..layout.rows(), &mut out);
        known.then_some(out)
    };
    let Ok(kernel) = Langevin::balanced(0.5, 0.6) else { return };
    for _ in 0..BURN_IN {
        let mut before = [0; 3];
        before.iter_mut().zip(chain.state().words()).for_each(|(slot, &word)| *slot = word);
        chain.step(&kernel, rng);
        let Ok(before) = Packed::new(layout, before.get(..layout.words()).unwrap_or_default()) else { return };
        let Ok(step) = Move::new(before, chain.state()) else { return };
        if let (1.., Some(here), Some(there)) = (step.count(), gradient(before), gradient(chain.state())) {
            push(&step, &here, &there);
        }
    }
}

fn found(hash: &mut Hash, fit: Fit) {
    hash.float(fit.residual);
    hash.word(fit.iterations);
}

/// σ, α and κ adapted, then frozen.
fn adapted<E: Energy, W: AsMut<[u32]> + AsRef<[u32]>, C: AsMut<[Bits]>, B: AsMut<[Block]>>(
    hash: &mut Hash,
    chain: &mut Chain<'_, E, W, C, B>,
    rng: &mut LaneRng,
    noise: impl Noise + Copy,
) -> Result<(), NoiseError> {
    hash.floats(noise.d().unwrap_or_default().as_flattened());
    let mut adaptation = Adaptation::new(Parameters::START).with_precision();
    for step in 0..ADAPT + FROZEN {
        if step == ADAPT {
            adaptation.freeze();
        }
        let Parameters { step_size, balance, precision } = adaptation.parameters();
        hash.floats(&[step_size, balance, precision]);
        let kernel = Langevin::second_order(noise, step_size, balance).and_then(|k| k.precision(precision));
        let Ok(kernel) = kernel else { return Err(NoiseError::Gradient) };
        let info = chain.step(&kernel, rng);
        adaptation.observe(&info);
        hash.info(&info);
        hash.words(chain.state().words());
    }
    Ok(())
}
