//! What a run gives back.

use crate::diagnose::{Diagnosis, Scalar, rounding};
use crate::model::{COARSE, Labels, rounded};
use crate::npz::{Kind, Npz};
use crate::pair::TURNS;
use crate::unit::{Track, transposed};
use crate::{Error, Model, Plan, Report, Seconds, files};
use bitmc::{Layout, Packed};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::OnceLock;

/// Sites whose diagnostics are computed at most: of larger models every k-th one.
pub(crate) const DIAGNOSED: usize = 4096;

/// Sites that are looked at when a run ends.
const GLANCED: usize = 16;

/// States, energies and what was done to draw them. Chains have one length: `chains × draws` states.
#[derive(Clone, Debug)]
pub struct Samples {
    pub(crate) layout: Layout,
    pub(crate) arities: Vec<usize>,
    pub(crate) labels: Labels,
    pub(crate) constant: f64,
    pub(crate) temperature: f64,
    pub(crate) tracks: Vec<Track>,
    pub(crate) report: Report,
    pub(crate) seconds: Seconds,
    /// Whether the energy is the caller's: its differences are those of totals.
    pub(crate) own: bool,
    /// That of the model.
    pub(crate) rounding: f64,
    /// The diagnostics, once they have been computed.
    pub(crate) summary: OnceLock<Summary>,
}

/// A state with its energy, and how often it was drawn.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    /// E of the state.
    pub energy: f64,
    /// Draws of it, over all chains.
    pub draws: u64,
    /// Chains that drew it.
    pub chains: u64,
    /// The value of every site.
    pub state: Vec<u32>,
}

/// Draws of a chain from which on there are effective sample sizes.
const FEWEST: usize = 8;

/// Rounding that a run at a temperature warns of.
pub(crate) fn doubtful(rounding: f64, temperature: f64) -> Option<f64> {
    (rounding > 0.01 * temperature).then_some(rounding)
}

/// A warning of rounding, and what else there is.
pub(crate) fn with_rounding(rounding: Option<f64>, other: Option<String>) -> Option<String> {
    let and = ", more than a hundredth of the temperature; take smaller penalties or a higher temperature";
    let all: Vec<String> = rounding.map(|rounding| rounded(rounding, and)).into_iter().chain(other).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// The diagnostics of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Chains.
    pub chains: usize,
    /// Draws a chain.
    pub draws: usize,
    /// E.
    pub energy: Scalar,
    /// One a site; of models of more than 4,096 sites of every k-th one.
    pub sites: Vec<SiteSummary>,
    /// Sites that had one value in all draws; they have no effective sample size.
    pub constant_sites: usize,
    /// The largest R̂ of the energy and the sites; infinity is 1e308 as JSON.
    #[serde(with = "crate::diagnose::infinite")]
    pub r_hat: Option<f64>,
    /// The smallest bulk effective sample size of the energy and the sites.
    pub ess: Option<f64>,
    /// Steps at which the energy failed: it was NaN or −∞ there, and the step was refused.
    pub faults: u64,
    /// Of an energy of your own that reaches 2¹⁷ T: how far apart numbers of 32 bits are there.
    pub spacing: Option<f64>,
    /// How far energies may be off because numbers of the model, and these over T, are rounded to 32 bits, where that is more
    /// than T/100.
    pub rounding: Option<f64>,
}

/// The diagnostics of one site: those of its value.
#[derive(Clone, Debug, Serialize)]
pub struct SiteSummary {
    /// What its file or model calls it.
    pub site: String,
    /// Of its value, 0 … arity − 1.
    #[serde(flatten)]
    pub value: Scalar,
    /// How often it had each value.
    pub shares: Vec<f64>,
    /// The Monte-Carlo standard error of each share, with its own effective sample size; none of a share of 0 or 1.
    pub share_errors: Vec<Option<f64>>,
}

impl Samples {
    pub(crate) fn new(
        model: &Model,
        temperature: f32,
        tracks: Vec<Track>,
        report: Report,
        seconds: Seconds,
    ) -> Self {
        let layout = model.layout();
        Self {
            layout,
            arities: (0..layout.sites()).map(|site| model.arity_of(site)).collect(),
            labels: model.labels.clone(),
            constant: model.constant,
            temperature: temperature.into(),
            tracks,
            report,
            seconds,
            own: model.is_own(),
            rounding: model.rounding_at(temperature),
            summary: OnceLock::new(),
        }
    }

    /// States that were drawn by hand: the packed words and the energies of each chain, draw after draw.
    ///
    /// # Errors
    /// [`Error::Option`] where the chains differ in length, a chain has not [`Layout::words`] a draw, or words are no state.
    pub fn of(layout: Layout, chains: Vec<(Vec<u32>, Vec<f32>)>, report: Report) -> Result<Self, Error> {
        if layout.words() == 0 || chains.is_empty() {
            return Err(Error::option("chains and sites: at least 1 of each is needed"));
        }
        let draws = chains.first().map_or(0, |(_, energies)| energies.len());
        for (chain, (words, energies)) in chains.iter().enumerate() {
            let bad = |reason: String| Error::option(format!("chain {chain}: {reason}"));
            if energies.len() != draws || words.len() != draws * layout.words() {
                let (words, energies) = (words.len(), energies.len());
                return Err(bad(format!("{words} words and {energies} energies: {draws} draws are needed")));
            }
            let state = |words| Packed::new(layout, words).map(|_| ()).map_err(|error| bad(error.to_string()));
            words.chunks_exact(layout.words()).try_for_each(state)?;
        }
        Ok(Self {
            layout,
            arities: vec![layout.arity(); layout.sites()],
            labels: Labels { word: "site", first: 0, names: None },
            constant: 0.0,
            temperature: 1.0,
            tracks: chains.into_iter().map(|(words, energies)| Track { words, energies }).collect(),
            report,
            seconds: Seconds::default(),
            own: true,
            rounding: 0.0,
            summary: OnceLock::new(),
        })
    }

    /// How many chains there are.
    #[must_use]
    pub fn chains(&self) -> usize {
        self.tracks.len()
    }

    /// How many states each chain has.
    #[must_use]
    pub fn draws(&self) -> usize {
        self.tracks.first().map_or(0, |track| track.energies.len())
    }

    /// How many sites a state has.
    #[must_use]
    pub fn sites(&self) -> usize {
        self.layout.sites()
    }

    /// The shape of a state.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The packed words of a state.
    ///
    /// # Panics
    /// Where there is no such chain or draw.
    #[must_use]
    pub fn words(&self, chain: usize, draw: usize) -> &[u32] {
        let words = self.layout.words();
        &self.tracks[chain].words[draw * words..(draw + 1) * words]
    }

    /// The values of a state, one a site.
    ///
    /// # Panics
    /// Where there is no such chain or draw.
    pub fn state(&self, chain: usize, draw: usize) -> impl Iterator<Item = u32> + '_ {
        let packed =
            Packed::new(self.layout, self.words(chain, draw)).expect("states of the layout were recorded");
        packed.values()
    }

    /// E of every draw of a chain, at temperature 1, with the constant of the model's file.
    ///
    /// # Panics
    /// Where there is no such chain.
    #[must_use]
    pub fn energies(&self, chain: usize) -> Vec<f64> {
        let of = |energy: &f32| f64::from(*energy) * self.temperature + self.constant;
        self.tracks[chain].energies.iter().map(of).collect()
    }

    /// All states, a byte a value, `(chain, draw, site)` with the site running fastest; values of 256 and more do not
    /// fit: see [`Samples::wide_values`].
    #[must_use]
    pub fn values(&self) -> Option<Vec<u8>> {
        if self.layout.arity() > 256 {
            return None;
        }
        Some(self.rows(|value| value as u8))
    }

    /// The same in sixteen bits a value.
    #[must_use]
    pub fn wide_values(&self) -> Vec<u16> {
        self.rows(|value| value as u16)
    }

    fn rows<T: Send>(&self, of: impl Fn(u32) -> T + Sync) -> Vec<T> {
        let chain = |chain| (0..self.draws()).flat_map(|draw| self.state(chain, draw)).map(&of).collect();
        let chains: Vec<Vec<T>> = on_all_cores(|| (0..self.chains()).into_par_iter().map(chain).collect());
        chains.into_iter().flatten().collect()
    }

    /// The mean value of every site, over all chains.
    #[must_use]
    pub fn means(&self) -> Vec<f64> {
        let count = (self.chains() * self.draws()) as f64;
        let mean = |site| self.site(site).iter().flatten().sum::<f64>() / count;
        on_all_cores(|| (0..self.sites()).into_par_iter().map(mean).collect())
    }

    /// The values of one site, a vector a chain.
    ///
    /// # Panics
    /// Where there is no such site.
    #[must_use]
    pub fn site(&self, site: usize) -> Vec<Vec<f64>> {
        assert!(site < self.sites(), "site {site}: the model has {} sites", self.sites());
        let (bits, each, words) =
            (self.layout.field_bits(), self.layout.fields_per_word(), self.layout.words());
        let (word, shift, mask) = (site / each, (site % each) as u32 * bits, (1u64 << bits) as u32 - 1);
        let value = |row: &[u32]| f64::from(row[word] >> shift & mask);
        self.tracks.iter().map(|track| track.words.chunks_exact(words).map(value).collect()).collect()
    }

    /// The correlation of the values of two sites over all draws; none where one of them never changes.
    ///
    /// # Panics
    /// Where there is no such site.
    #[must_use]
    pub fn correlation(&self, a: usize, b: usize) -> Option<f64> {
        let (a, b) = (self.site(a), self.site(b));
        let pairs = || a.iter().flatten().zip(b.iter().flatten());
        let count = pairs().count() as f64;
        let (ma, mb) = (a.iter().flatten().sum::<f64>() / count, b.iter().flatten().sum::<f64>() / count);
        let (mut vv, mut aa, mut bb) = (0.0, 0.0, 0.0);
        for (x, y) in pairs() {
            (vv, aa, bb) = (vv + (x - ma) * (y - mb), aa + (x - ma).powi(2), bb + (y - mb).powi(2));
        }
        (aa > 0.0 && bb > 0.0).then(|| vv / (aa * bb).sqrt())
    }

    /// The share of sites at which the last states of each two chains agree: `chains × chains` numbers. Chains of one
    /// distribution agree with each other about as much as later draws of one chain do.
    #[must_use]
    pub fn overlaps(&self) -> Vec<f64> {
        let last = self.draws().wrapping_sub(1);
        if self.draws() == 0 {
            return Vec::new();
        }
        let agree = |a: usize, b: usize| {
            let same = self.state(a, last).zip(self.state(b, last)).filter(|(x, y)| x == y).count();
            same as f64 / self.sites() as f64
        };
        (0..self.chains())
            .flat_map(|a| (0..self.chains()).map(move |b| (a, b)))
            .map(|(a, b)| agree(a, b))
            .collect()
    }

    /// The different states of lowest energy, at most so many, and how often each was drawn.
    #[must_use]
    pub fn best(&self, most: usize) -> Vec<Found> {
        // The energies alone say which draws can be among them.
        let mut seen: HashMap<&[u32], (f64, u64, u64, usize)> = HashMap::new();
        for chain in 0..self.chains() {
            for (draw, energy) in self.energies(chain).into_iter().enumerate() {
                let entry = seen.entry(self.words(chain, draw)).or_insert((energy, 0, 0, usize::MAX));
                entry.0 = entry.0.min(energy);
                entry.1 += 1;
                if entry.3 != chain {
                    (entry.2, entry.3) = (entry.2 + 1, chain);
                }
            }
        }
        let mut found: Vec<_> = seen.into_iter().collect();
        found.sort_by(|a, b| a.1.0.total_cmp(&b.1.0).then_with(|| a.0.cmp(b.0)));
        let state =
            |words: &[u32]| Packed::new(self.layout, words).map_or(Vec::new(), |x| x.values().collect());
        let found = found.into_iter().take(most);
        found
            .map(|(words, (energy, draws, chains, _))| Found { energy, draws, chains, state: state(words) })
            .collect()
    }

    /// Writes an archive that `numpy.load` reads.
    ///
    /// | array | shape | type |
    /// |---|---|---|
    /// | `states` | chains, draws, sites | `uint8`, above 256 values `uint16` |
    /// | `energies` | chains, draws | `float64`: E at temperature 1 |
    /// | `means`, `mcse`, `ess`, `r_hat` | sites, of models of more than 4,096 sites the ones in `diagnosed` | `float64`, NaN where there is none |
    /// | `report` | | `uint8`: the report and the diagnostics of the energy, as JSON |
    ///
    /// # Errors
    /// [`Error::File`] where it cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let summary = self.summary();
        let of = |get: &dyn Fn(&Scalar) -> Option<f64>| -> Vec<f64> {
            summary.sites.iter().map(|site| get(&site.value).unwrap_or(f64::NAN)).collect()
        };
        #[derive(Serialize)]
        struct Told<'a> {
            report: &'a Report,
            energy: &'a Scalar,
        }
        let told = serde_json::to_vec(&Told { report: &self.report, energy: &summary.energy });
        let told = told.map_err(|error| Error::file(path, error))?;
        let diagnosed: Vec<i64> = (0..self.sites() as i64).step_by(self.sites().div_ceil(DIAGNOSED)).collect();
        let (chains, draws, sites) = (self.chains(), self.draws(), self.sites());
        let kind = if self.layout.arity() > 256 { Kind::U16 } else { Kind::U8 };
        files::write_with(path, |file| {
            let mut npz = Npz::to(file);
            npz.add_with("states", &[chains, draws, sites], kind, |out| {
                let mut bytes = Vec::new();
                for (chain, draw) in (0..chains).flat_map(|chain| (0..draws).map(move |draw| (chain, draw))) {
                    bytes.clear();
                    match kind {
                        Kind::U8 => bytes.extend(self.state(chain, draw).map(|value| value as u8)),
                        _ => {
                            bytes.extend(self.state(chain, draw).flat_map(|value| (value as u16).to_le_bytes()))
                        }
                    }
                    out.write_all(&bytes)?;
                }
                Ok(())
            })?;
            let energies: Vec<f64> = (0..chains).flat_map(|chain| self.energies(chain)).collect();
            npz.add("energies", &[chains, draws], &energies)?;
            npz.add("diagnosed", &[diagnosed.len()], &diagnosed)?;
            for (name, numbers) in [
                ("means", of(&|scalar| Some(scalar.mean))),
                ("mcse", of(&|scalar| scalar.mcse)),
                ("ess", of(&|scalar| scalar.ess_bulk)),
                ("r_hat", of(&|scalar| scalar.r_hat)),
            ] {
                npz.add(name, &[numbers.len()], &numbers)?;
            }
            npz.add("report", &[told.len()], &told)?;
            npz.finish().map(|_| ())
        })
    }

    /// What was tried, what was chosen, and why.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// How long the parts of the run took.
    #[must_use]
    pub fn seconds(&self) -> Seconds {
        self.seconds
    }

    /// The diagnostics of the energy and of the sites. O(sites · chains · draws · log draws).
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.summary.get_or_init(|| self.diagnosed(DIAGNOSED)).clone()
    }

    /// A sentence at the end of a run: that of the summary, by the energy and at most 16 sites. That there are few draws is none.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let seen = if self.sites() <= GLANCED { self.summary() } else { self.diagnosed(GLANCED) };
        if self.draws() < FEWEST { with_rounding(seen.rounding, seen.failed()) } else { seen.warning() }
    }

    fn diagnosed(&self, most: usize) -> Summary {
        let (chains, draws) = (self.chains(), self.draws());
        let turn = if matches!(self.report.sampler, Plan::Isoenergetic { .. }) { TURNS as usize } else { 1 };
        let diagnosis = Diagnosis::new(draws).turns(turn);
        let energies: Vec<Vec<f64>> = (0..chains).map(|chain| self.energies(chain)).collect();
        let energy = diagnosis.of_energy(&energies, rounding(&self.tracks) * self.temperature);
        let every = self.sites().div_ceil(most);
        let told = |site: usize, value: Scalar, shares: Vec<(f64, Option<f64>)>| {
            let (shares, share_errors) = shares.into_iter().unzip();
            SiteSummary { site: self.labels.of(site), value, shares, share_errors }
        };
        let sites: Vec<SiteSummary> = if self.layout.field_bits() == 1 {
            let word = |word: usize| {
                let columns: Vec<_> =
                    self.tracks.iter().map(|track| columns(track, self.layout.words(), word)).collect();
                let sites =
                    (32 * word..self.sites().min(32 * word + 32)).filter(|site| site.is_multiple_of(every));
                let one = |site: usize| {
                    let chains: Vec<&[u32]> = columns.iter().map(|column| &column[site % 32][..]).collect();
                    let value = diagnosis.of_bits(&chains, draws);
                    told(site, value, vec![(1.0 - value.mean, value.mcse), (value.mean, value.mcse)])
                };
                sites.map(one).collect::<Vec<_>>()
            };
            on_all_cores(|| (0..self.layout.words()).into_par_iter().flat_map_iter(word).collect())
        } else {
            let one = |site: usize| {
                let values = self.site(site);
                let mut seen = vec![false; self.arities[site].max(2)];
                values.iter().flatten().for_each(|&value| seen[value as usize] = true);
                let shares = seen.iter().enumerate().map(|(value, seen)| {
                    let has = seen.then(|| share(&diagnosis, &values, value as f64));
                    has.map_or((0.0, None), |has| (has.mean, has.mcse))
                });
                told(site, diagnosis.of(&values), shares.collect())
            };
            on_all_cores(|| (0..self.sites()).into_par_iter().step_by(every).map(one).collect())
        };
        let scalars = || std::iter::once(&energy).chain(sites.iter().map(|site| &site.value));
        let r_hat = scalars().filter_map(|scalar| scalar.r_hat).reduce(f64::max);
        let ess = scalars().filter_map(|scalar| scalar.ess_bulk).reduce(f64::min);
        let constant_sites = sites.iter().filter(|site| site.value.sd == 0.0).count();
        let energies = self.tracks.iter().flat_map(|track| &track.energies);
        let largest = energies.fold(0.0, |most: f32, energy| most.max(energy.abs()));
        let is_coarse = self.own && largest >= COARSE;
        let spacing = is_coarse.then(|| f64::from(largest.next_up() - largest) * self.temperature);
        Summary {
            chains,
            draws,
            energy,
            sites,
            constant_sites,
            r_hat,
            ess,
            faults: self.report.faults,
            spacing,
            rounding: doubtful(self.rounding, self.temperature),
        }
    }
}

/// Works in threads of its own: those that all of a process share do not live on in a process that was forked.
fn on_all_cores<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match rayon::ThreadPoolBuilder::new().build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}

/// What chains say of whether a site has a value.
fn share(diagnosis: &Diagnosis, chains: &[Vec<f64>], value: f64) -> Scalar {
    let word = |draws: &[f64]| draws.iter().rev().fold(0, |word, &draw| word << 1 | u32::from(draw == value));
    let bits: Vec<Vec<u32>> = chains.iter().map(|draws| draws.chunks(32).map(word).collect()).collect();
    let bits: Vec<&[u32]> = bits.iter().map(|words| &words[..]).collect();
    diagnosis.of_bits(&bits, chains[0].len())
}

/// The draws of 32 sites of one chain, a bit a draw.
fn columns(track: &Track, words: usize, word: usize) -> [Vec<u32>; 32] {
    let mut out = [const { Vec::new() }; 32];
    for block in track.words.chunks(32 * words) {
        let rows = transposed(std::array::from_fn(|draw| block.get(draw * words + word).copied().unwrap_or(0)));
        out.iter_mut().zip(rows).for_each(|(column, row)| column.push(row));
    }
    out
}

impl Summary {
    /// A sentence where chains do not agree, too few draws say anything, or the model was rounded.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        with_rounding(self.rounding, self.of_chains())
    }

    /// A sentence where chains do not agree, or too few draws say anything.
    fn of_chains(&self) -> Option<String> {
        if self.draws < FEWEST {
            return Some(format!(
                "{} draws of a chain say nothing of errors: take at least {FEWEST}",
                self.draws
            ));
        }
        self.failed().or_else(|| match (self.r_hat, self.ess) {
            (Some(r_hat), _) if r_hat > 1.05 => Some(format!(
                "the chains do not agree (R̂ = {r_hat:.3}): the means and their errors are not to be trusted"
            )),
            (_, Some(ess)) if ess < 100.0 => Some(format!(
                "only {ess:.0} effective samples of the slowest site: take more draws, or thin more"
            )),
            _ => None,
        })
    }

    /// A sentence where the energy failed, or is too large.
    fn failed(&self) -> Option<String> {
        if let Some(spacing) = self.spacing {
            return Some(format!(
                "energies are so large that numbers of 32 bits are {spacing} apart: subtract a constant from yours"
            ));
        }
        (self.faults > 0).then(|| {
            format!(
                "the energy was NaN or −∞, or a gradient NaN, at {} steps, which were refused: the states there are missing",
                self.faults
            )
        })
    }

    /// The energy and the first sites as a Markdown table.
    #[must_use]
    pub fn table(&self, most: usize) -> String {
        let number =
            |value: Option<f64>, digits: usize| value.map_or("–".into(), |value| format!("{value:.digits$}"));
        let mut text = String::from(
            "| | mean | error | sd | ESS bulk | ESS tail | R̂ |\n|---|---:|---:|---:|---:|---:|---:|\n",
        );
        // Labels are the file's: nothing in them is to end a cell, or to reach a terminal as more than text.
        let plain = |name: &str| -> String {
            let shown =
                |c: char| if c.is_control() || c == '|' { c.escape_unicode().to_string() } else { c.into() };
            name.chars().map(shown).collect()
        };
        let mut row = |name: &str, scalar: &Scalar| {
            let name = plain(name);
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "| {name} | {:.4} | {} | {} | {} | {} | {} |",
                scalar.mean,
                number(scalar.mcse, 4),
                number(Some(scalar.sd).filter(|sd| !sd.is_nan()), 4),
                number(scalar.ess_bulk, 0),
                number(scalar.ess_tail, 0),
                number(scalar.r_hat, 3)
            );
        };
        row("E", &self.energy);
        self.sites.iter().take(most).for_each(|site| row(&site.site, &site.value));
        text
    }
}

impl Samples {
    /// Whether no state was drawn.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.draws() == 0
    }
}
