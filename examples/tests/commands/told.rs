//! The examples whose chains are told their energies: `own_network` and `elsewhere`.

use super::small::threads_do_not_change;
use super::{example, fails, report, run, succeeds};
use bitmc_examples::bits::BitRows;
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn threads_do_not_change_a_byte_of_own_network() {
    threads_do_not_change("own_network", &["--iterations", "3", "--steps", "10"], 4);
}

#[test]
fn a_network_of_ones_own_learns_digits() {
    let folder = tempfile::tempdir().unwrap();
    let learned = |iterations: &str| {
        let words = ["--quick", "--quiet", "--iterations", iterations];
        succeeds(&run("own_network", folder.path(), &words));
        let found = report(&folder.path().join("own_network.json"));
        let number = |key: &str| found[key].as_f64().unwrap();
        assert!(number("check_correlation") > 0.99 && (0.2..0.95).contains(&number("acceptance")), "{found}");
        // The means of 64 independent samples would be off by about .04.
        assert!(number("rms_of_means") < 0.15, "{found}");
        let (least, most) = (number("distance_of_digits"), number("distance_of_independent_pixels"));
        (number("distance_of_samples") - least) / (most - least)
    };
    // 0 for digits held out, 1 for independent pixels: the negative control is a network that has not learned.
    let (taught, untaught) = (learned("600"), learned("1"));
    assert!(taught < 0.75, "{taught}");
    assert!(untaught > 0.9, "{untaught}");
}

#[test]
fn in_blocks_of_one_a_chain_is_what_it_is_alone() {
    let folder = tempfile::tempdir().unwrap();
    let rows = |chains: &str| {
        let words = ["--quiet", "--iterations", "2", "--steps", "10", "--block", "1", "--chains", chains];
        succeeds(&run("own_network", folder.path(), &words));
        BitRows::read(&folder.path().join("own_network.bits"), 784).unwrap()
    };
    let (few, many) = (rows("3"), rows("7"));
    assert_eq!((few.len(), many.len()), (3, 7));
    assert!(few.rows().eq(many.rows().take(3)));
}

/// Why `elsewhere` cannot run here, if it cannot.
fn no_numpy() -> Option<&'static str> {
    match Command::new("python3").args(["-c", "import numpy"]).output() {
        Err(_) => Some("there is no python3"),
        Ok(output) => (!output.status.success()).then_some("numpy is missing"),
    }
}

#[test]
fn an_energy_in_another_process_has_the_exact_means() {
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| run("elsewhere", folder.path(), words);
    if let Some(reason) = no_numpy() {
        println!("SKIPPED: {reason}");
        fails(&run(&[]), 1, if reason.contains("numpy") { reason } else { "cannot be started" });
        return;
    }
    for seed in ["1", "2"] {
        succeeds(&run(&["--quick", "--seed", seed]));
        let found = report(&folder.path().join("elsewhere.json"));
        // Student's t with fifteen degrees of freedom: one false alarm in a million.
        assert!(found["largest_difference"].as_f64().unwrap() < 7.7 && found["faults"] == 0, "{found}");
        let sites = found["sites"].as_array().unwrap();
        assert_eq!(sites.len(), 14);
        assert!(sites.iter().all(|site| site["standard_error"].as_f64().unwrap() < 0.02), "{found}");
    }
    // A negative control: sixteen proposals at once are told half their energies, all states are not.
    let script = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("elsewhere/energy.py")).unwrap();
    let told = "value = 0.5 * excess**2 - hidden @ V";
    assert!(script.contains(told));
    let wrong = folder.path().join("wrong.py");
    fs::write(&wrong, script.replace(told, &format!("{told}\n    value *= 0.5 if len(x) == 16 else 1.0")))
        .unwrap();
    let output = run(&["--quick", "--quiet", "--command", &format!("python3 {}", wrong.display())]);
    fails(&output, 1, "the means differ from the exact ones by");
}

#[test]
fn a_bad_option_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path();
    fails(&run("own_network", out, &["--step-size", "0"]), 2, "--step-size: step size 0");
    fails(&run("own_network", out, &["--block", "0"]), 2, "--block");
    fails(&run("own_network", out, &["--data", "nowhere"]), 1, "mnist_train1000.bits");
    fails(&run("elsewhere", out, &["--step-size", "NaN"]), 2, "--step-size: step size NaN");
    fails(&run("elsewhere", out, &["--command", " "]), 2, "--command");
    fails(&run("elsewhere", out, &["--command", "nowhere"]), 1, "nowhere: cannot be started");
    if cfg!(unix) {
        fails(&run("elsewhere", out, &["--command", "true"]), 1, "true: does not answer");
        fails(&run("elsewhere", out, &["--command", "ls /nowhere"]), 1, "/nowhere");
        fails(&run("elsewhere", out, &["--command", "yes"]), 1, "yes: says that it has");
    }
    assert_eq!(fs::read_dir(out).unwrap().count(), 0);
    let help = example("elsewhere").arg("--help").output().unwrap().stdout;
    assert!(String::from_utf8(help).unwrap().starts_with("An energy in another process"));
}
