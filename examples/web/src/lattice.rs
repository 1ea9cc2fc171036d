//! The Ising lattice of the page: a torus at a temperature in a field, moved by one of five samplers.

use crate::loan::Loan;
use bitmc::energy::{Entry, SparseBuffers};
use bitmc::lane::{Bits, Block};
use bitmc::noise::{Edgewise, Run, SparseMatrix};
use bitmc::step::{IsingBalanced, IsingLangevin, SequentialGibbs, SwendsenWang, Wolff};
use bitmc::tune::RateTuner;
use bitmc::{Chain, Energy, Info, Ising, LaneRng, Memory, Packed, SeedableRng, torus};

/// The most sites of a side.
const LARGEST: u32 = 512;
/// Steps for which the step size of DMALA is tuned after a change of settings.
const TUNED: u32 = 200;

/// What the sliders say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) temperature: f32,
    pub(crate) field: f32,
    /// 0 Gibbs, 1 DMALA, 2 AB-edge, 3 Wolff, 4 Swendsen–Wang.
    pub(crate) sampler: u32,
}

enum Sampler {
    Gibbs,
    Langevin(RateTuner),
    Balanced(Box<IsingBalanced<'static>>),
    Wolff,
    SwendsenWang,
}

type Couplings = (Loan<[u32]>, Loan<[i32]>, Loan<[Entry]>);
type Noise = (Loan<[Block]>, Loan<[Run]>);

/// The memory of a model and of its sampler, which is here to be dropped after them.
struct Model {
    _ising: Loan<Ising<'static>>,
    _noise: Option<Noise>,
    _couplings: Couplings,
}

type LatticeChain = Chain<'static, Ising<'static>, Vec<u32>, Vec<Bits>, Vec<Block>>;

/// A lattice and its chain.
pub(crate) struct Lattice {
    // The order of the fields is the order in which they are dropped: what borrows goes first.
    chain: LatticeChain,
    sampler: Sampler,
    model: Model,
    settings: Settings,
    side: u32,
    rng: LaneRng,
    /// Steps, sites that moved and steps that were accepted since the last change of settings.
    pub(crate) since: (f64, f64, f64),
}

/// Buffers of `length` default values.
fn loan<T: Clone + Default>(length: usize) -> Loan<[T]> {
    Loan::new(vec![T::default(); length].into_boxed_slice())
}

/// f = (1/T) Σ_edges s s' + (h/T) Σ s over a torus, and the sampler for it.
fn model(side: u32, settings: Settings) -> Result<(Model, &'static Ising<'static>, Sampler), String> {
    let Settings { temperature, field, sampler } = settings;
    if !(0.1..=100.0).contains(&temperature) {
        return Err(format!("the temperature is {temperature}: it must be from 0.1 to 100"));
    }
    if !(-10.0..=10.0).contains(&field) {
        return Err(format!("the field is {field}: it must be from −10 to 10"));
    }
    let sites = (side * side) as usize;
    let couplings: Couplings = (loan(sites), loan(2 * sites), loan(4 * sites));
    // SAFETY: one reference to each. The model that has it is dropped earlier: see the fields of `Lattice`.
    let (ends, linear, entries) = unsafe { (couplings.0.lend(), couplings.1.lend(), couplings.2.lend()) };
    let fields = if field == 0.0 { vec![] } else { vec![field / temperature; sites] };
    let edges = torus(side, side, 1.0 / temperature);
    let compiled = Ising::spins_edges_once(sites, edges, &fields, SparseBuffers::new(ends, linear, entries))
        .map_err(|error| error.to_string())?;
    let owned = Loan::new(Box::new(compiled));
    // SAFETY: one reference, shared from here on. The chain that has it is dropped earlier.
    let ising: &'static Ising<'static> = unsafe { owned.lend() };
    let (sampler, noise) = match sampler {
        0 => (Sampler::Gibbs, None),
        1 => {
            let first = 0.5;
            let tuner = RateTuner::new(first, (1e-3, 10.0), RateTuner::LOCALLY_BALANCED);
            (Sampler::Langevin(tuner.map_err(|error| error.to_string())?), None)
        }
        2 => {
            let matrix = SparseMatrix::of(ising.form());
            let memory: Noise = (loan(Edgewise::blocks(sites)), loan(Edgewise::runs(matrix)));
            // SAFETY: one reference to each. The sampler that has it is dropped earlier.
            let (d, runs) = unsafe { (memory.0.lend(), memory.1.lend()) };
            let noise = Edgewise::new(matrix, d).and_then(|noise| noise.by_runs(runs));
            let noise = noise.map_err(|error| error.to_string())?;
            let kernel = IsingBalanced::discrete(noise, f32::INFINITY, 1.0);
            (Sampler::Balanced(Box::new(kernel.map_err(|error| error.to_string())?)), Some(memory))
        }
        3 => (Sampler::Wolff, None),
        4 => (Sampler::SwendsenWang, None),
        other => return Err(format!("there is no sampler {other}: the samplers are 0 to 4")),
    };
    Ok((Model { _ising: owned, _noise: noise, _couplings: couplings }, ising, sampler))
}

impl Lattice {
    /// A lattice of fair coins, or of spins that are all up.
    pub(crate) fn new(side: u32, seed: u32, aligned: bool, settings: Settings) -> Result<Self, String> {
        if !(4..=LARGEST).contains(&side) || !side.is_multiple_of(2) {
            return Err(format!("the side is {side}: it must be even, from 4 to {LARGEST}"));
        }
        let (model, ising, sampler) = model(side, settings)?;
        let layout = ising.layout();
        let memory = Memory {
            words: vec![0; Memory::words(layout)],
            cache: vec![Bits::default(); Memory::cache(ising.cache_len())],
            weights: vec![Block::default(); Memory::weights(layout)],
        };
        let mut rng = LaneRng::seed_from_u64(u64::from(seed));
        let mut chain = Chain::random(ising, memory, &mut rng).map_err(|error| error.to_string())?;
        if aligned {
            let mut words = vec![u32::MAX; layout.words()];
            words.iter_mut().rev().take(1).for_each(|last| *last &= layout.last_word());
            let up = Packed::new(layout, &words).map_err(|error| error.to_string())?;
            chain.restart(up).map_err(|error| error.to_string())?;
        }
        Ok(Self { chain, sampler, model, settings, side, rng, since: (0.0, 0.0, 0.0) })
    }

    /// Goes on from the same spins under other settings.
    pub(crate) fn set(&mut self, settings: Settings) -> Result<(), String> {
        let (model, ising, sampler) = model(self.side, settings)?;
        self.chain.rebind(ising).map_err(|error| error.to_string())?;
        // Nothing borrows the old model from here on: the chain has the new one, and the old sampler goes first.
        self.sampler = sampler;
        self.model = model;
        self.settings = settings;
        self.since = (0.0, 0.0, 0.0);
        Ok(())
    }

    /// Some steps.
    pub(crate) fn run(&mut self, steps: u32) {
        for _ in 0..steps {
            let info = self.step();
            self.since.0 += 1.0;
            self.since.1 += f64::from(info.moved());
            self.since.2 += f64::from(u8::from(info.accepted));
        }
    }

    fn step(&mut self) -> Info {
        let (chain, rng) = (&mut self.chain, &mut self.rng);
        match &mut self.sampler {
            Sampler::Gibbs => chain.step(&SequentialGibbs, rng),
            Sampler::Langevin(tuner) => {
                let Ok(kernel) = IsingLangevin::adjusted(tuner.parameter()) else { return Info::default() };
                let info = chain.step(&kernel, rng);
                tuner.observe(&info);
                if tuner.steps() >= TUNED {
                    tuner.freeze();
                }
                info
            }
            Sampler::Balanced(kernel) => chain.step(&**kernel, rng),
            Sampler::Wolff => chain.step(&Wolff, rng),
            Sampler::SwendsenWang => chain.step(&SwendsenWang, rng),
        }
    }

    /// The spins: 1 is up.
    pub(crate) fn state(&self) -> Packed<'_> {
        self.chain.state()
    }

    /// `−Σ_edges s s' − h Σ s` over the sites.
    pub(crate) fn energy(&self) -> f64 {
        f64::from(self.chain.energy()) * f64::from(self.settings.temperature) / self.sites()
    }

    /// `Σ s` over the sites.
    pub(crate) fn magnetisation(&self) -> f64 {
        2.0 * self.state().ones() as f64 / self.sites() - 1.0
    }

    /// The step size of DMALA; 0 of other samplers.
    pub(crate) fn step_size(&self) -> f64 {
        if let Sampler::Langevin(tuner) = &self.sampler { f64::from(tuner.parameter()) } else { 0.0 }
    }

    fn sites(&self) -> f64 {
        f64::from(self.side) * f64::from(self.side)
    }
}
