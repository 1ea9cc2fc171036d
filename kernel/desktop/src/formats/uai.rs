//! Graphical models in the UAI format, and evidence about them.
//!
//! ```text
//! MARKOV          or BAYES
//! 3               sites
//! 2 2 3           values of each
//! 2               factors
//! 2 0 1           a factor: how many sites, and which, counted from 0
//! 2 1 2
//! 4               entries of the first factor's table, the last site running fastest
//!  0.9 0.1
//!  0.5 0.5
//! 6
//!  1 2 0  0 1 1   a 0 forbids
//! ```
//! Lines mean nothing, only words do. A `.evid` file holds the number of sites that are known and, for each,
//! its number and its value. It may begin with a 1 for the one sample that it holds.

mod error;

pub use error::UaiError;

use super::{Found, Unexpected, past_the_end};
use crate::Error;
use bitmc::energy::{FactorError, FactorsBuffers};
use bitmc::{Factor, Factors};
use std::fmt::Write;
use std::path::Path;

/// What kind of network a file says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preamble {
    /// Tables of non-negative weights.
    Markov,
    /// Tables of conditional probabilities of the last site of each.
    Bayes,
}

/// A table over some sites, the last one running fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// At most three sites.
    pub sites: Vec<u32>,
    /// Weights, not their logarithms.
    pub weights: Vec<f64>,
}

/// A network.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Its kind.
    pub preamble: Preamble,
    /// Values of each site.
    pub arities: Vec<u16>,
    /// Its tables: `p(x)` is proportional to the product of their weights.
    pub tables: Vec<Table>,
}

/// Sites that are known, with their values.
pub type Evidence = Vec<(usize, u32)>;

/// All words of a text with their lines.
struct Words<'t> {
    words: std::iter::Peekable<Box<dyn Iterator<Item = (usize, &'t str)> + 't>>,
    /// The line of the last word; in the end, the one after the last.
    line: usize,
    end: usize,
}

impl<'t> Words<'t> {
    fn new(text: &'t str) -> Self {
        let lines = text.lines().enumerate();
        let words = lines.flat_map(|(index, line)| line.split_whitespace().map(move |word| (index + 1, word)));
        let words: Box<dyn Iterator<Item = (usize, &'t str)>> = Box::new(words);
        Self { words: words.peekable(), line: 1, end: past_the_end(text) }
    }

    fn word(&mut self, expected: &'static str) -> Result<&'t str, Unexpected> {
        let (line, word) =
            self.words.next().ok_or(Unexpected { line: self.end, expected, found: Found::EndOfFile })?;
        self.line = line;
        Ok(word)
    }

    fn next<T: std::str::FromStr>(&mut self, expected: &'static str) -> Result<T, Unexpected> {
        let word = self.word(expected)?;
        word.parse().map_err(|_| Unexpected { line: self.line, expected, found: Found::word(word) })
    }

    fn end(&mut self) -> Result<(), Unexpected> {
        let expected = "the end of the file";
        match self.words.next() {
            Some((line, word)) => Err(Unexpected { line, expected, found: Found::word(word) }),
            None => Ok(()),
        }
    }
}

impl Network {
    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::File`] where it cannot be read; the reason is a [`UaiError`] where it is no UAI file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        super::read(path, Self::parse)
    }

    /// The network of a text.
    ///
    /// # Errors
    /// [`UaiError`] names the line that is wrong.
    pub fn parse(text: &str) -> Result<Self, UaiError> {
        let mut words = Words::new(text);
        let expected = "MARKOV or BAYES";
        let preamble = match words.word(expected)? {
            "MARKOV" => Preamble::Markov,
            "BAYES" => Preamble::Bayes,
            other => {
                let (line, found) = (words.line, Found::word(other));
                return Err(Unexpected { line, expected, found }.into());
            }
        };
        let sites: usize = words.next("the number of sites")?;
        let mut arities = Vec::new();
        for site in 0..sites {
            let (arity, line) = (words.next::<usize>("the number of a site's values")?, words.line);
            let legal = u16::try_from(arity).ok().filter(|&arity| arity > 0);
            arities.push(legal.ok_or(UaiError::Arity { line, site, arity })?);
        }
        let factors: usize = words.next("the number of factors")?;
        let mut tables: Vec<Table> = Vec::new();
        for _ in 0..factors {
            let sites = scope(&mut words, sites)?;
            tables.push(Table { sites, weights: Vec::new() });
        }
        for (factor, table) in tables.iter_mut().enumerate() {
            let need = table.sites.iter().map(|&site| usize::from(arities[site as usize])).product();
            let (got, line) = (words.next("the length of a table")?, words.line);
            if got != need {
                return Err(UaiError::Entries { line, factor, need, got });
            }
            for _ in 0..need {
                let word: String = words.next("a weight")?;
                let unlike = |expected| Unexpected { line: words.line, expected, found: Found::word(&word) };
                let weight: f64 = word.parse().map_err(|_| unlike("a weight"))?;
                if !(weight >= 0.0 && weight.is_finite()) {
                    return Err(UaiError::Weight { line: words.line, weight });
                }
                // 0 forbids: a number too small for 64 bits does not.
                let digits = word.split(['e', 'E']).next().unwrap_or_default();
                if weight == 0.0 && digits.contains(|digit: char| ('1'..='9').contains(&digit)) {
                    return Err(unlike("0, or a weight that 64 bits hold,").into());
                }
                table.weights.push(weight);
            }
            if table.weights.iter().all(|&weight| weight == 0.0) {
                return Err(UaiError::Impossible { line: words.line, factor });
            }
        }
        words.end()?;
        Ok(Self { preamble, arities, tables })
    }

    /// The text of a file with this network: [`Network::parse`] gives the same network back.
    #[must_use]
    pub fn to_text(&self) -> String {
        let join = |words: Vec<String>| words.join(" ");
        let name = if self.preamble == Preamble::Markov { "MARKOV" } else { "BAYES" };
        let arities = join(self.arities.iter().map(u16::to_string).collect());
        let mut text = format!("{name}\n{}\n{arities}\n{}\n", self.arities.len(), self.tables.len());
        // Writing to a string cannot fail.
        for table in &self.tables {
            let sites = std::iter::once(table.sites.len() as u32).chain(table.sites.iter().copied());
            let _ = writeln!(text, "{}", join(sites.map(|number| number.to_string()).collect()));
        }
        for table in &self.tables {
            let _ = writeln!(text, "\n{}", table.weights.len());
            let row = table.sites.last().map_or(1, |&site| usize::from(self.arities[site as usize]));
            for row in table.weights.chunks(row) {
                let _ = writeln!(text, " {}", join(row.iter().map(f64::to_string).collect()));
            }
        }
        text
    }

    /// Reads what is known about this network's sites.
    ///
    /// # Errors
    /// [`Error::File`] where it cannot be read; the reason is a [`UaiError`] where it is no evidence.
    pub fn read_evidence(&self, path: &Path) -> Result<Evidence, Error> {
        super::read(path, |text| self.evidence(text))
    }

    /// What a text says about this network's sites.
    ///
    /// # Errors
    /// [`UaiError`] names the line that is wrong.
    pub fn evidence(&self, text: &str) -> Result<Evidence, UaiError> {
        let mut words = Words::new(text);
        // A count and pairs are an odd number of words, and one more where the number of samples is first.
        if text.split_whitespace().count().is_multiple_of(2) {
            let samples: String = words.next("the number of samples, or of known sites")?;
            if samples != "1" {
                let (line, found) = (words.line, Found::word(&samples));
                return Err(Unexpected { line, expected: "1 sample", found }.into());
            }
        }
        let known: usize = words.next("the number of known sites")?;
        let mut evidence = Evidence::new();
        for _ in 0..known {
            let (site, line): (usize, _) = (words.next("a site")?, words.line);
            let sites = self.arities.len();
            let &arity = self.arities.get(site).ok_or(UaiError::Site { line, site, sites })?;
            if evidence.iter().any(|&(before, _)| before == site) {
                return Err(UaiError::Repeated { line, site });
            }
            let (value, line) = (words.next("a value")?, words.line);
            if value >= u32::from(arity) {
                return Err(UaiError::Value { line, site, value, arity });
            }
            evidence.push((site, value));
        }
        words.end()?;
        Ok(evidence)
    }

    /// What the kernel's model borrows, with the logarithms of the weights divided by a temperature. The logarithm of
    /// 0 is `wall`: −∞, or a finite number for a model without hard constraints.
    #[must_use]
    pub fn logarithms(&self, temperature: f64, wall: f32) -> LogTables {
        let mut model = LogTables { arities: self.arities.clone(), ..LogTables::default() };
        for table in &self.tables {
            let start = model.tables.len() as u32;
            model.factors.push(match table.sites[..] {
                [a] => Factor::one(a, start),
                [a, b] => Factor::two(a, b, start),
                [a, b, c] => Factor::three(a, b, c, start),
                _ => continue, // a constant
            });
            let log = |&weight: &f64| {
                if weight == 0.0 { wall } else { (weight.ln() / temperature) as f32 }
            };
            model.tables.extend(table.weights.iter().map(log));
        }
        model.ends = vec![0; self.arities.len()];
        model.members = vec![0; model.factors.iter().map(|factor| factor.sites().len()).sum()];
        model
    }

    /// `Σ ln weight` of the tables over no site, which [`Network::logarithms`] leaves out.
    #[must_use]
    pub fn log_constant(&self) -> f64 {
        let constants = self.tables.iter().filter(|table| table.sites.is_empty());
        constants.map(|table| table.weights[0].ln()).sum::<f64>() + 0.0
    }

    /// `Σ ln weight` at a state, by the values of its sites.
    pub fn log_weight(&self, x: impl Fn(usize) -> u32) -> f64 {
        let entry = |table: &Table| {
            let place = |entry: usize, &site: &u32| {
                entry * usize::from(self.arities[site as usize]) + x(site as usize) as usize
            };
            table.sites.iter().fold(0, place)
        };
        self.tables.iter().map(|table| table.weights[entry(table)].ln()).sum::<f64>() + 0.0
    }
}

/// The sites of one factor.
fn scope(words: &mut Words<'_>, sites: usize) -> Result<Vec<u32>, UaiError> {
    let size: usize = words.next("the number of a factor's sites")?;
    if size > 3 {
        return Err(UaiError::Scope { line: words.line, sites: size });
    }
    let mut scope = Vec::new();
    for _ in 0..size {
        let (site, line): (usize, _) = (words.next("a site")?, words.line);
        if site >= sites {
            return Err(UaiError::Site { line, site, sites });
        }
        if scope.contains(&(site as u32)) {
            return Err(UaiError::Repeated { line, site });
        }
        scope.push(site as u32);
    }
    Ok(scope)
}

/// Owned parts that [`Factors`] borrows.
#[derive(Clone, Debug, Default)]
pub struct LogTables {
    arities: Vec<u16>,
    factors: Vec<Factor>,
    tables: Vec<f32>,
    ends: Vec<u32>,
    members: Vec<u32>,
}

impl LogTables {
    /// The energy.
    ///
    /// # Errors
    /// [`FactorError`] as [`Factors::new`].
    pub fn model(&mut self) -> Result<Factors<'_>, FactorError> {
        let memory = FactorsBuffers::new(&mut self.ends, &mut self.members);
        Factors::new(&self.arities, &self.factors, &self.tables, memory)
    }
}
