//! NumPy files of f32.

use crate::cli::Failure;
use crate::report;
use npyz::{NpyFile, Order};
use std::path::Path;

/// The values of a file in C order, which must have exactly this shape, where a 0 stands for any length.
/// Returns the shape that it has, too.
///
/// # Errors
/// [`Failure::File`] where it cannot be read, or is not an f32 array of that shape.
pub fn read(path: &Path, shape: &[u64]) -> Result<(Vec<f32>, Vec<u64>), Failure> {
    let bytes = report::read(path)?;
    let bad = |reason: String| Failure::file(path, reason);
    let file = NpyFile::new(&bytes[..]).map_err(|error| bad(format!("not a NumPy file: {error}")))?;
    let got = file.shape().to_vec();
    let fits = got.len() == shape.len() && got.iter().zip(shape).all(|(&got, &want)| want == 0 || got == want);
    if !fits {
        return Err(bad(format!("an array of shape {got:?}, where {shape:?} is needed (0: any length)")));
    }
    if file.order() != Order::C {
        return Err(bad("an array in Fortran order, where C order is needed".into()));
    }
    // The header may claim anything: believe it only as far as there are bytes.
    let values = got.iter().try_fold(4u64, |product, &length| product.checked_mul(length));
    if values.is_none_or(|size| size > bytes.len() as u64) {
        return Err(bad(format!("too short for an array of shape {got:?}")));
    }
    let values = file.into_vec::<f32>().map_err(|error| bad(format!("not an array of f32: {error}")))?;
    Ok((values, got))
}
