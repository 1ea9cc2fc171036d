//! `multimodal`.

use super::{fails, report, run, succeeds};
use std::fs;

const FILES: [&str; 3] = ["multimodal.json", "multimodal.md", "multimodal.png"];

#[test]
fn threads_do_not_change_a_byte_and_the_table_says_what_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let files = |threads: &str, seed: &str| {
        let out = folder.path().join(format!("{threads}-{seed}"));
        let words = ["--chains", "8", "--steps", "300", "--quiet", "--threads", threads, "--seed", seed];
        let output = run("multimodal", &out, &words);
        succeeds(&output);
        assert!(output.stdout.is_empty() && output.stderr.is_empty());
        FILES.map(|file| fs::read(out.join(file)).unwrap())
    };
    let (one, two, other) = (files("1", "5"), files("2", "5"), files("1", "6"));
    for (index, file) in FILES.iter().enumerate() {
        assert!(one[index] == two[index], "{file} depends on the threads");
        assert!(one[index] != other[index], "{file} does not depend on the seed");
    }
    let report = report(&folder.path().join("1-5/multimodal.json"));
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len() % 4, 0);
    for row in rows {
        let number = |name: &str| row[name].as_f64().unwrap();
        assert!(number("total_variation") > row["floor"]["total_variation"].as_f64().unwrap(), "{row}");
        assert!(number("kl_nats") > row["floor"]["kl_nats"].as_f64().unwrap(), "{row}");
        if row["start"] == "corner" && row["sampler"] == "DMALA" && row["parameters"] == "α = 53" {
            // Chains that start in one mode of 25 and hardly leave it.
            assert!((1.0..5.0).contains(&number("modes_per_chain")), "{row}");
            assert!(number("total_variation") > 0.8, "{row}");
        }
    }
}

#[test]
fn a_bad_option_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    for (words, because) in [
        (["--steps", "0"], "--steps"),
        (["--chains", "0"], "--chains"),
        (["--step-size", "0"], "--step-size: step size 0"),
        (["--threads", "0"], "--threads"),
    ] {
        fails(&run("multimodal", folder.path(), &words), 2, because);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
