//! The example `multimodal` as a user runs it.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn multimodal(out: &Path, words: &[&str]) -> Output {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap().parent().unwrap().join("examples");
    let path = folder.join(format!("multimodal{}", std::env::consts::EXE_SUFFIX));
    Command::new(path).arg("--out").arg(out).args(words).output().unwrap()
}

const FILES: [&str; 3] = ["multimodal.json", "multimodal.md", "multimodal.png"];

#[test]
fn threads_do_not_change_a_byte_and_the_table_says_what_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let run = |threads: &str, seed: &str| {
        let out = folder.path().join(format!("{threads}-{seed}"));
        let words = ["--chains", "8", "--steps", "300", "--quiet", "--threads", threads, "--seed", seed];
        let output = multimodal(&out, &words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stdout.is_empty() && output.stderr.is_empty());
        FILES.map(|file| fs::read(out.join(file)).unwrap())
    };
    let (one, two, other) = (run("1", "5"), run("2", "5"), run("1", "6"));
    for (index, file) in FILES.iter().enumerate() {
        assert!(one[index] == two[index], "{file} depends on the threads");
        assert!(one[index] != other[index], "{file} does not depend on the seed");
    }
    let report: Value = serde_json::from_slice(&one[0]).unwrap();
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
        let output = multimodal(folder.path(), &words);
        let line = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(line.starts_with("error: ") && line.lines().count() == 1 && line.contains(because), "{line}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
