//! Binary quadratic models of dimod, D-Wave's library, as JSON.
//!
//! ```text
//! json.dump(bqm.to_serializable(), file)
//! ```
//! The energy is dimod's, `E = Σ b x x′ + Σ a x + offset` over the model's variables: bits x = 0 or 1 where it is `BINARY`,
//! spins ±1 where it is `SPIN`. Variables keep their labels as text, so that the labels 1 and "1" of one model are refused.
//! The offset is added to every energy. Models with `use_bytes=True` cannot be JSON, and are refused.

use crate::Error;
use crate::formats::{Edge, cut};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

/// A binary quadratic model, `Σ linear[i]·xᵢ + Σ_edges b·xᵢxⱼ + offset`.
#[derive(Clone, Debug, PartialEq)]
pub struct Bqm {
    /// Over spins ±1; otherwise over bits.
    pub spins: bool,
    /// The labels of the variables; none where they are 0, 1, 2 and so on.
    pub names: Option<Vec<String>>,
    /// One linear bias a variable.
    pub linear: Vec<f64>,
    /// Two variables and their bias, in the order of the file.
    pub edges: Vec<Edge>,
    /// What is added to every energy.
    pub offset: f64,
}

/// Why a text is not a binary quadratic model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BqmError {
    /// Not JSON, or not with the entries of a model.
    #[error("line {line}: {reason}")]
    Json {
        /// The line.
        line: usize,
        /// What the reader of JSON says.
        reason: String,
    },
    /// An entry that says what the file is has another value.
    #[error("{entry}: {expected} expected, found {found}")]
    Entry {
        /// Its name.
        entry: &'static str,
        /// What it should be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// No variables, or too many to hold.
    #[error("1 to {} variables expected, found {variables}", Bqm::MOST)]
    Variables {
        /// How many there are.
        variables: usize,
    },
    /// An array is shorter or longer than another one.
    #[error("{array}: {need} values expected, found {got}")]
    Length {
        /// Its name.
        array: &'static str,
        /// Values needed.
        need: usize,
        /// Values that there are.
        got: usize,
    },
    /// Two variables have the same label.
    #[error("variable_labels: different labels expected, found \"{label}\" twice")]
    Label {
        /// The label.
        label: String,
    },
    /// Labels of two kinds, such as 1 and "1", read alike.
    #[error(
        "variable_labels: labels that read differently expected, found {before} and {label}: rename one of them"
    )]
    Alike {
        /// The first label, as JSON.
        before: String,
        /// The second.
        label: String,
    },
    /// A bias is too large for f32.
    #[error("{array}[{place}]: a bias up to {:e} expected, found {bias:e}", f32::MAX)]
    Bias {
        /// The array.
        array: &'static str,
        /// Where in it.
        place: usize,
        /// The bias.
        bias: f64,
    },
    /// An interaction names a variable that does not exist.
    #[error("{array}[{place}]: a variable below {variables} expected, found {variable}")]
    Variable {
        /// The array.
        array: &'static str,
        /// Where in it.
        place: usize,
        /// The variable.
        variable: usize,
        /// How many there are.
        variables: usize,
    },
    /// An interaction joins a variable to itself.
    #[error("interaction {place}: two different variables expected, found {variable} twice")]
    Loop {
        /// Its number, counted from 0.
        place: usize,
        /// The variable.
        variable: usize,
    },
    /// Two interactions join the same variables.
    #[error("interaction {place}: new variables expected, found those of interaction {before}")]
    Duplicate {
        /// The number of the second, counted from 0.
        place: usize,
        /// The number of the first.
        before: usize,
    },
}

/// What says how the rest is to be read.
#[derive(Deserialize)]
struct Head {
    #[serde(rename = "type")]
    kind: String,
    version: Version,
    #[serde(default)]
    use_bytes: bool,
}

#[derive(Deserialize, Serialize)]
struct Version {
    bqm_schema: String,
}

#[derive(Deserialize)]
struct Body {
    num_variables: Option<usize>,
    num_interactions: Option<usize>,
    variable_labels: Vec<Value>,
    variable_type: String,
    offset: f64,
    linear_biases: Vec<f64>,
    quadratic_biases: Vec<f64>,
    quadratic_head: Vec<usize>,
    quadratic_tail: Vec<usize>,
}

/// What dimod needs.
#[derive(Serialize)]
struct Written<'b> {
    #[serde(rename = "type")]
    kind: &'static str,
    version: Version,
    use_bytes: bool,
    index_type: &'static str,
    bias_type: &'static str,
    num_variables: usize,
    num_interactions: usize,
    variable_labels: Labels<'b>,
    variable_type: &'static str,
    offset: f64,
    info: HashMap<String, String>,
    linear_biases: &'b [f64],
    quadratic_biases: Vec<f64>,
    quadratic_head: Vec<u32>,
    quadratic_tail: Vec<u32>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Labels<'b> {
    Names(&'b [String]),
    Numbers(Vec<usize>),
}

/// The `type` of these files.
const KIND: &str = "BinaryQuadraticModel";

fn json<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, BqmError> {
    serde_json::from_str(text).map_err(|error| {
        let (line, told) = (error.line(), error.to_string());
        let reason = told.rsplit_once(" at line ").map_or(told.as_str(), |(reason, _)| reason);
        let visible = |letter: char| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter };
        BqmError::Json { line, reason: reason.chars().take(200).map(visible).collect() }
    })
}

impl Bqm {
    /// The largest number of variables that is believed.
    pub const MOST: usize = 1 << 26;

    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::File`] where it cannot be read; the reason is a [`BqmError`] where it is no model.
    pub fn read(path: &Path) -> Result<Self, Error> {
        super::read(path, Self::parse)
    }

    /// The model of a text.
    ///
    /// # Errors
    /// [`BqmError`] names the line, the entry or the interaction that is wrong.
    pub fn parse(text: &str) -> Result<Self, BqmError> {
        let head: Head = json(text)?;
        let entry = |entry, expected, found: &str| BqmError::Entry {
            entry,
            expected,
            found: format!("\"{}\"", cut(found)),
        };
        if head.kind != KIND {
            return Err(entry("type", "\"BinaryQuadraticModel\"", &head.kind));
        }
        if !head.version.bqm_schema.starts_with("3.") {
            return Err(entry("bqm_schema", "\"3.0.0\"", &head.version.bqm_schema));
        }
        if head.use_bytes {
            return Err(BqmError::Entry { entry: "use_bytes", expected: "false", found: "true".into() });
        }
        let body: Body = json(text)?;
        let spins = match body.variable_type.as_str() {
            "SPIN" => true,
            "BINARY" => false,
            found => return Err(entry("variable_type", "\"SPIN\" or \"BINARY\"", found)),
        };
        let variables = body.linear_biases.len();
        if !(1..=Self::MOST).contains(&variables) {
            return Err(BqmError::Variables { variables });
        }
        let length =
            |array, got, need| if got == need { Ok(()) } else { Err(BqmError::Length { array, need, got }) };
        let interactions = body.quadratic_biases.len();
        length("variable_labels", body.variable_labels.len(), variables)?;
        length("quadratic_head", body.quadratic_head.len(), interactions)?;
        length("quadratic_tail", body.quadratic_tail.len(), interactions)?;
        length("linear_biases", variables, body.num_variables.unwrap_or(variables))?;
        length("quadratic_biases", interactions, body.num_interactions.unwrap_or(interactions))?;
        finite("linear_biases", &body.linear_biases)?;
        finite("quadratic_biases", &body.quadratic_biases)?;
        let (mut edges, mut seen) = (Vec::new(), HashMap::new());
        let pairs = body.quadratic_head.iter().zip(&body.quadratic_tail).zip(&body.quadratic_biases);
        for (place, ((&a, &b), &bias)) in pairs.enumerate() {
            for (array, variable) in [("quadratic_head", a), ("quadratic_tail", b)] {
                if variable >= variables {
                    return Err(BqmError::Variable { array, place, variable, variables });
                }
            }
            if a == b {
                return Err(BqmError::Loop { place, variable: a });
            }
            if let Some(before) = seen.insert((a.min(b), a.max(b)), place) {
                return Err(BqmError::Duplicate { place, before });
            }
            edges.push((a as u32, b as u32, bias));
        }
        let names = names(&body.variable_labels)?;
        Ok(Self { spins, names, linear: body.linear_biases, edges, offset: body.offset })
    }

    /// The text of a file with this model, which dimod reads: [`Bqm::parse`] gives the same model back.
    #[must_use]
    pub fn to_text(&self) -> String {
        let variables = self.linear.len();
        let numbers = || Labels::Numbers((0..variables).collect());
        let written = Written {
            kind: KIND,
            version: Version { bqm_schema: "3.0.0".into() },
            use_bytes: false,
            index_type: "int32",
            bias_type: "float64",
            num_variables: variables,
            num_interactions: self.edges.len(),
            variable_labels: self.names.as_deref().map_or_else(numbers, Labels::Names),
            variable_type: if self.spins { "SPIN" } else { "BINARY" },
            offset: self.offset,
            info: HashMap::new(),
            linear_biases: &self.linear,
            quadratic_biases: self.edges.iter().map(|edge| edge.2).collect(),
            quadratic_head: self.edges.iter().map(|edge| edge.0).collect(),
            quadratic_tail: self.edges.iter().map(|edge| edge.1).collect(),
        };
        // Numbers, text and arrays of them: all of it is JSON.
        serde_json::to_string(&written).unwrap_or_default()
    }
}

/// Biases are finite as f32.
fn finite(array: &'static str, biases: &[f64]) -> Result<(), BqmError> {
    match biases.iter().position(|&bias| !(bias as f32).is_finite()) {
        Some(place) => Err(BqmError::Bias { array, place, bias: biases[place] }),
        None => Ok(()),
    }
}

/// What the variables are called, where it is not 0, 1, 2 and so on.
fn names(labels: &[Value]) -> Result<Option<Vec<String>>, BqmError> {
    if labels.iter().enumerate().all(|(index, label)| label.as_u64() == Some(index as u64)) {
        return Ok(None);
    }
    let name = |label: &Value| label.as_str().map_or_else(|| label.to_string(), str::to_string);
    let names: Vec<String> = labels.iter().map(name).collect();
    let mut seen = HashMap::new();
    for (name, label) in names.iter().zip(labels) {
        match seen.insert(name, label) {
            Some(before) if before != label => {
                let [before, label] = [before, label].map(|label| cut(&label.to_string()));
                return Err(BqmError::Alike { before, label });
            }
            Some(_) => return Err(BqmError::Label { label: cut(name) }),
            None => {}
        }
    }
    Ok(Some(names))
}
