//! Runs that are killed and go on: nothing is lost, nothing is different.

use super::digits::{FILES, digits};
use super::{data, example, fails, run, succeeds};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

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
    let words = ["--chains", "2", "--steps", "4"];
    let keep = file.to_str().unwrap();
    succeeds(&digits(&out, &[&words[..], &["--every", "2", "--checkpoint", keep]].concat()));
    succeeds(&digits(&out, &[&words[..], &["--resume", keep]].concat()));
    let resume = [&words[..], &["--resume", keep]].concat();
    for (other, because) in [
        (&["--seed", "2"][..], "keep: the run had other options: --seed 1, not --seed 2\n"),
        (&["--step-size", "0.3"], "other options: --step-size 0.2, not --step-size 0.3\n"),
        (
            &["--sampler", "gwg"],
            "--sampler langevin, not --sampler gwg; --step-size 0.2, not --step-size none\n",
        ),
        (
            &["--start", "data", "--inpaint"],
            "--start noise, not --start data; --inpaint false, not --inpaint true\n",
        ),
    ] {
        fails(&digits(&out, &[&resume[..], other].concat()), 1, because);
    }
    fails(&digits(&out, &[&resume[..], &["--every", "2"]].concat()), 2, "--checkpoint");
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, &bytes).unwrap();
    fails(&digits(&out, &[&words[..], &["--resume", keep]].concat()), 1, "altered");
    fs::write(&file, &bytes[..middle]).unwrap();
    fails(&digits(&out, &resume), 1, &format!("cut short: {middle} bytes are here of at least"));
    fs::write(&file, "").unwrap();
    fails(&digits(&out, &resume), 1, "keep: empty, no checkpoint");
    fs::write(&file, "# not a checkpoint").unwrap();
    fails(&digits(&out, &resume), 1, "keep: not a checkpoint");
    fails(&digits(&out, &[&words[..], &["--resume", "nowhere"]].concat()), 1, "nowhere");
    // Before the first step, not after the first two hundred.
    let nowhere = folder.path().join("nowhere/keep");
    for (file, because) in [(nowhere.as_path(), "nowhere/keep: "), (folder.path(), ": a folder, not a file")] {
        let file = file.to_str().unwrap();
        fails(&digits(&out, &[&words[..], &["--checkpoint", file]].concat()), 1, because);
    }
}

/// Runs an example with two threads, then with one after some of its cells were lost, and returns its report. All files
/// must be there and must be the same, and only the cells that were lost are made again.
pub(crate) fn goes_on(name: &str, words: &[&str], files: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let files = |more: &[&str]| {
        succeeds(&run(name, &out, &[words, more, &["--quiet"]].concat()));
        files.iter().map(|file| fs::read(out.join(file)).unwrap()).collect::<Vec<_>>()
    };
    let whole = files(&["--threads", "2"]);
    // The first is gone, the second of another run, the third torn.
    let cells = cells(&out);
    let (text, torn) = (fs::read_to_string(&cells[1]).unwrap(), fs::read(&cells[2]).unwrap());
    fs::remove_file(&cells[0]).unwrap();
    fs::write(&cells[1], text.replacen("\"question\": \"", "\"question\": \"another ", 1)).unwrap();
    fs::write(&cells[2], &torn[..torn.len() / 2]).unwrap();
    // All are put far back in time: what is made again is younger, however fast it is made.
    for cell in &cells[1..] {
        fs::File::options().write(true).open(cell).and_then(|file| file.set_modified(UNIX_EPOCH)).unwrap();
    }
    let resumed = files(&["--threads", "1", "--resume"]);
    assert!(whole == resumed, "{name}: a file differs after --resume");
    let made =
        cells.iter().filter(|cell| fs::metadata(cell).unwrap().modified().unwrap() != UNIX_EPOCH).count();
    assert_eq!(made, 3, "{name}: cells that were made again");
    serde_json::from_slice(&whole[0]).unwrap()
}

/// The cells of a run, in the order of their names.
pub(crate) fn cells(out: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(out.join("cells")).into_iter().flatten();
    let mut cells: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    cells.retain(|path| path.extension().is_some_and(|end| end == "json"));
    cells.sort();
    cells
}

#[test]
fn cells_that_are_lost_are_made_again() {
    let files = ["esh.json", "esh.md", "esh.chains.png", "esh.funnel.png", "esh.training.png", "esh.mmd-a.svg"];
    goes_on("esh", &["--quick", "--chains", "12", "--gradients", "40", "--iterations", "10"], &files);
    let files = ["multimodal.json", "multimodal.md", "multimodal.png"];
    goes_on("multimodal", &["--chains", "4", "--steps", "200"], &files);
    let graph = data().join("gset/G11.txt");
    let files = ["maxcut.json", "maxcut.md", "maxcut.bits", "maxcut.partition.txt"];
    goes_on("maxcut", &[graph.to_str().unwrap(), "--sweeps", "3000"], &files);
    goes_on("learn_cost", &["--quick", "--sites", "100", "--samples", "2"], &["learn_cost.json"]);
    goes_on("bnn", &["--quick", "--chains", "2", "--steps", "3"], &["bnn.json", "bnn.md", "bnn.svg"]);
}

/// A cell of `maxcut` is believed only as far as its partition goes.
#[test]
fn an_altered_cut_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, out) = (folder.path().join("ring.txt"), folder.path().join("out"));
    fs::write(&graph, "5 5\n1 2\n2 3\n3 4\n4 5\n5 1\n").unwrap();
    let words = [graph.to_str().unwrap(), "--sweeps", "1000", "--method", "annealing", "--quiet", "--resume"];
    succeeds(&run("maxcut", &out, &words));
    let cell = cells(&out).remove(0);
    let whole: Value = serde_json::from_slice(&fs::read(&cell).unwrap()).unwrap();
    let altered = |key: &str, value: Value| {
        let mut cell = whole.clone();
        cell["answer"][key] = value;
        cell.to_string()
    };
    for (text, because) in [
        (altered("cut", 5.into()), ".json: altered: its partition cuts 4, it says 5"),
        (altered("words", serde_json::json!([31])), ".json: altered: its partition cuts 0, it says 4"),
        (altered("words", serde_json::json!([1 << 5])), ".json: altered: the partition: a bit past"),
        (altered("words", serde_json::json!([])), ".json: altered: the partition: a state of 1 words"),
        (altered("curve", serde_json::json!([[0.1, 7]])), ".json: altered: its curve"),
    ] {
        fs::write(&cell, &text).unwrap();
        fails(&run("maxcut", &out, &words), 1, because);
        assert_eq!(fs::read_to_string(&cell).unwrap(), text);
    }
    fs::write(&cell, whole.to_string()).unwrap();
    succeeds(&run("maxcut", &out, &words));
}

/// What a cell of any other example says must be what was written: what was altered is named, and stays.
#[test]
fn an_altered_cell_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (name, words, cell) in [
        ("multimodal", &["--chains", "2", "--steps", "50"][..], 0),
        ("bnn", &["--quick", "--chains", "2", "--steps", "2"], 1),
        ("ising", &["--chains", "2", "--steps", "50"], 2),
        ("learn_cost", &["--quick", "--sites", "50", "--samples", "2"], 3),
    ] {
        let out = folder.path().join(name);
        let words = [words, &["--quiet", "--resume"]].concat();
        succeeds(&run(name, &out, &words));
        let path = &cells(&out)[cell];
        let text = fs::read_to_string(path).unwrap();
        // Its last number begins with another digit.
        let at =
            text.match_indices(' ').rfind(|(at, _)| text.as_bytes()[at + 1].is_ascii_digit()).unwrap().0 + 1;
        let digit = if text.as_bytes()[at] == b'1' { "2" } else { "1" };
        let altered = format!("{}{digit}{}", &text[..at], &text[at + 1..]);
        fs::write(path, &altered).unwrap();
        let line = format!("{}: altered: its answer has another hash", path.display());
        fails(&run(name, &out, &words), 1, &line);
        assert_eq!(fs::read_to_string(path).unwrap(), altered);
        fs::write(path, text).unwrap();
        succeeds(&run(name, &out, &words));
    }
    fs::write(folder.path().join("file"), "").unwrap();
    for name in ["multimodal", "learn_ising"] {
        fails(&run(name, &folder.path().join("file"), &["--quick"]), 1, "file: not a folder");
    }
}

/// A first look after a long run, in the same folder, costs none of its cells.
#[test]
fn cells_of_other_options_stay() {
    let folder = tempfile::tempdir().unwrap();
    for (name, words, other) in [
        ("learn_cost", &["--quick", "--samples", "2", "--sites", "50"][..], &["--quick", "--samples", "2"][..]),
        ("ising", &["--chains", "2", "--steps", "60"], &["--chains", "2", "--steps", "50"]),
    ] {
        let out = folder.path().join(name);
        succeeds(&run(name, &out, words));
        let read = |path: PathBuf| (fs::read(&path).unwrap(), path);
        let before: Vec<_> = cells(&out).into_iter().map(read).collect();
        succeeds(&run(name, &out, other));
        assert!(before.iter().all(|(bytes, path)| fs::read(path).unwrap() == *bytes), "{name}");
        assert_eq!(cells(&out).len(), 2 * before.len(), "{name}");
    }
}

/// A run of cells that is killed, again and again, ends with the bytes of one that is left alone.
#[test]
fn a_kill_costs_the_cell_under_way() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, out) = (folder.path().join("whole"), folder.path().join("out"));
    let words = ["--chains", "4", "--steps", "400", "--quiet"];
    succeeds(&run("multimodal", &whole, &words));
    for kept in [3, 7, 10] {
        let mut child =
            example("multimodal").arg("--out").arg(&out).args(words).arg("--resume").spawn().unwrap();
        while cells(&out).len() < kept {
            assert!(child.try_wait().unwrap().is_none(), "the run ended before it was killed");
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!out.join("multimodal.json").exists());
    }
    succeeds(&run("multimodal", &out, &[&words[..], &["--resume"]].concat()));
    for file in ["multimodal.json", "multimodal.md", "multimodal.png"] {
        assert!(fs::read(whole.join(file)).unwrap() == fs::read(out.join(file)).unwrap(), "{file} differs");
    }
}
