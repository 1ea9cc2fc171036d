//! Reading and writing whole files. A file that is being replaced is never seen half written.

use crate::Error;
use serde::Serialize;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The bytes of a file.
///
/// # Errors
/// [`Error::File`] where it cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|error| Error::file(path, error))
}

/// Makes a folder, with all folders above it.
///
/// # Errors
/// [`Error::File`] where the system refuses.
pub fn make_folder(path: &Path) -> Result<(), Error> {
    fs::create_dir_all(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Error::file(path, "not a folder"),
        _ => Error::file(path, error),
    })
}

/// Writes a file that is whole whenever the program is killed or the power is lost. It is written under another name beside it,
/// synced, renamed, and its folder synced.
///
/// # Errors
/// [`Error::File`] where the system refuses; what stood there before stays.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    write_with(path, |file| file.write_all(bytes))
}

/// As [`write()`], where a function writes the bytes, so that they need not be in memory.
///
/// # Errors
/// [`Error::File`] where the system or the function refuses; what stood there before stays.
pub fn write_with(
    path: &Path,
    bytes: impl FnOnce(&mut BufWriter<fs::File>) -> io::Result<()>,
) -> Result<(), Error> {
    let path = &*replaced(path)?;
    let beside = beside(path);
    let write = || -> io::Result<()> {
        let mut file = BufWriter::new(fs::File::create(&beside)?);
        bytes(&mut file)?;
        file.into_inner()?.sync_all()?;
        fs::rename(&beside, path)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&beside);
        Error::file(path, error)
    })?;
    // Only some systems can sync a folder; on the others the rename itself is all there is.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let _ = fs::File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

/// Looks whether a file can be written, before the work that goes into it.
///
/// # Errors
/// [`Error::File`] where the system refuses, or a folder has the name.
pub fn writable(path: &Path) -> Result<(), Error> {
    let beside = beside(&replaced(path)?);
    let tried = fs::File::create(&beside).and_then(|_| fs::remove_file(&beside));
    tried.map_err(|error| Error::file(path, error))
}

/// What is replaced where a file is written: of a link what it leads to. A folder, a device or a pipe is not.
fn replaced(path: &Path) -> Result<PathBuf, Error> {
    if path.symlink_metadata().is_err() {
        return Ok(path.to_path_buf());
    }
    let place = path.canonicalize().map_err(|error| Error::file(path, error))?;
    match place.metadata() {
        Ok(what) if what.is_dir() => Err(Error::file(path, "a folder, not a file")),
        Ok(what) if !what.is_file() => Err(Error::file(path, "a device or a pipe, not a file")),
        _ => Ok(place),
    }
}

/// The name under which a file is written before it is renamed.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.part", std::process::id()))
}

/// Writes a value as indented JSON.
///
/// # Errors
/// [`Error::File`] where it cannot be written.
pub fn json<T: Serialize>(path: &Path, value: &T) -> Result<(), Error> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(|error| Error::file(path, error))?;
    bytes.push(b'\n');
    write(path, &bytes)
}

/// Prints text on standard output. A reader that has gone away is no failure.
pub fn say(text: &str) {
    let _ = tell(text);
}

/// Prints an answer on standard output, as [`say`].
///
/// # Errors
/// [`Error::File`] where it cannot be written, as on a full disk.
pub fn tell(text: &str) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::file(Path::new("standard output"), error))
        }
        _ => Ok(()),
    }
}
