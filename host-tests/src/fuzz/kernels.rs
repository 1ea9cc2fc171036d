//! Every sampler that takes any energy.

use super::Source;
use crate::heap::Couplings;
use crate::used;
use bitmc::accept::Info;
use bitmc::chain::Ring;
use bitmc::lane::{Bits, Block, LANES};
use bitmc::noise::{Dense, DenseMatrix, Diagonal, Edgewise, MinTrace, Run, SparseMatrix, Symmetric, constant};
use bitmc::step::{Curvature, Cycle};
use bitmc::{
    Energy, EnumeratedGibbs, Gibbs, GibbsWithGradients, HammingBall, Kernel, Langevin, Layout, LocallyBalanced,
    Open, OpenError, Packed, PathAuxiliary, RandomWalk, Rng, Swap,
};

/// Memory that a sampler may borrow.
#[derive(Debug)]
pub(super) struct Room {
    couplings: Couplings,
    runs: Vec<Run>,
    d: Vec<Block>,
    rows: Vec<Block>,
    root: Vec<Block>,
}

impl Default for Room {
    fn default() -> Self {
        Self { couplings: Couplings::new(0, 0), runs: vec![], d: vec![], rows: vec![], root: vec![] }
    }
}

/// A sampler of any kind.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AnyKernel<'a> {
    Langevin(Langevin<'a>),
    Diagonal(Langevin<'a, Diagonal<'a>>),
    Edgewise(Langevin<'a, Edgewise<'a>>),
    Dense(Langevin<'a, Dense<'a>>),
    RandomWalk(RandomWalk),
    Gibbs(Gibbs),
    Gwg(GibbsWithGradients),
    Path(PathAuxiliary),
    Local(LocallyBalanced),
    Blocks(EnumeratedGibbs),
    Ball(HammingBall),
    Swap(Swap),
    Cycle(Cycle<'a, Langevin<'static>>),
}

impl<E: Energy + ?Sized> Kernel<E> for AnyKernel<'_> {
    fn step<R: Rng + ?Sized>(&self, ring: Ring<'_, E>, rng: &mut R) -> Info {
        match self {
            Self::Langevin(kernel) => kernel.step(ring, rng),
            Self::Diagonal(kernel) => kernel.step(ring, rng),
            Self::Edgewise(kernel) => kernel.step(ring, rng),
            Self::Dense(kernel) => kernel.step(ring, rng),
            Self::RandomWalk(kernel) => kernel.step(ring, rng),
            Self::Gibbs(kernel) => kernel.step(ring, rng),
            Self::Gwg(kernel) => kernel.step(ring, rng),
            Self::Path(kernel) => kernel.step(ring, rng),
            Self::Local(kernel) => kernel.step(ring, rng),
            Self::Blocks(kernel) => kernel.step(ring, rng),
            Self::Ball(kernel) => kernel.step(ring, rng),
            Self::Swap(kernel) => kernel.step(ring, rng),
            Self::Cycle(kernel) => kernel.step(ring, rng),
        }
    }
}

impl<'a> AnyKernel<'a> {
    /// The first half of a step: the state that it proposes. `None` where this sampler's step has no halves.
    pub(crate) fn ask<'c, W, C, B>(
        &self,
        chain: &'c mut Open<'_, W, C, B>,
        gradient: &[f32],
        rng: &mut (impl Rng + ?Sized),
    ) -> Option<Result<Packed<'c>, OpenError>>
    where
        W: AsMut<[u32]> + AsRef<[u32]>,
        C: AsMut<[Bits]>,
        B: AsMut<[Block]> + AsRef<[Block]>,
    {
        Some(match self {
            Self::Langevin(kernel) => chain.ask_with(kernel, gradient, rng),
            Self::Diagonal(kernel) => chain.ask_with(kernel, gradient, rng),
            Self::Edgewise(kernel) => chain.ask_with(kernel, gradient, rng),
            Self::Dense(kernel) => chain.ask_with(kernel, gradient, rng),
            Self::RandomWalk(kernel) => chain.ask_with(kernel, gradient, rng),
            Self::Gwg(kernel) => chain.ask_with(kernel, gradient, rng),
            Self::Path(kernel) => chain.ask_with(kernel, gradient, rng),
            Self::Cycle(kernel) => chain.ask_with(kernel, gradient, rng),
            Self::Gibbs(_) | Self::Local(_) | Self::Blocks(_) | Self::Ball(_) | Self::Swap(_) => return None,
        })
    }

    /// One that suits a layout most often. `None` where its parameters are refused.
    pub(super) fn choose(layout: Layout, room: &'a mut Room, source: &mut Source<'_>) -> Option<Self> {
        // Now and then for another number of sites: a chain must refuse the steps, and not harm itself.
        let layout = if source.one_in(32) { Layout::binary(source.sites()) } else { layout };
        let sites = layout.sites();
        Some(match source.below(16) {
            0..=3 => Self::Langevin(langevin(layout, room, source)?),
            4 => {
                room.d = blocks(layout, source);
                second_order(Diagonal::new(&room.d).ok()?, source).map(Self::Diagonal)?
            }
            5 => second_order(edgewise(sites, room, source)?, source).map(Self::Edgewise)?,
            6 => second_order(dense(sites, room, source)?, source).map(Self::Dense)?,
            7 => Self::RandomWalk(RandomWalk::new(source.parameter()).ok()?),
            8 => Self::Gibbs(Gibbs::systematic()),
            9 => Self::Gibbs(Gibbs::random(source.byte().into()).ok()?),
            10 => Self::Gwg(GibbsWithGradients::new(source.byte().into()).ok()?),
            11 => Self::Path(PathAuxiliary::new(source.byte().into()).ok()?),
            12 => Self::Local(LocallyBalanced),
            13 => Self::Blocks(EnumeratedGibbs::new(layout, source.below(14)).ok()?),
            14 => Self::Ball(HammingBall::new(layout, source.below(14), source.below(4)).ok()?),
            _ => Self::Swap(Swap),
        })
    }
}

/// First order.
pub(super) fn langevin<'a>(
    layout: Layout,
    room: &'a mut Room,
    source: &mut Source<'_>,
) -> Option<Langevin<'a>> {
    let kind = source.below(6);
    if kind > 3 {
        room.d = blocks(layout, source);
    }
    let kernel = match kind {
        0 => Langevin::adjusted(source.parameter()),
        1 => Langevin::unadjusted(source.parameter()),
        2 => Langevin::balanced(source.parameter(), balance(source)),
        3 => Langevin::new(balance(source), Curvature::Same(source.parameter()), source.one_in(2)),
        4 => Langevin::new(balance(source), Curvature::Each(&room.d), source.one_in(2)),
        _ => Langevin::preconditioned(source.parameter(), &room.d),
    };
    let within = [u32::MAX, source.below(8) as u32][source.below(2)];
    kernel.ok().map(|kernel| kernel.within(within))
}

/// Second order.
fn second_order<'a, N: bitmc::noise::Noise>(noise: N, source: &mut Source<'_>) -> Option<Langevin<'a, N>> {
    let step_size = if source.one_in(4) { f32::INFINITY } else { source.parameter() };
    let kernel = Langevin::second_order(noise, step_size, balance(source)).ok()?;
    if source.one_in(2) { kernel.precision(source.parameter()).ok() } else { Some(kernel) }
}

fn balance(source: &mut Source<'_>) -> f32 {
    [0.5, 1.0, source.float().abs() / 8.0][source.below(3)]
}

/// A number at least 0 a site, most often.
fn blocks(layout: Layout, source: &mut Source<'_>) -> Vec<Block> {
    let mut blocks = vec![[0.0; LANES]; layout.blocks()];
    let free = blocks.as_flattened_mut().iter_mut().take(layout.sites());
    free.for_each(|slot| *slot = source.float().abs());
    blocks
}

/// The noise of sparse couplings, edge by edge or in runs.
fn edgewise<'a>(sites: usize, room: &'a mut Room, source: &mut Source<'_>) -> Option<Edgewise<'a>> {
    let pairwise;
    (pairwise, room.couplings) = source.pairwise(sites);
    let model = room.couplings.rounded(&pairwise).ok()?;
    room.d = used::memory(Edgewise::blocks(sites));
    let matrix = SparseMatrix::of(model.form());
    let noise = Edgewise::new(matrix, &mut room.d).ok()?;
    if source.one_in(2) {
        return Some(noise);
    }
    room.runs = vec![Run::default(); Edgewise::runs(matrix)];
    noise.by_runs(&mut room.runs).ok()
}

/// The noise of a full matrix, with D from one of the methods.
fn dense<'a>(sites: usize, room: &'a mut Room, source: &mut Source<'_>) -> Option<Dense<'a>> {
    let (pairwise, mut couplings) = source.pairwise(sites);
    let model = couplings.rounded(&pairwise).ok()?;
    let diagonal = source.floats(sites);
    let matrix = SparseMatrix::with_diagonal(model.form(), &diagonal).ok()?;
    room.d = d_of(&matrix, source)?;
    room.rows = used::memory(DenseMatrix::blocks(sites));
    room.root = used::memory(Dense::root_blocks(sites));
    Dense::new(DenseMatrix::of(&matrix, &mut room.rows).ok()?, &mut room.d, &mut room.root).ok()
}

fn d_of(matrix: &impl Symmetric, source: &mut Source<'_>) -> Option<Vec<Block>> {
    let sites = matrix.sites();
    let mut d = blocks(Layout::binary(sites), source);
    let mut scratch = used::memory(3 * d.len());
    match source.below(3) {
        0 => _ = constant(matrix, source.parameter(), &mut d, &mut scratch).ok()?,
        1 => {
            let mut vectors = used::memory(MinTrace::blocks(sites));
            MinTrace::new(source.parameter(), 20).solve(matrix, &mut d, &mut vectors, &mut scratch).ok()?;
        }
        _ => {}
    }
    Some(d)
}
