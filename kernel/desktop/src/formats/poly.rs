//! Polynomials of any order over bits or spins: a format of this crate.
//!
//! ```text
//! # a comment
//! spins 4          what the variables are, bits or spins, and how many
//! -1.5 0 1         a term: its weight, and the variables of its product, counted from 0
//! 0.5 1 2 3
//! 0.25 2           a field
//! 3                no variable: a constant
//! ```
//! The energy is the sum of the terms, `E = Σ w Π x` over bits x = 0 or 1 or `E = Σ w Π s` over spins s = ±1. Terms over the
//! same variables add up. A term may name a variable twice: x x = x and s s = 1.

use super::{Found, Line, Unexpected, past_the_end};
use crate::Error;
use std::fmt::Write;
use std::path::Path;

/// A polynomial.
#[derive(Clone, Debug, PartialEq)]
pub struct Poly {
    /// Over spins s = ±1; otherwise over bits.
    pub spins: bool,
    /// How many variables there are.
    pub sites: usize,
    /// The variables and the weight of each term, in the order of the file.
    pub terms: Vec<(Vec<u32>, f64)>,
}

/// Why a text is not a polynomial.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolyError {
    /// A word is not what the format expects.
    #[error(transparent)]
    Unexpected(#[from] Unexpected),
    /// No variables, or too many to hold.
    #[error("line {line}: 1 to {} variables expected, found {sites}", Poly::MOST)]
    Sites {
        /// The line of the head.
        line: usize,
        /// What it says.
        sites: usize,
    },
    /// A term names a variable that does not exist.
    #[error("line {line}: a variable below {sites} expected, found {site}")]
    Site {
        /// The line.
        line: usize,
        /// The variable.
        site: usize,
        /// How many there are.
        sites: usize,
    },
}

impl Poly {
    /// The largest number of variables that is believed.
    pub const MOST: usize = 1 << 26;

    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::File`] where it cannot be read; the reason is a [`PolyError`] where it is no polynomial.
    pub fn read(path: &Path) -> Result<Self, Error> {
        super::read(path, Self::parse)
    }

    /// The polynomial of a text.
    ///
    /// # Errors
    /// [`PolyError`] names the line that is wrong.
    pub fn parse(text: &str) -> Result<Self, PolyError> {
        let expected = "bits or spins";
        let mut lines = Line::all(text, &[]);
        let (line, found) = (past_the_end(text), Found::EndOfFile);
        let mut head = lines.next().ok_or(Unexpected { line, expected, found })?;
        let line = head.number;
        let spins = head.one_of(&["bits", "spins"], expected)? == "spins";
        let sites: usize = head.next("the number of variables")?;
        head.end()?;
        if !(1..=Self::MOST).contains(&sites) {
            return Err(PolyError::Sites { line, sites });
        }
        let mut terms = Vec::new();
        for mut words in lines {
            let weight = words.finite("a finite weight")?;
            let (line, mut term) = (words.number, Vec::new());
            while let Some(site) = words.maybe("a variable")? {
                if site >= sites {
                    return Err(PolyError::Site { line, site, sites });
                }
                term.push(site as u32);
            }
            terms.push((term, weight));
        }
        Ok(Self { spins, sites, terms })
    }

    /// The text of a file with this polynomial: [`Poly::parse`] gives the same polynomial back.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("{} {}\n", if self.spins { "spins" } else { "bits" }, self.sites);
        // Writing to a string cannot fail.
        for (sites, weight) in &self.terms {
            let _ = write!(text, "{weight}");
            sites.iter().for_each(|site| _ = write!(text, " {site}"));
            text.push('\n');
        }
        text
    }
}
