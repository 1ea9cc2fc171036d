//! Readers of the text formats in which people keep their models: each names the line that is wrong, and what
//! was expected there.
//!
//! | file | format | gives |
//! |---|---|---|
//! | [`rudy`] | a weighted graph, as in the Gset collection | vertices and edges |
//! | [`qubo`] | a quadratic form over bits, as for qbsolv | one weight a site, and edges |
//! | [`uai`] | a Markov or Bayesian network, and evidence | arities and tables; values of some sites |
//!
//! Weights of rudy and qubo files are f32, as the models are: whole ones are exact up to 2²⁴, and rounded beyond it.

pub mod qubo;
pub mod rudy;
pub mod uai;

use crate::Error;
use crate::files;
use std::path::Path;

/// Something that is not what a format expects at a place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {expected} expected, {found}")]
pub struct Unexpected {
    /// The line, counted from 1; one past the last where the file ends too early.
    pub line: usize,
    /// What should stand there.
    pub expected: &'static str,
    /// What does.
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
        let visible = |letter: char| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter };
        let more = if word.chars().nth(30).is_some() { "…" } else { "" };
        Self::Word(word.chars().take(30).map(visible).collect::<String>() + more)
    }
}

/// Reads any text as each of the formats: what is read comes back from its own text, and a network's model is built or
/// refused. Tests and fuzzers call it.
///
/// # Panics
/// Where it does not come back.
pub fn any_text(text: &str) {
    if let Ok(graph) = rudy::Graph::parse(text) {
        assert_eq!(rudy::Graph::parse(&graph.to_text()), Ok(graph));
    }
    if let Ok(form) = qubo::Qubo::parse(text) {
        assert_eq!(qubo::Qubo::parse(&form.to_text()), Ok(form));
    }
    if let Ok(network) = uai::Network::parse(text) {
        let _ = network.logarithms(1.0, f32::NEG_INFINITY).model();
        let _ = network.evidence(text);
        assert_eq!(uai::Network::parse(&network.to_text()), Ok(network));
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
    parse(text.strip_prefix('\u{FEFF}').unwrap_or(&text))
        .map_err(|error| Error::file(path, error.to_string()))
}

/// The words of one line.
#[derive(Clone, Debug)]
struct Line<'t> {
    /// Counted from 1.
    number: usize,
    words: std::str::SplitWhitespace<'t>,
}

impl<'t> Line<'t> {
    /// The lines that have words and do not begin with one of these, which mark comments.
    fn all(text: &'t str, comments: &'static [&'static str]) -> impl Iterator<Item = Self> + Clone {
        let lines = text.lines().enumerate();
        let lines = lines.map(|(index, line)| Line { number: index + 1, words: line.split_whitespace() });
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

    /// The next word as a finite number.
    fn finite(&mut self, expected: &'static str) -> Result<f32, Unexpected> {
        let mut word = self.words.clone();
        let value: f32 = self.next(expected)?;
        if value.is_finite() {
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
