//! Weighted graphs in the rudy format, as in the Gset collection of maximum-cut instances.
//!
//! ```text
//! 4 4          vertices, lines below
//! 1 2 1        an edge: two vertices, counted from 1, and its weight (1 where it is left out)
//! 2 3 -1
//! 3 4 2.5
//! 4 4 0.5      a field: a vertex twice, and its weight
//! ```
//! As a model, `E = Σ w s s′ + Σ w s` over spins s = ±1: the lowest energy of a graph without fields is its largest cut.
//! A weight of a vertex twice is a field and not the constant `w s s`: so do the solvers that read fields at all.
//!
//! Empty lines and lines that begin with `#` or the word `c` are skipped.

use super::{Edge, Found, Line, Unexpected, past_the_end};
use crate::Error;
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

/// A weighted graph without double edges.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// How many vertices there are.
    pub vertices: usize,
    /// One field a vertex; 0 where the file has none.
    pub fields: Vec<f64>,
    /// The edges in the order of the file, vertices counted from 0.
    pub edges: Vec<Edge>,
}

/// Why a text is not a rudy file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RudyError {
    /// A word is not what the format expects.
    #[error(transparent)]
    Unexpected(#[from] Unexpected),
    /// No vertices, or too many to hold.
    #[error("line {line}: 1 to {} vertices expected, found {vertices}", Graph::MOST)]
    Vertices {
        /// The line of the head.
        line: usize,
        /// What it says.
        vertices: usize,
    },
    /// An edge names a vertex that does not exist.
    #[error("line {line}: a vertex from 1 to {vertices} expected, found {vertex}{}", from_one(*vertex))]
    Vertex {
        /// The line of the edge.
        line: usize,
        /// The vertex.
        vertex: usize,
        /// How many there are.
        vertices: usize,
    },
    /// Two lines name the same vertices.
    #[error("line {line}: a new edge expected, found the one of line {before}")]
    Duplicate {
        /// The line of the second.
        line: usize,
        /// The line of the first.
        before: usize,
    },
    /// There are more or fewer edges and fields than the head says.
    #[error("line {line}: {need} edges expected in all, found {got}")]
    Edges {
        /// The first line too many, or the one after the last.
        line: usize,
        /// Lines that the head announces.
        need: usize,
        /// Lines that there are.
        got: usize,
    },
}

/// A vertex 0 comes from a file that counts from 0.
fn from_one(vertex: usize) -> &'static str {
    if vertex == 0 { " (rudy counts from 1)" } else { "" }
}

impl Graph {
    /// The largest number of vertices that is believed.
    pub const MOST: usize = 1 << 26;

    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::File`] where it cannot be read; the reason is a [`RudyError`] where it is no rudy file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        super::read(path, Self::parse)
    }

    /// The graph of a text.
    ///
    /// # Errors
    /// [`RudyError`] names the line that is wrong.
    pub fn parse(text: &str) -> Result<Self, RudyError> {
        let mut lines = Line::all(text, &["c"]);
        let (line, found) = (past_the_end(text), Found::EndOfFile);
        let expected = "the number of vertices";
        let mut head = lines.next().ok_or(Unexpected { line, expected, found })?;
        let (line, vertices) = (head.number, head.next(expected)?);
        let need = head.next("the number of edges")?;
        head.end()?;
        if !(1..=Self::MOST).contains(&vertices) {
            return Err(RudyError::Vertices { line, vertices });
        }
        let mut graph = Self { vertices, fields: vec![0.0; vertices], edges: Vec::new() };
        let mut seen = HashMap::new();
        for mut words in lines {
            let line = words.number;
            let mut vertex = |expected| -> Result<usize, RudyError> {
                let vertex = words.next(expected)?;
                let exists = (1..=vertices).contains(&vertex);
                if exists { Ok(vertex - 1) } else { Err(RudyError::Vertex { line, vertex, vertices }) }
            };
            let (a, b) = (vertex("a vertex")?, vertex("another vertex")?);
            let bare = words.words.clone().next().is_none();
            let weight = if bare { 1.0 } else { words.finite("a finite weight")? };
            words.end()?;
            if let Some(before) = seen.insert((a.min(b), a.max(b)), line) {
                return Err(RudyError::Duplicate { line, before });
            }
            if a == b {
                graph.fields[a] = weight;
            } else {
                graph.edges.push((a as u32, b as u32, weight));
            }
            if seen.len() > need {
                return Err(RudyError::Edges { line, need, got: seen.len() });
            }
        }
        if seen.len() < need {
            return Err(RudyError::Edges { line: past_the_end(text), need, got: seen.len() });
        }
        Ok(graph)
    }

    /// The text of a file with this graph: [`Graph::parse`] gives the same graph back.
    #[must_use]
    pub fn to_text(&self) -> String {
        let fields = self.fields.iter().enumerate().filter(|&(_, &weight)| weight != 0.0);
        let mut text = format!("{} {}\n", self.vertices, self.edges.len() + fields.clone().count());
        // Writing to a string cannot fail.
        for (a, b, weight) in &self.edges {
            let _ = writeln!(text, "{} {} {weight}", a + 1, b + 1);
        }
        for (vertex, weight) in fields {
            let _ = writeln!(text, "{0} {0} {weight}", vertex + 1);
        }
        text
    }
}
