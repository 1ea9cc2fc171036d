//! The examples that learn, small: what they learn is better than knowing nothing, and a run that goes on has the bytes
//! of one that was left alone.

use super::kept::goes_on;
use super::{data, example, fails, report, run, succeeds};
use bitmc_examples::bits::BitRows;
use serde_json::Value;
use std::fs;

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
    let report = goes_on("learn_ising", &words, &files);
    assert_eq!(rows(&report).len(), 20);
    let nothing = number(&report["log_rmse_of_no_coupling"]);
    let of = |name: &str| {
        let row = rows(&report).iter().find(|row| row["method"] == name).unwrap();
        number(&row["final_log_rmse"])
    };
    for method in
        ["PCD, DMALA α = 0.15, 25 steps", "PCD, DULA α = 0.1, 25 steps", "ratio matching", "pseudo-likelihood"]
    {
        assert!(of(method) < nothing - 0.1, "{method}: {} from {nothing}", of(method));
    }
    // Eq. 3 learns a quarter of the couplings: ln .75 of the error of none is left at best. So do the forms that estimate it.
    for method in ["Eq. 3", "basic, 50 draws", "advanced, 50 draws", "RMwRAND, 50 draws"] {
        assert!(of(method) > nothing - 0.288, "{method}: {} from {nothing}", of(method));
    }
    fails(&example("learn_ising").args(["--only", "nothing"]).output().unwrap(), 2, "--only");
    fails(&example("learn_ising").args(["--step-size", "0"]).output().unwrap(), 2, "--step-size");
}

#[test]
fn costs_of_ratio_matching() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["--quiet", "--quick", "--sites", "100", "--samples", "2"];
    succeeds(&run("learn_cost", folder.path(), &words));
    let report = report(&folder.path().join("learn_cost.json"));
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
    let report = goes_on("learn_digits", &words, &files);
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
    fails(&example("learn_digits").args(["--test", "1"]).output().unwrap(), 2, "--test");
    fails(&example("learn_digits").args(["--rate", "0"]).output().unwrap(), 2, "--rate");
    fails(&example("learn_digits").args(["--only", "HMC"]).output().unwrap(), 2, "--only");
    let machine = example("learn_digits").args(["--only", "ACS", "--machine", "there"]).output().unwrap();
    fails(&machine, 2, "--machine needs block Gibbs");
}

#[test]
fn a_machine_of_other_pictures_is_sampled() {
    let folder = tempfile::tempdir().unwrap();
    let (out, machine) = (folder.path().join("learned"), folder.path().join("machine"));
    let characters = data().join("omniglot").join("characters.bits");
    let learn = |iterations: &str, words: &[&str]| {
        let mut example = example("learn_digits");
        example
            .args(["--quiet", "--quick", "--hidden", "20", "--iterations", iterations, "--data"])
            .arg(&characters);
        example.arg("--out").arg(&out).arg("--machine").arg(&machine).args(words).output().unwrap()
    };
    succeeds(&learn("5", &[]));
    let learned = report(&out.join("learn_digits.json"));
    assert_eq!(
        (learned["digits_learned_from"].as_u64(), learned["digits_held_out"].as_u64()),
        (Some(4440), Some(400))
    );
    // A longer run in the same folders has another machine; the first run taken up again has its own.
    let kept = || fs::read(machine.join("machine.npz")).unwrap();
    let first = kept();
    succeeds(&learn("6", &[]));
    assert!(kept() != first, "another machine");
    succeeds(&learn("5", &["--resume"]));
    assert!(kept() == first, "the machine of the first run");
    let rows = |name: &str| BitRows::read(&machine.join(name), 784).unwrap().len();
    assert_eq!((rows("train.bits"), rows("test.bits"), rows("reference.bits")), (4440, 400, 100));
    let sampled = example("digits")
        .args(["--quiet", "--chains", "3", "--steps", "20", "--data"])
        .arg(&machine)
        .arg("--out")
        .arg(folder.path().join("sampled"))
        .output()
        .unwrap();
    succeeds(&sampled);
    fails(&learn("5", &["--test", "4839"]), 2, "--test");
}

#[test]
fn densities_by_the_right_ratio_matching() {
    let words = ["--quick", "--iterations", "150", "--batch", "50", "--hidden", "16", "--large", "2"];
    let files = ["learn_density.json", "learn_density.md", "learn_density.svg", "learn_density.png"];
    let report = goes_on("learn_density", &words, &files);
    assert_eq!((rows(&report).len(), report["densities"].as_array().unwrap().len()), (12, 2));
    let of = |name: &str, distribution: &str| {
        let row = rows(&report).iter().find(|row| row["objective"] == name && row["bits"] == 32).unwrap();
        let losses = row["log_loss"].as_array().unwrap();
        assert!(number(&losses[losses.len() - 1][1]) < number(&losses[0][1]), "the loss does not fall: {row}");
        number(&row[distribution]["of_energy"])
    };
    // Eq. 2 and its estimate learn the density, the others one that is far flatter.
    for right in ["ratio matching", "RMwGGIS, 10 draws"] {
        for wrong in ["Eq. 3", "basic, 10 draws", "advanced, 10 draws"] {
            let (near, far) = (of(right, "distribution"), of(wrong, "distribution"));
            assert!(near < far - 0.05, "{right} {near}, {wrong} {far}");
        }
    }
    assert!(of("Eq. 3", "fourfold_energy") < of("Eq. 3", "distribution"));
    fails(&example("learn_density").args(["--draws", "65"]).output().unwrap(), 2, "--draws");
    fails(&example("learn_density").args(["--density", "donut"]).output().unwrap(), 2, "donut");
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
    let report = goes_on("learn_graphs", &words, &files);
    assert_eq!((rows(&report).len(), report["beside"].as_array().unwrap().len()), (5, 2));
    let degree = |shown: &Value| number(&shown["to_held_out"]["degree"]);
    // The graphs learned from are nearer to those held out than independent edges are, or the measure is none.
    assert!(degree(&report["beside"][0]) < 0.5 * degree(&report["beside"][1]), "{report}");
    for row in &rows(&report)[..3] {
        let losses = row["losses"].as_array().unwrap();
        assert!(number(&losses[losses.len() - 1][1]) < number(&losses[0][1]), "the loss does not fall: {row}");
    }
    fails(&example("learn_graphs").args(["--draws", "0"]).output().unwrap(), 2, "--draws");
    let missing = example("learn_graphs").args(["--data", "nowhere"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(1));
}
