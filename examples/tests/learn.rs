//! The examples that learn, as a user runs them, small: what they learn is better than knowing nothing, every file
//! is whole, and a run that goes on has the bytes of one that was left alone.

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

fn succeeds(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// One line on standard error with the reason, and exit code 2.
fn refuses(name: &str, words: &[&str], because: &str) {
    let output = example(name).args(words).output().unwrap();
    let line = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), line.lines().count()), (Some(2), 1), "{line}");
    assert!(line.starts_with("error: ") && line.contains(because), "{line}");
}

/// Runs an example with two threads, then with one after `lose` has taken some of its cells, and returns its report.
/// All files that do not depend on the clock must be there, and must be the same.
fn learns(name: &str, words: &[&str], files: &[&str], lose: impl Fn(&[PathBuf])) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let run = |more: &[&str]| {
        succeeds(&example(name).arg("--quiet").arg("--out").arg(&out).args(words).args(more).output().unwrap());
        assert!(out.join(format!("{name}.timing.json")).exists());
        files.iter().map(|file| fs::read(out.join(file)).unwrap()).collect::<Vec<_>>()
    };
    let whole = run(&["--threads", "2"]);
    let mut cells: Vec<PathBuf> =
        fs::read_dir(out.join("cells")).unwrap().map(|entry| entry.unwrap().path()).collect();
    cells.sort();
    lose(&cells);
    let kept = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).unwrap();
    let before = kept(&cells[cells.len() - 1]);
    let resumed = run(&["--threads", "1", "--resume"]);
    for (file, (one, two)) in files.iter().zip(whole.iter().zip(&resumed)) {
        assert!(one == two, "{name}: {file} differs after a resume");
    }
    assert_eq!(before, kept(&cells[cells.len() - 1]), "a cell that was there was made again");
    serde_json::from_slice(&whole[0]).unwrap()
}

/// The first cell is gone, the second one of another run.
fn lose(cells: &[PathBuf]) {
    fs::remove_file(&cells[0]).unwrap();
    let text = fs::read_to_string(&cells[1]).unwrap();
    fs::write(&cells[1], text.replacen("seed: 1", "seed: 2", 1)).unwrap();
}

fn rows(report: &Value) -> &[Value] {
    report["rows"].as_array().unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn couplings_of_a_torus() {
    let words = ["--quick", "--side", "5", "--samples", "400", "--iterations", "150"];
    let files = ["learn_ising.json", "learn_ising.md", "learn_ising.svg", "learn_ising.bits"];
    let report = learns("learn_ising", &words, &files, lose);
    assert_eq!(rows(&report).len(), 15);
    let nothing = number(&report["log_rmse_of_no_coupling"]);
    let of = |name: &str| {
        let row = rows(&report).iter().find(|row| row["method"] == name).unwrap();
        number(&row["final_log_rmse"])
    };
    for method in ["PCD, DMALA, 25 steps", "PCD, DULA, 25 steps", "ratio matching", "pseudo-likelihood"] {
        assert!(of(method) < nothing - 0.1, "{method}: {} from {nothing}", of(method));
    }
    // Eq. 3 learns a quarter of the couplings: ln .75 of the error of none is left at best.
    assert!(of("Eq. 3") > nothing - 0.288);
    refuses("learn_ising", &["--only", "nothing"], "--only");
    refuses("learn_ising", &["--step-size", "0"], "--step-size");
}

#[test]
fn costs_of_ratio_matching() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["--quiet", "--quick", "--sites", "100", "--samples", "2"];
    succeeds(&example("learn_cost").arg("--out").arg(folder.path()).args(words).output().unwrap());
    let report: Value =
        serde_json::from_slice(&fs::read(folder.path().join("learn_cost.json")).unwrap()).unwrap();
    assert_eq!(rows(&report).len(), 12);
    for rows in rows(&report).chunks(4) {
        let energies: Vec<_> = rows.iter().map(|row| row["energies_per_sample"].as_u64().unwrap()).collect();
        assert_eq!(energies, [6, 11, 51, 101]);
        for row in rows {
            // Two samples each: estimates of a sum of a hundred terms of about a quarter.
            assert!((number(&row["loss"]) - 25.0).abs() < 15.0, "{row}");
            assert!(number(&row["bytes_of_work"]) < number(&row["bytes_of_parameters"]));
        }
    }
}

#[test]
fn digits_become_likelier() {
    let words = ["--quick", "--hidden", "20", "--iterations", "50", "--rate", "0.02"];
    let files = ["learn_digits.json", "learn_digits.md", "learn_digits.svg", "learn_digits.png"];
    let report = learns("learn_digits", &words, &files, lose);
    assert_eq!(rows(&report).len(), 4);
    let pixels = number(&report["test_log_likelihood_of_independent_pixels"]["mean"]);
    for row in rows(&report) {
        let end = |key: &str| (number(&row["end"][key]["mean"]), number(&row["end"][key]["standard_error"]));
        let ((above, _), (below, _)) = (end("test_forward"), end("test_reverse"));
        let (_, error) = end("log_z_forward");
        // A machine of twenty units is easily annealed: both directions agree.
        assert!((above - below).abs() < 1.0 && error < 0.5, "{row}");
        if row["sampler"] == "block Gibbs" {
            assert!(below > pixels + 5.0, "{below} where independent pixels have {pixels}");
        }
        assert_eq!(row["series"].as_array().unwrap().len(), 5);
    }
    refuses("learn_digits", &["--test", "1"], "--test");
    refuses("learn_digits", &["--rate", "0"], "--rate");
}

#[test]
fn densities_by_the_right_ratio_matching() {
    let words = ["--quick", "--iterations", "150", "--batch", "50", "--hidden", "16", "--large", "2"];
    let files = ["learn_density.json", "learn_density.md", "learn_density.svg", "learn_density.png"];
    let report = learns("learn_density", &words, &files, lose);
    assert_eq!((rows(&report).len(), report["densities"].as_array().unwrap().len()), (12, 2));
    let of = |name: &str, law: &str| {
        let row = rows(&report).iter().find(|row| row["objective"] == name && row["bits"] == 32).unwrap();
        let losses = row["log_loss"].as_array().unwrap();
        assert!(number(&losses[losses.len() - 1][1]) < number(&losses[0][1]), "the loss does not fall: {row}");
        number(&row[law]["of_energy"])
    };
    // Eq. 2 and its estimate learn the density, the others one that is far flatter.
    for right in ["ratio matching", "RMwGGIS, 10 draws"] {
        for wrong in ["Eq. 3", "basic, 10 draws", "advanced, 10 draws"] {
            let (near, far) = (of(right, "law"), of(wrong, "law"));
            assert!(near < far - 0.05, "{right} {near}, {wrong} {far}");
        }
    }
    assert!(of("Eq. 3", "fourfold_energy") < of("Eq. 3", "law"));
    refuses("learn_density", &["--draws", "65"], "--draws");
    refuses("learn_density", &["--density", "donut"], "donut");
}

#[test]
fn graphs_like_those_held_out() {
    let words = [
        "--quick",
        "--iterations",
        "80",
        "--hidden",
        "16",
        "--rate",
        "0.02",
        "--generated",
        "30",
        "--sweeps",
        "20",
    ];
    let files = ["learn_graphs.json", "learn_graphs.md", "learn_graphs.svg", "learn_graphs.losses.svg"];
    let report = learns("learn_graphs", &words, &files, lose);
    assert_eq!((rows(&report).len(), report["beside"].as_array().unwrap().len()), (5, 2));
    let degree = |shown: &Value| number(&shown["to_held_out"]["degree"]);
    // The graphs learned from are nearer to those held out than independent edges are, or the measure is none.
    assert!(degree(&report["beside"][0]) < 0.5 * degree(&report["beside"][1]), "{report}");
    for row in &rows(&report)[..3] {
        let losses = row["losses"].as_array().unwrap();
        assert!(number(&losses[losses.len() - 1][1]) < number(&losses[0][1]), "the loss does not fall: {row}");
    }
    refuses("learn_graphs", &["--draws", "0"], "--draws");
    let missing = example("learn_graphs").args(["--data", "nowhere"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(1));
}
