//! AB of second order on an energy that is not quadratic: W, D, σ and α from burn-in.

use crate::chains::{Moving, Walker, memory, streams};
use crate::cli::Failure;
use bitmc::lane::{Block, LANES};
use bitmc::noise::{Adaptation, Dense, DenseMatrix, MinTrace, NoiseError, Parameters, Regression};
use bitmc::snapshot::{Reader, Snapshot, SnapshotError, Writer};
use bitmc::stats::Acceptance;
use bitmc::{Chain, Energy, LaneRng, Langevin, Layout, Move, Packed, Rbm};

/// Chains of the burn-in, steps of each before its moves are taken, and steps whose moves are taken.
const CHAINS: usize = 16;
const BURN_IN: u64 = 1000;
const TAKEN: u64 = 300;

/// First steps of every chain that are of first order.
const FIRST: u64 = 100;

/// Steps that adapt σ and α: a dozen rounds of six candidates of 100 steps each.
const ADAPTED: u64 = 7200;

/// Iterations of the least squares, and its ridge.
const ITERATIONS: u32 = 30;
const RIDGE: f32 = 1e-3;

/// Where the parameters begin, those of the first order.
const START: Parameters = Parameters { step_size: 0.25, balance: 0.6, precision: 1.0 };

/// W, D and the factor of W + D, with the parameters that go with them.
#[derive(Debug)]
pub(super) struct SecondOrder {
    layout: Layout,
    rows: Vec<Block>,
    d: Vec<Block>,
    root: Vec<Block>,
    trace: f32,
    parameters: Parameters,
}

impl SecondOrder {
    fn noise(&mut self) -> Result<Dense<'_>, NoiseError> {
        Dense::new(DenseMatrix::new(self.layout.sites(), &self.rows)?, &mut self.d, &mut self.root)
    }

    /// The sampler, and what its parameters are.
    pub(super) fn kernel(&mut self) -> Result<(Langevin<'_, Dense<'_>>, String), Failure> {
        let (Parameters { step_size, balance, .. }, trace) = (self.parameters, self.trace);
        let noise = self.noise().map_err(Failure::option)?;
        let kernel = Langevin::second_order(noise, step_size, balance).map_err(Failure::option)?;
        Ok((kernel, format!("σ = {step_size:.3}, α = {balance:.2}, tr D = {trace:.0}")))
    }
}

/// A chain whose first steps are of first order: W is that of states that burn-in reaches, and far from them, as at
/// fair bits, a chain would stand still.
#[derive(Debug)]
pub(super) struct Warmed<'e, 'n> {
    walker: Walker<'e, Rbm<'e>, Langevin<'n, Dense<'n>>>,
    left: u64,
}

impl<'e, 'n> Warmed<'e, 'n> {
    pub(super) fn new(walker: Walker<'e, Rbm<'e>, Langevin<'n, Dense<'n>>>) -> Self {
        Self { walker, left: FIRST }
    }
}

impl Snapshot for Warmed<'_, '_> {
    fn save(&self, to: &mut Writer<'_>) {
        self.walker.save(to);
        self.left.save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.walker.load(from)?;
        self.left.load(from)
    }
}

impl Moving for Warmed<'_, '_> {
    fn advance(&mut self, steps: u64) {
        let early = steps.min(self.left);
        if early > 0 {
            let first = Langevin::balanced(START.step_size, START.balance).expect("legal parameters");
            let Walker { chain, rng, acceptance, .. } = &mut self.walker;
            chain.run(&first, rng, early, acceptance);
            self.left -= early;
        }
        self.walker.advance(steps - early);
    }

    fn state(&self) -> Packed<'_> {
        self.walker.state()
    }

    fn energy(&self) -> f32 {
        self.walker.energy()
    }

    fn acceptance(&mut self) -> &mut Acceptance {
        self.walker.acceptance()
    }
}

/// W by least squares over the moves of first-order chains from fair bits, the D of the smallest trace, and σ and
/// α by jump distance along one of the chains (AB, Algorithms 3–4 and Eq. 10).
pub(super) fn tuned(rbm: &Rbm<'_>, seed: u64) -> Result<SecondOrder, Failure> {
    let layout = rbm.layout();
    let sites = layout.sites();
    let first = Langevin::balanced(START.step_size, START.balance).map_err(Failure::option)?;
    let mut room = vec![[0.0; LANES]; Regression::blocks(sites)];
    let mut regression = Regression::new(sites, &mut room).map_err(Failure::option)?;
    // Other generators than those of the chains that are shown.
    for mut rng in streams(!seed).take(CHAINS) {
        let mut chain = Chain::random(rbm, memory(rbm), &mut rng).map_err(Failure::option)?;
        chain.run(&first, &mut rng, BURN_IN, &mut ());
        let mut from = chain.state().words().to_vec();
        let mut before = gradient(rbm, chain.state())?;
        for _ in 0..TAKEN {
            if chain.step(&first, &mut rng).moved() > 0 {
                let after = gradient(rbm, chain.state())?;
                let from_state = Packed::new(layout, &from).map_err(Failure::option)?;
                let step = Move::new(from_state, chain.state()).map_err(Failure::option)?;
                regression.push(&step, &before, &after).map_err(Failure::option)?;
                before = after;
                from.copy_from_slice(chain.state().words());
            }
        }
    }
    let mut rows = vec![[0.0; LANES]; DenseMatrix::blocks(sites)];
    let mut scratch = vec![[0.0; LANES]; 3 * DenseMatrix::blocks(sites)];
    regression.solve(RIDGE, ITERATIONS, &mut rows, &mut scratch).map_err(Failure::option)?;
    let mut d = vec![[0.0; LANES]; layout.blocks()];
    let mut vectors = vec![[0.0; LANES]; MinTrace::blocks(sites)];
    let mut scratch = vec![[0.0; LANES]; 3 * layout.blocks()];
    let matrix = DenseMatrix::new(sites, &rows).map_err(Failure::option)?;
    let solved = MinTrace::new(0.01, 200).solve(&matrix, &mut d, &mut vectors, &mut scratch);
    let trace = solved.map_err(Failure::option)?.trace;
    let root = vec![[0.0; LANES]; Dense::root_blocks(sites)];
    let mut found = SecondOrder { layout, rows, d, root, trace, parameters: START };
    found.parameters = adapted(rbm, found.noise().map_err(Failure::option)?, &mut LaneRng::stream(!seed, 0))?;
    Ok(found)
}

fn gradient(rbm: &Rbm<'_>, x: Packed<'_>) -> Result<Vec<Block>, Failure> {
    let mut cache = memory(rbm).cache;
    rbm.init(x, &mut cache).map_err(Failure::option)?;
    let mut gradient = vec![[0.0; LANES]; x.layout().gradient_blocks()];
    rbm.gradient(x, &cache, 0..x.layout().rows(), &mut gradient);
    Ok(gradient)
}

/// σ and α along one chain, which burns in first.
fn adapted(rbm: &Rbm<'_>, noise: Dense<'_>, rng: &mut LaneRng) -> Result<Parameters, Failure> {
    let kernel =
        |now: Parameters| Langevin::second_order(noise, now.step_size, now.balance).map_err(Failure::option);
    let mut chain = Chain::random(rbm, memory(rbm), rng).map_err(Failure::option)?;
    chain.run(&kernel(START)?, rng, BURN_IN, &mut ());
    let mut adaptation = Adaptation::new(START);
    for _ in 0..ADAPTED {
        let info = chain.step(&kernel(adaptation.parameters())?, rng);
        adaptation.observe(&info);
    }
    adaptation.freeze();
    Ok(adaptation.parameters())
}
