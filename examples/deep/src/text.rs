//! Word pieces and sentences.

use crate::masked::PIECES;
use bitmc_examples::cli::Failure;
use bitmc_examples::report;
use serde::Deserialize;
use std::path::Path;

/// A sentence whose gaps are to be filled.
#[derive(Clone, Debug, Deserialize)]
pub struct Line {
    /// The pieces as they are in the book, between the marks of beginning and end.
    pub ids: Vec<u32>,
    /// The positions of the gaps.
    pub masked: Vec<usize>,
}

/// The word pieces. One that begins with `##` goes on with the word before.
pub struct Vocabulary(Vec<String>);

impl Vocabulary {
    /// Reads a file of one piece a line.
    ///
    /// # Errors
    /// [`Failure::File`] where it has another number of lines.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let text = String::from_utf8(report::read(path)?).map_err(|error| Failure::file(path, error))?;
        let pieces: Vec<String> = text.lines().map(str::to_owned).collect();
        if pieces.len() == PIECES {
            Ok(Self(pieces))
        } else {
            Err(Failure::file(path, format!("{} lines: the model has {PIECES} pieces", pieces.len())))
        }
    }

    /// The words of a sentence, without the marks of its beginning and end.
    #[must_use]
    pub fn words(&self, ids: &[u32]) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for &id in ids.get(1..ids.len().saturating_sub(1)).unwrap_or_default() {
            let piece = &self.0[id as usize];
            match (piece.strip_prefix("##"), words.last_mut()) {
                (Some(rest), Some(word)) => word.push_str(rest),
                _ => words.push(piece.clone()),
            }
        }
        words
    }

    /// The sentence as one reads it: pieces in gaps between brackets.
    #[must_use]
    pub fn page(&self, ids: &[u32], gaps: &[usize]) -> String {
        let mut text = String::new();
        for (at, &id) in ids.iter().enumerate().take(ids.len() - 1).skip(1) {
            let piece = &self.0[id as usize];
            let (rest, gap) = (piece.strip_prefix("##"), gaps.contains(&at));
            let close = rest.is_some() || (piece.len() == 1 && piece.chars().all(|c| ",.;:?!".contains(c)));
            if !text.is_empty() && (gap || !close) {
                text.push(' ');
            }
            let piece = if gap { piece.as_str() } else { rest.unwrap_or(piece) };
            text += &if gap { format!("[{piece}]") } else { piece.into() };
        }
        text
    }
}

/// Reads sentences, one object a line.
///
/// # Errors
/// [`Failure::File`] names the line that is wrong.
pub fn sentences(path: &Path) -> Result<Vec<Line>, Failure> {
    let text = String::from_utf8(report::read(path)?).map_err(|error| Failure::file(path, error))?;
    let read = |(number, line): (usize, &str)| {
        let wrong = |reason: String| Failure::file(path, format!("line {}: {reason}", number + 1));
        let line: Line = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        let inside = |&at: &usize| at > 0 && at + 1 < line.ids.len();
        let known = line.ids.iter().all(|&id| (id as usize) < PIECES);
        if line.ids.len() <= 32 && known && !line.masked.is_empty() && line.masked.iter().all(inside) {
            Ok(line)
        } else {
            Err(wrong("a sentence has at most 32 known pieces, and gaps inside".into()))
        }
    };
    text.lines().enumerate().map(read).collect()
}
