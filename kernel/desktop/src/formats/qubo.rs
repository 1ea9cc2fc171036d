//! Quadratic forms over bits in the `.qubo` format of qbsolv.
//!
//! ```text
//! c a comment
//! p qubo 0 4 2 3    the head: a 0 (or the word unconstrained), sites, diagonal lines, coupling lines
//! 0 0 3.4           a diagonal line: a site twice, counted from 0, and its weight
//! 2 2 -2
//! 0 1 1.5           a coupling: two sites, the smaller one first, and its weight
//! 0 3 -1
//! 2 3 2
//! ```
//! The value of a state is `Σ qᵢᵢxᵢ + Σ qᵢⱼxᵢxⱼ` over x ∈ {0,1}, and solvers look for the smallest.

use super::{Edge, Found, Line, Unexpected, past_the_end};
use crate::Error;
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

/// A quadratic form, `Σ linear[i]·xᵢ + Σ_edges w·xᵢxⱼ`.
#[derive(Clone, Debug, PartialEq)]
pub struct Qubo {
    /// One weight a site; 0 where the file has none.
    pub linear: Vec<f64>,
    /// Two sites, the smaller one first, and their weight.
    pub edges: Vec<Edge>,
}

/// Why a text is not a `.qubo` file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuboError {
    /// A word is not what the format expects.
    #[error(transparent)]
    Unexpected(#[from] Unexpected),
    /// No sites, or too many to hold.
    #[error("line {line}: 1 to {} sites expected, found {sites}", Qubo::MOST)]
    Sites {
        /// The line of the head.
        line: usize,
        /// What it says.
        sites: usize,
    },
    /// A line names a site that does not exist.
    #[error("line {line}: a site below {sites} expected, found {site}")]
    Site {
        /// The line.
        line: usize,
        /// The site.
        site: usize,
        /// How many there are.
        sites: usize,
    },
    /// The larger site of a coupling is first.
    #[error("line {line}: the smaller site first expected, found {a} {b}")]
    Order {
        /// The line.
        line: usize,
        /// The first site.
        a: usize,
        /// The second.
        b: usize,
    },
    /// Two lines give the same weight.
    #[error("line {line}: new sites expected, found those of line {before}")]
    Duplicate {
        /// The second line.
        line: usize,
        /// The first.
        before: usize,
    },
    /// There are more or fewer diagonal lines than the head says.
    #[error("line {line}: {need} diagonal lines expected in all, found {got}")]
    Diagonals {
        /// The first line too many, or the one after the last.
        line: usize,
        /// Lines that the head announces.
        need: usize,
        /// Lines that there are.
        got: usize,
    },
    /// There are more or fewer couplings than the head says.
    #[error("line {line}: {need} couplings expected in all, found {got}")]
    Couplings {
        /// The first line too many, or the one after the last.
        line: usize,
        /// Lines that the head announces.
        need: usize,
        /// Lines that there are.
        got: usize,
    },
}

impl Qubo {
    /// The largest number of sites that is believed.
    pub const MOST: usize = 1 << 26;

    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::File`] where it cannot be read; the reason is a [`QuboError`] where it is no `.qubo` file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        super::read(path, Self::parse)
    }

    /// The form of a text.
    ///
    /// # Errors
    /// [`QuboError`] names the line that is wrong.
    pub fn parse(text: &str) -> Result<Self, QuboError> {
        let mut lines = Line::all(text, &["c"]);
        let (line, found) = (past_the_end(text), Found::EndOfFile);
        let mut head = lines.next().ok_or(Unexpected { line, expected: "a line p qubo", found })?;
        let line = head.number;
        head.one_of(&["p"], "the letter p")?;
        head.one_of(&["qubo"], "the word qubo")?;
        head.one_of(&["0", "unconstrained"], "0 or unconstrained")?;
        let sites: usize = head.next("the number of sites")?;
        let diagonals: usize = head.next("the number of diagonal lines")?;
        let couplings: usize = head.next("the number of couplings")?;
        head.end()?;
        if !(1..=Self::MOST).contains(&sites) {
            return Err(QuboError::Sites { line, sites });
        }
        let mut form = Self { linear: vec![0.0; sites], edges: Vec::new() };
        let (mut seen, mut count) = (HashMap::new(), 0);
        for mut words in lines {
            let line = words.number;
            let mut site = |expected| -> Result<usize, QuboError> {
                let site = words.next(expected)?;
                if site < sites { Ok(site) } else { Err(QuboError::Site { line, site, sites }) }
            };
            let (a, b) = (site("a site")?, site("another site")?);
            let weight = words.finite("a finite weight")?;
            words.end()?;
            if a > b {
                return Err(QuboError::Order { line, a, b });
            }
            if let Some(before) = seen.insert((a, b), line) {
                return Err(QuboError::Duplicate { line, before });
            }
            if a == b {
                form.linear[a] = weight;
                count += 1;
            } else {
                form.edges.push((a as u32, b as u32, weight));
            }
            form.check(line, count, diagonals, couplings, false)?;
        }
        form.check(past_the_end(text), count, diagonals, couplings, true)?;
        Ok(form)
    }

    /// Not too many lines of either kind, and at the end not too few.
    fn check(&self, line: usize, got: usize, need: usize, edges: usize, end: bool) -> Result<(), QuboError> {
        let wrong = |got: usize, need: usize| got > need || (end && got < need);
        if wrong(got, need) {
            return Err(QuboError::Diagonals { line, need, got });
        }
        if wrong(self.edges.len(), edges) {
            return Err(QuboError::Couplings { line, need: edges, got: self.edges.len() });
        }
        Ok(())
    }

    /// The text of a file with this form: [`Qubo::parse`] gives the same form back.
    #[must_use]
    pub fn to_text(&self) -> String {
        let diagonal = self.linear.iter().enumerate().filter(|&(_, &weight)| weight != 0.0);
        let (sites, edges) = (self.linear.len(), self.edges.len());
        let mut text = format!("p qubo 0 {sites} {} {edges}\n", diagonal.clone().count());
        // Writing to a string cannot fail.
        for (site, weight) in diagonal {
            let _ = writeln!(text, "{site} {site} {weight}");
        }
        for (a, b, weight) in &self.edges {
            let _ = writeln!(text, "{a} {b} {weight}");
        }
        text
    }

    /// The value of a state, by the values of its sites.
    pub fn value(&self, x: impl Fn(usize) -> bool) -> f64 {
        let own = self.linear.iter().enumerate().filter(|&(site, _)| x(site));
        let pairs = self.edges.iter().filter(|&&(a, b, _)| x(a as usize) && x(b as usize));
        own.map(|(_, w)| w).sum::<f64>() + pairs.map(|(_, _, w)| w).sum::<f64>() + 0.0
    }
}
