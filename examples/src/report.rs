//! Reading and writing whole files. A file that is being replaced is never seen half written.

use crate::cli::Failure;
use serde::Serialize;
use std::fs;
use std::path::Path;

/// The bytes of a file.
///
/// # Errors
/// [`Failure::File`] where it cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| Failure::file(path, error))
}

/// Makes a folder, with all folders above it.
///
/// # Errors
/// [`Failure::File`] where the system refuses.
pub fn make_folder(path: &Path) -> Result<(), Failure> {
    fs::create_dir_all(path).map_err(|error| Failure::file(path, error))
}

/// Writes a file: first under another name beside it, then renamed.
///
/// # Errors
/// [`Failure::File`] where the system refuses; what stood there before stays.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.{}.part", std::process::id()));
    let written = fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&beside);
        Failure::file(path, error)
    })
}

/// Writes a value as indented JSON.
///
/// # Errors
/// [`Failure::File`] where it cannot be written.
pub fn json<T: Serialize>(path: &Path, value: &T) -> Result<(), Failure> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(|error| Failure::file(path, error))?;
    bytes.push(b'\n');
    write(path, &bytes)
}
