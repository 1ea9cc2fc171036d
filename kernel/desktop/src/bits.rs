//! Files of packed binary rows: the "DSBT" format of `data/README.md`.
//!
//! Little endian: `DSBT`, u32 version = 1, u32 rows, u32 bits a row, then each row in whole bytes. Bit i of a row is
//! bit `i mod 8` of byte `i / 8`. The bits that fill up the last byte are zero.

use crate::Error;
use crate::files;
use bitmc::{Layout, Packed};
use std::path::Path;

const MAGIC: &[u8; 4] = b"DSBT";
const VERSION: u32 = 1;
const HEADER: usize = 16;

/// Rows of bits, each packed as a binary state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitRows {
    layout: Layout,
    words: Vec<u32>,
}

/// Why bytes are not a DSBT file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BitsError {
    /// The first four bytes are others.
    #[error("not a DSBT file")]
    Magic,
    /// The version is one that this reader does not know.
    #[error("version {0} of the DSBT format, this reader knows version 1")]
    Version(u32),
    /// Rows without bits.
    #[error("rows of 0 bits")]
    NoBits,
    /// More or fewer bytes than header and rows need.
    #[error("{got} bytes, where {need} are needed")]
    Length {
        /// Bytes that a file with this header has.
        need: u64,
        /// Bytes that there are.
        got: u64,
    },
    /// A bit after the last one of a row is set.
    #[error("row {row} has a bit set past its end")]
    Padding {
        /// The row.
        row: usize,
    },
}

impl BitRows {
    /// No rows yet. Rows without sites are not counted.
    #[must_use]
    pub fn new(layout: Layout) -> Self {
        Self { layout, words: Vec::new() }
    }

    /// Adds a row.
    pub fn push(&mut self, row: Packed<'_>) {
        assert_eq!(row.layout(), self.layout, "all rows have one layout");
        self.words.extend_from_slice(row.words());
    }

    /// The shape of a row.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.len().checked_div(self.layout.words()).unwrap_or(0)
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The words of row `index`, modulo the number of rows.
    ///
    /// # Panics
    /// Where there is no row.
    #[must_use]
    pub fn row(&self, index: usize) -> &[u32] {
        let first = index % self.len() * self.layout.words();
        &self.words[first..first + self.layout.words()]
    }

    /// The words of all rows in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[u32]> + Clone {
        self.words.chunks_exact(self.layout.words().max(1))
    }

    /// The share of rows in which each bit is set.
    #[must_use]
    pub fn means(&self) -> Vec<f32> {
        let set = |site: usize| self.rows().filter(|row| row[site / 32] >> (site % 32) & 1 == 1).count();
        (0..self.layout.sites()).map(|site| set(site) as f32 / self.len().max(1) as f32).collect()
    }

    /// The rows of a file's bytes.
    ///
    /// # Errors
    /// [`BitsError`] says what is damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BitsError> {
        let got = bytes.len() as u64;
        if bytes.len() >= 4 && !bytes.starts_with(MAGIC) {
            return Err(BitsError::Magic);
        }
        let Some((header, data)) = bytes.split_at_checked(HEADER) else {
            return Err(BitsError::Length { need: HEADER as u64, got });
        };
        let number =
            |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (version, rows, bits) = (number(4), number(8), number(12));
        if version != VERSION {
            return Err(BitsError::Version(version));
        }
        if bits == 0 {
            return Err(BitsError::NoBits);
        }
        let row_bytes = bits.div_ceil(8) as usize;
        let need = HEADER as u64 + u64::from(rows) * row_bytes as u64;
        if got != need {
            return Err(BitsError::Length { need, got });
        }
        let mut table = Self::new(Layout::binary(bits as usize));
        for (index, row) in data.chunks_exact(row_bytes).enumerate() {
            let words =
                row.chunks(4).map(|word| word.iter().rev().fold(0, |sum, &byte| sum << 8 | u32::from(byte)));
            let words: Vec<u32> = words.collect();
            let row = Packed::new(table.layout, &words).map_err(|_| BitsError::Padding { row: index })?;
            table.push(row);
        }
        Ok(table)
    }

    /// The bytes of a file with these rows.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for number in [VERSION, self.len() as u32, self.layout.sites() as u32] {
            bytes.extend(number.to_le_bytes());
        }
        let row_bytes = self.layout.sites().div_ceil(8);
        for row in self.rows() {
            bytes.extend(row.iter().flat_map(|word| word.to_le_bytes()).take(row_bytes));
        }
        bytes
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::File`] where it cannot be read, is damaged, has no rows, or rows of other than `bits` bits.
    pub fn read(path: &Path, bits: usize) -> Result<Self, Error> {
        let table = Self::from_bytes(&files::read(path)?).map_err(|error| Error::file(path, error))?;
        if table.layout.sites() != bits {
            let reason = format!("rows of {} bits, where {bits} are needed", table.layout.sites());
            return Err(Error::file(path, reason));
        }
        if table.is_empty() {
            return Err(Error::file(path, "no rows"));
        }
        Ok(table)
    }

    /// Writes a file.
    ///
    /// # Errors
    /// [`Error::File`] where it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        files::write(path, &self.to_bytes())
    }
}
