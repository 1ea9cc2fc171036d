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
        assert!(!fs::read_to_string(out.join("maxcut.md")).unwrap().contains("| -0 |"), "{text}");
        report(&out.join("maxcut.json"))["best_cut"].as_f64().unwrap()
    };
    assert_eq!(cut("5 5\n1 2\n2 3\n3 4\n4 5\n5 1\n"), 4.0); // an odd ring
    assert_eq!(cut("3 3\n1 2 2.5\n2 3 0.5\n1 3 -1\n"), 2.5 + 0.5); // vertex 2 against the others
    assert_eq!(cut("2 1\n1 2 -1\n"), 0.0); // all on one side
    assert_eq!(cut("4 0\n"), 0.0);
    assert_eq!(cut("3 2\n1 2 0\n2 3 -0\n"), 0.0);
    assert_eq!(cut("3 3\n1 2 1e-40\n2 3 1e-40\n1 3 1e-40\n"), 2.0 * f64::from(1e-40f32)); // subnormal
    assert_eq!(cut("3 3\n1 2 3e38\n2 3 3e38\n1 3 3e38\n"), 2.0 * f64::from(3e38f32));
    let nowhere = folder.path().join("nowhere");
    fails(&example("maxcut").arg(&nowhere).output().unwrap(), 1, "nowhere");
    fs::write(&nowhere, "2 1\n2 2 1\n").unwrap();
    fails(&example("maxcut").arg(&nowhere).output().unwrap(), 1, "vertex 2 has a field: a cut has none");
    for (text, because) in [
        ("2000000000 1\n1 2 1\n", "line 1: 1 to 67108864 vertices expected, found 2000000000"),
        ("67108864 0\n", "67108864 vertices and 0 edges at 64 temperatures need 34.4 GB"),
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
    for row in report["rows"].as_array().unwrap() {
        let at = |index: usize| row["series"][index]["training_log_likelihood"].as_f64().unwrap();
        // A random network is off by the mean of y², .25, and the variance of its votes.
        assert!(at(0) < -0.46 && at(6) > at(0) + 0.04, "{row}");
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
    // Energies are the file's, whatever the temperature: by enumeration of its 32 states.
    let warm = run("warm", &[&file("pick_two.qubo"), "--sampler", "gibbs", "--temperature", "10"]).0;
    let number = |key: &str| warm[key].as_f64().unwrap();
    let (found, error) = (number("mean_energy"), number("mean_energy_standard_error"));
    assert!((found + 42.742_791).abs() <= 7.7 * error && error < 0.2, "{found} ± {error}");

    let fail = |words: &[&str], code, because| {
        fails(&example("sample").args(words).output().unwrap(), code, because);
    };
    let marked = folder.path().join("marked.qubo");
    let text = fs::read_to_string(file("pick_two.qubo")).unwrap();
    fs::write(&marked, format!("\u{FEFF}{}", text.replace('\n', "\r\n"))).unwrap();
    run("marked", &[marked.to_str().unwrap(), "--quick"]);
    fs::write(&marked, [0; 99]).unwrap();
    fail(&[marked.to_str().unwrap()], 1, "found \"\u{FFFD}\u{FFFD}\u{FFFD}");
    fs::write(&marked, [b'c', b'\n', 0xFF, 0xFE]).unwrap();
    fail(&[marked.to_str().unwrap()], 1, "marked.qubo: line 2: not text in UTF-8");
    let wide = folder.path().join("wide.uai");
    fs::write(&wide, format!("MARKOV 20000 60000 {} 0", "2 ".repeat(19_999))).unwrap();
    fail(&[wide.to_str().unwrap()], 2, "--chains: 16 chains of 20000 sites need");
    fail(&[], 2, "FILE");
    fail(&["nowhere.uai"], 1, "nowhere.uai");
    for word in ["0", "-1", "1e-38", "1e38", "NaN", "inf"] {
        fail(&[&network, "--temperature", word], 2, "--temperature <T>': ");
        fail(&[&network, "--temperature", word], 2, "is not from 1e-20 to 1e20");
    }
    let strong = folder.path().join("strong.rudy");
    fs::write(&strong, "4 2\n1 2 1\n3 4 1e20\n").unwrap();
    let words = [strong.to_str().unwrap(), "--temperature", "1e-20"];
    fail(&words, 1, "strong.rudy: the weight 1e20 of edge 3 4 is too large at temperature 1e-20");
    fs::write(&strong, "4 2\n1 2 1\n3 4 7e29\n").unwrap();
    fail(&words[..1], 1, "strong.rudy: the weights of vertex 3 add up to too much\n");
    // Beside 4e9 a weight of 1 is lost in fixed point: marginals of .498, .499 and .501 where .915, .480 and .378 are right.
    let lost = folder.path().join("lost.qubo");
    fs::write(&lost, "p qubo 0 4 4 1\n0 0 -4e9\n1 1 -2\n2 2 1\n3 3 0.5\n1 2 -1\n").unwrap();
    fail(
        &[lost.to_str().unwrap(), "--quick"],
        1,
        "lost.qubo: the weight -1e0 of edge 1 2 would be lost in rounding: another weight is far larger\n",
    );
    fail(&[&network, "--sampler", "gibbs", "--step-size", "1"], 2, "gibbs");
    fail(&[&file("pick_two.qubo"), "--evidence", &evidence], 2, "--evidence");
    fail(&[&evidence], 1, "line 1: the number of edges expected, the line ends");
    let torn = folder.path().join("torn.uai");
    fs::write(&torn, "MARKOV 2 2 2 2 2 0 1 2 0 1 4 1 0 0 0 4 0 1 1 1").unwrap();
    fail(&[torn.to_str().unwrap(), "--quick"], 1, "no possible state");
}

#[test]
fn chains_that_do_not_agree_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = data().join("formats/pick_two.qubo");
    let sample = |words: &[&str]| {
        let output = run("sample", folder.path(), &[&[file.to_str().unwrap(), "--quiet"], words].concat());
        succeeds(&output);
        let text = fs::read_to_string(folder.path().join("sample.md")).unwrap();
        (report(&folder.path().join("sample.json")), String::from_utf8(output.stderr).unwrap(), text)
    };
    // By enumeration of its 32 states.
    let truth = [0.043_419_6, 0.115_617_2, 0.296_490_5, 0.674_774_4, 0.870_608_6];
    for seed in ["1", "2", "3"] {
        let (found, errors, text) = sample(&["--seed", seed]);
        assert_eq!((&found["sampler"], &found["warning"]), (&Value::from("gibbs"), &Value::Null));
        assert!(errors.is_empty() && text.starts_with("16 chains, "), "{errors}{text}");
        let number = |key: &str| found[key].as_f64().unwrap();
        assert!(number("split_r_hat_energy") < 1.05 && number("split_r_hat_sites") < 1.05, "{found}");
        assert!((0.001..0.1).contains(&number("moved_sites_per_step")), "{found}");
        let (mean, error) = (number("mean_energy"), number("mean_energy_standard_error"));
        assert!((mean + 48.207_148).abs() < 7.7 * error && error < 0.05, "{mean} ± {error}");
        for (site, truth) in truth.into_iter().enumerate() {
            let number = |key: &str| found["marginals"][site][key][1].as_f64().unwrap();
            let (found, error) = (number("probabilities"), number("standard_errors"));
            assert!((found - truth).abs() < 7.7 * error && error < 0.02, "{site}: {found} ± {error}");
        }

        let (found, errors, text) = sample(&["--seed", seed, "--sampler", "langevin"]);
        assert!(errors.starts_with("warning: the chains do not agree (R̂ = "), "{errors}");
        assert!(
            errors.ends_with("; try --sampler gibbs, more --steps or a higher --temperature\n"),
            "{errors}"
        );
        assert!(text.starts_with(&errors), "{text}");
        assert_eq!(format!("warning: {}\n", found["warning"].as_str().unwrap()), errors);

        // Too few steps for Gibbs, which is not sent to itself; the best state is found.
        let (found, errors, text) = sample(&["--seed", seed, "--quick"]);
        assert!(errors.ends_with("; try more --steps or a higher --temperature\n"), "{errors}");
        assert_eq!(found["best"], -49.0);
        assert!(text.contains("\nbest state, from site 0 on: 00011\n"), "{text}");
    }
}

#[test]
fn sites_are_counted_as_in_their_files() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let sample = |file: &str, text: &str| {
        let file = folder.path().join(file);
        fs::write(&file, text).unwrap();
        let output = run("sample", &out, &[file.to_str().unwrap(), "--quick"]);
        succeeds(&output);
        let table = fs::read_to_string(out.join("sample.md")).unwrap();
        assert!(String::from_utf8(output.stdout).unwrap().starts_with(&table), "{table}");
        (report(&out.join("sample.json")), table)
    };
    let near = |found: &Value, truth: f64| {
        let number = |key: &str| found[key].as_f64().unwrap();
        let (mean, error) = (number("mean_energy"), number("mean_energy_standard_error"));
        // Four chains: Student's t with three degrees of freedom, 10⁻⁴ at 22.
        assert!((mean - truth).abs() < 22.0 * error && error < 0.03, "{mean} ± {error}, not {truth}");
    };
    // E = s s′: a cut of 1 weighs e², not e.
    let (found, table) = sample("pair.rudy", "2 1\n1 2 1\n");
    near(&found, -1f64.tanh());
    assert_eq!((&found["sites_from"], &found["marginals"][1]["site"]), (&1.into(), &2.into()));
    assert!(table.contains("best state, from vertex 1 on: ") && table.contains("| vertex |"), "{table}");
    assert!(table.contains("\n| 1 | ") && table.contains("\n| 2 | ") && !table.contains("\n| 0 | "), "{table}");
    // A table over no site counts in E, −ln of all weights.
    let (found, table) = sample("one.uai", "MARKOV 1 2 2 0 1 0 1 .5 2 1 3");
    near(&found, 2f64.ln() - 0.75 * 3f64.ln());
    assert_eq!((&found["sites_from"], &found["marginals"][0]["site"]), (&0.into(), &0.into()));
    assert!(table.contains("best state, from site 0 on: 1\n"), "{table}");
    // Values of two digits stand apart; long states are not printed.
    let weights = ["1 ".repeat(11), "9e9".into()].concat();
    let (_, table) = sample("wide.uai", &format!("MARKOV 2 12 2 1 1 0 12 {weights}"));
    assert!(table.contains("best state, from site 0 on: 11 "), "{table}");
    for (sites, shown) in [(64, true), (65, false)] {
        let (_, table) = sample("free.qubo", &format!("p qubo 0 {sites} 0 0\n"));
        assert_eq!(table.contains("best state"), shown, "{table}");
    }
    let help = example("sample").arg("--help").output().unwrap();
    assert!(String::from_utf8(help.stdout).unwrap().contains("rudy   E = Σ w s s′"));
}

#[test]
fn a_refusal_leaves_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let file = data().join("formats/pick_two.qubo");
    let words = [file.to_str().unwrap(), "--sampler", "langevin", "--step-size", "-1"];
    fails(&run("sample", &out, &words), 2, "--step-size: ");
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
