//! The other examples.

use super::{data, example, fails, report, run, succeeds};
use bitmc_examples::bits::BitRows;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

#[test]
fn the_small_examples_agree_with_the_exact_answers() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["--seed", "3", "--chains", "2", "--steps", "100"];
    let output = example("ising").args(words).arg("--out").arg(folder.path()).output().unwrap();
    succeeds(&output);
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> =
        text.lines().filter(|line| line.contains("exact") && !line.starts_with('|')).collect();
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
    let help = example("own_energy").arg("--help").output().unwrap().stdout;
    assert!(String::from_utf8(help).unwrap().starts_with("An energy of your own with a hard constraint"));
}

/// The files of an example that do not depend on the clock are equal for one thread and for two.
pub(super) fn threads_do_not_change(name: &str, words: &[&str], files: usize) -> tempfile::TempDir {
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

/// From one mode the scaled leapfrog is ahead. On the ill-conditioned Gaussian it keeps the Hamiltonian; in the original
/// time only tiny steps do.
#[test]
fn threads_do_not_change_a_byte_of_integrators() {
    let folder = threads_do_not_change("esh", &["--integrators", "--quick"], 5);
    let report = report(&folder.path().join("2/esh.json"));
    let cells = report["cells"].as_array().unwrap();
    let cell = |target: &str, sampler: &str| {
        let mut cells = cells.iter().filter(|cell| cell["target"] == target);
        cells.find(|cell| cell["sampler"] == sampler).unwrap()
    };
    let mmd =
        |sampler| cell("2D MOG-prior", sampler)["mmd2"].as_array().unwrap().last().unwrap().as_f64().unwrap();
    let off = |sampler| cell("50D ICG", sampler)["off"].as_f64().unwrap();
    for step in ["original time .1", "original time .01", "original time .001"] {
        assert!(mmd("ESH .1") < mmd(step) - 0.02, "{step}: {} {}", mmd("ESH .1"), mmd(step));
    }
    let (large, tiny, scaled) = (off("original time .1"), off("original time .001"), off("ESH .1"));
    assert!(large > 0.6 && tiny < 0.1 && scaled < 0.2, "{large} {tiny} {scaled}");
}

#[test]
fn threads_do_not_change_a_byte_of_mimo() {
    let folder = threads_do_not_change("mimo", &["--frames", "60"], 3);
    let report = report(&folder.path().join("2/mimo.json"));
    let row = &report["rows"][0];
    assert_eq!(row["setup"], "4x4 16-QAM");
    // Over all points from 18 dB on: exact, MMSE, distinct states, N0 wrong by 2, plain Gibbs.
    let mean = |method: usize| {
        let points =
            row["points"].as_array().unwrap().iter().filter(|point| point["decibels"].as_u64() >= Some(18));
        points.map(|point| point["scores"][method]["bit_error_rate"].as_f64().unwrap()).sum::<f64>()
    };
    assert!(mean(2) < 1.3 * mean(0) && mean(2) < 0.4 * mean(1), "{} {} {}", mean(0), mean(1), mean(2));
    // The negative control: plain chains stall.
    assert!(mean(4) > 2.0 * mean(1), "{} {}", mean(4), mean(1));
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
fn threads_do_not_change_a_byte_of_glass() {
    let words = ["--side", "12", "--batches", "1", "--rounds", "256", "--glasses", "2", "--temperature", "0.4"];
    let folder = threads_do_not_change("glass", &words, 1);
    let courses = report(&folder.path().join("1/glass.json"));
    let courses = courses.as_array().unwrap();
    assert_eq!(courses.len(), 8);
    for course in courses {
        let last = course["energies_per_site"].as_array().unwrap().last().unwrap().as_f64().unwrap();
        assert!((-1.6..-1.2).contains(&last), "{course}");
    }
    let hot = ["--hottest", "0.2", "--temperature", "0.3"];
    fails(&example("glass").args(hot).output().unwrap(), 2, "--hottest");
}

#[test]
fn threads_do_not_change_a_byte_of_channels() {
    let folder = threads_do_not_change("channels", &["--quick", "--seeds", "2", "--sweeps", "256"], 1);
    let offices = report(&folder.path().join("1/channels.json"));
    let offices = offices.as_array().unwrap();
    assert_eq!(offices.len(), 7);
    for office in offices {
        let number = |name: &str| office[name].as_f64();
        for harm in office["annealed"].as_array().unwrap() {
            let harm = harm.as_f64().unwrap();
            assert!(number("optimum").is_none_or(|optimum| harm >= optimum), "{office}");
            assert!(number("sites") < Some(100.0) || Some(harm) < number("greedy_and_moves"), "{office}");
        }
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
        assert!(!fs::read_to_string(out.join("maxcut.md")).unwrap().contains("| -0 |"), "{text}");
        report(&out.join("maxcut.json"))["best_cut"].as_f64().unwrap()
    };
    assert_eq!(cut("5 5\n1 2\n2 3\n3 4\n4 5\n5 1\n"), 4.0); // an odd ring
    assert_eq!(cut("3 3\n1 2 2.5\n2 3 0.5\n1 3 -1\n"), 2.5 + 0.5); // vertex 2 against the others
    assert_eq!(cut("2 1\n1 2 -1\n"), 0.0); // all on one side
    assert_eq!(cut("4 0\n"), 0.0);
    assert_eq!(cut("3 2\n1 2 0\n2 3 -0\n"), 0.0);
    assert_eq!(cut("3 3\n1 2 1e-40\n2 3 1e-40\n1 3 1e-40\n"), 2e-40); // subnormal in 32 bits
    assert_eq!(cut("3 3\n1 2 3e38\n2 3 3e38\n1 3 3e38\n"), 2.0 * 3e38);
    let nowhere = folder.path().join("nowhere");
    fails(&example("maxcut").arg(&nowhere).output().unwrap(), 1, "nowhere");
    fs::write(&nowhere, "2 1\n2 2 1\n").unwrap();
    fails(&example("maxcut").arg(&nowhere).output().unwrap(), 1, "vertex 2 has a field: a cut has none");
    for (text, because) in [
        ("2000000000 1\n1 2 1\n", "line 1: 1 to 67108864 vertices expected, found 2000000000"),
        ("2 1\n0 1 1\n", "line 2: a vertex from 1 to 2 expected, found 0 (rudy counts from 1)"),
    ] {
        fs::write(&nowhere, text).unwrap();
        fails(&example("maxcut").arg(&nowhere).output().unwrap(), 1, because);
    }
}

#[test]
fn a_network_of_bits_learns() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["--quick", "--quiet", "--chains", "2", "--steps", "6"];
    succeeds(&run("bnn", folder.path(), &words));
    let report = report(&folder.path().join("bnn.json"));
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 7);
    for row in rows {
        let at = |index: usize| row["series"][index]["training_log_likelihood"].as_f64().unwrap();
        // A random network is nearly certain of every row, and wrong in about half of them.
        assert!((-0.9..-0.2).contains(&at(0)), "{row}");
        assert_eq!(at(0), rows[0]["series"][0]["training_log_likelihood"].as_f64().unwrap());
        let learns = ["Dula", "Dmala"].map(Value::from).contains(&row["sampler"]);
        assert!(!learns || at(6) > at(0), "{row}");
        assert_eq!(row["faults"], 0);
    }
    fails(&example("bnn").args(["--step-size", "0"]).output().unwrap(), 2, "--step-size");
    fails(&example("bnn").args(["--data", "nowhere"]).output().unwrap(), 1, "numeric.npy");
    let mut numbers = fs::read(data().join("adult/numeric.npy")).unwrap();
    let end = numbers.len() - 4;
    numbers[end..].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(folder.path().join("numeric.npy"), numbers).unwrap();
    let output = example("bnn").arg("--data").arg(folder.path()).output().unwrap();
    fails(&output, 1, "numeric.npy: row 7999, column 4: a finite number expected, found NaN");
}

#[test]
fn a_refusal_leaves_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    fails(&run("digits", &out, &["--quick", "--resume", "nowhere"]), 1, "nowhere: ");
    assert!(!out.exists());
}

#[test]
fn cost_measures_chains_that_move() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("cost");
    succeeds(&run("cost", &out, &["--quick", "--quiet"]));
    let found = report(&out.join("cost.json"));
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
    // All of it depends on the clock: what is kept is what was measured.
    succeeds(&run("cost", &out, &["--quick", "--quiet", "--resume"]));
    assert_eq!(report(&out.join("cost.json")), found);
}

#[test]
fn a_bad_option_is_one_line() {
    fails(&example("ising").args(["-a", "inf"]).output().unwrap(), 2, "inf is not from -10 to 10");
    fails(&example("ising").args(["--chains", "1"]).output().unwrap(), 2, "--chains");
    fails(&example("maxcut").output().unwrap(), 2, "<FILE>");
    let both = ["graph", "--seconds", "1", "--sweeps", "1"];
    fails(&example("maxcut").args(both).output().unwrap(), 2, "--sweeps");
    let seconds = ["graph", "--seconds", "-1"];
    fails(&example("maxcut").args(seconds).output().unwrap(), 2, "--seconds <N>': -1 is not from 0.01 to 1e6");
    fails(
        &example("own_energy").args(["--seed", "x"]).output().unwrap(),
        2,
        "--seed <SEED>': not a whole number",
    );
    fails(&example("own_energy").args(["--seed", "18446744073709551616"]).output().unwrap(), 2, "': too large");
    for (name, words, because) in [
        ("learn_ising", ["--lasso", "NaN"], "NaN is not from 0 to 1000000"),
        ("learn_ising", ["--coupling", "1e19"], "1e19 is not from -10 to 10"),
        ("learn_digits", ["--decay", "-1"], "--decay <STRENGTH>': -1 is not from 0 to 1000000"),
        ("learn_graphs", ["--decay", "inf"], "inf is not from 0 to 1000000"),
        ("learn_graphs", ["--rate", "1e38"], "1e38 is not from 1e-12 to 10"),
        ("learn_density", ["--rate", "0"], "0 is not from 1e-12 to 10"),
        ("learn_density", ["--large", "18446744073709551615"], "is not in 0..=10000000"),
    ] {
        fails(&example(name).args(words).output().unwrap(), 2, because);
    }
}
