//! Random samplers: their parameters, and the kernel's samplers made of them.

use super::memory;
use super::model::Model;
use crate::fuzz::kernels::AnyKernel;
use crate::heap::Couplings;
use crate::models::{Source, pairwise};
use crate::naive::{Convention, Pairwise};
use bitmc::accept::Info;
use bitmc::chain::Ring;
use bitmc::energy::Sparse;
use bitmc::lane::{Block, LANES};
use bitmc::noise::{Dense, DenseMatrix, Diagonal, Edgewise, Noise, Run, SparseMatrix, constant};
use bitmc::step::{
    Choice, ChromaticGibbs, Colouring, Curvature, Cycle, IsingBalanced, IsingLangevin, SequentialGibbs,
    SwendsenWang, Transition, Wolff,
};
use bitmc::{
    BlockGibbs, Energy, EnumeratedGibbs, Gibbs, GibbsWithGradients, HammingBall, Ising, Kernel, Kind, Langevin,
    Layout, LocallyBalanced, Packed, PathAuxiliary, Potts, RandomWalk, Rbm, Rng, Swap,
};

/// A sampler by its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    /// What it is, for reports.
    pub(crate) name: &'static str,
    /// α or σ.
    pub(crate) step_size: f32,
    /// β of the proposal.
    pub(crate) balance: f32,
    /// κ.
    pub(crate) precision: f32,
    /// How far ordinal sites go.
    pub(crate) window: u32,
    /// Indices, sites of a block, updates.
    pub(crate) number: u32,
    /// Of a ball.
    pub(crate) radius: usize,
    /// The share of the noise that is kept from step to step, where it is of second order.
    pub(crate) momentum: f32,
    /// Whether sites flip with min(1, e^z) there.
    pub(crate) metropolis: bool,
    /// Without its Metropolis test: a negative control.
    pub(crate) unadjusted: bool,
    /// For noise, curvatures and the like.
    pub(crate) seed: u64,
}

/// Samplers of any energy.
const ANY: [&str; 16] = [
    "Langevin",
    "Langevin",
    "Langevin",
    "Langevin, preconditioned",
    "Langevin, windowed",
    "AB, diagonal",
    "AB-edge",
    "AB, dense",
    "Langevin cycle",
    "random walk",
    "Gibbs",
    "Gibbs, random scan",
    "GWG",
    "PAS",
    "locally balanced",
    "swap",
];
/// Samplers of sites of many values.
const MANY: [&str; 11] = [
    "Langevin",
    "Langevin, preconditioned",
    "Langevin, windowed",
    "AB, diagonal",
    "Langevin cycle",
    "random walk",
    "Gibbs",
    "GWG",
    "PAS",
    "locally balanced",
    "swap",
];
const BLOCKS: [&str; 2] = ["enumerated Gibbs", "Hamming ball"];
const CLUSTERS: [&str; 2] = ["Swendsen-Wang", "Wolff"];
const POTTS: [&str; 3] = ["chromatic Gibbs", CLUSTERS[0], CLUSTERS[1]];
const ISING: [&str; 8] = [
    "sequential Gibbs",
    "chromatic Gibbs",
    "Ising Langevin",
    "Ising balanced",
    "Ising balanced, runs",
    "Ising balanced, discrete",
    CLUSTERS[0],
    CLUSTERS[1],
];

impl Recipe {
    /// One for a model.
    pub(crate) fn random(model: &Model, source: &mut Source) -> Self {
        let own = model.path.is_none() && source.one_in(2);
        let many = model.shape.layout.many_values();
        let name = match model.kind {
            "Ising" | "rows of whole numbers" if own => source.pick(&ISING),
            "Potts" if own => source.pick(&POTTS),
            "RBM" if own => "block Gibbs",
            _ if many => source.pick(&MANY),
            _ if source.one_in(8) => source.pick(&BLOCKS),
            _ => source.pick(&ANY),
        };
        let size = 10f64.powf(4.0 * source.uniform() - 1.5) as f32;
        let step_size = if source.one_in(4) { source.pick(&[0.05, 1000.0, 1e-3, 1e6]) } else { size };
        Self {
            name,
            step_size,
            balance: if source.one_in(2) { 0.5 } else { source.pick(&[0.01, 0.3, 0.8, 1.0]) },
            precision: source.pick(&[1.0, 0.5, 2.0]),
            window: 1 + source.below(3) as u32,
            number: 1 + source.below(4) as u32,
            radius: 1 + source.below(3),
            unadjusted: false,
            seed: source.word().into(),
            momentum: source.pick(&[0.0, 0.0, 0.3, 0.9]),
            metropolis: source.one_in(2),
        }
    }

    /// σ: sometimes infinite.
    fn sigma(&self) -> f32 {
        if self.seed.is_multiple_of(3) { f32::INFINITY } else { self.step_size }
    }

    /// In words.
    #[must_use]
    pub(crate) fn describe(&self) -> String {
        let Self { name, step_size, balance, precision, number, momentum, metropolis, .. } = self;
        let more = if self.keeps() {
            format!(", momentum {momentum}, Metropolis {metropolis}")
        } else {
            String::new()
        };
        format!(
            "{name} (step size {step_size:.3}, balance {balance}, precision {precision}, number {number}{more})"
        )
    }

    /// Whether it may have a momentum.
    pub(crate) fn keeps(&self) -> bool {
        self.name.starts_with("Ising balanced") || ["AB-edge", "AB, dense"].contains(&self.name)
    }

    /// Of second order: its momentum and its flips.
    fn moving<'a, N: Noise>(&self, layout: Layout, noise: N) -> Result<Langevin<'a, N>, String> {
        let kernel = Langevin::second_order(noise, self.sigma(), self.balance).map_err(said)?;
        let kernel = kernel.precision(self.precision).and_then(|kernel| kernel.momentum(self.momentum));
        let kernel = kernel.map_err(said)?;
        let flips = self.metropolis && layout.kind() == Kind::Binary;
        if flips { kernel.metropolis_flips().map_err(said) } else { Ok(kernel) }
    }

    fn langevin<'a>(&self, sites: usize, room: &'a mut Room) -> Result<Langevin<'a>, String> {
        let adjusted = !self.unadjusted;
        let curvature = 1.0 / self.step_size;
        let kernel = match self.name {
            "Langevin, preconditioned" => {
                room.d = numbers(sites, self.seed, |source| 10f64.powf(4.0 * source.uniform() - 2.0) as f32);
                Langevin::new(self.balance, Curvature::Each(&room.d), adjusted)
            }
            _ if self.balance != 0.5 && adjusted => Langevin::balanced(self.step_size, self.balance),
            _ => Langevin::new(self.balance, Curvature::Same(curvature), adjusted),
        };
        let kernel = kernel.map_err(said)?;
        Ok(if self.name == "Langevin, windowed" { kernel.within(self.window) } else { kernel })
    }

    /// The sampler, in memory that was used before.
    ///
    /// # Errors
    /// Where it is refused.
    pub(crate) fn any<'a>(&self, layout: Layout, room: &'a mut Room) -> Result<AnyKernel<'a>, String> {
        let sites = layout.sites();
        let source = &mut Source::new(self.seed);
        Ok(match self.name {
            "AB, diagonal" => {
                room.d = numbers(sites, self.seed, |source| source.normal(1.0));
                let noise = Diagonal::new(&room.d).map_err(said)?;
                let kernel = Langevin::second_order(noise, self.sigma(), self.balance).map_err(said)?;
                AnyKernel::Diagonal(kernel.precision(self.precision).map_err(said)?)
            }
            "AB-edge" => {
                let noise = room.edgewise(&own_couplings(sites, source), source.one_in(2), source)?;
                AnyKernel::Edgewise(self.moving(layout, noise)?)
            }
            "AB, dense" => {
                let noise = room.dense(&own_couplings(sites, source), source)?;
                AnyKernel::Dense(self.moving(layout, noise)?)
            }
            "Langevin cycle" => {
                let one = |factor: f32| Langevin::balanced(self.step_size * factor, self.balance);
                let kernels = [one(1.0), one(0.1), one(10.0)].into_iter().collect::<Result<Vec<_>, _>>();
                room.cycle = kernels.map_err(said)?;
                AnyKernel::Cycle(Cycle::new(&room.cycle).ok_or("an empty cycle")?)
            }
            "random walk" => AnyKernel::RandomWalk(RandomWalk::new(self.step_size.min(1e3)).map_err(said)?),
            "Gibbs" => AnyKernel::Gibbs(Gibbs::systematic()),
            "Gibbs, random scan" => AnyKernel::Gibbs(Gibbs::random(self.number).map_err(said)?),
            "GWG" => AnyKernel::Gwg(GibbsWithGradients::new(self.number).map_err(said)?),
            "PAS" => AnyKernel::Path(PathAuxiliary::new(self.number).map_err(said)?),
            "locally balanced" => AnyKernel::Local(LocallyBalanced),
            "enumerated Gibbs" => {
                AnyKernel::Blocks(EnumeratedGibbs::new(layout, self.block(layout)).map_err(said)?)
            }
            "Hamming ball" => {
                AnyKernel::Ball(HammingBall::new(layout, self.block(layout), self.radius).map_err(said)?)
            }
            "swap" => AnyKernel::Swap(Swap),
            _ => AnyKernel::Langevin(self.langevin(sites, room)?),
        })
    }

    fn common<'a>(&self, sites: usize, room: &'a mut Room) -> Result<Common<'a>, String> {
        Ok(match self.name {
            "Gibbs" => Common::Gibbs(Gibbs::systematic()),
            "Gibbs, random scan" => Common::Gibbs(Gibbs::random(self.number).map_err(said)?),
            _ => Common::Langevin(self.langevin(sites, room)?),
        })
    }

    /// Whether it is a model's own.
    pub(crate) fn own(&self) -> bool {
        ISING.contains(&self.name) || self.name == "block Gibbs"
    }

    /// One that goes with a model's own samplers.
    pub(crate) fn fit(&mut self) {
        let fits = self.own() || self.name == "Gibbs" || self.name == "Gibbs, random scan";
        if !fits && (!self.name.starts_with("Langevin") || self.name == "Langevin cycle") {
            self.name = "Langevin";
        }
    }

    /// Sites of a block of at most 64 states, or more sites than there are.
    fn block(&self, layout: Layout) -> usize {
        let most = (1..=6).rev().find(|&sites| layout.arity().pow(sites) <= 64).unwrap_or(1);
        self.number.min(most) as usize
    }
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn own_couplings(sites: usize, source: &mut Source) -> Pairwise {
    pairwise(Convention::BitsEdgesOnce, sites, 0.6, 1.0, source.word().into())
}

fn numbers(sites: usize, seed: u64, mut draw: impl FnMut(&mut Source) -> f32) -> Vec<Block> {
    let mut source = Source::new(seed);
    let mut blocks = vec![[0.0; LANES]; sites.div_ceil(LANES)];
    blocks.as_flattened_mut().iter_mut().take(sites).for_each(|slot| *slot = draw(&mut source));
    blocks
}

/// What a sampler borrows.
#[derive(Debug)]
pub(crate) struct Room {
    couplings: Couplings,
    runs: Vec<Run>,
    d: Vec<Block>,
    rows: Vec<Block>,
    root: Vec<Block>,
    classes: Vec<u32>,
    cycle: Vec<Langevin<'static>>,
}

impl Default for Room {
    fn default() -> Self {
        let couplings = Couplings::new(0, 0);
        Self { couplings, runs: vec![], d: vec![], rows: vec![], root: vec![], classes: vec![], cycle: vec![] }
    }
}

impl Room {
    fn edgewise(&mut self, of: &Pairwise, runs: bool, source: &mut Source) -> Result<Edgewise<'_>, String> {
        self.couplings = Couplings::new(of.fields.len(), of.edges.len());
        let form = self.couplings.ising(of).map_err(said)?.form();
        edgewise(form, runs, &mut self.d, &mut self.runs, source)
    }

    fn dense(&mut self, of: &Pairwise, source: &mut Source) -> Result<Dense<'_>, String> {
        let sites = of.fields.len();
        self.couplings = Couplings::new(sites, of.edges.len());
        let matrix = SparseMatrix::of(self.couplings.ising(of).map_err(said)?.form());
        self.d = memory::blocks(sites.div_ceil(LANES), source);
        let mut scratch = memory::blocks(3 * self.d.len(), source);
        constant(&matrix, 0.1, &mut self.d, &mut scratch).map_err(said)?;
        self.rows = memory::blocks(DenseMatrix::blocks(sites), source);
        self.root = memory::blocks(Dense::root_blocks(sites), source);
        let rows = DenseMatrix::of(&matrix, &mut self.rows).map_err(said)?;
        Dense::new(rows, &mut self.d, &mut self.root).map_err(said)
    }
}

fn edgewise<'a>(
    form: Sparse<'a>,
    by_runs: bool,
    d: &'a mut Vec<Block>,
    runs: &'a mut Vec<Run>,
    source: &mut Source,
) -> Result<Edgewise<'a>, String> {
    *d = memory::blocks(Edgewise::blocks(form.sites()), source);
    let matrix = SparseMatrix::of(form);
    let noise = Edgewise::new(matrix, d).map_err(said)?;
    if !by_runs {
        return Ok(noise);
    }
    *runs = vec![Run::default(); Edgewise::runs(matrix)];
    noise.by_runs(runs).map_err(said)
}

/// Samplers of any energy that take turns with a model's own. There are few: each is compiled for each model.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Common<'a> {
    /// All sites at once.
    Langevin(Langevin<'a>),
    /// One by one.
    Gibbs(Gibbs),
}

impl<E: Energy + ?Sized> Kernel<E> for Common<'_> {
    fn step<R: Rng + ?Sized>(&self, ring: Ring<'_, E>, rng: &mut R) -> Info {
        match self {
            Self::Langevin(kernel) => kernel.step(ring, rng),
            Self::Gibbs(kernel) => kernel.step(ring, rng),
        }
    }
}

impl<E: Energy + ?Sized> Sampler<E> for Common<'_> {
    fn langevin(&self) -> Option<&Langevin<'_>> {
        if let Self::Langevin(kernel) = self { Some(kernel) } else { None }
    }

    fn transition(&self, ring: Ring<'_, E>, _from: Packed<'_>, to: Packed<'_>) -> Option<Transition> {
        let Self::Langevin(kernel) = self else { return None };
        Some(kernel.transition(ring, to).expect("a state of the layout"))
    }
}

/// A sampler of Ising models.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::large_enum_variant, reason = "a few are made for a whole program")]
pub(crate) enum OfIsing<'a> {
    /// Of any energy.
    Common(Common<'a>),
    /// One site after the other.
    Sequential(SequentialGibbs),
    /// Class by class.
    Chromatic(ChromaticGibbs<'a>),
    /// Its own.
    Langevin(IsingLangevin),
    /// Of second order.
    Balanced(IsingBalanced<'a, true>),
    /// All clusters.
    All(SwendsenWang),
    /// One cluster.
    One(Wolff),
}

impl<'a> OfIsing<'a> {
    /// Made of its parameters.
    ///
    /// # Errors
    /// Where it is refused.
    pub(crate) fn new(recipe: &Recipe, model: &Ising<'a>, room: &'a mut Room) -> Result<Self, String> {
        let (form, source) = (model.form(), &mut Source::new(recipe.seed));
        Ok(match recipe.name {
            "sequential Gibbs" => Self::Sequential(SequentialGibbs),
            "chromatic Gibbs" => Self::Chromatic(chromatic(form, room, source)?),
            "Ising Langevin" => Self::Langevin(IsingLangevin::adjusted(recipe.step_size).map_err(said)?),
            "Ising balanced" | "Ising balanced, runs" | "Ising balanced, discrete" => {
                let discrete = recipe.name == "Ising balanced, discrete";
                let runs = if discrete { source.one_in(2) } else { recipe.name == "Ising balanced, runs" };
                let noise = edgewise(form, runs, &mut room.d, &mut room.runs, source)?;
                let make = if discrete { IsingBalanced::discrete } else { IsingBalanced::new };
                let kernel = make(noise, recipe.sigma(), recipe.balance).map_err(said)?;
                let kernel = kernel.precision(recipe.precision).map_err(said)?;
                let kernel = kernel.momentum(recipe.momentum).map_err(said)?;
                Self::Balanced(if recipe.metropolis {
                    kernel.metropolis_flips().map_err(said)?
                } else {
                    kernel
                })
            }
            "Swendsen-Wang" => Self::All(SwendsenWang),
            "Wolff" => Self::One(Wolff),
            _ => Self::Common(recipe.common(form.sites(), room)?),
        })
    }
}

fn chromatic<'a>(
    form: Sparse<'a>,
    room: &'a mut Room,
    source: &mut Source,
) -> Result<ChromaticGibbs<'a>, String> {
    room.classes = memory::words(Colouring::words(form.sites(), form.sites()), source);
    Ok(ChromaticGibbs::new(Colouring::greedy(form, &mut room.classes).map_err(said)?))
}

/// A sampler of Potts models.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OfPotts<'a> {
    /// Of any energy.
    Common(Common<'a>),
    /// Class by class.
    Chromatic(ChromaticGibbs<'a>),
    /// All clusters.
    All(SwendsenWang),
    /// One cluster.
    One(Wolff),
}

impl<'a> OfPotts<'a> {
    /// Made of its parameters.
    ///
    /// # Errors
    /// Where it is refused.
    pub(crate) fn new(recipe: &Recipe, model: &Potts<'a>, room: &'a mut Room) -> Result<Self, String> {
        Ok(match recipe.name {
            "chromatic Gibbs" => Self::Chromatic(chromatic(model.form(), room, &mut Source::new(recipe.seed))?),
            "Swendsen-Wang" => Self::All(SwendsenWang),
            "Wolff" => Self::One(Wolff),
            _ => Self::Common(recipe.common(model.layout().sites(), room)?),
        })
    }
}

/// A sampler of RBMs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OfRbm<'a> {
    /// Of any energy.
    Common(Common<'a>),
    /// Both layers in turn.
    Block(BlockGibbs),
}

impl<'a> OfRbm<'a> {
    /// Made of its parameters.
    ///
    /// # Errors
    /// Where it is refused.
    pub(crate) fn new(recipe: &Recipe, model: &Rbm<'_>, room: &'a mut Room) -> Result<Self, String> {
        Ok(match recipe.name {
            "block Gibbs" => Self::Block(BlockGibbs),
            _ => Self::Common(recipe.common(model.layout().sites(), room)?),
        })
    }
}

/// A sampler that a program may use.
pub(crate) trait Sampler<E: Energy + ?Sized>: Kernel<E> {
    /// The first-order sampler that takes several chains at once.
    fn langevin(&self) -> Option<&Langevin<'_>>;

    /// The probabilities of a move, where a sampler says them and moves are reversible one by one.
    fn transition(&self, ring: Ring<'_, E>, from: Packed<'_>, to: Packed<'_>) -> Option<Transition>;
}

/// The one move of a path, where there is one.
fn only(from: Packed<'_>, to: Packed<'_>) -> Option<Choice> {
    let mut changed = from.values().zip(to.values()).enumerate().filter(|(_, (from, to))| from != to);
    let (site, (_, value)) = changed.next()?;
    changed.next().is_none().then_some(Choice { site, value })
}

/// A move that a sampler never makes.
const NEVER: Transition = Transition {
    log_forward: f32::NEG_INFINITY,
    log_reverse: f32::NEG_INFINITY,
    difference: 0.0,
    log_ratio: f32::NEG_INFINITY,
    fault: false,
};

impl<E: Energy + ?Sized> Sampler<E> for AnyKernel<'_> {
    fn langevin(&self) -> Option<&Langevin<'_>> {
        if let Self::Langevin(kernel) = self { Some(kernel) } else { None }
    }

    fn transition(&self, ring: Ring<'_, E>, from: Packed<'_>, to: Packed<'_>) -> Option<Transition> {
        let path = only(from, to);
        let path = path.as_ref().map(std::slice::from_ref);
        let found = match self {
            Self::Langevin(kernel) => kernel.transition(ring, to),
            Self::Diagonal(kernel) => kernel.transition_given(ring, to, &[]),
            Self::RandomWalk(kernel) => kernel.transition(ring, to),
            Self::Swap(kernel) => kernel.transition(ring, to),
            Self::Gwg(kernel) if *kernel == GibbsWithGradients::new(1).ok()? => {
                path.map_or(Ok(NEVER), |path| kernel.transition(ring, path))
            }
            Self::Path(kernel) if *kernel == PathAuxiliary::new(1).ok()? => {
                path.map_or(Ok(NEVER), |path| kernel.transition(ring, path))
            }
            Self::Local(kernel) => path.map_or(Ok(NEVER), |path| kernel.transition(ring, path)),
            _ => return None,
        };
        Some(found.expect("a state of the layout"))
    }
}

macro_rules! of {
    ($type:ident, $energy:ty, [$($variant:ident),+], $transition:ident) => {
        impl Kernel<$energy> for $type<'_> {
            fn step<R: Rng + ?Sized>(&self, ring: Ring<'_, $energy>, rng: &mut R) -> Info {
                match self {
                    Self::Common(kernel) => kernel.step(ring, rng),
                    $(Self::$variant(kernel) => kernel.step(ring, rng),)+
                }
            }
        }

        impl Sampler<$energy> for $type<'_> {
            fn langevin(&self) -> Option<&Langevin<'_>> {
                if let Self::Common(Common::Langevin(kernel)) = self { Some(kernel) } else { None }
            }

            fn transition(&self, ring: Ring<'_, $energy>, from: Packed<'_>, to: Packed<'_>) -> Option<Transition> {
                match self {
                    Self::Common(kernel) => Sampler::<$energy>::transition(kernel, ring, from, to),
                    own => $transition(own, ring, to),
                }
            }
        }
    };
}

fn of_ising(own: &OfIsing<'_>, ring: Ring<'_, Ising<'_>>, to: Packed<'_>) -> Option<Transition> {
    let OfIsing::Langevin(kernel) = own else { return None };
    Some(kernel.transition(ring, to).expect("a state of the layout"))
}

/// Of samplers that do not say their probabilities.
fn silent<T, E: ?Sized>(_: &T, _: Ring<'_, E>, _: Packed<'_>) -> Option<Transition> {
    None
}

of!(OfIsing, Ising<'_>, [Sequential, Chromatic, Langevin, Balanced, All, One], of_ising);
of!(OfPotts, Potts<'_>, [Chromatic, All, One], silent);
of!(OfRbm, Rbm<'_>, [Block], silent);
