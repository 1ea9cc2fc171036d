//! The command `bitmc`, as a person calls it.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn bitmc(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bitmc")).args(words).output().unwrap()
}

fn file(name: &str) -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data/formats");
    data.join(name).to_str().unwrap().to_string()
}

/// The answer as JSON, and what stood on standard error.
fn json(words: &[&str]) -> (Value, String) {
    let output = bitmc(&[words, &["--json", "--quiet"]].concat());
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{words:?}: {errors}");
    (serde_json::from_slice(&output.stdout).unwrap(), errors)
}

/// It fails with this code, and with one line that says why.
fn fails(words: &[&str], code: i32, because: &str) {
    let output = bitmc(words);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{words:?}: {errors}");
    assert!(errors.starts_with("error: ") && errors.trim_end().lines().count() == 1, "{words:?}: {errors}");
    assert!(errors.contains(because), "{words:?}: {errors}");
    assert!(output.stdout.is_empty());
}

/// Each site's mean is within five errors of the truth.
fn near(answer: &Value, truth: &[f64]) {
    for (site, truth) in answer["summary"]["sites"].as_array().unwrap().iter().zip(truth) {
        let (mean, error) = (site["mean"].as_f64().unwrap(), site["mcse"].as_f64().unwrap_or(1e-9));
        assert!((mean - truth).abs() < 5.0 * error && error < 0.02, "{site} for {truth}");
    }
}

/// The lines that README shows of the first example are those of the command.
#[test]
fn the_readme_shows_what_it_says() {
    let readme =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    let block = readme.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    assert!(readme.contains("bitmc sample examples/data/formats/pick_two.qubo") && block.contains("| E |"));
    let output = bitmc(&["sample", &file("pick_two.qubo"), "--quiet"]);
    let said = String::from_utf8(output.stdout).unwrap();
    for line in block.lines().filter(|&line| line != "…") {
        assert!(said.lines().any(|other| other == line), "{line} is not in\n{said}");
    }
}

#[test]
fn models_from_files_are_sampled() {
    // By summing over the eight states in which the grass is wet.
    let (network, evidence) = (file("sprinkler.uai"), file("sprinkler.evid"));
    for sampler in ["auto", "gibbs", "langevin"] {
        let (answer, _) =
            json(&["sample", &network, "--given", &evidence, "--sampler", sampler, "--draws", "4000"]);
        near(&answer, &[0.575_799_7, 0.429_763_6, 0.707_927_7, 1.0]);
    }
    // By enumeration of its 32 states.
    let (answer, _) = json(&["sample", &file("pick_two.qubo"), "--draws", "4000"]);
    near(&answer, &[0.043_419_6, 0.115_617_2, 0.296_490_5, 0.674_774_4, 0.870_608_6]);
    let (mean, error) = (&answer["summary"]["energy"]["mean"], &answer["summary"]["energy"]["mcse"]);
    assert!((mean.as_f64().unwrap() + 48.207_148).abs() < 5.0 * error.as_f64().unwrap(), "{mean} ± {error}");
    assert_eq!(answer["best"][0]["energy"], -49.0);
    let (warm, _) = json(&["sample", &file("pick_two.qubo"), "--temperature", "10", "--draws", "4000"]);
    let (mean, error) = (&warm["summary"]["energy"]["mean"], &warm["summary"]["energy"]["mcse"]);
    assert!((mean.as_f64().unwrap() + 42.742_791).abs() < 5.0 * error.as_f64().unwrap(), "{mean} ± {error}");
    // What it answers is named.
    assert_eq!(answer["options"]["file"], Value::from(file("pick_two.qubo")));
    assert!(answer["commit"].is_string() && answer["options"]["seed"] == 1);
}

#[test]
fn chains_that_do_not_agree_are_told() {
    let (answer, errors) =
        json(&["sample", &file("pick_two.qubo"), "--sampler", "langevin:0.05", "--draws", "100"]);
    assert!(errors.starts_with("warning: the chains do not agree (R̂ = "), "{errors}");
    assert_eq!(format!("warning: {}\n", answer["warning"].as_str().unwrap()), errors);
}

#[test]
fn chains_that_stay_at_different_values_have_an_infinite_r_hat() {
    let cold = ["sample", &file("frustrated.rudy"), "--temperature", "0.001", "--sampler", "langevin:0.001"];
    let (answer, errors) = json(&[&cold[..], &["--draws", "20", "--warmup", "0"]].concat());
    assert!(errors.contains("R̂ = inf"), "{errors}");
    assert_eq!(answer["summary"]["r_hat"], 1e308, "JSON has no infinity, and null is none");
}

#[test]
fn numbers_are_told_as_they_were_written() {
    let form = file("pick_two.qubo");
    let told = |words: &[&str]| String::from_utf8(bitmc(words).stdout).unwrap();
    let head = told(&["sample", &form, "--temperature", "0.3", "--draws", "10", "--quiet"]);
    assert!(head.contains("temperature 0.3\n"), "{head}");
    assert!(told(&["anneal", &form, "--seconds", "0.1", "--quiet"]).contains("seconds 0.1, "));
    assert!(told(&["logz", &form, "--temperature", "0.3", "--quiet"]).contains("temperature 0.3\n"));
}

#[test]
fn files_are_written_and_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let sample = |name: &str, threads: &str| {
        let words = [
            "sample",
            &file("pick_two.qubo"),
            "--quiet",
            "--draws",
            "50",
            "--save",
            &path(name),
            "--threads",
            threads,
        ];
        let output = bitmc(&words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read(path(name)).unwrap()
    };
    assert_eq!(sample("one.npz", "1"), sample("two.npz", "3"));
    let words = ["sample", &file("pick_two.qubo"), "--save", &path("one.npz")];
    fails(&words, 1, "one.npz: the file is there; --force overwrites it");
    assert!(bitmc(&[&words[..], &["--quiet", "--force"]].concat()).status.success());
    fails(&["anneal", &file("pick_two.qubo"), "--sweeps", "100", "--save", &path("one.npz")], 1, "--force");
}

#[test]
fn minima_and_ln_z_and_what_a_file_holds() {
    let (found, _) = json(&["anneal", &file("frustrated.rudy"), "--sweeps", "10000"]);
    assert_eq!(
        found["states"][0]["energy"],
        json(&["sample", &file("frustrated.rudy")]).0["best"][0]["energy"]
    );
    let energy = found["states"][0]["energy"].to_string();
    for method in ["exchange", "isoenergetic"] {
        let words = ["anneal", &file("frustrated.rudy"), "--sweeps", "10000", "--method", method];
        let (reached, _) = json(&[&words[..], &["--target", &energy]].concat());
        assert_eq!(reached["states"][0]["energy"].to_string(), energy, "{method}");
        assert_eq!(reached["target"]["run"], 0, "{method}");
        let text =
            String::from_utf8(bitmc(&[&words[..], &["--quiet", "--target", "100.5"]].concat()).stdout).unwrap();
        let least: f64 = energy.parse().unwrap();
        assert!(text.contains(&format!("Run 1 reached E = {least:.6} (target 100.5) after ")), "{text}");
        let (missed, _) = json(&[&words[..], &["--target", "-1e6", "--temperatures", "2:0.5"]].concat());
        assert!(missed["target"].is_null() && missed["hottest"] == 2.0, "{method}: {missed}");
    }
    let (estimate, _) = json(&["logz", &file("pick_two.qubo"), "--runs", "200"]);
    let truth = {
        // The form is read once more, by hand.
        let text = std::fs::read_to_string(file("pick_two.qubo")).unwrap();
        let numbers =
            |line: &str| line.split_whitespace().map(|word| word.parse().unwrap()).collect::<Vec<f64>>();
        let lines: Vec<Vec<f64>> =
            text.lines().filter(|line| !line.starts_with(['c', 'p'])).map(numbers).collect();
        let bit = |state: u32, site: f64| f64::from(state >> site as u32 & 1);
        let energy = |state: u32| lines.iter().map(|l| l[2] * bit(state, l[0]) * bit(state, l[1])).sum::<f64>();
        (0..32).map(|state| (-energy(state)).exp()).sum::<f64>().ln()
    };
    let (log_z, error) = (estimate["log_z"].as_f64().unwrap(), estimate["error"].as_f64().unwrap());
    assert!((log_z - truth).abs() < 5.0 * error, "{log_z} ± {error}, exactly {truth}");
    let (estimate, _) =
        json(&["logz", &file("pick_two.qubo"), "--method", "population", "--population", "3000"]);
    let (log_z, error) = (estimate["log_z"].as_f64().unwrap(), estimate["error"].as_f64().unwrap());
    assert!((log_z - truth).abs() < 5.0 * error, "a population: {log_z} ± {error}, exactly {truth}");
    assert_eq!((&estimate["runs"], &estimate["options"]["population"]), (&3000.into(), &3000.into()));
    // Draws of `sample` are a base.
    let folder = tempfile::tempdir().unwrap();
    let draws = folder.path().join("base.npz").to_str().unwrap().to_string();
    json(&["sample", &file("pick_two.qubo"), "--save", &draws]);
    let words = ["logz", &file("pick_two.qubo"), "--temperatures", "10", "--base", &draws];
    let (estimate, _) = json(&words);
    let (log_z, error) = (estimate["log_z"].as_f64().unwrap(), estimate["error"].as_f64().unwrap());
    assert!((log_z - truth).abs() < 5.0 * error, "a base: {log_z} ± {error}, exactly {truth}");
    fails(&["logz", &file("frustrated.rudy"), "--base", &draws], 1, "states of shape");
    fails(&["logz", &file("pick_two.qubo"), "--base", &file("pick_two.qubo")], 1, "pick_two.qubo");
    // A constant over a temperature that 32 bits do not hold.
    let path = folder.path().join("constant.poly");
    std::fs::write(&path, "bits 1\n1e7\n1 0\n").unwrap();
    let (estimate, _) = json(&["logz", path.to_str().unwrap(), "--temperature", "0.7"]);
    let (log_z, error) = (estimate["log_z"].as_f64().unwrap() + 1e7 / 0.7, estimate["error"].as_f64().unwrap());
    assert!((log_z - (-1.0f64 / 0.7).exp().ln_1p()).abs() < 5.0 * error, "{log_z} ± {error}");
    let output = bitmc(&["info", &file("sprinkler.uai")]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("graphical model: 4 sites of 2 values"), "{text}");
}

/// Both linear weights become −20,000,000 or −20,000,002 in 32 bits.
#[test]
fn numbers_that_are_rounded_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.qubo");
    std::fs::write(&path, "p qubo 0 2 2 1\n0 0 -20000001\n1 1 -20000002\n0 1 90000000\n").unwrap();
    let path = path.to_str().unwrap();
    let off = "numbers of the model are rounded to 32 bits: energies may be off by up to 1";
    let told = format!("{off}, more than a hundredth of the temperature; take smaller penalties");
    for words in [&["sample", path][..], &["sample", path, "--draws", "4"], &["logz", path]] {
        let (answer, errors) = json(words);
        assert!(errors.starts_with(&format!("warning: {told}")), "{words:?}: {errors}");
        assert_eq!(format!("warning: {}\n", answer["warning"].as_str().unwrap()), errors, "{words:?}");
    }
    let (answer, errors) = json(&["sample", path, "--temperature", "1000"]);
    assert!(answer["warning"].is_null() && errors.is_empty(), "{errors}");
    // Three weights, each off by a hundredth.
    let cancel = folder.path().join("cancel.edges");
    std::fs::write(&cancel, "0 1 -300000.01\n1 2 -300000.01\n0 2 -300000.01\n0 3 .5\n3 3 2").unwrap();
    let cancel = cancel.to_str().unwrap();
    let (_, errors) = json(&["sample", cancel, "--temperature", "0.02"]);
    assert!(errors.contains("may be off by up to 0.03, more than"), "{errors}");
    let told = String::from_utf8(bitmc(&["info", cancel]).stdout).unwrap();
    assert!(told.contains("rounded to 32 bits: energies may be off by up to 0.03\n"), "{told}");
    // Exact in 32 bits, but not over T.
    std::fs::write(folder.path().join("exact.edges"), "0 0 -300000.25\n1 1 -300000.5\n").unwrap();
    let exact = folder.path().join("exact.edges");
    let (_, errors) = json(&["sample", exact.to_str().unwrap(), "--temperature", "0.03"]);
    assert!(errors.contains("rounded to 32 bits"), "{errors}");
    let (_, errors) = json(&["sample", exact.to_str().unwrap()]);
    assert!(!errors.contains("rounded to 32 bits"), "{errors}");
    let penalty = folder.path().join("penalty.poly");
    std::fs::write(&penalty, "bits 2\n20000001 0\n-20000001 0 1\n1 1\n-2").unwrap();
    let (answer, errors) = json(&["anneal", penalty.to_str().unwrap(), "--sweeps", "1000"]);
    assert!(errors.contains("more than a millionth of the lowest one"), "{errors}");
    assert_eq!(format!("warning: {}\n", answer["warning"].as_str().unwrap()), errors);
    let (answer, errors) = json(&["anneal", &file("frustrated.rudy"), "--sweeps", "1000"]);
    assert!(answer["warning"].is_null() && errors.is_empty(), "{errors}");
}

#[test]
fn bad_words_are_one_line() {
    let form = file("pick_two.qubo");
    fails(&[], 2, "one of sample, anneal, logz, info expected");
    fails(&["sample"], 2, "<FILE>");
    fails(&["sample", "nowhere.uai"], 1, "nowhere.uai");
    for word in ["0", "-1", "1e-38", "1e38", "NaN", "inf"] {
        fails(&["sample", &form, "--temperature", word], 2, "is not from 1e-20 to 1e20");
    }
    fails(&["sample", &form, "--sampler", "gibs"], 2, "sampler \"gibs\": auto, gibbs,");
    fails(&["sample", &form, "--sampler", "langevin:-1"], 2, "step size");
    for word in ["gwg:1.7", "pas:nan", "pas:-1", "hamming-ball:3.5:1", "hamming-ball:3:1.2"] {
        fails(&["sample", &form, "--sampler", word], 2, "is not a whole number");
    }
    fails(&["sample", &form, "--sampler", "random-walk:5"], 2, "a radius below 5 is needed");
    fails(&["sample", &form, "--sampler", "block-gibbs"], 1, "only an RBM");
    fails(&["sample", &form, "--sampler", "exchange:0.2:0.5"], 2, "the last β must be 1");
    fails(&["sample", &form, "--sampler", "isoenergetic:0.5:2"], 2, "the last β must be 1");
    for betas in
        ["exchange:1", "isoenergetic:1", "isoenergetic:0.5:0.5:1", "isoenergetic:nan:1", "exchange:-1:1"]
    {
        fails(&["sample", &form, "--sampler", betas], 2, "each above the one before");
    }
    fails(&["sample", &form, "--chains", "0"], 2, "--chains");
    fails(&["sample", &form, "--given", &file("sprinkler.evid")], 1, "sprinkler.evid");
    let late = ["sample", &form, "--seconds", "0", "--quiet"];
    let pilots = "its time was over in the pilot runs, which are not kept; take more --seconds, or a --sampler";
    fails(&late, 2, &format!("no draw was made: 0 of 1000 draws: {pilots}"));
    fails(&[&late[..], &["--sampler", "gibbs"]].concat(), 2, "in the warm-up, which is not kept; take more");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let kept = [&late[..], &["--sampler", "gibbs", "--checkpoint", path.to_str().unwrap()]].concat();
    fails(&kept, 2, "in the warm-up, which is kept; the same line goes on from there");
    fails(&["anneal", &form, "--seconds", "1", "--sweeps", "1"], 2, "--sweeps");
    fails(&["anneal", &form, "--method", "tabu"], 2, "annealing, exchange or isoenergetic");
    fails(&["anneal", &form, "--temperatures", "2"], 2, "--temperatures");
    fails(&["anneal", &form, "--temperatures", "1:2", "--sweeps", "1"], 2, "temperatures");
    fails(&["anneal", &form, "--target", "low"], 2, "--target");
    fails(&["anneal", &form, "--target", "inf"], 2, "a finite number");
    fails(&["logz", &form, "--runs", "1"], 2, "--runs");
    fails(&["logz", &form, "--method", "population", "--runs", "64"], 2, "--runs: it belongs to");
    fails(
        &["logz", &form, "--method", "population", "--temperatures", "1000"],
        2,
        "--temperatures: it belongs to",
    );
    fails(&["logz", &form, "--population", "1000"], 2, "--population: it belongs to");
    fails(&["logz", &form, "--method", "population", "--population", "1"], 2, "--population");
    fails(&["sample", &form, "--save", "nowhere/here.npz"], 1, "nowhere/here.npz");
}

#[test]
fn a_run_is_killed_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { folder.path().join(name) };
    let words = |save: &str| {
        let text = |path: PathBuf| path.to_str().unwrap().to_string();
        let fixed =
            ["sample", "--sampler", "gibbs", "--draws", "300000", "--thin", "20", "--chains", "3", "--quiet"];
        let mut words: Vec<String> = fixed.map(str::to_string).to_vec();
        words.extend([file("pick_two.qubo"), "--save".into(), text(path(save))]);
        words
    };
    let kept = path("kept").to_str().unwrap().to_string();
    let run = |save: &str, more: &[&str]| {
        let words = words(save);
        let all: Vec<&str> = words.iter().map(String::as_str).chain(more.iter().copied()).collect();
        assert!(bitmc(&all).status.success());
        std::fs::read(path(save)).unwrap()
    };
    let whole = run("whole.npz", &[]);
    run("part.npz", &["--seconds", "0.05", "--checkpoint", &kept]);
    assert_eq!(run("rest.npz", &["--checkpoint", &kept]), whole);
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_no_text_are_told() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(std::ffi::OsStr::from_bytes(b"caf\xE9.uai"));
    std::fs::copy(file("sprinkler.uai"), &path).unwrap();
    std::fs::copy(file("sprinkler.evid"), path.with_extension("evid")).unwrap();
    for more in [&["--json"][..], &[]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bitmc"));
        let output = command.arg("logz").arg(&path).args(more).arg("--quiet").output().unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && told.contains("caf\u{FFFD}.evid"), "{told}");
    }
}

/// The samples would replace the run.
#[test]
fn a_run_and_its_samples_are_two_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (one, same, form) = (path("run"), path("./run"), file("pick_two.qubo"));
    let words = ["sample", &form, "--checkpoint", &one, "--save", &same, "--force"];
    fails(&words, 2, "--save and --checkpoint: two different files are needed");
    std::fs::write(&one, "a run").unwrap();
    fails(&words, 2, "--save and --checkpoint: two different files are needed");
    assert_eq!(std::fs::read(&one).unwrap(), b"a run");
}

/// Evidence that lies beside a network is named in the answer.
#[test]
fn evidence_beside_a_network_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sprinkler.uai");
    std::fs::copy(file("sprinkler.uai"), &path).unwrap();
    let path = path.to_str().unwrap();
    let (whole, _) = json(&["logz", path]);
    assert!(whole["options"]["given"].is_null() && whole["log_z"].as_f64().unwrap().abs() < 0.05, "{whole}");
    let evidence = folder.path().join("sprinkler.evid");
    std::fs::copy(file("sprinkler.evid"), &evidence).unwrap();
    for what in ["logz", "anneal", "sample", "info"] {
        let mut words = vec![what, path];
        if what == "anneal" {
            words.extend(["--sweeps", "1000"]);
        }
        let (known, _) = json(&words);
        assert_eq!(known["options"]["given"], evidence.to_str().unwrap(), "{what}");
        let text = bitmc(&[&words[..], &["--quiet"]].concat());
        assert!(String::from_utf8(text.stdout).unwrap().contains("sprinkler.evid"), "{what}");
    }
}

/// An answer that is lost is a failure. A link keeps leading where it led, and a device is not replaced.
#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_written_is_told_and_what_is_no_file_is_kept() {
    let form = file("pick_two.qubo");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_bitmc"));
    let lost = command.args(["logz", &form, "--quiet"]).stdout(full).output().unwrap();
    assert_eq!(lost.status.code(), Some(1), "{lost:?}");
    assert!(String::from_utf8(lost.stderr).unwrap().contains("standard output"));

    // A file cannot grow beyond 2 KB, or just not to its end.
    for (blocks, draws) in [("4", "1000"), ("4", "20"), ("8", "20")] {
        let folder = tempfile::tempdir().unwrap();
        let large = folder.path().join("large.npz");
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let mut command = std::process::Command::new("sh");
        command.args([
            "-c",
            &script,
            env!("CARGO_BIN_EXE_bitmc"),
            "sample",
            &form,
            "--quiet",
            "--draws",
            draws,
        ]);
        let output = command.arg("--save").arg(&large).output().unwrap();
        let (told, errors) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(told.contains("| E |") && !told.contains("Saved"), "{blocks}, {draws}: {told}");
        let error = errors.lines().find(|line| line.starts_with("error: ") && line.contains("large.npz"));
        let warned = errors.lines().all(|line| line.starts_with("warning: ") || Some(line) == error);
        assert!(error.is_some() && warned && output.status.code() == Some(1), "{blocks}, {draws}: {errors}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    let folder = tempfile::tempdir().unwrap();
    let (target, link) = (folder.path().join("target.npz"), folder.path().join("link.npz"));
    std::fs::write(&target, "before").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let save = |path: &str| bitmc(&["sample", &form, "--draws", "20", "--quiet", "--force", "--save", path]);
    assert!(save(link.to_str().unwrap()).status.success());
    assert!(link.is_symlink() && std::fs::read(&target).unwrap().starts_with(b"PK"));
    std::fs::remove_file(&target).unwrap();
    assert_eq!(save(link.to_str().unwrap()).status.code(), Some(1));
    let pipe = folder.path().join("pipe.npz");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let refused = save(pipe.to_str().unwrap());
    assert!(String::from_utf8(refused.stderr).unwrap().contains("a device or a pipe, not a file"));
    assert!(!pipe.metadata().unwrap().is_file());
}

/// Where builds for other processors are in its folder, the command starts the best that this one can run.
#[cfg(unix)]
#[test]
fn the_best_build_is_started() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::copy(env!("CARGO_BIN_EXE_bitmc"), at("bitmc")).unwrap();
    let run = |most: &str| {
        let said = Command::new(at("bitmc")).args(["info", "a b"]).env("BITMC_BUILD", most).output().unwrap();
        String::from_utf8(said.stdout).unwrap()
    };
    assert_eq!(run("4"), "", "alone it looks for the file `a b` itself");
    for level in [3, 4] {
        std::fs::write(at(&format!("bitmc-v{level}")), format!("#!/bin/sh\necho v{level} \"$2\"\n")).unwrap();
        let runs = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(at(&format!("bitmc-v{level}")), runs).unwrap();
    }
    let best = bitmc_desktop::builds::level();
    let expected = |most: u8| match best.min(most) {
        1 => String::new(),
        level => format!("v{level} a b\n"),
    };
    assert_eq!([run("1"), run("3"), run("4")], [1, 3, 4].map(expected));
    // One that cannot be started is passed over.
    std::fs::write(at("bitmc-v4"), "no program").unwrap();
    std::fs::set_permissions(at("bitmc-v4"), std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(run("4"), expected(3));
}
