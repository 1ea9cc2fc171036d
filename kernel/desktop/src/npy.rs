//! NumPy files of numbers.

use crate::Error;
use crate::files;
use crate::formats::cut;
use std::path::Path;

/// An array of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Its lengths; empty for a single number.
    pub shape: Vec<usize>,
    /// Its values, the last index running fastest.
    pub values: Vec<f64>,
}

/// Why bytes are not an array that is needed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NpyError {
    /// Not the format.
    #[error("not a NumPy file: {expected} expected")]
    Format {
        /// What is needed there.
        expected: &'static str,
    },
    /// Elements that are not numbers, or not those that are needed.
    #[error("not an array of {expected}, but of \"{found}\"")]
    Elements {
        /// What they should be.
        expected: &'static str,
        /// What NumPy calls them.
        found: String,
    },
    /// The first index runs fastest.
    #[error("an array in Fortran order, where C order is needed")]
    Order,
    /// Other lengths than needed.
    #[error("an array of shape {got}, where {need} is needed")]
    Shape {
        /// What they are.
        got: String,
        /// What they should be.
        need: String,
    },
    /// More or fewer bytes than the shape says.
    #[error("{is}: {got} bytes of data, where shape {shape} has {need}")]
    Length {
        /// `too short` or `too long`.
        is: &'static str,
        /// Bytes that there are.
        got: usize,
        /// The shape.
        shape: String,
        /// Bytes that it has.
        need: String,
    },
}

impl Array {
    /// Reads a file: floating-point numbers of 2, 4 or 8 bytes, whole numbers or truth values, of either byte order,
    /// in C or Fortran order.
    ///
    /// # Errors
    /// [`Error::File`] where it cannot be read; the reason is a [`NpyError`] where it is no array of numbers.
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::parse(&files::read(path)?).map_err(|error| Error::file(path, error))
    }

    /// The array of the bytes of a file, as [`Array::read`].
    ///
    /// # Errors
    /// [`NpyError`] says what is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, NpyError> {
        let (header, data) = Header::parse(bytes)?;
        let (width, reversed, number) = header.number()?;
        header.check_length(width, data.len())?;
        let value = |bytes: &[u8]| {
            let mut lowest_first = [0; 8];
            let bytes_of = &mut lowest_first[..width];
            bytes_of.copy_from_slice(bytes);
            if reversed {
                bytes_of.reverse();
            }
            number(bytes_of)
        };
        let values: Vec<f64> = data.chunks_exact(width).map(value).collect();
        // The data is as long as the shape says: only a shape with a 0 can have a length that is no usize.
        let shape = header.shape.iter().map(|&length| usize::try_from(length).unwrap_or(usize::MAX)).collect();
        let array = Self { shape, values };
        Ok(if header.fortran && !array.values.is_empty() { array.transposed() } else { array })
    }

    /// Its values, rounded to f32.
    #[must_use]
    pub fn rounded(&self) -> Vec<f32> {
        self.values.iter().map(|&value| value as f32).collect()
    }

    /// From the first index running fastest to the last.
    fn transposed(self) -> Self {
        let mut place = vec![0; self.shape.len()];
        let mut strides = vec![1; self.shape.len()];
        for axis in 1..self.shape.len() {
            strides[axis] = strides[axis - 1] * self.shape[axis - 1];
        }
        let mut from = 0;
        let values = (0..self.values.len()).map(|_| {
            let value = self.values[from];
            for axis in (0..place.len()).rev() {
                place[axis] += 1;
                from += strides[axis];
                if place[axis] < self.shape[axis] {
                    break;
                }
                from -= strides[axis] * place[axis];
                place[axis] = 0;
            }
            value
        });
        Self { values: values.collect(), shape: self.shape }
    }
}

/// The values of a file of f32 in C order, which must have exactly this shape, where a 0 means any length but 0.
/// Returns the shape that it has, too.
///
/// # Errors
/// [`Error::File`] where it cannot be read, is not an f32 array of that shape, or does not end with it.
pub fn read(path: &Path, shape: &[u64]) -> Result<(Vec<f32>, Vec<u64>), Error> {
    let bytes = files::read(path)?;
    let parse = || -> Result<_, NpyError> {
        let (header, data) = Header::parse(&bytes)?;
        let got = &header.shape;
        let fits = |(&got, &want): (&u64, &u64)| if want == 0 { got > 0 } else { got == want };
        if got.len() != shape.len() || !got.iter().zip(shape).all(fits) {
            return Err(NpyError::Shape { got: tuple(got, ""), need: tuple(shape, "any") });
        }
        if header.elements != "<f4" {
            return Err(NpyError::Elements { expected: "f32, \"<f4\"", found: cut(header.elements) });
        }
        if header.fortran {
            return Err(NpyError::Order);
        }
        header.check_length(4, data.len())?;
        Ok((data.chunks_exact(4).map(|b| f32::from_le_bytes(fixed(b))).collect(), header.shape))
    };
    parse().map_err(|error| Error::file(path, error))
}

/// What a file says of its array.
struct Header<'b> {
    /// As NumPy writes it, such as `<f4`.
    elements: &'b str,
    fortran: bool,
    shape: Vec<u64>,
}

/// A floating-point number of 2 bytes, exactly.
fn half(bits: u16) -> f32 {
    let (exponent, fraction) = (u32::from(bits >> 10 & 31), u32::from(bits & 0x3FF));
    let magnitude = match exponent {
        0 => fraction as f32 / (1 << 24) as f32,
        31 => f32::from_bits(0xFF << 23 | fraction << 13),
        _ => f32::from_bits((exponent + 112) << 23 | fraction << 13),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

/// A number from its bytes.
type Number = fn(&[u8]) -> f64;

impl<'b> Header<'b> {
    /// The header, and the data after it.
    fn parse(bytes: &'b [u8]) -> Result<(Self, &'b [u8]), NpyError> {
        let bad = |expected| NpyError::Format { expected };
        let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or(bad("\"\\x93NUMPY\""))?;
        let (version, rest) = rest.split_at_checked(2).ok_or(bad("a version"))?;
        let wide = match version {
            [1, _] => 2,
            [2 | 3, _] => 4,
            _ => return Err(bad("version 1, 2 or 3")),
        };
        let (length, rest) = rest.split_at_checked(wide).ok_or(bad("the length of the header"))?;
        let length = length.iter().rev().fold(0, |length, &byte| length << 8 | usize::from(byte));
        let (text, data) = rest.split_at_checked(length).ok_or(bad("a whole header"))?;
        let text = str::from_utf8(text).map_err(|_| bad("a header in UTF-8"))?;
        let header = Self::dictionary(&mut Scan(text));
        Ok((header.ok_or(bad("a header with descr, fortran_order and shape"))?, data))
    }

    /// `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }` in any order.
    fn dictionary(scan: &mut Scan<'b>) -> Option<Self> {
        let (mut elements, mut fortran, mut shape) = (None, None, None);
        scan.skip("{")?;
        while scan.skip("}").is_none() {
            let key = scan.quoted()?;
            scan.skip(":")?;
            match key {
                "descr" => elements = Some(scan.quoted().or_else(|| scan.list())?),
                "fortran_order" => {
                    fortran = scan.skip("True").map(|()| true).or_else(|| scan.skip("False").map(|()| false));
                    fortran?;
                }
                "shape" => shape = Some(scan.lengths()?),
                _ => return None,
            }
            if scan.skip(",").is_none() {
                scan.skip("}")?;
                break;
            }
        }
        scan.0.trim().is_empty().then_some(())?;
        Some(Self { elements: elements?, fortran: fortran?, shape: shape? })
    }

    /// How many bytes a number has, whether the highest is the first, and how they are read from the lowest on.
    fn number(&self) -> Result<(usize, bool, Number), NpyError> {
        let bad = || NpyError::Elements { expected: "numbers", found: cut(self.elements) };
        let (order, kind) = self.elements.split_at_checked(1).ok_or_else(bad)?;
        let (width, number): (usize, Number) = match kind {
            "f2" => (2, |b| half(u16::from_le_bytes(fixed(b))).into()),
            "f4" => (4, |b| f32::from_le_bytes(fixed(b)).into()),
            "f8" => (8, |b| f64::from_le_bytes(fixed(b))),
            "b1" | "u1" => (1, |b| b[0].into()),
            "i1" => (1, |b| i8::from_le_bytes(fixed(b)).into()),
            "u2" => (2, |b| u16::from_le_bytes(fixed(b)).into()),
            "i2" => (2, |b| i16::from_le_bytes(fixed(b)).into()),
            "u4" => (4, |b| u32::from_le_bytes(fixed(b)).into()),
            "i4" => (4, |b| i32::from_le_bytes(fixed(b)).into()),
            "u8" => (8, |b| u64::from_le_bytes(fixed(b)) as f64),
            "i8" => (8, |b| i64::from_le_bytes(fixed(b)) as f64),
            _ => return Err(bad()),
        };
        match order {
            "<" | "|" | "=" => Ok((width, false, number)),
            ">" => Ok((width, true, number)),
            _ => Err(bad()),
        }
    }

    /// The header may claim anything: it is believed only as far as there are bytes.
    fn check_length(&self, width: usize, got: usize) -> Result<(), NpyError> {
        let empty = self.shape.contains(&0);
        let product = |product: u64, &length: &u64| product.checked_mul(length);
        let need = if empty { Some(0) } else { self.shape.iter().try_fold(width as u64, product) };
        if need == Some(got as u64) {
            return Ok(());
        }
        let is = if need.is_none_or(|need| need > got as u64) { "too short" } else { "too long" };
        let need = need.map_or("more than 2^64".into(), |need| need.to_string());
        Err(NpyError::Length { is, got, shape: tuple(&self.shape, ""), need })
    }
}

/// The rest of a header.
struct Scan<'b>(&'b str);

impl<'b> Scan<'b> {
    /// Passes these letters.
    fn skip(&mut self, letters: &str) -> Option<()> {
        self.0 = self.0.trim_start().strip_prefix(letters)?;
        Some(())
    }

    /// What is between quotes.
    fn quoted(&mut self) -> Option<&'b str> {
        let text = self.0.trim_start();
        let mark = text.chars().next().filter(|mark| matches!(mark, '\'' | '"'))?;
        let (word, rest) = text[1..].split_once(mark)?;
        self.0 = rest;
        Some(word)
    }

    /// The list of the fields of a record, as it is.
    fn list(&mut self) -> Option<&'b str> {
        let text = self.0.trim_start();
        let end = text.starts_with('[').then(|| text.rfind(']'))?? + 1;
        self.0 = &text[end..];
        Some(&text[..end])
    }

    /// `(3, 4)`
    fn lengths(&mut self) -> Option<Vec<u64>> {
        self.skip("(")?;
        let (inside, rest) = self.0.split_once(')')?;
        self.0 = rest;
        let inside = inside.trim();
        let inside = inside.strip_suffix(',').unwrap_or(inside);
        if inside.is_empty() {
            return Some(Vec::new());
        }
        inside.split(',').map(|length| length.trim().trim_end_matches('L').parse().ok()).collect()
    }
}

/// The N bytes of a slice.
fn fixed<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut fixed = [0; N];
    fixed.copy_from_slice(bytes);
    fixed
}

/// A shape as NumPy writes it; a 0 that means any length becomes `any`.
pub(crate) fn tuple(shape: &[u64], any: &str) -> String {
    let length = |&length: &u64| if length == 0 && !any.is_empty() { any.into() } else { length.to_string() };
    let comma = if shape.len() == 1 { "," } else { "" };
    format!("({}{comma})", shape.iter().map(length).collect::<Vec<_>>().join(", "))
}
