//! Lists of edges of Ising models, as tools for graphs and spreadsheets write them.
//!
//! ```text
//! source,target,weight     a head without a number, which may be left out
//! 0,1,0.5                  an edge: two sites, counted from 0, and its coupling J (1 where it is left out)
//! 1,2,-1
//! 2,2,0.25                 a field h: a site twice, and its weight
//! ```
//! Numbers are parted by commas or by spaces and tabs. Empty lines and lines that begin with `#` or `%` are skipped. The
//! largest number of a site says how many sites there are. A line such as `9 9 0` adds sites without edges. Some line must
//! name site 0, so that a list that counts from 1 is not taken for one that counts from 0. A head that names a number of the edge, or
//! an end behind the weight, is refused.
//!
//! The energy is `E = −Σ J s s′ − Σ h s` over spins s = ±1: a positive coupling favours equal spins.

use super::{Edge, Found, Line, Unexpected, Words, past_the_end};
use crate::Error;
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

/// An Ising model, `E = −Σ J s s′ − Σ h s`.
#[derive(Clone, Debug, PartialEq)]
pub struct Edges {
    /// One field a site; 0 where the file has none.
    pub fields: Vec<f64>,
    /// Two sites and their coupling, in the order of the file.
    pub edges: Vec<Edge>,
}

/// Why a text is not a list of edges.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EdgesError {
    /// A word is not what the format expects.
    #[error(transparent)]
    Unexpected(#[from] Unexpected),
    /// A site beyond all that are believed.
    #[error("line {line}: a site below {} expected, found {site}", Edges::MOST)]
    Site {
        /// The line.
        line: usize,
        /// The site.
        site: usize,
    },
    /// The sites seem to be counted from another number than 0.
    #[error("a line with site 0 expected: sites are counted from 0 (the line 0 0 0 adds one without edges)")]
    First,
    /// Two lines name the same sites.
    #[error("line {line}: new sites expected, found those of line {before}")]
    Duplicate {
        /// The second line.
        line: usize,
        /// The first.
        before: usize,
    },
}

/// Names of the number that follows two sites.
const WEIGHTS: [&str; 8] = ["weight", "w", "coupling", "j", "field", "h", "bias", "value"];
/// Names of a number of the edge itself.
const NUMBERS: [&str; 6] = ["id", "index", "key", "edge", "label", "type"];
/// Names of an end of an edge.
const ENDS: [&str; 12] =
    ["source", "target", "from", "to", "src", "dst", "i", "u", "v", "site", "node", "vertex"];

/// The first word of a head that is not where it should be: two sites and a weight are expected.
fn misplaced<'t>(head: impl Iterator<Item = &'t str>) -> Option<&'t str> {
    let head: Vec<&str> = head.map(str::trim).collect();
    let is = |word: &str, names: &[&str]| names.iter().any(|name| word.eq_ignore_ascii_case(name));
    let wrong = |&(at, word): &(usize, &str)| match at {
        0 => is(word, &WEIGHTS) || is(word, &NUMBERS),
        1 => (is(word, &WEIGHTS) && !(word == "j" && head[0] == "i")) || is(word, &NUMBERS),
        _ => is(word, &ENDS) || is(word, &NUMBERS),
    };
    head.iter().copied().enumerate().find(wrong).map(|(_, word)| word)
}

impl Edges {
    /// The largest number of sites that is believed.
    pub const MOST: usize = 1 << 26;

    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::File`] where it cannot be read; the reason is an [`EdgesError`] where it is no list of edges.
    pub fn read(path: &Path) -> Result<Self, Error> {
        super::read(path, Self::parse)
    }

    /// The model of a text.
    ///
    /// # Errors
    /// [`EdgesError`] names the line that is wrong.
    pub fn parse(text: &str) -> Result<Self, EdgesError> {
        let (mut fields, mut edges, mut seen, mut sites) = (Vec::new(), Vec::new(), HashMap::new(), 0);
        for (index, line) in text.lines().enumerate() {
            let (line, number) = (line.trim(), index + 1);
            if line.is_empty() || line.starts_with(['#', '%']) {
                continue;
            }
            let wrong = |expected| Unexpected { line: number, expected, found: Found::word(line) };
            if line.contains(';') {
                return Err(wrong("commas or spaces between sites and weights").into());
            }
            let commas = line.contains(',');
            let words =
                if commas { Words::Commas(line.split(',')) } else { Words::Spaced(line.split_whitespace()) };
            let is_head = words.clone().all(|word| word.parse::<f64>().is_err());
            let empty = words.clone().filter(|word| word.is_empty()).count();
            if sites == 0 && is_head && (1..words.clone().count()).contains(&empty) {
                return Err(wrong("a head without an empty cell").into());
            }
            if sites == 0 && is_head && empty == 0 {
                sites = 1; // A head: there is one at most.
                if let Some(word) = misplaced(words) {
                    let expected = "a head of two sites and a weight, in this order,";
                    return Err(Unexpected { line: number, expected, found: Found::word(word) }.into());
                }
                continue;
            }
            let mut words = Line { number, words };
            let mut site = |expected| -> Result<usize, EdgesError> {
                let site = words.next(expected)?;
                if site < Self::MOST { Ok(site) } else { Err(EdgesError::Site { line: number, site }) }
            };
            let (a, b) = (site("a site")?, site("another site")?);
            let bare = words.words.clone().next().is_none();
            let weight = match (bare, a == b) {
                (true, true) => words.finite("the field of the site")?,
                (true, false) => 1.0,
                (false, _) => words.finite("a finite weight")?,
            };
            words.end()?;
            if let Some(before) = seen.insert((a.min(b), a.max(b)), number) {
                return Err(EdgesError::Duplicate { line: number, before });
            }
            sites = sites.max(a.max(b) + 1);
            if a == b {
                fields.push((a, weight));
            } else {
                edges.push((a as u32, b as u32, weight));
            }
        }
        if seen.is_empty() {
            let (line, found) = (past_the_end(text), Found::EndOfFile);
            return Err(Unexpected { line, expected: "an edge", found }.into());
        }
        if !seen.keys().any(|&(least, _)| least == 0) {
            return Err(EdgesError::First);
        }
        let mut model = Self { fields: vec![0.0; sites], edges };
        fields.iter().for_each(|&(site, field)| model.fields[site] = field);
        Ok(model)
    }

    /// The text of a file with this model, with spaces: [`Edges::parse`] gives the same model back.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        for (a, b, coupling) in &self.edges {
            let _ = writeln!(text, "{a} {b} {coupling}");
        }
        for (site, field) in self.fields.iter().enumerate() {
            // The last site says how many there are, the first one where they begin.
            if *field != 0.0 || site == 0 || site + 1 == self.fields.len() {
                let _ = writeln!(text, "{site} {site} {field}");
            }
        }
        text
    }
}
