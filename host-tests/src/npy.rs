//! The files of `examples/data`.

use crate::naive::Machine;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The path of a file in `examples/data`.
#[must_use]
pub fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/data").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    fs::read(path(name)).unwrap_or_else(|error| panic!("examples/data/{name}: {error}"))
}

/// A `.npy` file of little-endian f32, in C order.
///
/// # Panics
/// Where the file is missing or holds something else.
#[must_use]
pub fn floats(name: &str) -> Vec<f32> {
    let bytes = bytes(name);
    let file = npyz::NpyFile::new(&bytes[..]).unwrap_or_else(|error| panic!("{name}: {error}"));
    file.into_vec().unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A `.npy` file of little-endian f64, in C order.
///
/// # Panics
/// As [`floats`].
#[must_use]
pub fn doubles(name: &str) -> Vec<f64> {
    let bytes = bytes(name);
    let file = npyz::NpyFile::new(&bytes[..]).unwrap_or_else(|error| panic!("{name}: {error}"));
    file.into_vec().unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A `.json` file.
///
/// # Panics
/// Where the file is missing or not JSON.
#[must_use]
pub fn json(name: &str) -> Value {
    serde_json::from_slice(&bytes(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The RBM in a folder: `W.npy`, `a_vis.npy`, `b_hid.npy`.
///
/// # Panics
/// As [`floats`].
#[must_use]
pub fn machine(folder: &str) -> Machine {
    let read = |name: &str| floats(&format!("{folder}/{name}.npy"));
    Machine { weights: read("W"), visible: read("a_vis"), hidden: read("b_hid") }
}

/// The rows of a `.bits` file, as words of packed states.
///
/// # Panics
/// Where the file is missing or not one.
#[must_use]
pub fn states(name: &str) -> Vec<Vec<u32>> {
    let bytes = bytes(name);
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    assert!(bytes.starts_with(b"DSBT") && word(4) == 1, "{name} is no .bits file of version 1");
    let (rows, sites) = (word(8) as usize, word(12) as usize);
    let row_bytes = sites.div_ceil(8);
    assert_eq!(bytes.len(), 16 + rows * row_bytes, "{name} has another length than it says");
    let state = |row: &[u8]| {
        let mut words = vec![0u32; sites.div_ceil(32)];
        for (index, &byte) in row.iter().enumerate() {
            words[index / 4] |= u32::from(byte) << (8 * (index % 4));
        }
        words
    };
    bytes[16..].chunks_exact(row_bytes).map(state).collect()
}
