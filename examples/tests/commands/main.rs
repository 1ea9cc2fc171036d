//! The examples as a user runs them: same bytes for any number of threads and after a stop, one line for a mistake.

mod balanced;
mod digits;
mod kept;
mod learn;
mod multimodal;
mod small;
mod told;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// An example that cargo has built beside this test.
fn example(name: &str) -> Command {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap().parent().unwrap().join("examples");
    let path = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(path.exists(), "build the examples first: cargo build --examples");
    Command::new(path)
}

/// Runs an example.
fn run(name: &str, out: &Path, words: &[&str]) -> Output {
    example(name).arg("--out").arg(out).args(words).output().unwrap()
}

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data")
}

fn succeeds(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// One line on standard error that starts with "error: ", and nothing else.
fn fails(output: &Output, code: i32, because: &str) {
    let line = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(code), "{line}");
    assert!(line.starts_with("error: ") && line.ends_with('\n') && line.lines().count() == 1, "{line}");
    assert!(line.contains(because), "{line} does not say {because}");
    assert!(output.stdout.is_empty());
}

/// A report of an example.
fn report(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}
