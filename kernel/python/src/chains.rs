//! Chains that are told their energies by Python.

use crate::samples::{Samples, states};
use crate::{raised, wrong};
use bitmc::random::uniform;
use bitmc::stats::Acceptance;
use bitmc::step::{Cycle, ParameterError};
use bitmc::tune::{CycleSettings, CycleTuner, RateTuner, Trial};
use bitmc::{
    GibbsWithGradients, Info, LaneRng, Langevin, Layout, Open, OpenError, Packed, PathAuxiliary, RandomWalk,
    packed,
};
use bitmc_desktop::chains::{VecOpen, open_memory, streams};
use bitmc_desktop::{Choice, Plan, Report};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

/// What proposes.
enum Kernel {
    Langevin(Langevin<'static>),
    Cycle(Vec<Langevin<'static>>),
    GibbsWithGradients(GibbsWithGradients),
    PathAuxiliary(PathAuxiliary),
    RandomWalk(RandomWalk),
}

/// What is still being tuned.
enum Tuner {
    Nothing,
    Rate(RateTuner),
    Cycle(Box<CycleTuner<Vec<Trial>>>),
}

/// Several chains, asked and told together.
#[pyclass(module = "bitmc._bitmc")]
pub(crate) struct Chains {
    layout: Layout,
    starts: Vec<Vec<u32>>,
    /// None until the energies of the starts are told.
    chains: Vec<VecOpen<'static>>,
    rngs: Vec<LaneRng>,
    infos: Vec<Info>,
    window: Option<u32>,
    plan: Plan,
    kernel: Kernel,
    tuner: Tuner,
    acceptance: Acceptance,
    tracks: Vec<(Vec<u32>, Vec<f32>)>,
}

const NAMES: &str = "langevin[:STEP], balanced[:STEP:BALANCE], balanced:tuned:BALANCE, cyclical[:POSITIONS[:SMALLEST:LARGEST]], gwg[:INDICES], \
    pas[:INDICES] or random-walk[:RADIUS] is needed";

fn parsed(sampler: &str, chains: usize, sites: usize) -> PyResult<(Plan, Tuner)> {
    let bad = || wrong(format!("sampler {sampler:?}: {NAMES}"));
    if let Some(rest) = sampler.strip_prefix("cyclical") {
        let numbers: Vec<f32> =
            rest.split(':').skip(1).map(str::parse).collect::<Result<_, _>>().map_err(|_| bad())?;
        let ends = |ends| CycleSettings {
            chains: u32::try_from(chains).unwrap_or(u32::MAX),
            steps: (100 / chains.max(1)).max(1) as u32,
            step_size: ends,
            ..CycleSettings::default()
        };
        let (positions, settings) = match numbers[..] {
            [] => (20.0, ends((0.05, 5.0))),
            [positions] => (positions, ends((0.05, 5.0))),
            [positions, smallest, largest] => (positions, ends((smallest, largest))),
            _ => return Err(bad()),
        };
        if !rest.is_empty() && !rest.starts_with(':') || !(2.0..=1000.0).contains(&positions) {
            return Err(bad());
        }
        let tuner = CycleTuner::new(vec![Trial::default(); positions as usize], settings);
        let tuner = tuner.map_err(|error| wrong(format!("sampler {sampler:?}: {error}")))?;
        return Ok((cycle(&tuner), Tuner::Cycle(Box::new(tuner))));
    }
    // A balance by hand, with the step size tuned.
    let choice = match sampler.strip_prefix("balanced:tuned:").map(str::parse) {
        Some(balance) => Choice::Tuned(Plan::Balanced { step_size: 0.2, balance: balance.map_err(|_| bad())? }),
        None => sampler.parse().map_err(|_| bad())?,
    };
    match choice {
        Choice::Auto => Err(bad()),
        Choice::Exactly(plan) => Ok((plan, Tuner::Nothing)),
        Choice::Tuned(plan) => {
            let (first, bounds, rate) = match plan {
                Plan::RandomWalk { .. } => {
                    let most = (sites as f32 / 4.0).max(1.0);
                    (1.0, (0.5, most), RateTuner::RANDOM_WALK)
                }
                _ => (0.2, (1e-3, 1e3), RateTuner::LOCALLY_BALANCED),
            };
            let tuner = RateTuner::new(first, bounds, rate).map_err(wrong)?;
            Ok((plan, Tuner::Rate(tuner)))
        }
    }
}

/// Ordinal sites may be kept from moving far.
fn near(kernel: Langevin<'static>, window: Option<u32>) -> Langevin<'static> {
    window.map_or(kernel, |distance| kernel.within(distance))
}

/// The kernel of a sampler.
fn kernel(plan: &Plan, window: Option<u32>) -> PyResult<Kernel> {
    let balanced = |step_size: f32, balance: f32| -> Result<_, ParameterError> {
        Ok(near(Langevin::balanced(step_size, balance)?, window))
    };
    let one = || -> Result<Option<Kernel>, ParameterError> {
        Ok(Some(match plan {
            &Plan::Langevin { step_size } => balanced(step_size, 0.5).map(Kernel::Langevin)?,
            &Plan::Balanced { step_size, balance } => Kernel::Langevin(balanced(step_size, balance)?),
            &Plan::GibbsWithGradients { indices } => {
                Kernel::GibbsWithGradients(GibbsWithGradients::new(indices)?)
            }
            &Plan::PathAuxiliary { indices } => Kernel::PathAuxiliary(PathAuxiliary::new(indices)?),
            &Plan::RandomWalk { radius } => Kernel::RandomWalk(RandomWalk::new(radius)?),
            Plan::Cyclical { positions } => {
                let each = positions.iter().map(|&(step_size, balance)| balanced(step_size, balance));
                Kernel::Cycle(each.collect::<Result<_, _>>()?)
            }
            _ => return Ok(None),
        }))
    };
    one().map_err(|error| wrong(format!("sampler: {error}")))?.ok_or_else(|| wrong(format!("sampler: {NAMES}")))
}

/// The cycle that a tuner has come to.
fn cycle(tuner: &CycleTuner<Vec<Trial>>) -> Plan {
    let positions = tuner.positions().iter().map(|trial| (trial.step_size, trial.balance));
    Plan::Cyclical { positions: positions.collect() }
}

/// A plan with another value of its parameter that is tuned.
fn with(plan: &Plan, value: f32) -> Plan {
    match *plan {
        Plan::Langevin { .. } => Plan::Langevin { step_size: value },
        Plan::Balanced { balance, .. } => Plan::Balanced { step_size: value, balance },
        Plan::RandomWalk { .. } => Plan::RandomWalk { radius: value },
        ref other => other.clone(),
    }
}

#[pymethods]
impl Chains {
    #[new]
    #[pyo3(signature = (sites, arity, ordinal, chains, seed, sampler, window, start))]
    #[expect(clippy::too_many_arguments, reason = "the settings of a run")]
    fn new(
        sites: usize,
        arity: usize,
        ordinal: bool,
        chains: usize,
        seed: u64,
        sampler: &str,
        window: Option<u32>,
        start: Option<PyReadonlyArray2<'_, u16>>,
    ) -> PyResult<Self> {
        let layout = match (arity, ordinal) {
            (_, true) => Layout::ordinal(sites, arity),
            (2, false) => Layout::binary(sites),
            _ => Layout::categorical(sites, arity),
        };
        if layout.sites() != sites || sites == 0 || layout.arity() != arity || chains == 0 {
            return Err(wrong(format!(
                "sites, arity and chains: at least 1 site, 2 to {} values and 1 chain are needed",
                Layout::MAX_ARITY
            )));
        }
        let mut rngs: Vec<LaneRng> = streams(seed).take(chains).collect();
        let mut starts = vec![vec![0; layout.words()]; chains];
        for (chain, (words, rng)) in starts.iter_mut().zip(&mut rngs).enumerate() {
            for site in 0..sites {
                let value =
                    match &start {
                        Some(start) => start.get([chain, site]).copied().map(u32::from).ok_or_else(|| {
                            wrong(format!("start: {chains} chains of {sites} sites are needed"))
                        })?,
                        // A uniform is below 1, its product may be rounded up to the arity.
                        None => ((uniform(rng) * arity as f32) as u32).min(arity as u32 - 1),
                    };
                packed::set(layout, words, site, value)
                    .map_err(|error| wrong(format!("start: chain {chain}: {error}")))?;
            }
        }
        let (plan, tuner) = parsed(sampler, chains, sites)?;
        let kernel = match &tuner {
            Tuner::Cycle(tuner) => tuner.kernel().map(|kernel| Kernel::Langevin(near(kernel, window))),
            _ => None,
        }
        .map_or_else(|| kernel(&plan, window), Ok)?;
        Ok(Self {
            layout,
            starts,
            chains: Vec::new(),
            rngs,
            infos: vec![Info::default(); chains],
            window,
            plan,
            kernel,
            tuner,
            acceptance: Acceptance::new(),
            tracks: vec![(Vec::new(), Vec::new()); chains],
        })
    }

    /// Numbers of a gradient of one chain.
    #[getter]
    fn gradient_len(&self) -> usize {
        bitmc::chain::gradient_len(self.layout)
    }

    /// The values whose energies are to be told: the starts at first, then the proposals.
    fn ask<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.chains.is_empty() {
            return self.array(py, self.starts.iter().map(|words| &words[..]));
        }
        self.propose().map_err(|error| wrong(format!("ask: {error}")))?;
        let asked = self.chains.iter().filter_map(|chain| chain.asked()).map(|state| state.words());
        self.array(py, asked)
    }

    /// Tells energies and gradients, chain after chain; returns which chains moved to the state that was asked.
    fn tell(
        &mut self,
        energies: PyReadonlyArray1<'_, f32>,
        gradients: PyReadonlyArray1<'_, f32>,
    ) -> PyResult<Vec<bool>> {
        let (energies, gradients) = (energies.as_slice()?, gradients.as_slice()?);
        if energies.len() != self.starts.len() {
            let (need, got) = (self.starts.len(), energies.len());
            return Err(wrong(format!("energies: {need} chains have one each, got {got}")));
        }
        if self.chains.is_empty() {
            return self.begin(energies, gradients);
        }
        Open::tell_each(&mut self.chains, energies, gradients, &mut self.infos)
            .map_err(|error| wrong(format!("gradients: {error}")))?;
        for info in &self.infos {
            let Acceptance { steps, accepted, proposed_flips, accepted_flips, faults } = self.acceptance;
            self.acceptance = Acceptance {
                steps: steps + 1,
                accepted: accepted + u64::from(info.accepted),
                proposed_flips: proposed_flips + u64::from(info.proposed),
                accepted_flips: accepted_flips + u64::from(info.moved()),
                faults: faults + u64::from(info.fault),
            };
        }
        self.tune()?;
        Ok(self.infos.iter().map(|info| info.accepted).collect())
    }

    /// The states of the chains.
    fn states<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.chains.is_empty() {
            return self.array(py, self.starts.iter().map(|words| &words[..]));
        }
        self.array(py, self.chains.iter().map(|chain| chain.state().words()))
    }

    /// Their energies; none before the first tell.
    fn energies(&self) -> Vec<f32> {
        self.chains.iter().map(|chain| chain.energy()).collect()
    }

    /// Ends the tuning, and forgets what was counted.
    fn freeze(&mut self) -> PyResult<()> {
        match &mut self.tuner {
            Tuner::Nothing => {}
            Tuner::Rate(tuner) => tuner.freeze(),
            Tuner::Cycle(tuner) => tuner.freeze(),
        }
        self.tune()?;
        self.tuner = Tuner::Nothing;
        self.acceptance = Acceptance::new();
        Ok(())
    }

    /// Whether parameters still change.
    #[getter]
    fn tuning(&self) -> bool {
        !matches!(self.tuner, Tuner::Nothing)
    }

    /// Step sizes and balances of the cycle, or the one of the sampler; empty where it has none.
    #[getter]
    fn parameters(&self) -> Vec<(f32, f32)> {
        match &self.plan {
            Plan::Cyclical { positions } => positions.clone(),
            Plan::Langevin { step_size } => vec![(*step_size, 0.5)],
            Plan::Balanced { step_size, balance } => vec![(*step_size, *balance)],
            _ => Vec::new(),
        }
    }

    /// Keeps the states as draws.
    fn record(&mut self) {
        for (chain, (words, energies)) in self.chains.iter().zip(&mut self.tracks) {
            words.extend_from_slice(chain.state().words());
            energies.push(chain.energy());
        }
    }

    /// The draws that were kept.
    fn samples(&self, warmup: u64, thin: u64, stopped: Option<String>) -> PyResult<Samples> {
        let why = format!("{}; told its energies by a function", self.plan);
        let mut report = Report::new(self.plan.clone(), why);
        let counted = &self.acceptance;
        report.acceptance = Some(counted.rate().into());
        report.moved_sites_per_step = Some(counted.jump_distance().into());
        (report.warmup, report.thin, report.faults, report.stopped) = (warmup, thin, counted.faults, stopped);
        let inner = bitmc_desktop::Samples::of(self.layout, self.tracks.clone(), report).map_err(raised)?;
        Ok(Samples { inner })
    }
}

impl Chains {
    fn array<'py, 'w>(
        &self,
        py: Python<'py>,
        rows: impl Iterator<Item = &'w [u32]>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (chains, sites) = (self.starts.len(), self.layout.sites());
        let mut values = Vec::with_capacity(chains * sites);
        for words in rows {
            let state = Packed::new(self.layout, words).map_err(wrong)?;
            values.extend(state.values().map(|value| value as u16));
        }
        states(py, self.layout.arity(), values)?.call_method1("reshape", ((chains, sites),))
    }

    fn begin(&mut self, energies: &[f32], gradients: &[f32]) -> PyResult<Vec<bool>> {
        let length = bitmc::chain::gradient_len(self.layout);
        if !gradients.is_empty() && gradients.len() != length * energies.len() {
            let need = length * energies.len();
            return Err(wrong(format!("gradients: {} numbers: {need} are needed", gradients.len())));
        }
        let mut chains = Vec::with_capacity(energies.len());
        for (chain, (words, &energy)) in self.starts.iter().zip(energies).enumerate() {
            let gradient = gradients.get(chain * length..(chain + 1) * length).unwrap_or_default();
            let start = Packed::new(self.layout, words).map_err(wrong)?;
            let made = Open::new(self.layout, None, open_memory(self.layout), start, energy, gradient);
            chains.push(
                made.map_err(|error| wrong(format!("energies, gradients: start of chain {chain}: {error}")))?,
            );
        }
        self.chains = chains;
        Ok(vec![true; energies.len()])
    }

    fn propose(&mut self) -> Result<(), OpenError> {
        let (chains, rngs) = (&mut self.chains[..], &mut self.rngs[..]);
        match &self.kernel {
            Kernel::Langevin(kernel) => Open::ask_each(chains, kernel, &[], rngs),
            Kernel::GibbsWithGradients(kernel) => Open::ask_each(chains, kernel, &[], rngs),
            Kernel::PathAuxiliary(kernel) => Open::ask_each(chains, kernel, &[], rngs),
            Kernel::RandomWalk(kernel) => Open::ask_each(chains, kernel, &[], rngs),
            Kernel::Cycle(kernels) => match Cycle::new(kernels) {
                Some(cycle) => Open::ask_each(chains, &cycle, &[], rngs),
                None => Ok(()), // A cycle has at least two positions.
            },
        }
    }

    /// Shows the tuner what the steps did, and takes its parameters for the next ones.
    fn tune(&mut self) -> PyResult<()> {
        let window = self.window;
        match &mut self.tuner {
            Tuner::Nothing => {}
            Tuner::Rate(tuner) => {
                self.infos.iter().for_each(|info| tuner.observe(info));
                self.plan = with(&self.plan, tuner.parameter());
                self.kernel = kernel(&self.plan, window)?;
            }
            Tuner::Cycle(tuner) => {
                self.infos.iter().for_each(|info| _ = tuner.observe(info));
                self.plan = cycle(tuner);
                match tuner.kernel() {
                    Some(kernel) => self.kernel = Kernel::Langevin(near(kernel, window)),
                    None => {
                        self.kernel = kernel(&self.plan, window)?;
                        self.tuner = Tuner::Nothing;
                    }
                }
            }
        }
        Ok(())
    }
}
