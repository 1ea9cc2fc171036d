//! `digits`: the flagship.

use super::{data, fails, report, run, succeeds};
use bitmc_examples::bits::BitRows;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;

/// What it writes, but for the files that depend on the clock.
pub(crate) const FILES: [&str; 5] = ["digits.bits", "digits.json", "digits.md", "digits.png", "digits.svg"];

pub(crate) fn digits(out: &Path, words: &[&str]) -> Output {
    run("digits", out, words)
}

#[test]
fn threads_do_not_change_a_byte() {
    let replicas = ["--sampler", "replica"];
    for more in [&[][..], &["--inpaint", "--start", "mean"], &["--sampler", "langevin-unadjusted"], &replicas] {
        let folder = tempfile::tempdir().unwrap();
        let files = |threads: &str, seed: &str| {
            let out = folder.path().join(format!("{threads}-{seed}"));
            let words = ["--chains", "7", "--steps", "45", "--threads", threads, "--seed", seed];
            succeeds(&digits(&out, &[&words, more].concat()));
            FILES.map(|file| fs::read(out.join(file)).unwrap())
        };
        let (one, two, other) = (files("1", "5"), files("2", "5"), files("1", "6"));
        for (index, file) in FILES.iter().enumerate() {
            assert!(one[index] == two[index], "{file} differs with {more:?}");
            assert!(one[index] != other[index], "{file} does not depend on the seed with {more:?}");
        }
    }
}

#[test]
fn quick_writes_every_file() {
    for (sampler, acceptance) in
        [("langevin", 0.3..1.0), ("langevin-unadjusted", 1.0..1.1), ("block-gibbs", 1.0..1.1)]
    {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("new/folder");
        let words = ["--quick", "--chains", "20", "--steps", "100", "--sampler", sampler, "--start", "data"];
        let output = digits(&out, &words);
        succeeds(&output);
        assert!(String::from_utf8(output.stdout).unwrap().contains(sampler));
        let mut names: Vec<String> = fs::read_dir(&out)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let clock = ["digits.timing.json", "digits.timing.svg"].map(String::from);
        assert_eq!(names, [&FILES.map(String::from)[..], &clock].concat());

        let found = report(&out.join("digits.json"));
        assert_eq!((&found["sampler"], &found["start"]), (&Value::from(sampler), &Value::from("data")));
        assert_eq!((&found["chains"], &found["steps"], &found["seed"]), (&20.into(), &100.into(), &1.into()));
        assert!(acceptance.contains(&found["acceptance"].as_f64().unwrap()), "{found}");
        // Training digits are near the distribution, whose f has mean 381 and standard deviation 28: 4.89 standard
        // errors of 20 chains are 30. The unadjusted sampler has another distribution.
        let energy = found["mean_energy"].as_f64().unwrap();
        assert!(sampler == "langevin-unadjusted" || (-411.0..-351.0).contains(&energy), "{found}");
        assert!(found["mmd2"].is_f64());
        // The float64 value, and the same bound as for golden energies in parts.rs.
        let reference = found["reference_mean_energy"].as_f64().unwrap();
        assert!((reference + 381.161_367_8).abs() < 0.018, "{reference}");
        let timing = report(&out.join("digits.timing.json"));
        assert!(timing["seconds"].as_f64().unwrap() > 0.0);
        assert!(timing["chain_steps_per_second"].as_f64().unwrap() > 0.0);
        let picture = std::io::BufReader::new(std::fs::File::open(out.join("digits.png")).unwrap());
        let mut picture = png::Decoder::new(picture).read_info().unwrap();
        let mut pixels = vec![0; picture.output_buffer_size().unwrap()];
        assert!(picture.next_frame(&mut pixels).unwrap().width > 500);
    }
}

#[test]
fn inpainting_keeps_what_was_given() {
    let folder = tempfile::tempdir().unwrap();
    succeeds(&digits(folder.path(), &["--inpaint", "--quiet", "--chains", "12", "--steps", "60"]));
    let drawn = BitRows::read(&folder.path().join("digits.bits"), 784).unwrap();
    let truth = BitRows::read(&data().join("mnist/mnist_test1000.bits"), 784).unwrap();
    let differ = |digit: usize, sites: std::ops::Range<usize>| {
        let (x, y) = (drawn.row(digit), truth.row(digit));
        sites.filter(|i| (x[i / 32] ^ y[i / 32]) >> (i % 32) & 1 == 1).count()
    };
    for digit in 0..12 {
        assert_eq!(differ(digit, 0..392), 0);
        assert!(differ(digit, 392..784) > 0);
    }
}

#[test]
fn quiet_says_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let output = digits(folder.path(), &["--quiet", "--chains", "2", "--steps", "3"]);
    succeeds(&output);
    assert!(output.stdout.is_empty() && output.stderr.is_empty());
}

#[test]
fn a_bad_option_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    for (words, because) in [
        (&["--steps", "0"][..], "--steps"),
        (&["--steps", "many"], "many"),
        (&["--chains", "-1"], "-1"),
        (&["--chains", "99999999999"], "--chains"),
        (&["--threads", "0"], "--threads"),
        (&["--step-size", "0"], "step size 0"),
        (&["--step-size", "NaN"], "step size NaN"),
        (&["--step-size", "1e-44"], "step size"),
        (&["--sampler", "perfect"], "langevin-unadjusted"),
        (&["--sampler", "block-gibbs", "--step-size", "1"], "block-gibbs"),
        (&["--sampler", "replica", "--inpaint"], "replica"),
        (&["--compare", "--sampler", "acs"], "--compare"),
        (&["--compare", "--checkpoint", "file"], "--compare"),
        (&["--start"], "--start"),
        (&["--colour"], "--colour"),
        (&["seven"], "seven"),
    ] {
        fails(&digits(folder.path(), words), 2, because);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_bad_file_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let nowhere = folder.path().join("nowhere");
    fails(&digits(&out, &["--data", nowhere.to_str().unwrap()]), 1, "W.npy");
    let file = folder.path().join("file");
    fs::write(&file, "not a folder").unwrap();
    fails(&digits(&file, &["--chains", "2", "--steps", "1"]), 1, "file");

    let files = ["rbm500/W.npy", "rbm500/a_vis.npy", "rbm500/b_hid.npy", "rbm500/gibbs_from_data_1000.bits"];
    let files = [&files[..], &["mnist/mnist_train1000.bits", "mnist/mnist_test1000.bits"]].concat();
    type Damage = fn(&mut Vec<u8>);
    let cases: [(&str, Damage, &str); 17] = [
        (
            "rbm500/W.npy",
            |bytes| bytes.truncate(1000),
            "W.npy: too short: 872 bytes of data, where shape (784, 500) has 1568000",
        ),
        ("rbm500/W.npy", |bytes| bytes.extend([0; 7]), "W.npy: too long: 1568007 bytes of data, where shape"),
        (
            "rbm500/W.npy",
            |bytes| replace(bytes, "(784, 500)", "(783, 500)"),
            "W.npy: an array of shape (783, 500), where (784, any)",
        ),
        (
            "rbm500/W.npy",
            |bytes| replace(bytes, "(784, 500)", "(784,   0)"),
            "W.npy: an array of shape (784, 0), where (784, any)",
        ),
        ("rbm500/W.npy", |bytes| replace(bytes, "(784, 500)", "(784, 501)"), "W.npy: too short"),
        (
            "rbm500/W.npy",
            |bytes| replace(bytes, "<f4", "|i1"),
            "W.npy: not an array of f32, \"<f4\", but of \"|i1\"",
        ),
        (
            "rbm500/b_hid.npy",
            |bytes| replace(bytes, "(500,)", "(499,)"),
            "b_hid.npy: an array of shape (499,), where (500,)",
        ),
        (
            "rbm500/a_vis.npy",
            |bytes| replace_end(bytes, f32::NAN),
            "a_vis.npy: the bias of visible unit 783 is not finite",
        ),
        (
            "rbm500/b_hid.npy",
            |bytes| replace_end(bytes, f32::INFINITY),
            "b_hid.npy: the bias of hidden unit 499 is not finite",
        ),
        ("rbm500/W.npy", |bytes| bytes.clear(), "not a NumPy file"),
        (
            "rbm500/W.npy",
            |bytes| bytes[200_000..200_004].copy_from_slice(&f32::NAN.to_le_bytes()),
            "W.npy: the weight of visible unit",
        ),
        ("rbm500/W.npy", |bytes| replace(bytes, "(784, 500)", "(999999999"), "not a NumPy file"),
        ("rbm500/W.npy", |bytes| replace(bytes, "<f4", "<i4"), "not an array of f32"),
        (
            "rbm500/a_vis.npy",
            |bytes| replace(bytes, "(784,)", "(783,)"),
            "a_vis.npy: an array of shape (783,), where (784,) is needed",
        ),
        ("mnist/mnist_test1000.bits", |bytes| bytes[0] = 0, "not a DSBT file"),
        ("mnist/mnist_train1000.bits", |bytes| bytes.truncate(98_015), "98015 bytes"),
        ("rbm500/gibbs_from_data_1000.bits", |bytes| bytes[12] = 15, "rows of 783 bits"),
    ];
    for (index, (damaged, damage, because)) in cases.into_iter().enumerate() {
        let copy = folder.path().join(format!("data{index}"));
        for file in &files {
            fs::create_dir_all(copy.join(file).parent().unwrap()).unwrap();
            let mut bytes = fs::read(data().join(file)).unwrap();
            if *file == damaged {
                damage(&mut bytes);
            }
            fs::write(copy.join(file), bytes).unwrap();
        }
        let output = digits(&out, &["--data", copy.to_str().unwrap()]);
        fails(&output, 1, because);
        assert!(String::from_utf8_lossy(&output.stderr).contains(damaged.split('/').next().unwrap()));
    }
    assert!(!out.exists());
}

fn replace_end(bytes: &mut [u8], with: f32) {
    let end = bytes.len() - 4;
    bytes[end..].copy_from_slice(&with.to_le_bytes());
}

fn replace(bytes: &mut [u8], what: &str, with: &str) {
    let at = bytes.windows(what.len()).position(|window| window == what.as_bytes()).unwrap();
    bytes[at..at + with.len()].copy_from_slice(with.as_bytes());
}
