//! The examples as a user runs them: same bytes for any number of threads, and one line for a mistake.

use bitmc_examples::bits::BitRows;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// An example that cargo has built beside this test.
fn example(name: &str) -> Command {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap().parent().unwrap().join("examples");
    let path = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(path.exists(), "build the examples first: cargo build --examples");
    Command::new(path)
}

fn digits(out: &Path, words: &[&str]) -> Output {
    example("digits").arg("--out").arg(out).args(words).output().unwrap()
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

const FILES: [&str; 5] = ["digits.bits", "digits.json", "digits.md", "digits.png", "digits.svg"];

#[test]
fn threads_do_not_change_a_byte() {
    let replicas = ["--sampler", "replica"];
    for more in [&[][..], &["--inpaint", "--start", "mean"], &["--sampler", "langevin-unadjusted"], &replicas] {
        let folder = tempfile::tempdir().unwrap();
        let run = |threads: &str, seed: &str| {
            let out = folder.path().join(format!("{threads}-{seed}"));
            let words = ["--chains", "7", "--steps", "45", "--threads", threads, "--seed", seed];
            succeeds(&digits(&out, &[&words, more].concat()));
            FILES.map(|file| fs::read(out.join(file)).unwrap())
        };
        let (one, two, other) = (run("1", "5"), run("2", "5"), run("1", "6"));
        for (index, file) in FILES.iter().enumerate() {
            assert!(one[index] == two[index], "{file} differs with {more:?}");
            assert!(one[index] != other[index], "{file} does not depend on the seed with {more:?}");
        }
    }
}

/// A run that is killed and goes on, again and again, ends with the bytes of one that is left alone.
/// `BITMC_KILLS=200` is the long form.
#[test]
fn kills_lose_nothing() {
    let kills: u32 = std::env::var("BITMC_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    let folder = tempfile::tempdir().unwrap();
    let (whole, file) = (folder.path().join("whole"), folder.path().join("digits.keep"));
    let words = ["--chains", "3", "--steps", "600", "--threads", "2", "--quiet"];
    let begin = Instant::now();
    succeeds(&digits(&whole, &words));
    let length = begin.elapsed().as_millis() as u64;
    let mut state = 1u64;
    let (mut killed, mut resumed, mut runs) = (0, 0, 0);
    while killed < kills {
        let out = folder.path().join(format!("run-{runs}"));
        let mut ended = false;
        while !ended {
            let mut command = example("digits");
            command.arg("--out").arg(&out).args(words).arg("--checkpoint").arg(&file).args(["--every", "7"]);
            if file.exists() {
                command.arg("--resume").arg(&file);
                resumed += 1;
            }
            let written = || fs::metadata(&file).and_then(|file| file.modified()).ok();
            let before = written();
            let mut child = command.spawn().unwrap();
            if killed < kills {
                // Every fourth kill may meet the start; the others wait until it has written.
                while killed % 4 != 3 && written() == before && child.try_wait().unwrap().is_none() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                std::thread::sleep(Duration::from_millis((state >> 33) % (length / 2 + 1)));
                child.kill().unwrap();
                killed += 1;
            }
            ended = child.wait().unwrap().success();
        }
        for name in FILES {
            let (one, two) = (fs::read(whole.join(name)).unwrap(), fs::read(out.join(name)).unwrap());
            assert!(one == two, "{name} differs after {killed} kills");
        }
        fs::remove_file(&file).unwrap();
        runs += 1;
    }
    println!("{killed} kills in {runs} runs, {resumed} resumed: 0 lost, 0 different");
    assert!(resumed > 0, "no run was killed while it was under way");
}

#[test]
fn a_damaged_or_foreign_checkpoint_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (out, file) = (folder.path().join("out"), folder.path().join("keep"));
    let words = ["--chains", "2", "--steps", "4", "--every", "2"];
    let keep = file.to_str().unwrap();
    succeeds(&digits(&out, &[&words[..], &["--checkpoint", keep]].concat()));
    succeeds(&digits(&out, &[&words[..], &["--resume", keep]].concat()));
    let other = [&words[..], &["--resume", keep, "--seed", "2"]].concat();
    fails(&digits(&out, &other), 1, "the run had other options");
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, &bytes).unwrap();
    fails(&digits(&out, &[&words[..], &["--resume", keep]].concat()), 1, "altered");
    fs::write(&file, &bytes[..middle]).unwrap();
    fails(&digits(&out, &[&words[..], &["--resume", keep]].concat()), 1, "are here");
    fails(&digits(&out, &[&words[..], &["--resume", "nowhere"]].concat()), 1, "nowhere");
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

        let report: Value = serde_json::from_slice(&fs::read(out.join("digits.json")).unwrap()).unwrap();
        assert_eq!((&report["sampler"], &report["start"]), (&Value::from(sampler), &Value::from("data")));
        assert_eq!(
            (&report["chains"], &report["steps"], &report["seed"]),
            (&20.into(), &100.into(), &1.into())
        );
        assert!(acceptance.contains(&report["acceptance"].as_f64().unwrap()), "{report}");
        // Training digits are near the law, whose f has mean 381 and standard deviation 28: 4.89 standard
        // errors of 20 chains are 30. The unadjusted sampler has another law.
        let energy = report["mean_energy"].as_f64().unwrap();
        assert!(sampler == "langevin-unadjusted" || (-411.0..-351.0).contains(&energy), "{report}");
        assert!(report["mmd2"].is_f64());
        // The float64 value, and the same bound as for golden energies in parts.rs.
        let reference = report["reference_mean_energy"].as_f64().unwrap();
        assert!((reference + 381.161_367_8).abs() < 0.018, "{reference}");
        let timing: Value = serde_json::from_slice(&fs::read(out.join("digits.timing.json")).unwrap()).unwrap();
        assert!(timing["seconds"].as_f64().unwrap() > 0.0);
        assert!(timing["chain_steps_per_second"].as_f64().unwrap() > 0.0);
        assert!(image::open(out.join("digits.png")).unwrap().width() > 500);
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
    fails(&example("ising").args(["-a", "inf"]).output().unwrap(), 2, "inf is not from -10 to 10");
    fails(&example("ising").args(["--chains", "1"]).output().unwrap(), 2, "--chains");
    fails(&example("maxcut").output().unwrap(), 2, "<FILE>");
    let both = ["graph", "--seconds", "1", "--sweeps", "1"];
    fails(&example("maxcut").args(both).output().unwrap(), 2, "--sweeps");
    fails(&example("maxcut").args(["graph", "--seconds", "-1"]).output().unwrap(), 2, "-1");
    fails(&example("own_energy").args(["--seed", "x"]).output().unwrap(), 2, "--seed");
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
    let cases: [(&str, Damage, &str); 9] = [
        ("rbm500/W.npy", |bytes| bytes.truncate(1000), "too short"),
        ("rbm500/W.npy", |bytes| bytes.clear(), "not a NumPy file"),
        (
            "rbm500/W.npy",
            |bytes| bytes[200_000..200_004].copy_from_slice(&f32::NAN.to_le_bytes()),
            "not finite",
        ),
        ("rbm500/W.npy", |bytes| replace(bytes, "(784, 500)", "(999999999"), "not a NumPy file"),
        ("rbm500/W.npy", |bytes| replace(bytes, "<f4", "<i4"), "not an array of f32"),
        ("rbm500/a_vis.npy", |bytes| replace(bytes, "(784,)", "(783,)"), "shape [783]"),
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

fn replace(bytes: &mut [u8], what: &str, with: &str) {
    let at = bytes.windows(what.len()).position(|window| window == what.as_bytes()).unwrap();
    bytes[at..at + with.len()].copy_from_slice(with.as_bytes());
}

#[test]
fn the_small_examples_agree_with_the_exact_answers() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["--seed", "3", "--chains", "2", "--steps", "100"];
    let output = example("ising").args(words).arg("--out").arg(folder.path()).output().unwrap();
    succeeds(&output);
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("exact")).collect();
    assert_eq!(lines.len(), 2);
    for line in lines {
        let words: Vec<&str> = line.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        let number = |at: usize| words[at].parse::<f64>().unwrap();
        let sign = words.iter().position(|&word| word == "±").unwrap();
        let (mean, error, exact) = (number(sign - 1), number(sign + 1), number(sign + 3));
        // 4.89 standard errors: one false alarm in a million.
        assert!((mean - exact).abs() < 4.89 * error && error < 0.01, "{line}");
    }
    succeeds(&example("own_energy").output().unwrap());
}

/// The files of an example that do not depend on the clock are equal for one thread and for two.
fn threads_do_not_change(name: &str, words: &[&str], files: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let run = |threads: &str| {
        let out = folder.path().join(threads);
        let mut command = example(name);
        succeeds(&command.args(words).arg("--out").arg(&out).args(["--threads", threads]).output().unwrap());
        let mut files: Vec<_> = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| path.is_file() && !path.to_string_lossy().contains("timing"));
        files.sort();
        let name = |path: &PathBuf| path.file_name().unwrap().to_owned();
        files.iter().map(|path| (name(path), fs::read(path).unwrap())).collect::<Vec<_>>()
    };
    let (one, two) = (run("1"), run("2"));
    let report = format!("{name}.json");
    assert!(one.len() >= files && one.iter().any(|(name, _)| *name == *report), "files are missing");
    assert!(one == two, "the number of threads changes a file");
    folder
}

#[test]
fn threads_do_not_change_a_byte_of_esh() {
    threads_do_not_change("esh", &["--quick"], 5);
}

#[test]
fn threads_do_not_change_a_byte_of_ising() {
    let folder = threads_do_not_change("ising", &["--chains", "4", "--steps", "500", "-a", "0.05"], 4);
    let report = fs::read(folder.path().join("2/ising.json")).unwrap();
    let report: Value = serde_json::from_slice(&report).unwrap();
    // METHODS.md §8, to its last printed digit.
    assert!((report["exact_mean_spin"].as_f64().unwrap() - 0.299_886).abs() < 1e-6);
    assert!(report["cells"].as_array().unwrap().len() >= 10);
    for file in ["ising.flips.svg", "ising.svg", "ising.timing.svg", "ising.ess.timing.svg"] {
        assert!(fs::read_to_string(folder.path().join("2").join(file)).unwrap().contains("DMALA"), "{file}");
    }
}

#[test]
fn threads_do_not_change_a_byte_of_maxcut() {
    let graph = data().join("gset/G11.txt");
    let words = [graph.to_str().unwrap(), "--sweeps", "9000", "--quiet"];
    let folder = threads_do_not_change("maxcut", &words, 4);
    let read = |file: &str| fs::read_to_string(folder.path().join("1").join(file)).unwrap();
    let report: Value = serde_json::from_str(&read("maxcut.json")).unwrap();
    // The cut of the partition that was written, edge by edge.
    let sides: Vec<u32> = read("maxcut.partition.txt")
        .lines()
        .map(|line| line.split(' ').nth(1).unwrap().parse().unwrap())
        .collect();
    let text = fs::read_to_string(&graph).unwrap();
    let cut: i64 = text
        .lines()
        .skip(1)
        .map(|line| {
            let edge: Vec<i64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
            if sides[edge[0] as usize - 1] != sides[edge[1] as usize - 1] { edge[2] } else { 0 }
        })
        .sum();
    assert_eq!(report["best_cut"].as_i64(), Some(cut));
    assert_eq!(report["best_known_cut"], 564);
    // Within two per cent after a second already.
    assert!((553..=564).contains(&cut), "{report}");
    let rows = BitRows::read(&folder.path().join("1/maxcut.bits"), 800).unwrap();
    assert!(sides.iter().enumerate().all(|(i, &side)| rows.row(0)[i / 32] >> (i % 32) & 1 == side));
}

#[test]
fn small_cuts_are_the_largest() {
    let folder = tempfile::tempdir().unwrap();
    let cut = |text: &str| {
        let (file, out) = (folder.path().join("graph.txt"), folder.path().join("out"));
        fs::write(&file, text).unwrap();
        let words = ["--seconds", "0.3", "--quiet", "--out", out.to_str().unwrap()];
        succeeds(&example("maxcut").arg(&file).args(words).output().unwrap());
        let report: Value = serde_json::from_slice(&fs::read(out.join("maxcut.json")).unwrap()).unwrap();
        report["best_cut"].as_f64().unwrap()
    };
    assert_eq!(cut("5 5\n1 2\n2 3\n3 4\n4 5\n5 1\n"), 4.0); // an odd ring
    assert_eq!(cut("3 3\n1 2 2.5\n2 3 0.5\n1 3 -1\n"), 2.5 + 0.5); // vertex 2 against the others
    assert_eq!(cut("2 1\n1 2 -1\n"), 0.0); // all on one side
    assert_eq!(cut("4 0\n"), 0.0);
    let nowhere = folder.path().join("nowhere");
    fails(&example("maxcut").arg(&nowhere).output().unwrap(), 1, "nowhere");
    fs::write(&nowhere, "2 1\n1 1 1\n").unwrap();
    fails(&example("maxcut").arg(&nowhere).output().unwrap(), 1, "two different vertices");
}

#[test]
fn a_network_of_bits_learns_and_resumes() {
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str, more: &[&str]| {
        let out = folder.path().join(name);
        let words = ["--quick", "--quiet", "--chains", "2", "--steps", "6"];
        succeeds(&example("bnn").arg("--out").arg(&out).args(words).args(more).output().unwrap());
        ["bnn.json", "bnn.md", "bnn.svg"].map(|file| fs::read(out.join(file)).unwrap())
    };
    let one = run("one", &["--threads", "1"]);
    assert!(one == run("two", &["--threads", "2"]), "the number of threads changes a file");
    // A chain that is there is not made again; one that is of another run is.
    let cell = folder.path().join("one/cells/DULA.1.json");
    let text = fs::read_to_string(&cell).unwrap();
    fs::write(&cell, text.replace("seed 1", "seed 2")).unwrap();
    fs::remove_file(folder.path().join("one/cells/DMALA.0.json")).unwrap();
    assert!(one == run("one", &["--resume"]), "a resumed run differs");

    let report: Value = serde_json::from_slice(&one[0]).unwrap();
    for row in report["rows"].as_array().unwrap() {
        let at = |index: usize| row["series"][index]["training_log_likelihood"].as_f64().unwrap();
        // A random network is off by the mean of y², .25, and the variance of its votes.
        assert!(at(0) < -0.46 && at(6) > at(0) + 0.04, "{row}");
        assert_eq!(row["faults"], 0);
    }
    fails(&example("bnn").args(["--step-size", "0"]).output().unwrap(), 2, "--step-size");
    fails(&example("bnn").args(["--data", "nowhere"]).output().unwrap(), 1, "numeric.npy");
}

#[test]
fn files_of_three_formats_are_sampled() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| data().join("formats").join(name).to_str().unwrap().to_string();
    let run = |out: &str, words: &[&str]| {
        let out = folder.path().join(out);
        succeeds(&example("sample").arg("--quiet").arg("--out").arg(&out).args(words).output().unwrap());
        let bytes = fs::read(out.join("sample.json")).unwrap();
        (serde_json::from_slice::<Value>(&bytes).unwrap(), bytes)
    };
    let (network, evidence) = (file("sprinkler.uai"), file("sprinkler.evid"));
    for sampler in ["langevin", "gibbs"] {
        let words = [&network, "--evidence", &evidence, "--sampler", sampler, "--threads"];
        let (report, one) = run("one", &[&words[..], &["1"]].concat());
        assert!(one == run("two", &[&words[..], &["2"]].concat()).1, "the number of threads changes a byte");
        // By summing over the eight states in which the grass is wet; 16 chains, so Student's t: 10⁻⁶ at 7.7.
        for (site, truth) in [0.575_799_7, 0.429_763_6, 0.707_927_7, 1.0].into_iter().enumerate() {
            let number = |key: &str| report["marginals"][site][key][1].as_f64().unwrap();
            let (found, error) = (number("probabilities"), number("standard_errors"));
            assert!(
                (found - truth).abs() <= 7.7 * error && error < 0.02,
                "{sampler} {site}: {found} ± {error}"
            );
        }
        assert_eq!(report["marginals"][3]["known"], true);
    }
    let best = |name: &str| {
        run("best", &[&file(name), "--quick", "--sampler", "gibbs", "--temperature", "4"]).0["best"]
            .as_f64()
            .unwrap()
    };
    assert_eq!((best("frustrated.rudy"), best("pick_two.qubo")), (7.0, -49.0));

    let fail = |words: &[&str], code, because| {
        fails(&example("sample").args(words).output().unwrap(), code, because);
    };
    fail(&[], 2, "FILE");
    fail(&["nowhere.uai"], 1, "nowhere.uai");
    fail(&[&network, "--temperature", "0"], 2, "--temperature");
    fail(&[&network, "--sampler", "gibbs", "--step-size", "1"], 2, "gibbs");
    fail(&[&file("pick_two.qubo"), "--evidence", &evidence], 2, "--evidence");
    fail(&[&evidence], 1, "line 1: the number of edges expected, the line ends");
    let torn = folder.path().join("torn.uai");
    fs::write(&torn, "MARKOV 2 2 2 2 2 0 1 2 0 1 4 1 0 0 0 4 0 1 1 1").unwrap();
    fail(&[torn.to_str().unwrap(), "--quick"], 1, "no possible state");
}

#[test]
fn cost_measures_chains_that_move() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("cost");
    succeeds(&example("cost").arg("--quick").arg("--quiet").arg("--out").arg(&out).output().unwrap());
    let found: Value = serde_json::from_slice(&fs::read(out.join("cost.json")).unwrap()).unwrap();
    let rows = found[0].as_array().unwrap();
    assert_eq!(rows.len(), 30);
    for row in rows {
        let number = |name: &str| row[name].as_f64().unwrap();
        assert!(number("ns_per_site_and_step") > 0.0 && number("flips_per_step") > 1.0, "{row}");
        let tuned = row["step_size"].is_number();
        assert!(!tuned || (0.3..0.85).contains(&number("acceptance")), "{row}");
        assert!(tuned || number("acceptance") == 1.0, "{row}");
    }
    assert!(out.join("cost.svg").exists() && out.join("cost.md").exists());
}
