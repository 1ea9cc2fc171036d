//! One run over several processes: units dealt out, what they drew shared.
//!
//! Every rank has all units and makes all decisions; it moves its own units alone. Decisions are functions of what all ranks
//! have heard, so that they are the same, and all ranks gather equally often.

use crate::Error;
use crate::checkpoint::differing;
use crate::keep::{load, put_track, snapshots, tracks};
use crate::unit::{Track, Unit};
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

/// Processes that share a run: what [`Sampler::run_over`](crate::Sampler::run_over) needs of MPI, or of another way
/// to send bytes.
///
/// All calls come from the thread that called `run_over`.
///
/// ```
/// use bitmc_desktop::{Error, Model, Ranks};
/// use std::sync::{Barrier, Mutex};
///
/// // Threads of one process, for a test.
/// struct Threads<'a>(usize, &'a [Mutex<Vec<u8>>], &'a Barrier);
///
/// impl Ranks for Threads<'_> {
///     fn rank(&self) -> usize {
///         self.0
///     }
///
///     fn size(&self) -> usize {
///         self.1.len()
///     }
///
///     fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
///         *self.1[self.0].lock().unwrap() = own.to_vec();
///         self.2.wait();
///         let all = self.1.iter().map(|bytes| bytes.lock().unwrap().clone()).collect();
///         self.2.wait();
///         Ok(all)
///     }
/// }
///
/// let model = Model::ising(3, &[(0, 1, 0.5), (1, 2, -0.5)], &[0.1, 0.0, 0.0])?;
/// let (sampler, bytes, barrier) = (model.sampler().chains(64), [const { Mutex::new(Vec::new()) }; 2], Barrier::new(2));
/// let run = |rank| sampler.run_over(&Threads(rank, &bytes, &barrier));
/// let (first, second) = std::thread::scope(|scope| {
///     let second = scope.spawn(|| run(1));
///     (run(0), second.join().unwrap())
/// });
/// let alone = sampler.run()?;
/// assert_eq!(first?.values(), alone.values());
/// assert_eq!(second?.values(), alone.values());
/// # Ok::<(), Error>(())
/// ```
pub trait Ranks {
    /// Which of them this process is, from 0.
    fn rank(&self) -> usize;

    /// How many there are.
    fn size(&self) -> usize;

    /// Waits until all ranks have called this, and gives each the bytes of all of them, rank by rank. Lengths differ,
    /// and may be 0.
    ///
    /// # Errors
    /// [`Error::Ranks`] where the ranks cannot talk to each other.
    fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, Error>;

    /// What this rank has, if no rank has an error: for what can fail before the run, such as reading the model. All ranks must
    /// call it, because a rank that ends early leaves the others waiting.
    ///
    /// # Errors
    /// The own error, or [`Error::Ranks`] with that of another rank.
    fn all_well<T>(&self, own: Result<T, Error>) -> Result<T, Error>
    where
        Self: Sized,
    {
        let said = own.as_ref().map(|_| &[][..]).map_err(ToString::to_string);
        let heard = Gathers { ranks: self, serial: 0 }.next(said);
        own.and_then(|own| heard.map(|_| own))
    }
}

/// What goes before the bytes of a rank: whether they are an error, which gather it is, and the rank.
type Mark = [u8; 17];

fn mark(failed: bool, serial: u64, rank: usize) -> Mark {
    let mut mark = [u8::from(failed); 17];
    mark[1..9].copy_from_slice(&serial.to_le_bytes());
    mark[9..].copy_from_slice(&(rank as u64).to_le_bytes());
    mark
}

/// The gathers of a run, in a row.
struct Gathers<'r> {
    ranks: &'r dyn Ranks,
    serial: u64,
}

impl Gathers<'_> {
    /// What every rank said; an error where one of them said that it failed.
    fn next(&mut self, said: Result<&[u8], String>) -> Result<Vec<Vec<u8>>, Error> {
        let mut own = mark(said.is_err(), self.serial, self.ranks.rank()).to_vec();
        own.extend_from_slice(said.as_ref().copied().unwrap_or_else(|reason| reason.as_bytes()));
        let mut all = self.ranks.gather(&own).map_err(|error| Error::Ranks(error.to_string()))?;
        if all.len() != self.ranks.size() {
            let (got, need) = (all.len(), self.ranks.size());
            return Err(Error::Ranks(format!("the bytes of {got} ranks were gathered: {need} are needed")));
        }
        for (rank, bytes) in all.iter_mut().enumerate() {
            let is = |failed| bytes.starts_with(&mark(failed, self.serial, rank));
            if is(true) {
                let reason = String::from_utf8_lossy(&bytes[size_of::<Mark>()..]);
                return Err(Error::Ranks(format!("rank {rank}: {reason}")));
            }
            if !is(false) {
                return Err(Error::Ranks(format!("what was gathered in place of rank {rank} is not from it")));
            }
            bytes.drain(..size_of::<Mark>());
        }
        self.serial += 1;
        Ok(all)
    }
}

/// Works on a thread of its own, so that all gathers are on this one.
pub(crate) fn over<T: Send>(
    ranks: &dyn Ranks,
    work: impl FnOnce(&Link) -> Result<T, Error> + Send,
) -> Result<T, Error> {
    let (rank, size) = (ranks.rank(), ranks.size());
    if rank >= size {
        return Err(Error::Ranks(format!("rank {rank} of {size}: a rank below the number of ranks is needed")));
    }
    let (to, said) = channel::<Vec<u8>>();
    let (answers, from) = channel();
    let mut gathers = Gathers { ranks, serial: 0 };
    let outcome = thread::scope(|scope| {
        let link = Link { rank, size, to, from: Mutex::new(from), stop: OnceLock::new() };
        let work = scope.spawn(move || work(&link));
        for own in said {
            // The work waits for its answer.
            let _ = answers.send(gathers.next(Ok(&own)));
        }
        work.join()
    });
    // The last gather: a rank that has failed says so here, where the others are at their next one.
    match outcome {
        Ok(Ok(answer)) => gathers.next(Ok(&[])).map(|_| answer),
        Ok(Err(Error::Ranks(reason))) => Err(Error::Ranks(reason)),
        Ok(Err(error)) => {
            let _ = gathers.next(Err(error.to_string()));
            Err(error)
        }
        Err(panic) => {
            let _ = gathers.next(Err("it panicked".into()));
            resume_unwind(panic)
        }
    }
}

/// Why a run stops; a rank sends the place in this list.
const STOPS: [&str; 2] = [CANCELLED, LATE];
pub(crate) const CANCELLED: &str = "it was cancelled";
pub(crate) const LATE: &str = "its time was over";

/// The work's end of the gathers.
pub(crate) struct Link {
    rank: usize,
    size: usize,
    to: Sender<Vec<u8>>,
    from: Mutex<Receiver<Result<Vec<Vec<u8>>, Error>>>,
    stop: OnceLock<&'static str>,
}

impl Link {
    /// Which rank this is, and how many there are.
    pub(crate) fn place(&self) -> (usize, usize) {
        (self.rank, self.size)
    }

    /// The bytes of all ranks.
    pub(crate) fn gather(&self, own: Vec<u8>) -> Result<Vec<Vec<u8>>, Error> {
        let gone = || Error::Ranks("the thread that gathers has ended".into());
        self.to.send(own).map_err(|_| gone())?;
        self.from.lock().unwrap_or_else(PoisonError::into_inner).recv().map_err(|_| gone())?
    }

    /// Whether this rank moves the unit.
    pub(crate) fn is_here(&self, unit: usize) -> bool {
        unit % self.size == self.rank
    }

    /// Why the run stops, as all ranks know.
    pub(crate) fn over(&self) -> Option<&'static str> {
        self.stop.get().copied()
    }

    /// All ranks must have the same run.
    pub(crate) fn check(&self, question: &str) -> Result<(), Error> {
        let all = self.gather(question.as_bytes().to_vec())?;
        let Some(rank) = all.iter().position(|other| *other != all[0]) else { return Ok(()) };
        let pairs = differing(&String::from_utf8_lossy(&all[rank]), &String::from_utf8_lossy(&all[0]));
        Err(Error::option(format!("rank {rank} has other settings than rank 0: {pairs}")))
    }

    /// The longest time that a rank took; and whether one of them must stop, so that all of them do.
    pub(crate) fn agree(&self, took: Duration, over: Option<&'static str>) -> Result<Duration, Error> {
        let stop = over.and_then(|over| STOPS.iter().position(|stop| *stop == over));
        let own = [took.as_nanos() as u64, stop.map_or(0, |stop| stop as u64 + 1)];
        let mut longest = 0;
        for bytes in self.gather(own.map(u64::to_le_bytes).concat())? {
            let [took, stop] = numbers(&bytes)?;
            longest = longest.max(took);
            if let Some(stop) = STOPS.get((stop as usize).wrapping_sub(1)) {
                self.stop.get_or_init(|| stop);
            }
        }
        Ok(Duration::from_nanos(longest))
    }

    /// What the first rank finds.
    pub(crate) fn by_the_first(
        &self,
        find: impl FnOnce() -> Result<Vec<f32>, Error>,
    ) -> Result<Vec<f32>, Error> {
        let own = if self.rank == 0 { find()? } else { Vec::new() };
        let all = self.gather(own.iter().flat_map(|number| number.to_le_bytes()).collect())?;
        Ok(all[0].as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect())
    }

    /// Gives all ranks the state of the units that each has moved, and what they have drawn.
    pub(crate) fn share(
        &self,
        mut parts: Vec<(usize, &mut Box<dyn Unit + '_>, &mut [Track])>,
    ) -> Result<(), Error> {
        if self.size == 1 {
            return Ok(());
        }
        let here = || parts.iter().filter(|(unit, ..)| self.is_here(*unit));
        let snapshots = snapshots(here().map(|(_, unit, _)| &**unit)).map_err(Error::model)?;
        let draws = here().flat_map(|(.., tracks)| tracks.first()).map(|track| track.energies.len()).next();
        let head = [snapshots.len() as u64, draws.unwrap_or(0) as u64];
        let mut own = [head.map(u64::to_le_bytes).concat(), snapshots].concat();
        here().flat_map(|(.., tracks)| tracks.iter()).for_each(|track| put_track(track, &mut own));
        for (rank, bytes) in self.gather(own)?.into_iter().enumerate().filter(|(rank, _)| *rank != self.rank) {
            let mut there: Vec<_> = parts.iter_mut().filter(|(unit, ..)| unit % self.size == rank).collect();
            let chains = there.iter().map(|(.., tracks)| tracks.len()).sum();
            if chains == 0 {
                continue;
            }
            let bad = || Error::Ranks(format!("what rank {rank} drew is not of this run"));
            let [length, draws] = numbers(&bytes)?;
            let body = bytes[16..].split_at_checked(length as usize);
            let (snapshots, drawn) = body.ok_or_else(bad)?;
            load(snapshots, there.iter_mut().map(|(_, unit, _)| &mut **unit)).map_err(|_| bad())?;
            let drawn = tracks(drawn, chains, draws as usize).ok_or_else(bad)?;
            let places = there.into_iter().flat_map(|(.., tracks)| tracks.iter_mut());
            places.zip(drawn).for_each(|(place, track)| *place = track);
        }
        Ok(())
    }
}

/// The two numbers that bytes begin with.
fn numbers(bytes: &[u8]) -> Result<[u64; 2], Error> {
    let (numbers, _) = bytes.as_chunks::<8>();
    match numbers {
        &[a, b, ..] => Ok([u64::from_le_bytes(a), u64::from_le_bytes(b)]),
        _ => Err(Error::Ranks("a rank sent too few bytes".into())),
    }
}
