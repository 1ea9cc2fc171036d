//! A run in a file, so that it survives being killed at any moment.
//!
//! A line of JSON, then the snapshots of the units, then the draws of each chain: states, energies.

use crate::checkpoint::Fnv;
use crate::sampler::Sampler;
use crate::unit::{Track, Unit};
use crate::{Error, Report, files};
use bitmc::snapshot::{Reader, SnapshotError, Writer};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

/// Reads and writes the file, where there is to be one.
pub(crate) struct Keeper<'s> {
    path: Option<&'s Path>,
    question: String,
}

/// What stands before the bytes.
#[derive(Serialize, Deserialize)]
struct Head {
    question: String,
    report: Report,
    snapshots: usize,
    draws: usize,
    chains: usize,
    hash: String,
}

/// A run that was read.
pub(crate) struct Kept {
    pub(crate) report: Report,
    snapshots: Vec<u8>,
    pub(crate) tracks: Vec<Track>,
}

impl<'s> Keeper<'s> {
    /// How long the run goes on before it is written again.
    pub(crate) const EVERY: Duration = Duration::from_secs(30);

    pub(crate) fn new(sampler: &'s Sampler<'s>) -> Result<Self, Error> {
        let path = sampler.checkpoint.as_deref();
        if let Some(path) = path {
            files::writable(path)?;
        }
        let mut model = Fnv::new();
        if path.is_some() {
            let _ = write!(model, "{:?}", sampler.model);
        }
        let question = format!(
            "bitmc {}; model {:016x}; chains {}; warm-up {:?}; draws {}; thin {:?}; seed {}; temperature {:?}; sampler {:?}",
            env!("CARGO_PKG_VERSION"),
            model.finish(),
            sampler.chains,
            sampler.warmup,
            sampler.draws,
            sampler.thin,
            sampler.settings.seed,
            sampler.temperature,
            sampler.choice
        );
        Ok(Self { path, question })
    }

    /// The run in the file, if there is one.
    pub(crate) fn read(&self) -> Result<Option<Kept>, Error> {
        let Some(path) = self.path.filter(|path| path.exists()) else { return Ok(None) };
        let bad = |reason: &str| Error::file(path, format!("no checkpoint of this run: {reason}"));
        let bytes = files::read(path)?;
        let end =
            bytes.iter().position(|&byte| byte == b'\n').ok_or_else(|| bad("its first line does not end"))?;
        let head: Head =
            serde_json::from_slice(&bytes[..end]).map_err(|_| bad("its first line is not a checkpoint's"))?;
        let body = &bytes[end + 1..];
        if head.question != self.question {
            let pairs =
                head.question.split("; ").zip(self.question.split("; ")).filter(|(kept, here)| kept != here);
            let pairs: Vec<String> = pairs.map(|(kept, here)| format!("{kept}, not {here}")).collect();
            return Err(Error::file(path, format!("the run had other settings: {}", pairs.join("; "))));
        }
        if hash(body) != head.hash || body.len() < head.snapshots {
            return Err(bad("it is damaged"));
        }
        let (snapshots, rest) = body.split_at(head.snapshots);
        let (words, odd) = rest.as_chunks::<4>();
        if head.chains == 0 || !odd.is_empty() || !words.len().is_multiple_of(head.chains) {
            return Err(bad("it is damaged"));
        }
        let words: Vec<u32> = words.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect();
        let track = |words: &[u32]| {
            let (states, energies) = words.split_at(words.len().saturating_sub(head.draws));
            Track {
                words: states.to_vec(),
                energies: energies.iter().map(|&bits| f32::from_bits(bits)).collect(),
            }
        };
        let tracks = if words.is_empty() {
            vec![Track::default(); head.chains]
        } else {
            words.chunks_exact(words.len() / head.chains).map(track).collect()
        };
        Ok(Some(Kept { report: head.report, snapshots: snapshots.to_vec(), tracks }))
    }

    /// Gives units the state that they had.
    pub(crate) fn restore(&self, kept: &Kept, units: &mut [Box<dyn Unit + '_>]) -> Result<(), Error> {
        let mut load = || -> Result<(), SnapshotError> {
            let mut reader = Reader::new(&kept.snapshots)?;
            units.iter_mut().try_for_each(|unit| reader.get(&mut **unit).map(|_| ()))?;
            reader.finish()
        };
        let path = self.path.unwrap_or(Path::new(""));
        load().map_err(|error| Error::file(path, format!("no checkpoint of this run: {error}")))
    }

    /// Writes the run.
    pub(crate) fn write(
        &self,
        report: &Report,
        units: &[Box<dyn Unit + '_>],
        tracks: &[Track],
    ) -> Result<(), Error> {
        let Some(path) = self.path else { return Ok(()) };
        let put =
            |out: &mut [u8]| units.iter().fold(Writer::new(out), |writer, unit| writer.put(&**unit)).finish();
        let mut body = match put(&mut []) {
            Err(SnapshotError::Memory { need, .. }) => vec![0; need],
            _ => Vec::new(),
        };
        put(&mut body).map_err(|error| Error::file(path, error))?;
        let snapshots = body.len();
        for track in tracks {
            track.words.iter().for_each(|word| body.extend(word.to_le_bytes()));
            track.energies.iter().for_each(|energy| body.extend(energy.to_bits().to_le_bytes()));
        }
        let draws = tracks.first().map_or(0, |track| track.energies.len());
        let head = Head {
            question: self.question.clone(),
            report: report.clone(),
            snapshots,
            draws,
            chains: tracks.len(),
            hash: hash(&body),
        };
        let mut bytes = serde_json::to_vec(&head).map_err(|error| Error::file(path, error))?;
        bytes.push(b'\n');
        bytes.append(&mut body);
        files::write(path, &bytes)
    }
}

fn hash(bytes: &[u8]) -> String {
    let mut hash = Fnv::new();
    hash.add(bytes);
    format!("{:016x}", hash.finish())
}
