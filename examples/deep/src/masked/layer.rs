//! One layer: attention, then two linear layers, each after a normalisation and beside what came in.

use super::attention::{self, attend};
use super::norm::{self, Norm};
use super::{add_chosen, chosen};
use crate::product::{Matrix, add, multiply, swish};
use candle_core::{Result, Tensor};
use std::path::Path;

pub struct Layer {
    before: Norm,
    query: Matrix,
    key: Matrix,
    value: Matrix,
    out: Matrix,
    between: Norm,
    wide: Matrix,
    narrow: Matrix,
}

/// What the way back needs.
pub struct Kept {
    before: norm::Kept,
    attention: attention::Kept,
    between: norm::Kept,
    slopes: Vec<f32>,
    length: usize,
    at: Option<Vec<usize>>,
}

impl Layer {
    pub fn read(folder: &Path, name: &str) -> Result<Self> {
        let tensor = |part: &str| Tensor::read_npy(folder.join(format!("{name}_{part}.npy")));
        let matrix = |weights: &str, bias: &str| Matrix::new(tensor(weights)?, tensor(bias)?.to_vec1()?);
        Ok(Self {
            before: Norm::read(folder, &format!("{name}_ln1"))?,
            query: matrix("wq", "bq")?,
            key: matrix("wk", "bk")?,
            value: matrix("wv", "bv")?,
            out: matrix("wo", "bo")?,
            between: Norm::read(folder, &format!("{name}_ln2"))?,
            wide: matrix("w1", "b1")?,
            narrow: matrix("w2", "b2")?,
        })
    }

    /// Of passes of one length: all rows, or only the row of each pass that `at` says.
    pub fn forward(&self, x: &[f32], length: usize, at: Option<&[usize]>) -> Result<(Vec<f32>, Kept)> {
        let (normal, before) = self.before.forward(x);
        let query = self.query.forward(chosen(&normal, length, at))?;
        let (key, value) = (self.key.forward(normal.clone())?, self.value.forward(normal)?);
        let (found, attention) = attend(query, key, value, length);
        let mut x = chosen(x, length, at);
        add(&mut x, &self.out.forward(found)?);
        let (normal, between) = self.between.forward(&x);
        let mut hidden = self.wide.forward(normal)?;
        let slopes = swish(&mut hidden);
        add(&mut x, &self.narrow.forward(hidden)?);
        Ok((x, Kept { before, attention, between, slopes, length, at: at.map(<[usize]>::to_vec) }))
    }

    /// From the gradient at what it gives to that at what it takes.
    pub fn backward(&self, mut gradient: Vec<f32>, kept: &Kept) -> Result<Vec<f32>> {
        let mut hidden = self.narrow.backward(gradient.clone())?;
        multiply(&mut hidden, &kept.slopes);
        add(&mut gradient, &self.between.backward(self.wide.backward(hidden)?, &kept.between));
        let (length, at) = (kept.length, kept.at.as_deref());
        let [query, key, value] = kept.attention.backward(&self.out.backward(gradient.clone())?);
        let mut normal = self.key.backward(key)?;
        add(&mut normal, &self.value.backward(value)?);
        add_chosen(&mut normal, length, at, &self.query.backward(query)?);
        let mut out = self.before.backward(normal, &kept.before);
        add_chosen(&mut out, length, at, &gradient);
        Ok(out)
    }
}
