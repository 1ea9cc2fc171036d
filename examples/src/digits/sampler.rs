//! What moves the chains, from its name to its trace.

use super::ladder::{self, Rungs};
use super::start::Starts;
use super::{Keeper, Start, cycle};
use crate::chains::{Moving, Walker, keeping_memory, streams};
use crate::cli::Failure;
use crate::mmd::Mmd;
use crate::model::{DIGIT, DigitData};
use crate::progress::Progress;
use crate::summary::Run;
use crate::tempering::{Tempering, TemperingError};
use crate::trace::{Enough, Task};
use bitmc::chain::{ChainError, Ring};
use bitmc::energy::Tempered;
use bitmc::stats::Acceptance;
use bitmc::step::Cycle;
use bitmc::{
    BlockGibbs, Chain, Energy, Gibbs, GibbsWithGradients, HammingBall, Info, Kernel, Langevin, Packed, Rbm, Rng,
};
use bitmc_desktop::second_order::{self, Warmed};
use clap::ValueEnum;
use cpu_time::ProcessTime;

/// Which sampler moves the chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Choice {
    /// Discrete Langevin with the Metropolis test (DMALA)
    Langevin,
    /// Discrete Langevin without the test (DULA): converges to another distribution nearby
    LangevinUnadjusted,
    /// Gibbs with gradients, eight indices a step
    Gwg,
    /// Gibbs with gradients, one index a step (GWG-1)
    GwgOne,
    /// One random pixel a step from its conditional (Gibbs-1)
    Gibbs,
    /// Hamming ball of radius 1 in a block of ten random pixels (HB-10-1)
    HammingBall,
    /// Any-scale balanced, first order: discrete Langevin at balance .6
    Ab,
    /// Any-scale balanced, second order: with the couplings that a burn-in finds
    AbSecondOrder,
    /// Discrete Langevin in cycles of 20 steps, from the step size at balance .8 down to .15 at ½ (ACS)
    Acs,
    /// ACS with the cycle that its own algorithm finds
    AcsTuned,
    /// Replica exchange: balanced samplers at four temperatures, of which the coldest is shown
    Replica,
    /// All hidden units given the visible ones, then the other way round
    BlockGibbs,
}

/// Indices of Gibbs with gradients; others were not tried.
const INDICES: u32 = 8;

/// α of AB, which did well in trials on this model.
const BALANCE: f32 = 0.6;

impl Choice {
    /// As on the command line.
    #[must_use]
    pub fn name(self) -> String {
        self.to_possible_value().map_or(String::new(), |value| value.get_name().to_string())
    }

    /// The step size if none is given; `None` where it has none that can be chosen.
    #[must_use]
    pub fn step_size(self) -> Option<f32> {
        match self {
            Self::Langevin | Self::LangevinUnadjusted => Some(0.2),
            Self::Ab => Some(0.25),
            Self::Acs => Some(0.6),
            _ => None,
        }
    }

    /// The steps if none are given: as many as replica exchange takes from noise to the distribution, fewer for all others.
    #[must_use]
    pub fn steps(self) -> u64 {
        if self == Self::Replica { 5000 } else { 4000 }
    }
}

/// Chains to be run: how many, for how long, from where.
#[derive(Clone, Debug)]
pub struct Case<'c> {
    /// The model and its digits.
    pub data: &'c DigitData,
    /// Where chains start.
    pub start: Start,
    /// Whether the upper half of test digits is held.
    pub inpaint: bool,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Chains.
    pub chains: u32,
    /// Steps of each.
    pub steps: u64,
    /// A squared MMD at which chains need not go on, from a step on.
    pub enough: Option<Enough>,
    /// What the states are compared with.
    pub mmd: Option<&'c Mmd<'c>>,
    /// Is told of every step.
    pub progress: &'c Progress,
}

impl Case<'_> {
    /// Runs a sampler, at a step size of its own if none is given. What it is tuned with are other chains than
    /// those that are shown; its tuning is not kept, but done again with the same result.
    ///
    /// # Errors
    /// [`Failure::Option`] where a sampler cannot be made of what is given, and those of the keeper.
    pub fn run(&self, choice: Choice, step_size: Option<f32>, keeper: &mut Keeper<'_>) -> Result<Run, Failure> {
        let rbm = self.data.model.rbm();
        let size = step_size.or(choice.step_size()).unwrap_or(1.0);
        let tuning = ProcessTime::now();
        let mut run = match choice {
            Choice::Langevin => self.walk(
                &rbm,
                &Langevin::adjusted(size).map_err(wrong)?,
                format!("α = {size}"),
                tuning,
                keeper,
            ),
            Choice::LangevinUnadjusted => self.walk(
                &rbm,
                &Langevin::unadjusted(size).map_err(wrong)?,
                format!("α = {size}"),
                tuning,
                keeper,
            ),
            Choice::Gwg => {
                let kernel = GibbsWithGradients::new(INDICES).map_err(wrong)?;
                self.walk(&rbm, &kernel, format!("R = {INDICES}"), tuning, keeper)
            }
            Choice::GwgOne => {
                let kernel = GibbsWithGradients::new(1).map_err(wrong)?;
                self.walk(&rbm, &kernel, "R = 1".into(), tuning, keeper)
            }
            Choice::Gibbs => {
                let kernel = Gibbs::random(1).map_err(wrong)?;
                self.walk(&rbm, &kernel, "one pixel".into(), tuning, keeper)
            }
            Choice::HammingBall => {
                let kernel = HammingBall::new(DIGIT, 10, 1).map_err(wrong)?;
                self.walk(&rbm, &kernel, "block 10, radius 1".into(), tuning, keeper)
            }
            Choice::Ab => {
                let kernel = Langevin::balanced(size, BALANCE).map_err(wrong)?;
                self.walk(&rbm, &kernel, format!("σ = {size}, α = {BALANCE}"), tuning, keeper)
            }
            Choice::AbSecondOrder => {
                let mut found = second_order::tuned(&rbm, self.seed)?;
                let (kernel, parameters) = found.kernel()?;
                let walkers = self.walkers(&rbm, &kernel)?.into_iter().map(Warmed::new);
                self.record(walkers.collect(), parameters, 1, tuning, keeper)
            }
            Choice::Acs | Choice::AcsTuned => {
                let found =
                    if choice == Choice::Acs { cycle::by_hand(size) } else { cycle::tuned(&rbm, self.seed) };
                let (kernels, parameters) = found?;
                self.walk(&rbm, &Cycling(kernels), parameters, tuning, keeper)
            }
            Choice::Replica => self.exchange(&rbm, tuning, keeper),
            Choice::BlockGibbs => self.walk(&rbm, &BlockGibbs, String::new(), tuning, keeper),
        }?;
        run.sampler = choice.name();
        run.step_size = choice.step_size().map(|_| size);
        if matches!(choice, Choice::Gibbs | Choice::HammingBall) {
            run.gradients_per_step = 0;
        }
        Ok(run)
    }

    /// Independent chains of one kernel.
    fn walk<'m, K: Kernel<Rbm<'m>> + Sync>(
        &self,
        rbm: &'m Rbm<'m>,
        kernel: &'m K,
        parameters: String,
        tuning: ProcessTime,
        keeper: &mut Keeper<'_>,
    ) -> Result<Run, Failure> {
        self.record(self.walkers(rbm, kernel)?, parameters, 1, tuning, keeper)
    }

    fn walkers<'m, K>(&self, rbm: &'m Rbm<'m>, kernel: &'m K) -> Result<Vec<Walker<'m, Rbm<'m>, K>>, Failure> {
        let starts = Starts::new(self.start, self.data, self.inpaint);
        let walker = |(index, mut rng)| -> Result<_, ChainError> {
            let words = starts.words(index, &mut rng);
            let mut chain = Chain::new(rbm, keeping_memory(rbm), Packed::new(DIGIT, &words)?)?;
            if let Some(held) = starts.held() {
                chain.clamp(Packed::new(DIGIT, held)?)?;
            }
            Ok(Walker { chain, kernel, rng, acceptance: Acceptance::new() })
        };
        let walkers = streams(self.seed).take(self.chains as usize).enumerate().map(walker);
        let walkers: Result<_, _> = walkers.collect();
        walkers.map_err(|error| Failure::Option(format!("--start: {error}")))
    }

    /// Independent ladders of replicas, on the path from independent bits with the mean of the digits.
    fn exchange(&self, rbm: &Rbm<'_>, tuning: ProcessTime, keeper: &mut Keeper<'_>) -> Result<Run, Failure> {
        if self.inpaint {
            return Err(Failure::Option("--inpaint: replica exchange holds no sites".into()));
        }
        let starts = Starts::new(self.start, self.data, false);
        let fields = ladder::fields(starts.means());
        let path = Tempered::from_base(rbm, &fields, 1.0).map_err(Failure::option)?;
        let rungs: Rungs = ladder::spaced(path, self.seed)?;
        let mut streams = streams(self.seed);
        let ladder = |index| -> Result<_, TemperingError> {
            let words = starts.words(index, &mut streams.next().expect("generators do not run out"));
            let start = Packed::new(DIGIT, &words).map_err(ChainError::from)?;
            Tempering::new(path, (&rungs.betas, &rungs.kernels), 1, Some(start), &mut streams)
        };
        let ladders: Result<Vec<_>, _> = (0..self.chains as usize).map(ladder).collect();
        self.record(ladders.map_err(Failure::option)?, rungs.to_string(), ladder::RUNGS as u32, tuning, keeper)
    }

    fn record(
        &self,
        mut walkers: Vec<impl Moving>,
        parameters: String,
        gradients_per_step: u32,
        tuning: ProcessTime,
        keeper: &mut Keeper<'_>,
    ) -> Result<Run, Failure> {
        let tuning_seconds = tuning.elapsed().as_secs_f64();
        let (steps, enough, progress) = (self.steps, self.enough, self.progress);
        let task = Task { layout: DIGIT, steps, enough, mmd: self.mmd, progress };
        let trace = keeper.record(&task, &mut walkers)?;
        let chains = self.chains;
        Ok(Run {
            sampler: String::new(),
            parameters,
            step_size: None,
            gradients_per_step,
            chains,
            tuning_seconds,
            trace,
        })
    }
}

fn wrong(error: bitmc::step::ParameterError) -> Failure {
    Failure::Option(format!("--step-size: {error}"))
}

/// A cycle that owns its kernels.
struct Cycling(Vec<Langevin<'static>>);

impl<E: Energy + ?Sized> Kernel<E> for Cycling {
    fn step<R: Rng + ?Sized>(&self, ring: Ring<'_, E>, rng: &mut R) -> Info {
        Cycle::new(&self.0).expect("a cycle has kernels").step(ring, rng)
    }
}
