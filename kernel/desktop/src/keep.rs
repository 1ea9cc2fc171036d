//! A run in a file, so that it survives being killed at any moment.
//!
//! A line with the name of the format and a hash of all that follows. A line of JSON. Then the snapshots of the units, and the
//! draws of each chain: states, energies.

use crate::chains::{memory, streams};
use crate::checkpoint::{Fnv, differing};
use crate::model::{Form, Own};
use crate::sampler::{Choice, Sampler};
use crate::unit::{Track, Unit};
use crate::{Error, Model, Report, files};
use bitmc::Packed;
use bitmc::energy::BaseDistribution;
use bitmc::snapshot::{Reader, SnapshotError, Writer};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

/// The name of the format. Files of the first one begin with a brace.
const FORMAT: &str = "bitmc checkpoint 3";

/// Random states at which energies are compared.
const RANDOM: usize = 16;
/// How far energies may differ for rounding, over the largest of them.
const SAME: f32 = 1e-4;

/// How far a run has come, beside its draws.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Place {
    /// Steps of the warm-up that are still to be made.
    pub(crate) warmup: u64,
    /// Steps since the last draw.
    pub(crate) past: u64,
}

/// Reads and writes the file, where there is to be one.
pub(crate) struct Keeper<'s> {
    sampler: &'s Sampler<'s>,
    path: Option<&'s Path>,
    question: String,
}

/// The line of JSON.
#[derive(Serialize, Deserialize)]
struct Head {
    question: String,
    report: Report,
    place: Place,
    /// Of an energy of the user: the bits of [`Keeper::probe`].
    energies: Vec<u32>,
    snapshots: usize,
    draws: usize,
    chains: usize,
}

/// A run that was read.
pub(crate) struct Kept {
    pub(crate) report: Report,
    pub(crate) place: Place,
    energies: Vec<u32>,
    snapshots: Vec<u8>,
    pub(crate) tracks: Vec<Track>,
}

impl<'s> Keeper<'s> {
    /// How long the run goes on before it is written again.
    pub(crate) const EVERY: Duration = Duration::from_secs(30);

    /// `whole`: the question names the model, although there is no file.
    pub(crate) fn new(sampler: &'s Sampler<'s>, whole: bool) -> Result<Self, Error> {
        let path = sampler.checkpoint.as_deref();
        if let Some(path) = path {
            files::writable(path)?;
        }
        let model = if path.is_some() || whole { fingerprint(sampler.model) } else { 0 };
        let steps = |steps: Option<u64>| steps.map_or("of its choice".into(), |steps| steps.to_string());
        let choice = match &sampler.choice {
            Choice::Auto => "auto".into(),
            Choice::Exactly(plan) => format!("{plan:?}"),
            Choice::Tuned(plan) => format!("{plan:?} tuned"),
        };
        let question = format!(
            "bitmc {}; model {model:016x}; chains {}; warm-up {}; draws {}; thin {}; seed {}; temperature {}; sampler {choice}",
            env!("CARGO_PKG_VERSION"),
            sampler.chains,
            steps(sampler.warmup),
            sampler.draws,
            steps(sampler.thin),
            sampler.settings.seed,
            sampler.temperature,
        );
        Ok(Self { sampler, path, question })
    }

    /// Which run this is: the version, the model and the settings.
    pub(crate) fn question(&self) -> &str {
        &self.question
    }

    /// The run in the file, if there is one.
    pub(crate) fn read(&self) -> Result<Option<Kept>, Error> {
        let Some(path) = self.path.filter(|path| path.exists()) else { return Ok(None) };
        let bad = |reason: &str| Error::file(path, format!("no checkpoint of this run: {reason}"));
        let bytes = files::read(path)?;
        if bytes.starts_with(b"{") || bytes.starts_with(b"bitmc checkpoint 2") {
            return Err(bad("it has the format of an older version"));
        }
        let (first, rest) = line(&bytes);
        let Some(written) = first.strip_prefix(FORMAT.as_bytes()) else {
            return Err(bad("its first line is not a checkpoint's"));
        };
        if written != format!(" {}", hash(rest)).as_bytes() {
            return Err(bad("it is damaged"));
        }
        let (head, body) = line(rest);
        let head: Head = serde_json::from_slice(head).map_err(|_| bad("it is damaged"))?;
        if head.question != self.question {
            let pairs = differing(&head.question, &self.question);
            return Err(Error::file(path, format!("the run had other settings: {pairs}")));
        }
        // An edit may have come with its hash: sizes that do not fit are refused all the same.
        let sampler = self.sampler;
        let draw = 4 * (sampler.model.layout().words() + 1);
        let fits = |rest: &[u8]| {
            head.chains == sampler.chains
                && head.draws <= sampler.draws
                && head.place.past <= head.report.thin
                && head.chains.checked_mul(head.draws).and_then(|draws| draws.checked_mul(draw))
                    == Some(rest.len())
        };
        let parts = body.split_at_checked(head.snapshots).filter(|(_, rest)| fits(rest));
        let kept =
            parts.and_then(|(snapshots, rest)| Some((snapshots, tracks(rest, head.chains, head.draws)?)));
        let (snapshots, tracks) = kept.ok_or_else(|| bad("it is damaged"))?;
        let Head { report, place, energies, .. } = head;
        Ok(Some(Kept { report, place, energies, snapshots: snapshots.to_vec(), tracks }))
    }

    /// Gives units the state that they had.
    pub(crate) fn restore(&self, kept: &Kept, units: &mut [Box<dyn Unit + '_>]) -> Result<(), Error> {
        let path = self.path.unwrap_or(Path::new(""));
        load(&kept.snapshots, &mut *units)
            .map_err(|error| Error::file(path, format!("no checkpoint of this run: {error}")))?;
        let there: Vec<f32> = kept.energies.iter().map(|&bits| f32::from_bits(bits)).collect();
        let here = self.probe(units)?;
        if there.len() != here.len() {
            return Err(Error::file(path, "no checkpoint of this run: it is damaged"));
        }
        let finite = there.iter().map(|energy| energy.abs()).filter(|size| size.is_finite());
        let rounding = SAME * finite.fold(0.0, f32::max);
        let differ = |(a, b): &(&f32, &f32)| a != b && (*a - *b).abs() > rounding;
        match there.iter().zip(&here).find(differ) {
            Some((there, here)) => {
                let why = format!("the run had another energy: a state that had {there} has {here}");
                Err(Error::file(path, why))
            }
            None => Ok(()),
        }
    }

    /// Of an energy of the user, which has no numbers to hash: those of the chains' states and of some random ones; infinity
    /// where a state has none.
    fn probe(&self, units: &[Box<dyn Unit + '_>]) -> Result<Vec<f32>, Error> {
        let Form::Own(Own(energy)) = &self.sampler.model.form else { return Ok(Vec::new()) };
        let layout = energy.layout();
        let base = BaseDistribution::new(&**energy, &[]).map_err(Error::model)?;
        let mut states = Vec::new();
        for unit in units {
            let mut tracks = vec![Track::default(); unit.chains()];
            unit.record(&mut tracks);
            states.extend(tracks.into_iter().map(|track| track.words));
        }
        for mut rng in streams(0).take(RANDOM) {
            let mut words = vec![0; layout.words()];
            base.draw(&mut rng, &mut words);
            states.push(words);
        }
        let mut cache = memory(&**energy).cache;
        let of = |words: &Vec<u32>| {
            let state = Packed::new(layout, words).map_err(Error::model)?;
            Ok(energy.init(state, &mut cache).ok().filter(|energy| energy.is_finite()).unwrap_or(f32::INFINITY))
        };
        states.iter().map(of).collect()
    }

    /// Writes the run.
    pub(crate) fn write(
        &self,
        report: &Report,
        units: &[Box<dyn Unit + '_>],
        tracks: &[Track],
        place: Place,
    ) -> Result<(), Error> {
        let Some(path) = self.path else { return Ok(()) };
        let snapshots = snapshots(units).map_err(|error| Error::file(path, error))?;
        let head = Head {
            question: self.question.clone(),
            report: report.clone(),
            place,
            energies: self.probe(units)?.into_iter().map(f32::to_bits).collect(),
            snapshots: snapshots.len(),
            draws: tracks.first().map_or(0, |track| track.energies.len()),
            chains: tracks.len(),
        };
        let mut rest = serde_json::to_vec(&head).map_err(|error| Error::file(path, error))?;
        rest.push(b'\n');
        rest.extend(snapshots);
        tracks.iter().for_each(|track| put_track(track, &mut rest));
        let mut bytes = format!("{FORMAT} {}\n", hash(&rest)).into_bytes();
        bytes.append(&mut rest);
        files::write(path, &bytes)
    }
}

/// The first line, without its end, and what follows.
fn line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len());
    (&bytes[..end], bytes.get(end + 1..).unwrap_or_default())
}

/// The snapshots of units, one behind the other.
pub(crate) fn snapshots<'u, 'e: 'u>(
    units: impl IntoIterator<Item = &'u Box<dyn Unit + 'e>, IntoIter: Clone>,
) -> Result<Vec<u8>, SnapshotError> {
    let units = units.into_iter();
    let put =
        |out: &mut [u8]| units.clone().fold(Writer::new(out), |writer, unit| writer.put(&**unit)).finish();
    let mut bytes = match put(&mut []) {
        Err(SnapshotError::Memory { need, .. }) => vec![0; need],
        _ => Vec::new(),
    };
    put(&mut bytes)?;
    Ok(bytes)
}

/// Gives units the state of their snapshots.
pub(crate) fn load<'u, 'e: 'u>(
    bytes: &[u8],
    units: impl IntoIterator<Item = &'u mut Box<dyn Unit + 'e>>,
) -> Result<(), SnapshotError> {
    let mut reader = Reader::new(bytes)?;
    units.into_iter().try_for_each(|unit| reader.get(&mut **unit).map(|_| ()))?;
    reader.finish()
}

/// States, then energies.
pub(crate) fn put_track(track: &Track, out: &mut Vec<u8>) {
    track.words.iter().for_each(|word| out.extend(word.to_le_bytes()));
    track.energies.iter().for_each(|energy| out.extend(energy.to_bits().to_le_bytes()));
}

/// The tracks of some chains with so many draws each; none where their bytes are others.
pub(crate) fn tracks(bytes: &[u8], chains: usize, draws: usize) -> Option<Vec<Track>> {
    let (words, odd) = bytes.as_chunks::<4>();
    if chains == 0 || !odd.is_empty() || !words.len().is_multiple_of(chains) {
        return None;
    }
    let words: Vec<u32> = words.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect();
    let each = words.len() / chains;
    let states = each.checked_sub(draws)?;
    let track = |chain: usize| {
        let (states, energies) = words[chain * each..(chain + 1) * each].split_at(states);
        Track { words: states.to_vec(), energies: energies.iter().map(|&bits| f32::from_bits(bits)).collect() }
    };
    Some((0..chains).map(track).collect())
}

/// A number by which models are told apart.
pub(crate) fn fingerprint(model: &Model) -> u64 {
    let mut all = Fnv::new();
    let _ = write!(all, "{model:?}");
    all.finish()
}

fn hash(bytes: &[u8]) -> String {
    let mut hash = Fnv::new();
    hash.add(bytes);
    format!("{:016x}", hash.finish())
}
