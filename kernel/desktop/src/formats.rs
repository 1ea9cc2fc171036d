//! Readers of the formats in which people keep their models: each names the line that is wrong, and what
//! was expected there.
//!
//! | file | module | format | energy of a state |
//! |---|---|---|---|
//! | `.rudy`, `.mc`, `.txt`, none | [`rudy`] | a weighted graph, as in the Gset collection | `E = Σ w s s′ + Σ w s` |
//! | `.edges`, `.csv`, `.tsv` | [`edges`] | a list of edges | `E = −Σ J s s′ − Σ h s` |
//! | `.qubo` | [`qubo`] | a quadratic form over bits, as for qbsolv | `E = Σ q x x′ + Σ c x` |
//! | `.json` | [`bqm`] | a binary quadratic model of dimod | `E = Σ b x x′ + Σ a x + offset`, bits or spins |
//! | `.uai`, `.evid` | [`uai`] | a Markov or Bayesian network, and evidence | `E = −Σ ln t(x, x′, x″)` |
//! | `.poly` | [`poly`] | a polynomial of any order | `E = Σ w Π x`, bits or spins |
//! | `.npy` | [`arrays`] | a square matrix Q | `E = xᵀQx`, bits |
//! | `.npz` | [`arrays`] | arrays of an Ising model, a QUBO or an RBM | as their names say |
//! | a folder | [`arrays`] | the arrays of an RBM | `E = −a·v − Σ ln(1 + e^(b + vᵀW))` |
//!
//! Spins are s = ±1, bits x = 0 or 1. [`Model::read`](crate::Model::read) reads any of them. The readers here keep the
//! numbers of a file in 64 bits. A model has them in 32 bits: whole ones are exact up to 2²⁴, others are rounded.
//! [`Model::rounding`](crate::Model::rounding) says how far energies may be off.

pub mod arrays;
pub mod bqm;
pub mod edges;
pub mod poly;
pub mod qubo;
pub mod rudy;
pub mod uai;

use crate::Error;
use crate::files;
use crate::read::Said;
use std::io::Cursor;
use std::path::Path;

/// Two sites and their weight, as a file has it.
pub type Edge = (u32, u32, f64);

/// Something that is not what a format expects at a place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {expected} expected, {found}")]
pub struct Unexpected {
    /// The line, counted from 1; one past the last where the file ends too early.
    pub line: usize,
    /// What should be there.
    pub expected: &'static str,
    /// What is there.
    pub found: Found,
}

/// What stood in place of what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Found {
    /// Nothing more on the line.
    #[error("the line ends")]
    EndOfLine,
    /// Nothing more at all.
    #[error("the file ends")]
    EndOfFile,
    /// Another word.
    #[error("found \"{0}\"")]
    Word(String),
}

impl Found {
    /// A word, cut where it is long, on one line.
    fn word(word: &str) -> Self {
        Self::Word(cut(word))
    }
}

/// A word, cut where it is long, on one line.
pub(crate) fn cut(word: &str) -> String {
    let visible = |letter: char| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter };
    let more = if word.chars().nth(30).is_some() { "…" } else { "" };
    word.chars().take(30).map(visible).collect::<String>() + more
}

/// Sites of a model that is built where any text or bytes are read: larger ones take too long.
const SMALL: usize = 4096;

/// Builds a model, which may be refused.
fn any_model(said: impl Into<Said>, sites: usize) {
    if sites <= SMALL {
        let _ = said.into().built();
    }
}

/// Reads any text as each of the text formats: what is read comes back from its own text, and its model is built or
/// refused. Tests and fuzzers call it.
///
/// # Panics
/// Where it does not come back.
pub fn any_text(text: &str) {
    if let Ok(graph) = rudy::Graph::parse(text) {
        assert_eq!(rudy::Graph::parse(&graph.to_text()).as_ref(), Ok(&graph));
        any_model(graph.clone(), graph.vertices);
    }
    if let Ok(form) = qubo::Qubo::parse(text) {
        assert_eq!(qubo::Qubo::parse(&form.to_text()).as_ref(), Ok(&form));
        any_model(form.clone(), form.linear.len());
    }
    if let Ok(model) = edges::Edges::parse(text) {
        assert_eq!(edges::Edges::parse(&model.to_text()).as_ref(), Ok(&model));
        any_model(model.clone(), model.fields.len());
    }
    if let Ok(model) = bqm::Bqm::parse(text) {
        assert_eq!(bqm::Bqm::parse(&model.to_text()).as_ref(), Ok(&model));
        any_model(model.clone(), model.linear.len());
    }
    if let Ok(form) = poly::Poly::parse(text) {
        assert_eq!(poly::Poly::parse(&form.to_text()).as_ref(), Ok(&form));
        any_model(form.clone(), form.sites);
    }
    if let Ok(network) = uai::Network::parse(text) {
        let _ = network.evidence(text);
        assert_eq!(uai::Network::parse(&network.to_text()).as_ref(), Ok(&network));
        any_model(network.clone(), network.arities.len());
    }
}

/// Reads any bytes as text, as a NumPy file and as an archive of arrays: a model is built or refused. Tests and fuzzers
/// call it.
///
/// # Panics
/// As [`any_text`].
pub fn any_bytes(bytes: &[u8]) {
    let models = [arrays::Arrays::matrix(bytes), arrays::Arrays::archive(Cursor::new(bytes))];
    for model in models.into_iter().flatten() {
        let sites = match &model {
            arrays::Arrays::Qubo { sites, .. } => *sites,
            arrays::Arrays::Ising { fields, .. } => fields.len(),
            arrays::Arrays::Rbm { visible, hidden, .. } => visible.len().max(hidden.len()),
        };
        any_model(model, sites);
    }
    if let Ok(text) = str::from_utf8(bytes) {
        any_text(text);
    }
}

/// A file read by one of the formats; a byte order mark before it is skipped.
///
/// # Errors
/// [`Error::File`] where it cannot be read, is not text, or the format refuses it.
pub fn read<T, E: ToString>(path: &Path, parse: impl FnOnce(&str) -> Result<T, E>) -> Result<T, Error> {
    let bytes = files::read(path)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let line =
            1 + error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|&&b| b == b'\n').count();
        Error::file(path, format!("line {line}: not text in UTF-8"))
    })?;
    parse(text.strip_prefix('\u{FEFF}').unwrap_or(&text)).map_err(|error| Error::file(path, error.to_string()))
}

/// The words of one line.
#[derive(Clone, Debug)]
struct Line<'t> {
    /// Counted from 1.
    number: usize,
    words: Words<'t>,
}

/// The words between spaces, or the cells between commas.
#[derive(Clone, Debug)]
enum Words<'t> {
    Spaced(std::str::SplitWhitespace<'t>),
    Commas(std::str::Split<'t, char>),
}

impl<'t> Iterator for Words<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        match self {
            Self::Spaced(words) => words.next(),
            Self::Commas(cells) => cells.next().map(str::trim),
        }
    }
}

impl<'t> Line<'t> {
    /// The lines that have words and do not begin with one of these, which mark comments.
    fn all(text: &'t str, comments: &'static [&'static str]) -> impl Iterator<Item = Self> + Clone {
        let lines = text.lines().enumerate();
        let lines = lines
            .map(|(index, line)| Line { number: index + 1, words: Words::Spaced(line.split_whitespace()) });
        lines.filter(|line| {
            let first = line.words.clone().next();
            first.is_some_and(|first| !comments.contains(&first) && !first.starts_with('#'))
        })
    }

    /// The next word as a number, where there is one more.
    fn maybe<T: std::str::FromStr>(&mut self, expected: &'static str) -> Result<Option<T>, Unexpected> {
        let read = |word: &str| {
            let line = self.number;
            word.parse().map_err(|_| Unexpected { line, expected, found: Found::word(word) })
        };
        self.words.next().map(read).transpose()
    }

    /// The next word as a number.
    fn next<T: std::str::FromStr>(&mut self, expected: &'static str) -> Result<T, Unexpected> {
        let (line, found) = (self.number, Found::EndOfLine);
        self.maybe(expected)?.ok_or(Unexpected { line, expected, found })
    }

    /// The next word, which must be one of these.
    fn one_of(&mut self, words: &[&str], expected: &'static str) -> Result<&'t str, Unexpected> {
        let (line, next) = (self.number, self.words.next());
        let found = next.map_or(Found::EndOfLine, Found::word);
        let next = next.filter(|next| words.contains(next));
        next.ok_or(Unexpected { line, expected, found })
    }

    /// The next word as a number that is finite in 32 bits.
    fn finite<T: std::str::FromStr + Copy + Into<f64>>(
        &mut self,
        expected: &'static str,
    ) -> Result<T, Unexpected> {
        let mut word = self.words.clone();
        let value: T = self.next(expected)?;
        if (value.into() as f32).is_finite() {
            return Ok(value);
        }
        Err(Unexpected { line: self.number, expected, found: Found::word(word.next().unwrap_or_default()) })
    }

    /// No word is left.
    fn end(mut self) -> Result<(), Unexpected> {
        let unexpected =
            |word| Unexpected { line: self.number, expected: "the end of the line", found: Found::word(word) };
        self.words.next().map_or(Ok(()), |word| Err(unexpected(word)))
    }
}

/// The line after the last one, where a file ended too early.
fn past_the_end(text: &str) -> usize {
    text.lines().count() + 1
}
