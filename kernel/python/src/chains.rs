//! Chains that are told their energies by Python.

use crate::kernels::{Kernel, Tuner, cycle, keeps_none, kernel, near, parsed, second_order, with};
use crate::samples::{Samples, states};
use crate::second_order::{SecondOrderSampler, Seen};
use crate::{raised, wrong};
use bitmc::random::uniform;
use bitmc::stats::Acceptance;
use bitmc::{Info, LaneRng, Layout, Open, Packed, packed};
use bitmc_desktop::chains::{VecOpen, open_memory, streams};
use bitmc_desktop::{Plan, Report};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

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
    /// Gradients at the states, where chains keep none or a tuner looks at them.
    here: Vec<f32>,
    tracks: Vec<(Vec<u32>, Vec<f32>)>,
}

#[pymethods]
impl Chains {
    #[new]
    #[pyo3(signature = (sites, arity, ordinal, chains, seed, sampler, window, start, hessian))]
    #[expect(clippy::too_many_arguments, reason = "the settings of a run")]
    fn new(
        py: Python<'_>,
        sites: usize,
        arity: usize,
        ordinal: bool,
        chains: usize,
        seed: u64,
        sampler: &str,
        window: Option<u32>,
        start: Option<PyReadonlyArray2<'_, u16>>,
        hessian: Option<PyReadonlyArray1<'_, f32>>,
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
        let (plan, tuner, kernel) = if let Some(by_hand) = second_order(sampler)? {
            let hessian = hessian.as_ref().map(|hessian| hessian.as_slice()).transpose()?;
            let found = SecondOrderSampler::new(py, layout, hessian, by_hand)?;
            (Plan::SecondOrder { momentum: 0.0 }, Tuner::Nothing, Kernel::SecondOrder(Box::new(found)))
        } else {
            let (plan, tuner) = parsed(sampler, chains, sites)?;
            let (two, more) = if arity == 2 { (sites, 0) } else { (0, sites) };
            plan.check_reach(two, more).map_err(|error| wrong(format!("sampler: {error}")))?;
            let first = match &tuner {
                Tuner::Cycle(tuner) => tuner.kernel().map(|kernel| Kernel::Langevin(near(kernel, window))),
                _ => None,
            };
            let kernel = first.map_or_else(|| kernel(&plan, window), Ok)?;
            (plan, tuner, kernel)
        };
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
            here: Vec::new(),
            tracks: vec![(Vec::new(), Vec::new()); chains],
        })
    }

    /// Numbers of a gradient of one chain.
    #[getter]
    fn gradient_len(&self) -> usize {
        bitmc::open::gradient_len(self.layout)
    }

    /// The values whose energies are to be told: the starts at first, then the proposals.
    fn ask<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.chains.is_empty() {
            return self.array(py, self.starts.iter().map(|words| &words[..]));
        }
        let here = if keeps_none(self.layout) { &self.here[..] } else { &[] };
        self.kernel
            .ask_each(&mut self.chains, here, &mut self.rngs, self.window)
            .map_err(|error| wrong(format!("ask: {}", error.0)))?;
        let asked = self.chains.iter().filter_map(|chain| chain.asked()).map(|state| state.words());
        self.array(py, asked)
    }

    /// Tells energies and gradients, chain after chain; returns which chains moved to the state that was asked.
    fn tell(
        &mut self,
        py: Python<'_>,
        energies: PyReadonlyArray1<'_, f32>,
        gradients: PyReadonlyArray1<'_, f32>,
    ) -> PyResult<Vec<bool>> {
        let (energies, gradients) = (energies.as_slice()?, gradients.as_slice()?);
        if energies.len() != self.starts.len() {
            let (need, got) = (self.starts.len(), energies.len());
            return Err(wrong(format!("energies: {need} chains have one each, got {got}")));
        }
        if gradients.is_empty() && !matches!(self.kernel, Kernel::RandomWalk(_)) {
            return Err(wrong("gradients: this sampler needs those of every chain"));
        }
        if self.chains.is_empty() {
            return self.begin(energies, gradients);
        }
        let seen = if matches!(&self.kernel, Kernel::SecondOrder(sampler) if sampler.tuning()) {
            Seen::of(&self.chains, &self.here)
        } else {
            Seen::default()
        };
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
        if let Kernel::SecondOrder(sampler) = &mut self.kernel {
            sampler.observe(py, &self.infos, &seen, gradients)?;
        }
        self.keep(gradients);
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
    fn freeze(&mut self, py: Python<'_>) -> PyResult<()> {
        if let Kernel::SecondOrder(sampler) = &mut self.kernel {
            sampler.freeze(py)?;
        }
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
        match &self.kernel {
            Kernel::SecondOrder(sampler) => sampler.tuning(),
            _ => !matches!(self.tuner, Tuner::Nothing),
        }
    }

    /// Step sizes and balances of the cycle, or the one of the sampler; empty where it has none.
    #[getter]
    fn parameters(&self) -> Vec<(f32, f32)> {
        if let Kernel::SecondOrder(sampler) = &self.kernel {
            let now = sampler.parameters();
            return vec![(now.step_size, now.balance)];
        }
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
        let length = bitmc::open::gradient_len(self.layout);
        if !gradients.is_empty() && gradients.len() != length * energies.len() {
            let need = length * energies.len();
            return Err(wrong(format!("gradients: {} numbers: {need} are needed", gradients.len())));
        }
        let mut chains = Vec::with_capacity(energies.len());
        for (chain, (words, &energy)) in self.starts.iter().zip(energies).enumerate() {
            let gradient = gradients.get(chain * length..(chain + 1) * length).unwrap_or_default();
            let start = Packed::new(self.layout, words).map_err(wrong)?;
            let made = Open::new(self.layout, None, open_memory(self.layout), start, energy, gradient);
            chains.push(made.map_err(|error| {
                wrong(format!(
                    "energies, gradients: start of chain {chain}: {error} (the argument `start` gives others)"
                ))
            })?);
        }
        self.chains = chains;
        if keeps_none(self.layout) || matches!(self.kernel, Kernel::SecondOrder(_)) {
            self.here = gradients.to_vec();
        }
        Ok(vec![true; energies.len()])
    }

    /// Keeps the gradients at the states, where they are needed: those of the chains that moved are others now.
    fn keep(&mut self, gradients: &[f32]) {
        let length = bitmc::open::gradient_len(self.layout);
        let each = self.here.chunks_mut(length).zip(gradients.chunks(length)).zip(&self.infos);
        each.filter(|(_, info)| info.accepted).for_each(|((here, new), _)| here.copy_from_slice(new));
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
