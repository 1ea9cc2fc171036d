//! The any-scale balanced sampler of second order on any energy, in one call. It burns in, estimates the couplings W from the
//! moves, finds the smallest D, adapts step size and balance, and freezes them.
//!
//! [`tuned`] is that call. A [`Driver`] does it for every form of the sampler:
//!
//! ```
//! use bitmc::noise::SparseMatrix;
//! use bitmc::{Ising, SparseMemory, torus};
//! use bitmc_desktop::progress::Progress;
//! use bitmc_desktop::second_order::{Curvature, Driver, Known, Room, Which};
//!
//! let mut memory = SparseMemory::<64, 256>::new();
//! let model = Ising::spins_edges_once(64, torus(8, 8, 0.4), &[], memory.borrow())?;
//! let w = Curvature::of(&SparseMatrix::of(model.form()));
//! let driver = Driver { seed: 1, sweeps: 10, burn_in: 1000, adapt: 4000, precision: false, far: true, as_printed: false };
//! let (mut room, progress) = (Room::default(), Progress::new(true, 0));
//! let (kernel, chosen) = driver.second_order(&model, Known::Whole(&w), Which::Trace, &mut room, &progress)?;
//! println!("{chosen}"); // D, σ, α, κ, the acceptance with them, and that they are frozen
//! # let _ = kernel;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! If an energy is not quadratic, W is estimated from the burn-in. It is estimated in full ([`Known::Nothing`], up to
//! 1,024 sites), or where a pattern has entries ([`Known::Pattern`], any number of sites). Beyond 1,024 sites only
//! [`Which::Edges`] is possible.

mod curvature;
mod drive;

pub use curvature::{Curvature, Drawn, FindD, Known, Room, Which};
pub use drive::{Chosen, Driver, settled};

use crate::Error;
use crate::chains::{Moving, Walker, memory, streams, tuning};
use crate::unit::Start;
use bitmc::lane::{Block, LANES};
use bitmc::noise::{Adaptation, Dense, DenseMatrix, MinTrace, NoiseError, Parameters, Regression};
use bitmc::snapshot::{Reader, Snapshot, SnapshotError, Writer};
use bitmc::stats::Acceptance;
use bitmc::{Energy, Kind, LaneRng, Langevin, Layout, Move, Packed};

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
pub const START: Parameters = Parameters { step_size: 0.25, balance: 0.6, precision: 1.0 };

/// Sites at most: W has sites² numbers.
pub const MOST: usize = DenseMatrix::MAX_SITES;

/// W, D and the factor of W + D, with the parameters that go with them.
///
/// Memory: six times sites² floats while it is found, twice afterwards.
#[derive(Debug)]
pub struct SecondOrder {
    layout: Layout,
    rows: Vec<Block>,
    d: Vec<Block>,
    root: Vec<Block>,
    trace: f32,
    parameters: Parameters,
}

impl SecondOrder {
    /// A symmetric W by its rows ([`DenseMatrix::blocks`]), and the D of the smallest trace that goes with it.
    ///
    /// # Errors
    /// [`Error::Model`] where W is not finite or not symmetric, or has another size.
    pub fn of(layout: Layout, rows: Vec<Block>) -> Result<Self, Error> {
        let sites = layout.sites();
        let mut d = vec![[0.0; LANES]; layout.blocks()];
        let mut vectors = vec![[0.0; LANES]; MinTrace::blocks(sites)];
        let mut scratch = vec![[0.0; LANES]; 3 * layout.blocks()];
        let matrix = DenseMatrix::new(sites, &rows).map_err(Error::model)?;
        let solved = MinTrace::new(0.01, 200).solve(&matrix, &mut d, &mut vectors, &mut scratch);
        let trace = solved.map_err(Error::model)?.trace;
        let root = vec![[0.0; LANES]; Dense::root_blocks(sites)];
        Ok(Self { layout, rows, d, root, trace, parameters: START })
    }

    /// W by least squares over the moves of a burn-in (AB, Eq. 10).
    ///
    /// # Errors
    /// [`Error::Model`] where the regression is of another number of sites, or saw gradients that are not finite.
    pub fn estimated(layout: Layout, regression: &Regression<'_>) -> Result<Self, Error> {
        let blocks = DenseMatrix::blocks(layout.sites());
        let (mut rows, mut scratch) = (vec![[0.0; LANES]; blocks], vec![[0.0; LANES]; 3 * blocks]);
        regression.solve(RIDGE, ITERATIONS, &mut rows, &mut scratch).map_err(Error::model)?;
        Self::of(layout, rows)
    }

    /// Draws of N(0, W + D), factorised at each call.
    ///
    /// # Errors
    /// As [`Dense::new`].
    pub fn noise(&mut self) -> Result<Dense<'_>, NoiseError> {
        Dense::new(DenseMatrix::new(self.layout.sites(), &self.rows)?, &mut self.d, &mut self.root)
    }

    /// The sampler, and what its parameters are.
    ///
    /// # Errors
    /// [`Error::Model`] where the kernel refuses them.
    pub fn kernel(&mut self) -> Result<(Langevin<'_, Dense<'_>>, String), Error> {
        let (Parameters { step_size, balance, .. }, trace) = (self.parameters, self.trace);
        let noise = self.noise().map_err(Error::model)?;
        let kernel = Langevin::second_order(noise, step_size, balance).map_err(Error::model)?;
        Ok((kernel, format!("σ = {step_size:.3}, α = {balance:.2}, tr D = {trace:.0}")))
    }
}

/// A chain whose first steps are of first order. W is that of states that burn-in reaches. Far from them, as at fair
/// bits, a chain would not move.
#[derive(Debug)]
pub struct Warmed<'e, 'n, E: ?Sized> {
    walker: Walker<'e, E, Langevin<'n, Dense<'n>>>,
    left: u64,
}

impl<'e, 'n, E: ?Sized> Warmed<'e, 'n, E> {
    /// A chain that has not moved.
    #[must_use]
    pub fn new(walker: Walker<'e, E, Langevin<'n, Dense<'n>>>) -> Self {
        Self { walker, left: FIRST }
    }
}

impl<E: Energy + ?Sized> Snapshot for Warmed<'_, '_, E> {
    fn save(&self, to: &mut Writer<'_>) {
        self.walker.save(to);
        self.left.save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.walker.load(from)?;
        self.left.load(from)
    }
}

impl<E: Energy + Sync + ?Sized> Moving for Warmed<'_, '_, E> {
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

    fn refresh(&mut self) {
        self.walker.refresh();
    }

    fn acceptance(&mut self) -> &mut Acceptance {
        self.walker.acceptance()
    }
}

/// Finds W by least squares over the moves of first-order chains from fair bits, and takes the D of the smallest
/// trace. Finds σ and α by jump distance along one of the chains (AB, Algorithms 3–4 and Eq. 10).
///
/// # Errors
/// [`Error::Model`] where there are more than [`MOST`] sites, or the energy has another shape than W can have: sites of two
/// values, or ordinal ones.
pub fn tuned<E: Energy + Sync + ?Sized>(energy: &E, seed: u64) -> Result<SecondOrder, Error> {
    tuned_from(energy, seed, &[])
}

/// The same; where the energy forbids a random state, one of these starts takes its place.
pub(crate) fn tuned_from<E: Energy + Sync + ?Sized>(
    energy: &E,
    seed: u64,
    starts: &[Start],
) -> Result<SecondOrder, Error> {
    let layout = energy.layout();
    let sites = layout.sites();
    if sites > MOST {
        return Err(Error::model(format!("second order: {sites} sites, at most {MOST} are possible")));
    }
    if layout.kind() == Kind::Categorical {
        return Err(Error::model(
            "second order: sites of two values, or whole numbers in order, are needed; values of Potts and graphical models are categories, even two",
        ));
    }
    let first = Langevin::balanced(START.step_size, START.balance).map_err(Error::model)?;
    let mut room = vec![[0.0; LANES]; Regression::blocks(sites)];
    let mut regression = Regression::new(sites, &mut room).map_err(Error::model)?;
    // Other generators than those of the chains that are shown.
    for (index, mut rng) in streams(!seed).take(CHAINS).enumerate() {
        let start = starts.get(index % starts.len().max(1));
        let mut chain = tuning(energy, start, &mut rng)?;
        chain.run(&first, &mut rng, BURN_IN, &mut ());
        let mut from = chain.state().words().to_vec();
        let mut before = gradient(energy, chain.state())?;
        for _ in 0..TAKEN {
            if chain.step(&first, &mut rng).moved() > 0 {
                let after = gradient(energy, chain.state())?;
                let from_state = Packed::new(layout, &from).map_err(Error::model)?;
                let step = Move::new(from_state, chain.state()).map_err(Error::model)?;
                regression.push(&step, &before, &after).map_err(Error::model)?;
                before = after;
                from.copy_from_slice(chain.state().words());
            }
        }
    }
    let mut found = SecondOrder::estimated(layout, &regression)?;
    let rng = &mut LaneRng::stream(!seed, 0);
    found.parameters = adapted(energy, found.noise().map_err(Error::model)?, starts.first(), rng)?;
    Ok(found)
}

fn gradient<E: Energy + ?Sized>(energy: &E, x: Packed<'_>) -> Result<Vec<Block>, Error> {
    let mut cache = memory(energy).cache;
    energy.init(x, &mut cache).map_err(Error::model)?;
    let mut gradient = vec![[0.0; LANES]; x.layout().gradient_blocks()];
    energy.gradient(x, &cache, 0..x.layout().rows(), &mut gradient);
    Ok(gradient)
}

/// σ and α along one chain, which burns in first.
fn adapted<E: Energy + ?Sized>(
    energy: &E,
    noise: Dense<'_>,
    start: Option<&Start>,
    rng: &mut LaneRng,
) -> Result<Parameters, Error> {
    let kernel =
        |now: Parameters| Langevin::second_order(noise, now.step_size, now.balance).map_err(Error::model);
    let mut chain = tuning(energy, start, rng)?;
    chain.run(&kernel(START)?, rng, BURN_IN, &mut ());
    let mut adaptation = Adaptation::new(START);
    for _ in 0..ADAPTED {
        let info = chain.step(&kernel(adaptation.parameters())?, rng);
        adaptation.observe(&info);
    }
    adaptation.freeze();
    Ok(adaptation.parameters())
}
