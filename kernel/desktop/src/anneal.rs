//! States of low energy by simulated annealing or replica exchange.

mod fall;
mod ladders;
mod search;

use crate::model::{Model, rounded};
use crate::npz::Npz;
use crate::settings::{Settings, settings};
use crate::{Error, files};
use bitmc::Layout;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// How states of low energy are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Method {
    /// Simulated annealing with restarts: Gibbs sweeps while the temperature falls.
    #[default]
    Annealing,
    /// Replica exchange with restarts: the lowest energy that any replica meets.
    Exchange,
    /// The same with two ladders a run, which exchange clusters at equal temperatures (isoenergetic moves).
    Isoenergetic,
}

impl std::str::FromStr for Method {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "annealing" => Ok(Self::Annealing),
            "exchange" => Ok(Self::Exchange),
            "isoenergetic" => Ok(Self::Isoenergetic),
            _ => Err(Error::option(format!("method {text:?}: annealing, exchange or isoenergetic is needed"))),
        }
    }
}

/// The settings of an annealing; [`Annealer::run`] runs it over all cores.
///
/// Runs of Gibbs sweeps, with the temperature falling, follow each other until the time is over. There are four of each length,
/// from 1,000 sweeps to 64,000 (Ising models: four batches of sixteen). Every run ends with sweeps at temperature 0.
///
/// Ising models whose couplings have one magnitude, with fields of one magnitude and at most eight neighbours a site, take 512 runs
/// together, in the bits of a block. The first 512 have 128 sweeps, and each time there are twice as many. This is not so where
/// sites are known or more than 10,000, or where the sweeps or reads are too few for it.
///
/// With [`Annealer::method`] a run is replica exchange instead, of so many sweeps of each replica. It ends with the
/// state of the lowest energy that any replica had. Its temperatures are spaced by short runs.
///
/// ```
/// use bitmc_desktop::Model;
///
/// let model = Model::ising(4, &[(0, 1, 1.0), (1, 2, 1.0), (2, 3, -1.0)], &[0.5, 0.0, 0.0, 0.0])?;
/// let found = model.annealer().sweeps(1000).run()?;
/// assert_eq!((found.states[0].energy, &found.states[0].state[..]), (-3.5, &[1, 1, 1, 0][..]));
/// # Ok::<(), bitmc_desktop::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Annealer<'m> {
    model: &'m Model,
    budget: Budget,
    range: Option<(f64, f64)>,
    method: Method,
    target: Option<f64>,
    settings: Settings,
}

#[derive(Clone, Copy, Debug)]
enum Budget {
    Seconds(f64),
    Sweeps(u64),
    /// Runs, the sweeps of each, and the most seconds of all together.
    Reads(usize, u64, Option<f64>),
}

impl Budget {
    fn seconds(self) -> Option<f64> {
        match self {
            Self::Seconds(limit) => Some(limit),
            Self::Reads(_, _, limit) => limit,
            Self::Sweeps(_) => None,
        }
    }
}

/// What an annealing found.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Annealed {
    /// The different states at which runs ended, the lowest energy first; at most a hundred.
    pub states: Vec<Minimum>,
    /// Runs that ended. With [`Annealer::target`], and without [`Annealer::reads`], a batch of them counts as one.
    pub runs: u64,
    /// Sweeps of all runs, given up ones too, and of all replicas of each. Those at temperature 0 do not count.
    pub sweeps: u64,
    /// The temperature at which a run begins, or of the first replica.
    pub hottest: f64,
    /// The last temperature above 0, or that of the last replica.
    pub coldest: f64,
    /// The run that first reached [`Annealer::target`]; none where none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Reached>,
    /// Packed states with their energies in the order of the runs, where [`Annealer::reads`] set a number of these. They end with the
    /// batch that reached [`Annealer::target`].
    #[serde(skip)]
    pub reads: Vec<(Vec<u32>, f64)>,
    /// Every lower energy at which a run ended, after the seconds from the start of the search. The seconds are by
    /// the clock, so that it is another curve each time.
    #[serde(skip)]
    pub curve: Vec<(f64, f64)>,
    #[serde(skip)]
    pub(crate) layout: Layout,
}

impl Annealed {
    /// The shape of a state.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// A sentence where numbers of the model were rounded so far that another state may be the lowest one: by more than 1e-6 of
    /// the lowest energy, or than 1e-6 where that is more.
    #[must_use]
    pub fn warning(&self, model: &Model) -> Option<String> {
        let lowest = self.states.first().map_or(0.0, |state| state.energy.abs());
        let and =
            ", more than a millionth of the lowest one: another state may be lower; take smaller penalties";
        (model.rounding() > 1e-6 * lowest.max(1.0)).then(|| rounded(model.rounding(), and))
    }

    /// Writes an archive that `numpy.load` reads: `states` (states, sites), `uint8` or above 256 values `uint16`;
    /// `energies` and `runs`, one a state.
    ///
    /// # Errors
    /// [`Error::File`] where it cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let (count, sites) = (self.states.len(), self.layout.sites());
        let energies: Vec<f64> = self.states.iter().map(|state| state.energy).collect();
        let runs: Vec<i64> = self.states.iter().map(|state| state.runs as i64).collect();
        let values = || self.states.iter().flat_map(|state| &state.state);
        files::write_with(path.as_ref(), |file| {
            let mut npz = Npz::to(file);
            if self.layout.arity() > 256 {
                npz.add("states", &[count, sites], &values().map(|&value| value as u16).collect::<Vec<_>>())?;
            } else {
                npz.add("states", &[count, sites], &values().map(|&value| value as u8).collect::<Vec<_>>())?;
            }
            npz.add("energies", &[count], &energies)?;
            npz.add("runs", &[count], &runs)?;
            npz.finish().map(|_| ())
        })
    }
}

/// A run that reached an energy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reached {
    /// Which run it was; all runs before it are over. Without [`Annealer::reads`] a batch of runs counts as one.
    pub run: u64,
    /// Seconds from the start of the search to the end of that run: by the clock, so that they are other ones each time.
    pub seconds: f64,
}

/// A state at which runs ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Minimum {
    /// Its energy.
    pub energy: f64,
    /// Runs that ended there.
    pub runs: u64,
    /// The value of every site.
    pub state: Vec<u32>,
}

impl Model {
    /// The settings of a search for states of low energy.
    #[must_use]
    pub fn annealer(&self) -> Annealer<'_> {
        Annealer {
            model: self,
            budget: Budget::Seconds(10.0),
            range: None,
            method: Method::Annealing,
            target: None,
            settings: Settings::default(),
        }
    }
}

settings!(Annealer, "What stops the search from elsewhere.");

impl Annealer<'_> {
    /// Ends after so many seconds.
    #[must_use]
    pub fn seconds(self, seconds: f64) -> Self {
        Self { budget: Budget::Seconds(seconds), ..self }
    }

    /// Ends with the runs that begin before so many sweeps are spent, all together: the same answer on any machine, with any
    /// number of threads.
    #[must_use]
    pub fn sweeps(self, sweeps: u64) -> Self {
        Self { budget: Budget::Sweeps(sweeps), ..self }
    }

    /// Makes so many runs of so many sweeps each, and keeps the end of each in [`Annealed::reads`]. With a number of seconds no
    /// run begins later, and those that are then on their way are given up. The first one is always there.
    #[must_use]
    pub fn reads(self, reads: usize, sweeps: u64, seconds: Option<f64>) -> Self {
        Self { budget: Budget::Reads(reads, sweeps, seconds), ..self }
    }

    /// The temperatures at which a run begins and ends; between them it falls geometrically, and no sweeps at temperature 0
    /// follow. Without them they are chosen by the changes of energy at random states. Of replica exchange they are
    /// the ends of the ladder.
    #[must_use]
    pub fn temperatures(self, hottest: f64, coldest: f64) -> Self {
        Self { range: Some((hottest, coldest)), ..self }
    }

    /// Simulated annealing, or replica exchange.
    #[must_use]
    pub fn method(self, method: Method) -> Self {
        Self { method, ..self }
    }

    /// Ends the search with the first run that reaches this energy, or one below it. Runs that began before it are
    /// finished, and those that began later are given up. So which run it is does not depend on the number of
    /// threads.
    ///
    /// Ising models are annealed in batches of 16 or 512 runs. Without [`Annealer::reads`] only the best end of each batch is kept, and
    /// a batch counts as one run.
    ///
    /// Energies are sums of 32 bits. An energy up to 1.2·10⁻⁷·max(|target|, T) above the target counts as the target, where T is
    /// the hottest temperature, or 1 where that is less. That is one or two steps from an `f32` to the next. [`Annealed::states`] has
    /// the energy that was found.
    #[must_use]
    pub fn target(self, energy: f64) -> Self {
        Self { target: Some(energy), ..self }
    }

    /// Searches.
    ///
    /// # Errors
    /// [`Error::Option`] where a setting is illegal, [`Error::Model`] where the model has no possible state to start
    /// from, or no clusters for [`Method::Isoenergetic`].
    pub fn run(&self) -> Result<Annealed, Error> {
        if self.budget.seconds().is_some_and(|seconds| !(seconds > 0.0 && seconds < 1e9)) {
            return Err(Error::option("seconds: a number above 0 is needed"));
        }
        if matches!(self.budget, Budget::Sweeps(0)) {
            return Err(Error::option("sweeps: at least 1 is needed"));
        }
        if matches!(self.budget, Budget::Reads(reads, sweeps, _) if reads == 0 || sweeps == 0) {
            return Err(Error::option("reads and sweeps: at least 1 of each is needed"));
        }
        if self.range.is_some_and(|(hot, cold)| !(hot >= cold && cold > 0.0 && hot < 1e30 && cold > 1e-30)) {
            return Err(Error::option(
                "temperatures: two numbers above 0, the first one not below the second, are needed",
            ));
        }
        let ladder = self.method != Method::Annealing;
        if self.range.is_some_and(|(hot, cold)| ladder && hot < ladders::APART * cold) {
            return Err(Error::option(format!(
                "temperatures: the ends of a ladder are at least {} times apart",
                ladders::APART
            )));
        }
        if self.target.is_some_and(|target| !target.is_finite()) {
            return Err(Error::option("target: a finite number is needed"));
        }
        self.settings.install(|| search::search(self))
    }
}
