//! Archives of NumPy arrays, `.npz`.

use crate::npy::{Array, NpyError, tuple};
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use zip::result::ZipError;
use zip::write::{SimpleFileOptions, ZipWriter};
use zip::{CompressionMethod, DateTime, ZipArchive};

/// Numbers that an array can have.
///
/// | element | NumPy |
/// |---|---|
/// | `u8`, `u16`, `u32` | `uint8`, `uint16`, `uint32` |
/// | `i64` | `int64` |
/// | `f32`, `f64` | `float32`, `float64` |
pub trait Element: Copy + sealed::Element {}

mod sealed {
    /// How an element is written.
    pub trait Element: Copy {
        /// What NumPy calls it.
        const KIND: super::Kind;
        /// Its bytes, the lowest first, behind the others.
        fn put(self, bytes: &mut Vec<u8>);
    }
}

macro_rules! elements {
    ($($element:ty, $kind:ident;)*) => {$(
        impl Element for $element {}
        impl sealed::Element for $element {
            const KIND: Kind = Kind::$kind;
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }
        }
    )*};
}

elements! { u8, U8; u16, U16; u32, U32; i64, I64; f32, F32; f64, F64; }

/// What the elements of an array are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the types")]
pub enum Kind {
    U8,
    U16,
    U32,
    I64,
    F32,
    F64,
}

impl Kind {
    /// What NumPy calls it, and its bytes.
    fn described(self) -> (&'static str, u64) {
        match self {
            Self::U8 => ("|u1", 1),
            Self::U16 => ("<u2", 2),
            Self::U32 => ("<u4", 4),
            Self::I64 => ("<i8", 8),
            Self::F32 => ("<f4", 4),
            Self::F64 => ("<f8", 8),
        }
    }
}

/// Writes arrays into an archive that `numpy.load` reads. The same arrays give the same bytes: no times are kept. Nothing
/// is compressed. An archive or an array may pass 4 GB.
///
/// ```
/// use bitmc_desktop::npz::Npz;
///
/// let mut npz = Npz::new();
/// npz.add("energies", &[2, 3], &[0.5f64, 1.0, 1.5, 2.0, 2.5, 3.0])?;
/// npz.add("states", &[4], &[0u8, 1, 1, 0])?;
/// let bytes: Vec<u8> = npz.finish()?.into_inner();
/// # assert!(bytes.starts_with(b"PK"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Npz<W: Write + Seek> {
    zip: ZipWriter<Once<W>>,
}

/// Ends with its first error, and then only seems to write: the archive would print on standard error what its drop cannot
/// write.
#[derive(Debug)]
struct Once<W> {
    out: W,
    at: u64,
    failed: bool,
}

impl<W: Write> Write for Once<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = if self.failed { bytes.len() } else { self.unless_failed(|out| out.write(bytes))? };
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.failed { Ok(()) } else { self.unless_failed(Write::flush) }
    }
}

impl<W: Seek> Seek for Once<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = match to {
            _ if !self.failed => self.unless_failed(|out| out.seek(to))?,
            SeekFrom::Start(at) => at,
            SeekFrom::Current(by) => self.at.saturating_add_signed(by),
            SeekFrom::End(_) => self.at,
        };
        Ok(self.at)
    }
}

impl<W> Once<W> {
    fn unless_failed<T>(&mut self, work: impl FnOnce(&mut W) -> io::Result<T>) -> io::Result<T> {
        let done = work(&mut self.out);
        self.failed = matches!(&done, Err(error) if error.kind() != io::ErrorKind::Interrupted);
        done
    }
}

impl Npz<Cursor<Vec<u8>>> {
    /// An archive in memory.
    #[must_use]
    pub fn new() -> Self {
        Self::to(Cursor::default())
    }
}

impl Default for Npz<Cursor<Vec<u8>>> {
    fn default() -> Self {
        Self::new()
    }
}

impl<W: Write + Seek> Npz<W> {
    /// An archive into a file: see [`write_with`](crate::files::write_with).
    pub fn to(out: W) -> Self {
        Self { zip: ZipWriter::new(Once { out, at: 0, failed: false }) }
    }

    /// Adds an array, the last index running fastest.
    ///
    /// # Errors
    /// `InvalidInput` where the count of numbers does not fit the shape, or the archive has an array of this name. Other errors
    /// are those of the writer. After an error the archive is of no use.
    pub fn add<T: Element>(&mut self, name: &str, shape: &[usize], data: &[T]) -> io::Result<()> {
        const AT_ONCE: usize = 1 << 14;
        self.add_with(name, shape, T::KIND, |out| {
            let mut bytes = Vec::new();
            data.chunks(AT_ONCE).try_for_each(|chunk| {
                bytes.clear();
                chunk.iter().for_each(|&number| number.put(&mut bytes));
                out.write_all(&bytes)
            })
        })
    }

    /// Adds an array whose bytes are written by a function, so that it need not be in memory: little-endian, the last index
    /// running fastest.
    ///
    /// # Errors
    /// `InvalidInput` where the count of bytes does not fit the shape, or the archive has an array of this name. Other errors
    /// are those of the function and of the writer. After an error the archive is of no use.
    pub fn add_with(
        &mut self,
        name: &str,
        shape: &[usize],
        kind: Kind,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let bad = |reason: String| io::Error::new(io::ErrorKind::InvalidInput, format!("{name}: {reason}"));
        let shape: Vec<u64> = shape.iter().map(|&length| length as u64).collect();
        let (described, width) = kind.described();
        let shown = tuple(&shape, "");
        let product = |product: u64, &length: &u64| product.checked_mul(length);
        let need =
            shape.iter().try_fold(width, product).ok_or_else(|| bad(format!("shape {shown} is too large")))?;
        let header = header(described, &shown);
        let plain = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(DateTime::default())
            .unix_permissions(0o644)
            .large_file(need.saturating_add(header.len() as u64) > u64::from(u32::MAX) / 2);
        self.zip.start_file(format!("{name}.npy"), plain)?;
        self.zip.write_all(&header)?;
        let mut out = Counted { out: &mut self.zip, bytes: 0 };
        write(&mut out)?;
        let got = out.bytes;
        if got == need { Ok(()) } else { Err(bad(format!("{got} bytes: shape {shown} has {need}"))) }
    }

    /// Ends the archive.
    ///
    /// # Errors
    /// What the writer says.
    pub fn finish(self) -> io::Result<W> {
        Ok(self.zip.finish()?.out)
    }
}

/// The bytes before the data of an array: a multiple of 64.
fn header(described: &str, shape: &str) -> Vec<u8> {
    const START: &[u8] = b"\x93NUMPY\x01\x00";
    let mut text = format!("{{'descr': '{described}', 'fortran_order': False, 'shape': {shape}, }}");
    let before = START.len() + 2;
    while !(before + text.len() + 1).is_multiple_of(64) {
        text.push(' ');
    }
    text.push('\n');
    let length = (text.len() as u16).to_le_bytes();
    [START, &length, text.as_bytes()].concat()
}

/// Counts what is written.
struct Counted<'w, W> {
    out: &'w mut W,
    bytes: u64,
}

impl<W: Write> Write for Counted<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Why bytes are not an archive of arrays, or not one that is needed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NpzError {
    /// Not an archive, or a damaged one.
    #[error("not a .npz file: {0}")]
    Archive(String),
    /// An array that is damaged, or not of numbers.
    #[error("array \"{name}\": {error}")]
    Array {
        /// Its name.
        name: String,
        /// What is wrong.
        error: NpyError,
    },
    /// An array that is needed is not there.
    #[error("array \"{name}\" expected, found {found}")]
    Missing {
        /// Its name.
        name: &'static str,
        /// What there is.
        found: String,
    },
}

/// Reads arrays of an archive by their names.
#[derive(Debug)]
pub struct Reader<R> {
    zip: ZipArchive<R>,
    names: Vec<String>,
}

/// The most bytes of an array that are unpacked.
const MOST: u64 = 1 << 33;

impl<R: Read + Seek> Reader<R> {
    /// Looks which arrays there are.
    ///
    /// # Errors
    /// [`NpzError::Archive`] where it is no archive.
    pub fn new(file: R) -> Result<Self, NpzError> {
        let damaged = |error: ZipError| NpzError::Archive(error.to_string());
        let zip = ZipArchive::new(file).map_err(damaged)?;
        let names = zip.file_names().map(|name| {
            let name = name.map_err(damaged)?;
            Ok(name.strip_suffix(".npy").unwrap_or(&name).to_string())
        });
        let names = names.collect::<Result<_, _>>()?;
        Ok(Self { zip, names })
    }

    /// The names of its arrays.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Whether there is an array of this name.
    pub fn has(&self, name: &str) -> bool {
        self.names().any(|found| found == name)
    }

    /// An array.
    ///
    /// # Errors
    /// [`NpzError`] where there is none of this name, or it is damaged.
    pub fn array(&mut self, name: &'static str) -> Result<Array, NpzError> {
        if !self.has(name) {
            return Err(NpzError::Missing { name, found: listed(self.names()) });
        }
        let damaged = |error: String| NpzError::Archive(format!("array \"{name}\": {error}"));
        let entry = self.zip.by_name(&format!("{name}.npy")).map_err(|error| damaged(error.to_string()))?;
        // The archive may claim any size: memory grows with what is unpacked.
        let mut bytes = Vec::new();
        let got = entry.take(MOST).read_to_end(&mut bytes).map_err(|error| damaged(error.to_string()))?;
        if got as u64 == MOST {
            return Err(damaged(format!("more than {MOST} bytes")));
        }
        Array::parse(&bytes).map_err(|error| NpzError::Array { name: name.into(), error })
    }
}

/// The first names, in quotes.
pub(crate) fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    const SHOWN: usize = 5;
    let mut names: Vec<String> = names.map(|name| format!("\"{}\"", crate::formats::cut(name))).collect();
    names.sort();
    let more = if names.len() > SHOWN { ", …" } else { "" };
    names.truncate(SHOWN);
    if names.is_empty() { "none".into() } else { names.join(", ") + more }
}
