//! A masked language model: what word is at a position, given the others, with its gradient back to the embeddings.
//!
//! Two layers of four attention heads over 96 numbers a word piece, 384 hidden units, 3,072 word pieces, 524,928 parameters.
//! Only one position of a pass is read, so the last layer works on that position alone.

mod attention;
mod layer;
mod norm;

use crate::product::{Matrix, add};
use bitmc_examples::cli::Failure;
use candle_core::{Result, Tensor};
use layer::{Kept, Layer};
use norm::Norm;
use std::path::Path;

/// Word pieces.
pub const PIECES: usize = 3072;
/// Numbers of an embedding.
pub const WIDTH: usize = 96;
/// The piece that stands for a hidden one.
pub const MASK: u32 = 4;
/// Pieces before the first that may fill a gap.
pub const SPECIAL: u32 = 5;

/// The model.
pub struct Masked {
    embeddings: Vec<f32>,
    positions: Vec<f32>,
    layers: [Layer; 2],
    last: Norm,
    /// From a hidden vector to a number for every piece: the embeddings again.
    pieces: Matrix,
}

/// Passes through the model that all have one length.
pub struct Passes {
    /// Pieces of each, one pass after the other.
    pub ids: Vec<u32>,
    /// Pieces of a pass.
    pub length: usize,
    /// The position of each that is read.
    pub at: Vec<usize>,
}

/// What the passes said.
pub struct Answer {
    /// `ln P(piece)` of every piece at the position that is read.
    pub logs: Vec<f32>,
    kept: [Kept; 2],
    top: norm::Kept,
}

impl Masked {
    /// Reads the weights from a folder of NumPy files.
    ///
    /// # Errors
    /// [`Failure::File`] where a file is missing or has another shape.
    pub fn read(folder: &Path) -> std::result::Result<Self, Failure> {
        Self::load(folder).map_err(|error| Failure::file(folder, error))
    }

    fn load(folder: &Path) -> Result<Self> {
        let tensor = |name: &str| Tensor::read_npy(folder.join(format!("{name}.npy")));
        let numbers = |name: &str| tensor(name)?.flatten_all()?.to_vec1::<f32>();
        let embeddings = tensor("tok_emb")?;
        if embeddings.dims2()? != (PIECES, WIDTH) {
            candle_core::bail!("tok_emb.npy has another shape than {PIECES} × {WIDTH}");
        }
        Ok(Self {
            positions: numbers("pos_emb")?,
            layers: [Layer::read(folder, "l0")?, Layer::read(folder, "l1")?],
            last: Norm::read(folder, "lnf")?,
            pieces: Matrix::new(embeddings.t()?.contiguous()?, numbers("out_bias")?)?,
            embeddings: embeddings.flatten_all()?.to_vec1()?,
        })
    }

    fn embedding(&self, piece: u32) -> &[f32] {
        &self.embeddings[piece as usize * WIDTH..][..WIDTH]
    }

    /// Runs passes.
    ///
    /// # Errors
    /// Where the tensor library fails.
    pub fn run(&self, passes: &Passes) -> Result<Answer> {
        let mut x = Vec::with_capacity(passes.ids.len() * WIDTH);
        for sentence in passes.ids.chunks(passes.length) {
            for (&piece, position) in sentence.iter().zip(self.positions.chunks(WIDTH)) {
                x.extend(self.embedding(piece).iter().zip(position).map(|(a, b)| a + b));
            }
        }
        let [first, second] = &self.layers;
        let (x, below) = first.forward(&x, passes.length, None)?;
        let (x, above) = second.forward(&x, passes.length, Some(&passes.at))?;
        let (x, top) = self.last.forward(&x);
        let mut logs = self.pieces.forward(x)?;
        logs.chunks_mut(PIECES).for_each(log_softmax);
        Ok(Answer { logs, kept: [below, above], top })
    }

    /// `∂(−ln P(piece))/∂embedding` of every position of each pass, where `pieces` are those that are read.
    ///
    /// # Errors
    /// Where the tensor library fails.
    pub fn back(&self, answer: &Answer, pieces: impl Iterator<Item = u32>) -> Result<Vec<f32>> {
        let mut gradient: Vec<f32> = answer.logs.iter().map(|log| log.exp()).collect();
        gradient.chunks_mut(PIECES).zip(pieces).for_each(|(row, piece)| row[piece as usize] -= 1.0);
        let mut gradient = self.last.backward(self.pieces.backward(gradient)?, &answer.top);
        for (layer, kept) in self.layers.iter().zip(&answer.kept).rev() {
            gradient = layer.backward(gradient, kept)?;
        }
        Ok(gradient)
    }

    /// `⟨vector, embedding⟩` of every piece, for each of several vectors.
    ///
    /// # Errors
    /// Where the tensor library fails.
    pub fn along_pieces(&self, vectors: Vec<f32>) -> Result<Vec<f32>> {
        self.pieces.forward_without_bias(vectors)
    }
}

/// `ln softmax` in place.
fn log_softmax(row: &mut [f32]) {
    let most = row.iter().fold(f32::NEG_INFINITY, |most, &x| most.max(x));
    let sum: f64 = row.iter().map(|x| f64::from((x - most).exp())).sum();
    let log = most + sum.ln() as f32;
    row.iter_mut().for_each(|x| *x -= log);
}

/// The rows of each pass that are wanted: all, or one.
fn chosen(x: &[f32], length: usize, at: Option<&[usize]>) -> Vec<f32> {
    let Some(at) = at else { return x.to_vec() };
    let row = |(pass, &at): (usize, &usize)| &x[(pass * length + at) * WIDTH..][..WIDTH];
    at.iter().enumerate().flat_map(row).copied().collect()
}

/// Adds to the rows of each pass that are wanted.
fn add_chosen(to: &mut [f32], length: usize, at: Option<&[usize]>, terms: &[f32]) {
    let Some(at) = at else { return add(to, terms) };
    for ((pass, &at), terms) in at.iter().enumerate().zip(terms.chunks(WIDTH)) {
        add(&mut to[(pass * length + at) * WIDTH..][..WIDTH], terms);
    }
}
