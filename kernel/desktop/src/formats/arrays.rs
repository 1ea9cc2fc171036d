//! Models as NumPy arrays.
//!
//! | arrays | model | energy |
//! |---|---|---|
//! | a `.npy` file: Q | QUBO | `E = xᵀQx`, bits; Q need not be symmetric |
//! | `Q` in a `.npz` file | QUBO | the same |
//! | `J` and perhaps `h` | Ising | `E = −½ sᵀJs − h·s`, spins; J is symmetric, its diagonal 0 |
//! | `W` (visible × hidden units), `a`, `b` | RBM | `E = −a·v − Σ ln(1 + e^(b + vᵀW))` |
//! | `components_` (hidden × visible units), `intercept_visible_`, `intercept_hidden_` | RBM of scikit-learn | the same |
//! | a folder of `W.npy`, `a_vis.npy`, `b_hid.npy` | RBM | the same |
//!
//! ```text
//! np.savez("model.npz", J=J, h=h)
//! np.savez("rbm.npz", components_=rbm.components_, intercept_visible_=rbm.intercept_visible_,
//!          intercept_hidden_=rbm.intercept_hidden_)
//! ```
//! Numbers are floating-point ones of 4 or 8 bytes or whole ones, in C or Fortran order, compressed or not. A `.npz` file
//! with other arrays is refused, so that no name that is misspelt is left out.

use crate::Error;
use crate::npy::{Array, NpyError, tuple};
use crate::npz::{NpzError, Reader, listed};
use std::fs;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

/// A model of arrays, row by row.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrays {
    /// `E = −½ sᵀJs − h·s`
    Ising {
        /// J, symmetric in 32 bits with zeros on the diagonal.
        couplings: Vec<f64>,
        /// h, zeros where there is none.
        fields: Vec<f64>,
    },
    /// `E = xᵀQx`
    Qubo {
        /// How many sites there are.
        sites: usize,
        /// Q.
        matrix: Vec<f64>,
    },
    /// `E = −a·v − Σ ln(1 + e^(b + vᵀW))`
    Rbm {
        /// W, a row for each visible unit.
        weights: Vec<f64>,
        /// a.
        visible: Vec<f64>,
        /// b.
        hidden: Vec<f64>,
        /// What the file calls W, a and b.
        names: [&'static str; 3],
    },
}

/// Why arrays are not a model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ArraysError {
    /// The file of one array is damaged, or has not the shape that is needed.
    #[error(transparent)]
    Npy(#[from] NpyError),
    /// The archive or an array is damaged, or an array is missing.
    #[error(transparent)]
    Npz(#[from] NpzError),
    /// The names are of no model.
    #[error(
        "an array \"J\", \"Q\", \"W\" or \"components_\" expected, found {found} (a model is J and h, or Q, or W, a \
         and b, or components_, intercept_visible_ and intercept_hidden_)"
    )]
    Names {
        /// The names.
        found: String,
    },
    /// An array that does not belong to the others.
    #[error("no array but {expected} expected, found {found}")]
    Extra {
        /// What belongs together.
        expected: String,
        /// What there is.
        found: String,
    },
    /// J is not symmetric.
    #[error("array \"J\": a symmetric matrix expected, found J[{a}][{b}] = {above} and J[{b}][{a}] = {below}")]
    Symmetry {
        /// A row.
        a: usize,
        /// A column.
        b: usize,
        /// The number there.
        above: f32,
        /// The one across the diagonal.
        below: f32,
    },
    /// J has a diagonal.
    #[error("array \"J\": 0 on the diagonal expected, found J[{site}][{site}] = {value}")]
    Diagonal {
        /// The row.
        site: usize,
        /// The number there.
        value: f32,
    },
}

/// The arrays of an RBM.
const RBM: [&str; 3] = ["W", "a", "b"];
/// The arrays of scikit-learn's.
const SCIKIT: [&str; 3] = ["components_", "intercept_visible_", "intercept_hidden_"];
/// The files of a folder.
const FOLDER: [&str; 3] = ["W.npy", "a_vis.npy", "b_hid.npy"];

impl Arrays {
    /// Reads a `.npy` or `.npz` file.
    ///
    /// # Errors
    /// [`Error::File`] where it cannot be read; the reason is an [`ArraysError`] where it is no model.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let wrong = |error: ArraysError| Error::file(path, error);
        if path.extension().is_some_and(|name| name.eq_ignore_ascii_case("npy")) {
            let bytes = crate::files::read(path)?;
            return Self::matrix(&bytes).map_err(wrong);
        }
        let file = fs::File::open(path).map_err(|error| Error::file(path, error))?;
        Self::archive(BufReader::new(file)).map_err(wrong)
    }

    /// Reads `W.npy` (visible × hidden units), `a_vis.npy` and `b_hid.npy` of a folder.
    ///
    /// # Errors
    /// [`Error::File`] names the file that is wrong.
    pub fn read_folder(folder: &Path) -> Result<Self, Error> {
        let [weights, visible, hidden] = FOLDER.map(|name| folder.join(name));
        let matrix = Array::read(&weights)?;
        let (rows, columns) = rectangle(&matrix).map_err(|error| Error::file(&weights, error))?;
        let bias = |path: &Path, units| {
            let array = Array::read(path)?;
            vector(&array, units).map_err(|error| Error::file(path, error))?;
            Ok::<_, Error>(array.values)
        };
        let (visible, hidden) = (bias(&visible, rows)?, bias(&hidden, columns)?);
        Ok(Self::Rbm { weights: matrix.values, visible, hidden, names: FOLDER })
    }

    /// The quadratic form of the bytes of a `.npy` file.
    ///
    /// # Errors
    /// [`ArraysError::Npy`] where it is no square matrix of numbers.
    pub fn matrix(bytes: &[u8]) -> Result<Self, ArraysError> {
        let matrix = Array::parse(bytes)?;
        Ok(Self::Qubo { sites: square(&matrix)?, matrix: matrix.values })
    }

    /// The model of a `.npz` file.
    ///
    /// # Errors
    /// [`ArraysError`] names the array that is wrong.
    pub fn archive(file: impl Read + Seek) -> Result<Self, ArraysError> {
        let mut arrays = Reader::new(file)?;
        let only = |arrays: &Reader<_>, names: &[&str]| {
            if arrays.names().all(|name| names.contains(&name)) {
                return Ok(());
            }
            let (expected, found) =
                (names.join(", "), listed(arrays.names().filter(|name| !names.contains(name))));
            Err(ArraysError::Extra { expected, found })
        };
        if arrays.has("J") {
            only(&arrays, &["J", "h"])?;
            let couplings = arrays.array("J")?;
            let sites = square(&couplings).map_err(within("J"))?;
            let fields = if arrays.has("h") { arrays.array("h")? } else { zeros(sites) };
            vector(&fields, sites).map_err(within("h"))?;
            symmetric(&couplings.values, sites)?;
            return Ok(Self::Ising { couplings: couplings.values, fields: fields.values });
        }
        if arrays.has("Q") {
            only(&arrays, &["Q"])?;
            let matrix = arrays.array("Q")?;
            return Ok(Self::Qubo { sites: square(&matrix).map_err(within("Q"))?, matrix: matrix.values });
        }
        let Some(names) = [RBM, SCIKIT].into_iter().find(|names| arrays.has(names[0])) else {
            return Err(ArraysError::Names { found: listed(arrays.names()) });
        };
        only(&arrays, &names)?;
        let weights = arrays.array(names[0])?;
        let (mut rows, mut columns) = rectangle(&weights).map_err(within(names[0]))?;
        let mut weights = weights.values;
        if names == SCIKIT {
            let across = (0..columns).flat_map(|column| (0..rows).map(move |row| row * columns + column));
            weights = across.map(|place| weights[place]).collect();
            (rows, columns) = (columns, rows);
        }
        let mut bias = |name, units| {
            let array = arrays.array(name)?;
            vector(&array, units).map_err(within(name))?;
            Ok::<_, ArraysError>(array.values)
        };
        let (visible, hidden) = (bias(names[1], rows)?, bias(names[2], columns)?);
        Ok(Self::Rbm { weights, visible, hidden, names })
    }
}

/// An error in one array of an archive.
fn within(name: &str) -> impl Fn(NpyError) -> NpzError {
    move |error| NpzError::Array { name: name.into(), error }
}

fn zeros(sites: usize) -> Array {
    Array { shape: vec![sites], values: vec![0.0; sites] }
}

/// The shape of an array is not what is needed.
fn shape(array: &Array, need: &str) -> NpyError {
    let lengths: Vec<u64> = array.shape.iter().map(|&length| length as u64).collect();
    NpyError::Shape { got: tuple(&lengths, ""), need: need.into() }
}

/// The rows and columns of a matrix, at least one of each.
fn rectangle(array: &Array) -> Result<(usize, usize), NpyError> {
    match array.shape[..] {
        [rows, columns] if rows > 0 && columns > 0 => Ok((rows, columns)),
        _ => Err(shape(array, "(any, any)")),
    }
}

/// The side of a square matrix.
fn square(array: &Array) -> Result<usize, NpyError> {
    let (rows, columns) = rectangle(array)?;
    if rows == columns { Ok(rows) } else { Err(shape(array, &format!("({rows}, {rows})"))) }
}

/// An array has one index, of this length.
fn vector(array: &Array, units: usize) -> Result<(), NpyError> {
    if array.shape == [units] { Ok(()) } else { Err(shape(array, &format!("({units},)"))) }
}

/// A matrix of couplings is symmetric in 32 bits, with zeros on its diagonal.
fn symmetric(couplings: &[f64], sites: usize) -> Result<(), ArraysError> {
    let entry = |a: usize, b: usize| couplings[a * sites + b] as f32;
    for a in 0..sites {
        let value = entry(a, a);
        if value != 0.0 {
            return Err(ArraysError::Diagonal { site: a, value });
        }
        for b in a + 1..sites {
            let (above, below) = (entry(a, b), entry(b, a));
            if above != below {
                return Err(ArraysError::Symmetry { a, b, above, below });
            }
        }
    }
    Ok(())
}
