//! One annealing run: a sampler led from a hot Ising model to a cold one.

use crate::chains::{VecMemory, memory};
use crate::formats::rudy::Graph;
use bitmc::energy::{Entry, SparseBuffers, SparseError};
use bitmc::random::bernoulli;
use bitmc::step::{ParameterError, SequentialGibbs};
use bitmc::{Chain, Energy, Ising, Kernel, LaneRng, Langevin, Packed, PathAuxiliary};
use clap::ValueEnum;

/// Temperatures of a run.
const RUNGS: usize = 64;

/// The hottest one, in units of a vertex's typical gain √(mean Σw²): there spins of a random graph do not order.
const HOT: f64 = 0.7;

/// The coldest one, in units of the mean |w|: there a loss of one edge is taken once in some hundred times.
const COLD: f64 = 0.2;

/// So many defaults, where there is memory for them.
fn filled<T: Clone + Default>(length: usize) -> Option<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(length).ok()?;
    values.resize(length, T::default());
    Some(values)
}

/// What anneals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Choice {
    /// Gibbs sweeps over the vertices: simulated annealing
    Gibbs,
    /// Discrete Langevin with the Metropolis test (DMALA)
    Langevin,
    /// The path auxiliary sampler (PAS)
    PathAuxiliary,
}

impl Choice {
    /// As on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gibbs => "gibbs",
            Self::Langevin => "langevin",
            Self::PathAuxiliary => "path-auxiliary",
        }
    }
}

/// Memory for the couplings of every temperature.
#[derive(Clone, Debug, Default)]
pub struct LadderMemory {
    rows: Vec<(Vec<u32>, Vec<i32>, Vec<Entry>)>,
}

/// The models of all temperatures, hot to cold, compiled once: `f = cut/T + const`, J = −w/(2T) on spins.
///
/// The temperature is in the couplings, so every sampler is exact at every temperature without knowing of
/// it: its gradient, its differences and its acceptance all belong to one Ising model.
#[derive(Debug)]
pub struct Ladder<'m> {
    rungs: Vec<(f64, Ising<'m>)>,
    weight: f64,
    /// The mean |w|.
    size: f64,
}

impl LadderMemory {
    /// The most bytes that are asked for.
    const MOST: usize = 1 << 34;

    /// For a graph.
    ///
    /// # Errors
    /// Where they would be too many.
    pub fn new(graph: &Graph) -> Result<Self, String> {
        let (sites, entries) = (graph.vertices, 2 * graph.edges.len());
        let bytes = RUNGS * (2 * size_of::<u32>() * sites + size_of::<Entry>() * entries);
        let refused = || {
            let (vertices, edges, gigabytes) = (sites, graph.edges.len(), bytes as f64 / 1e9);
            format!("{vertices} vertices and {edges} edges at {RUNGS} temperatures need {gigabytes:.1} GB")
        };
        let mut memory = Self::default();
        for _ in 0..RUNGS {
            let rung = (bytes <= Self::MOST).then(|| Some((filled(sites)?, filled(sites)?, filled(entries)?)));
            memory.rows.push(rung.flatten().ok_or_else(refused)?);
        }
        Ok(memory)
    }
}

impl<'m> Ladder<'m> {
    /// Compiles a graph: O(temperatures × edges).
    ///
    /// # Errors
    /// [`SparseError`] where a weight is too large for the fixed point of the model.
    pub fn new(graph: &Graph, memory: &'m mut LadderMemory) -> Result<Self, SparseError> {
        let weights = || graph.edges.iter().map(|edge| f64::from(edge.2));
        let squares = 2.0 * weights().map(|weight| weight * weight).sum::<f64>() / graph.vertices as f64;
        let size = weights().map(f64::abs).sum::<f64>() / graph.edges.len().max(1) as f64;
        // Without a weight any temperature will do.
        let (hot, cold) = if size > 0.0 { (HOT * squares.sqrt(), COLD * size) } else { (1.0, 1.0) };
        let count = memory.rows.len();
        let rungs = memory.rows.iter_mut().enumerate().map(|(rung, (ends, linear, entries))| {
            let temperature = hot + (cold.min(hot) - hot) * rung as f64 / (count - 1).max(1) as f64;
            // In f64: the smallest weights have temperatures whose reciprocal is no f32.
            let coupling = move |weight| (f64::from(weight) * (-0.5 / temperature)) as f32;
            let edges = graph.edges.iter().map(move |&(a, b, weight)| (a, b, coupling(weight)));
            let lent = SparseBuffers::new(ends, linear, entries);
            Ok((temperature, Ising::spins_edges_once(graph.vertices, edges, &[], lent)?))
        });
        Ok(Self { rungs: rungs.collect::<Result<_, SparseError>>()?, weight: weights().sum(), size })
    }

    /// Temperatures.
    #[must_use]
    pub fn temperatures(&self) -> Vec<f64> {
        self.rungs.iter().map(|(temperature, _)| *temperature).collect()
    }

    /// Anneals from uniform sides, the same number of steps at each temperature and `steps` in all, and keeps
    /// the state of the largest cut. `watch` is told of every larger one, and ends the run where it returns false;
    /// it is also asked between temperatures.
    ///
    /// The step size of Langevin and the length of a path follow the acceptance from one temperature to the
    /// next; at one temperature they stand still.
    pub fn anneal(
        &self,
        choice: Choice,
        steps: u64,
        rng: &mut LaneRng,
        mut watch: impl FnMut(Option<&[u32]>) -> bool,
    ) {
        let Some((_, model)) = self.rungs.first() else { return };
        let layout = model.layout();
        let (mut words, mut lent) = (vec![0; layout.words()], memory(model));
        bernoulli(layout, 0.5, rng, &mut words);
        let mut run = Run { best: f64::NEG_INFINITY, weight: self.weight, least: 1e-3 * self.size };
        let (mut step_size, mut length) = (0.5f32, 8.0f32);
        for (rung, (temperature, model)) in self.rungs.iter().enumerate() {
            // Whole steps, and `steps` of them in all.
            let share = |rung: usize| steps * rung as u64 / self.rungs.len() as u64;
            let here = Rung { model, temperature: *temperature, steps: share(rung + 1) - share(rung) };
            let done = match choice {
                Choice::Gibbs => run.stay(here, Ok(SequentialGibbs), lent, &mut words, rng, &mut watch),
                Choice::Langevin => {
                    let kernel = Langevin::adjusted(step_size);
                    run.stay(here, kernel, lent, &mut words, rng, &mut watch)
                }
                Choice::PathAuxiliary => {
                    let kernel = PathAuxiliary::new(length as u32);
                    run.stay(here, kernel, lent, &mut words, rng, &mut watch)
                }
            };
            let Some((back, acceptance)) = done else { return };
            lent = back;
            // More where more would be accepted, less where too much is refused.
            let factor = 1.0 + 0.4 * (acceptance - 0.574);
            step_size = (step_size * factor).clamp(0.02, 10.0);
            length = (length * factor).clamp(1.0, 64.0);
            if !watch(None) {
                return;
            }
        }
    }
}

/// One temperature.
struct Rung<'l, 'm> {
    model: &'l Ising<'m>,
    temperature: f64,
    steps: u64,
}

/// The largest cut of a run so far, by the energy of the chain.
struct Run {
    best: f64,
    weight: f64,
    /// What counts as larger.
    least: f64,
}

impl Run {
    /// Some steps at one temperature; returns the memory and the acceptance, or nothing where the run ends.
    fn stay<'m, K: Kernel<Ising<'m>>>(
        &mut self,
        rung: Rung<'_, 'm>,
        kernel: Result<K, ParameterError>,
        lent: VecMemory,
        words: &mut [u32],
        rng: &mut LaneRng,
        watch: &mut impl FnMut(Option<&[u32]>) -> bool,
    ) -> Option<(VecMemory, f32)> {
        let state = Packed::new(rung.model.layout(), words).ok()?;
        let (mut chain, kernel) = (Chain::new(rung.model, lent, state).ok()?, kernel.ok()?);
        let mut accepted = 0;
        for _ in 0..rung.steps {
            accepted += u32::from(chain.step(&kernel, rng).accepted);
            // E = Σ w s s/(2T), and the cut is (Σ w − Σ w s s)/2. The energy's rounding is far below half an edge.
            let cut = 0.5 * self.weight - rung.temperature * f64::from(chain.energy());
            if cut > self.best + self.least {
                self.best = cut;
                if !watch(Some(chain.state().words())) {
                    return None;
                }
            }
        }
        words.copy_from_slice(chain.state().words());
        Some((chain.into_memory(), accepted as f32 / rung.steps.max(1) as f32))
    }
}
