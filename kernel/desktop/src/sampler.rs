//! One call from a model to samples.

use crate::ranks::{self, Link, Ranks};
use crate::settings::{Settings, settings};
use crate::{Error, Model, Plan, Samples, run};
use std::path::PathBuf;

/// The settings of a run; [`Sampler::run`] runs it over all cores.
///
/// The samples are a function of the model, the seed and the settings: the same bytes for any number of threads, on any
/// processor. A run that is stopped, by [`Sampler::seconds`] or a [`Cancel`](crate::Cancel), gives the first draws of
/// the longer one.
///
/// | setting | default |
/// |---|---|
/// | chains | 16 |
/// | warm-up | the pilot run; of a sampler by hand 1,000 steps of each chain |
/// | draws | 1,000 of each chain |
/// | thin | 1 step a draw; the automatic choice takes more where chains are slow |
/// | seed | 1 |
/// | temperature | 1 |
/// | sampler | chosen and tuned by itself |
///
/// ```
/// use bitmc_desktop::Model;
///
/// let model = Model::ising(3, &[(0, 1, 0.5), (1, 2, -0.5)], &[0.1, 0.0, 0.0])?;
/// let samples = model.sampler().chains(8).draws(2000).run()?;
/// // Spins 0 and 1 agree with probability e^.5/(e^.5 + e^−.5) = .731.
/// assert!((samples.correlation(0, 1).unwrap_or(0.0) - 0.462).abs() < 0.05);
/// # Ok::<(), bitmc_desktop::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sampler<'m> {
    pub(crate) model: &'m Model,
    pub(crate) chains: usize,
    pub(crate) warmup: Option<u64>,
    pub(crate) draws: usize,
    pub(crate) thin: Option<u64>,
    pub(crate) temperature: f32,
    pub(crate) choice: Choice,
    pub(crate) seconds: Option<f64>,
    pub(crate) settings: Settings,
    pub(crate) checkpoint: Option<PathBuf>,
}

/// Which sampler moves the chains.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Choice {
    /// The best of a short list for the model's class, after pilot runs; replica exchange where chains disagree.
    #[default]
    Auto,
    /// This sampler, its step size tuned.
    Tuned(Plan),
    /// This sampler with these parameters.
    Exactly(Plan),
}

impl std::str::FromStr for Choice {
    type Err = Error;

    /// `auto`, or the name of a sampler, with its parameters after colons: `langevin` is tuned, `langevin:0.4` is not.
    fn from_str(text: &str) -> Result<Self, Error> {
        let mut words = text.split(':');
        let name = words.next().unwrap_or_default();
        let bad = || Error::option(format!("sampler {text:?}: {}", Self::NAMES));
        let numbers: Vec<f32> = words.map(str::parse).collect::<Result<_, _>>().map_err(|_| bad())?;
        let exact = |plan| Ok(Self::Exactly(plan));
        let whole = |number: f32| {
            let legal = number.fract() == 0.0 && (0.0..=1e6).contains(&number);
            let bad =
                || Error::option(format!("sampler {text:?}: {number} is not a whole number from 0 to 1000000"));
            legal.then_some(number as u32).ok_or_else(bad)
        };
        match (name, &numbers[..]) {
            ("auto", []) => Ok(Self::Auto),
            ("gibbs", []) => exact(Plan::Gibbs),
            ("block-gibbs", []) => exact(Plan::BlockGibbs),
            ("swendsen-wang", []) => exact(Plan::SwendsenWang),
            ("wolff", []) => exact(Plan::Wolff),
            ("langevin", []) => Ok(Self::Tuned(Plan::Langevin { step_size: 0.2 })),
            ("langevin", &[step_size]) => exact(Plan::Langevin { step_size }),
            ("balanced", []) => Ok(Self::Tuned(Plan::Balanced { step_size: 0.2, balance: 0.6 })),
            ("balanced", &[step_size, balance]) => exact(Plan::Balanced { step_size, balance }),
            ("second-order", []) => exact(Plan::SecondOrder { momentum: 0.0 }),
            ("second-order", &[momentum]) if (0.0..1.0).contains(&momentum) => {
                exact(Plan::SecondOrder { momentum })
            }
            ("second-order", &[momentum]) => {
                Err(Error::option(format!("sampler {text:?}: momentum {momentum} is not in [0, 1)")))
            }
            ("cyclical", []) => Ok(Self::Tuned(Plan::Cyclical { positions: Vec::new() })),
            ("gwg", []) => exact(Plan::GibbsWithGradients { indices: 1 }),
            ("gwg", &[indices]) => exact(Plan::GibbsWithGradients { indices: whole(indices)? }),
            ("pas", []) => exact(Plan::PathAuxiliary { indices: 3 }),
            ("pas", &[indices]) => exact(Plan::PathAuxiliary { indices: whole(indices)? }),
            ("locally-balanced", []) => exact(Plan::LocallyBalanced),
            ("hamming-ball", []) => exact(Plan::HammingBall { sites: 8, radius: 2 }),
            ("hamming-ball", &[sites, radius]) => {
                exact(Plan::HammingBall { sites: whole(sites)? as usize, radius: whole(radius)? as usize })
            }
            ("random-walk", []) => Ok(Self::Tuned(Plan::RandomWalk { radius: 1.0 })),
            ("random-walk", &[radius]) => exact(Plan::RandomWalk { radius }),
            ("exchange", []) => Ok(Self::Tuned(Plan::Exchange { betas: Vec::new() })),
            ("exchange", betas) => exact(Plan::Exchange { betas: betas.to_vec() }),
            ("isoenergetic", []) => Ok(Self::Tuned(Plan::Isoenergetic { betas: Vec::new() })),
            ("isoenergetic", betas) => exact(Plan::Isoenergetic { betas: betas.to_vec() }),
            _ => Err(bad()),
        }
    }
}

impl Choice {
    const NAMES: &'static str = "auto, gibbs, block-gibbs, swendsen-wang, wolff, langevin[:STEP], balanced[:STEP:BALANCE], \
        second-order[:MOMENTUM], cyclical, gwg[:INDICES], pas[:INDICES], locally-balanced, hamming-ball[:SITES:RADIUS], random-walk[:RADIUS], \
        exchange[:BETA:…:1] or isoenergetic[:BETA:…:1] is needed";
}

impl Model {
    /// The settings of a run of this model.
    #[must_use]
    pub fn sampler(&self) -> Sampler<'_> {
        Sampler {
            model: self,
            chains: 16,
            warmup: None,
            draws: 1000,
            thin: None,
            temperature: 1.0,
            choice: Choice::Auto,
            seconds: None,
            settings: Settings::default(),
            checkpoint: None,
        }
    }
}

settings!(Sampler, "What stops the run from elsewhere: it then gives back what there is.");

impl Sampler<'_> {
    /// Independent chains, which start at independent random states.
    #[must_use]
    pub fn chains(self, chains: usize) -> Self {
        Self { chains, ..self }
    }

    /// Steps of each chain before its first draw, at least. Without it the automatic choice begins to draw where its pilot run
    /// ended. The chains of that run agreed, or were as near to it as could be had. A sampler by hand takes 1,000.
    #[must_use]
    pub fn warmup(self, warmup: u64) -> Self {
        Self { warmup: Some(warmup), ..self }
    }

    /// Draws of each chain.
    #[must_use]
    pub fn draws(self, draws: usize) -> Self {
        Self { draws, ..self }
    }

    /// Steps from one draw to the next. Without it the automatic choice takes as many as give about 1,000 effective samples,
    /// at most 256; a sampler by hand takes 1.
    #[must_use]
    pub fn thin(self, thin: u64) -> Self {
        Self { thin: Some(thin), ..self }
    }

    /// T: the samples are of `p ∝ e^(−E/T)`.
    #[must_use]
    pub fn temperature(self, temperature: f32) -> Self {
        Self { temperature, ..self }
    }

    /// Which sampler moves the chains.
    #[must_use]
    pub fn with(self, choice: Choice) -> Self {
        Self { choice, ..self }
    }

    /// Ends the run after so many seconds, at the draw that it has come to.
    #[must_use]
    pub fn seconds(self, seconds: f64) -> Self {
        Self { seconds: Some(seconds), ..self }
    }

    /// Keeps the run in a file, every half a minute and when it is stopped. If the file is there, the run goes on from it:
    /// a run that was killed gives the same bytes as one that was not. The file must be of a run with the same settings.
    /// An [energy of your own](Model::own) is known by its values at the states of the chains and at 16 random ones. Another energy that
    /// differs there by less than 10⁻⁴ of the largest value is taken for the same one.
    /// The warm-up is kept too. Pilot runs and the tuning of a sampler are not: a run that is stopped there begins anew.
    #[must_use]
    pub fn checkpoint(self, path: impl Into<PathBuf>) -> Self {
        Self { checkpoint: Some(path.into()), ..self }
    }

    /// Runs.
    ///
    /// # Errors
    /// * [`Error::Option`] where a setting is illegal.
    /// * [`Error::Model`] where the model cannot be sampled at this temperature or by this sampler, or no possible
    ///   state is found.
    /// * [`Error::File`] where the checkpoint cannot be read or written.
    pub fn run(&self) -> Result<Samples, Error> {
        self.check()?;
        self.settings.install(|| run::run(self, None))
    }

    /// Runs over several processes, on one machine or on many: each of them calls this with the same model and settings. Chains
    /// are dealt out in the pilot runs, in the warm-up and while drawing. Every rank is given all samples: those of
    /// [`Sampler::run`], byte for byte, for any number of ranks.
    ///
    /// Chains that move together stay together. Gibbs sweeps of Ising and Potts models move sixteen at a time, so ask for
    /// sixteen chains for each core of each rank. One rank builds the ladder of replica exchange. [`Sampler::seconds`] and
    /// [`Cancel`](crate::Cancel) of one rank stop all of them at one draw. A failure of one rank is an error on all of them.
    ///
    /// The example `examples/mpi` has [`Ranks`] over MPI.
    ///
    /// # Errors
    /// Those of [`Sampler::run`], and:
    /// * [`Error::Option`] where the ranks have different models or settings, or a checkpoint is set.
    /// * [`Error::Ranks`] where another rank failed, or the ranks cannot talk to each other.
    pub fn run_over(&self, ranks: &dyn Ranks) -> Result<Samples, Error> {
        let work = |link: &Link| {
            self.check()?;
            if self.checkpoint.is_some() {
                return Err(Error::option("checkpoint: a run over ranks keeps none"));
            }
            self.settings.install(|| run::run(self, Some(link)))
        };
        ranks::over(ranks, work)
    }

    fn check(&self) -> Result<(), Error> {
        if self.chains == 0 || self.draws == 0 || self.thin == Some(0) {
            return Err(Error::option("chains, draws and thin: at least 1 of each is needed"));
        }
        if self.seconds.is_some_and(|seconds| seconds.is_nan() || seconds < 0.0) {
            return Err(Error::option("seconds: a number from 0 is needed"));
        }
        Ok(())
    }
}
