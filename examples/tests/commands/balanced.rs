//! `balanced`.

use super::kept::cells;
use super::{fails, run, succeeds};
use serde_json::Value;
use std::fs;
use std::path::Path;

const FILES: [&str; 3] = ["balanced.json", "balanced.md", "balanced.svg"];

#[test]
fn threads_and_a_resumed_run_do_not_change_a_byte() {
    let folder = tempfile::tempdir().unwrap();
    let files = |out: &str, words: &[&str]| {
        let out = folder.path().join(out);
        let common = ["--quick", "--chains", "2", "--steps", "600", "--only", "BA-400-4, J = 0.4407"];
        let output = run("balanced", &out, &[&common, words].concat());
        succeeds(&output);
        (FILES.map(|file| fs::read(out.join(file)).unwrap()), String::from_utf8(output.stdout).unwrap())
    };
    let (one, told) = files("1", &["--threads", "1"]);
    let (two, silence) = files("2", &["--threads", "2", "--quiet"]);
    assert!(silence.is_empty());
    // It says what it chose, and that it is frozen: of the eight samplers that the driver tunes (a quick run has no AB-max here).
    assert_eq!(told.lines().filter(|line| !line.starts_with('|') && line.contains("frozen")).count(), 8);
    // A cell that is lost is made again, the others are kept.
    let of = |path: &Path| path.to_string_lossy().contains("BA-400-4__J_=_0.4407.AB-trace.");
    cells(&folder.path().join("1"))
        .iter()
        .filter(|path| of(path))
        .for_each(|path| fs::remove_file(path).unwrap());
    let (again, _) = files("1", &["--resume"]);
    for (index, file) in FILES.iter().enumerate() {
        assert!(one[index] == two[index], "{file} depends on the threads");
        assert!(one[index] == again[index], "{file} is another after --resume");
    }
    let report: Value = serde_json::from_slice(&one[0]).unwrap();
    let cells = report["cells"].as_array().unwrap();
    assert_eq!((cells.len(), report["scans"].as_array().unwrap().len()), (14, 48));
    for cell in cells {
        assert!(cell["ess_of_chains_per_10000_queries"].as_array().unwrap().len() == 2, "{cell}");
        assert!(cell["exact"].as_bool().unwrap() && cell["faults"] == 0, "{cell}");
    }
}

#[test]
fn a_bad_option_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    for (words, because) in [
        (["--steps", "10"], "--steps"),
        (["--chains", "1"], "--chains"),
        (["--threads", "0"], "--threads"),
        (["--only", "nothing"], "--only: no target has this in its name"),
    ] {
        fails(&run("balanced", folder.path(), &words), 2, because);
    }
}
