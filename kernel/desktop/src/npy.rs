//! NumPy files of f32.

use crate::Error;
use crate::files;
use npyz::{DType, NpyFile, NpyHeader, Order, TypeChar};
use std::path::Path;

/// The values of a file in C order, which must have exactly this shape, where a 0 stands for any length but 0.
/// Returns the shape that it has, too.
///
/// # Errors
/// [`Error::File`] where it cannot be read, is not an f32 array of that shape, or does not end with it.
pub fn read(path: &Path, shape: &[u64]) -> Result<(Vec<f32>, Vec<u64>), Error> {
    let bytes = files::read(path)?;
    let bad = |reason: String| Error::file(path, reason);
    let mut data = &bytes[..];
    let header =
        NpyHeader::from_reader(&mut data).map_err(|error| bad(format!("not a NumPy file: {error}")))?;
    let got = header.shape().to_vec();
    let fits = |(&got, &want): (&u64, &u64)| if want == 0 { got > 0 } else { got == want };
    let fits = got.len() == shape.len() && got.iter().zip(shape).all(fits);
    if !fits {
        return Err(bad(format!(
            "an array of shape {}, where {} is needed",
            tuple(&got, ""),
            tuple(shape, "any")
        )));
    }
    match header.dtype() {
        DType::Plain(of) if of.type_char() == TypeChar::Float && of.size_field() == 4 => {}
        of => {
            return Err(bad(format!(
                "not an array of f32, \"<f4\", but of {}",
                of.descr().replace('\'', "\"")
            )));
        }
    }
    if header.order() != Order::C {
        return Err(bad("an array in Fortran order, where C order is needed".into()));
    }
    // The header may claim anything: believe it only as far as there are bytes.
    let need = got.iter().try_fold(4u64, |product, &length| product.checked_mul(length));
    if need != Some(data.len() as u64) {
        let is = if need.is_none_or(|need| need > data.len() as u64) { "too short" } else { "too long" };
        let need = need.map_or("more than 2^64".into(), |need| need.to_string());
        let shape = tuple(&got, "");
        return Err(bad(format!("{is}: {} bytes of data, where shape {shape} has {need}", data.len())));
    }
    let file = NpyFile::with_header(header, data);
    let values = file.into_vec::<f32>().map_err(|error| bad(format!("not an array of f32: {error}")))?;
    Ok((values, got))
}

/// A shape as NumPy writes it; `any` stands for a 0 that means any length.
fn tuple(shape: &[u64], any: &str) -> String {
    let length = |&length: &u64| if length == 0 && !any.is_empty() { any.into() } else { length.to_string() };
    let comma = if shape.len() == 1 { "," } else { "" };
    format!("({}{comma})", shape.iter().map(length).collect::<Vec<_>>().join(", "))
}
