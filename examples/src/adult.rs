//! The census data of the example `bnn`: who earns more than 50,000 dollars a year.

use crate::bits::BitRows;
use crate::cli::Failure;
use crate::npy;
use bitmc::LaneRng;
use bitmc::Rng;
use std::path::Path;

/// Columns of numbers, and of categories.
const NUMBERS: usize = 5;
const CATEGORIES: usize = 58;

/// Inputs column by column, and a target for each row.
#[derive(Clone, Debug)]
pub struct Data {
    /// Between 0 and 1; most are 0.
    pub inputs: Vec<f32>,
    /// 1 for more than 50,000 dollars.
    pub targets: Vec<f32>,
}

impl Data {
    /// The mean squared error of predicting the mean of the targets.
    #[must_use]
    pub fn variance(&self) -> f64 {
        let rows = self.targets.len() as f64;
        let mean = self.targets.iter().map(|&y| f64::from(y)).sum::<f64>() / rows;
        self.targets.iter().map(|&y| (f64::from(y) - mean).powi(2)).sum::<f64>() / rows
    }
}

/// Training and test data: four fifths and one fifth of the rows, in an order drawn from the generator.
///
/// # Errors
/// [`Failure::File`] names the file that is wrong.
pub fn read(folder: &Path, rng: &mut LaneRng) -> Result<(Data, Data), Failure> {
    let (numbers, shape) = npy::read(&folder.join("numeric.npy"), &[0, NUMBERS as u64])?;
    if let Some(at) = numbers.iter().position(|number| !number.is_finite()) {
        let (row, column, value) = (at / NUMBERS, at % NUMBERS, numbers[at]);
        let reason = format!("row {row}, column {column}: a finite number expected, found {value}");
        return Err(Failure::file(&folder.join("numeric.npy"), reason));
    }
    let path = folder.join("categories.bits");
    let bits = BitRows::read(&path, CATEGORIES + 1)?;
    if bits.len() as u64 != shape[0] || bits.len() < 5 {
        let reason = format!("{} rows, where numeric.npy has {}, at least 5", bits.len(), shape[0]);
        return Err(Failure::file(&path, reason));
    }
    let mut order: Vec<usize> = (0..bits.len()).collect();
    for last in (1..order.len()).rev() {
        let other = (u64::from(rng.next_u32()) * (last as u64 + 1)) >> 32;
        order.swap(last, other as usize);
    }
    let bit = |row: usize, bit: usize| (bits.row(row)[bit / 32] >> (bit % 32) & 1) as f32;
    let value = |row: usize, column: usize| match column.checked_sub(NUMBERS) {
        Some(category) => bit(row, category),
        None => numbers[row * NUMBERS + column],
    };
    let part = |rows: &[usize]| {
        let columns = (0..NUMBERS + CATEGORIES).map(|column| rows.iter().map(move |&row| (row, column)));
        let inputs = columns.flatten().map(|(row, column)| value(row, column)).collect();
        Data { inputs, targets: rows.iter().map(|&row| bit(row, CATEGORIES)).collect() }
    };
    let (train, test) = order.split_at(order.len() * 4 / 5);
    Ok((part(train), part(test)))
}
