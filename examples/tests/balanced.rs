//! The example `balanced` as a user runs it, and the driver behind it.

use bitmc::noise::{Noise, SparseMatrix};
use bitmc::{Energy, Ising, SparseMemory, torus};
use bitmc_examples::balanced::{Curvature, Driver, Room, Which};
use bitmc_examples::progress::Progress;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn balanced(out: &Path, words: &[&str]) -> Output {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap().parent().unwrap().join("examples");
    let path = folder.join(format!("balanced{}", std::env::consts::EXE_SUFFIX));
    Command::new(path).arg("--out").arg(out).args(words).output().unwrap()
}

const FILES: [&str; 3] = ["balanced.json", "balanced.md", "balanced.svg"];

#[test]
fn threads_and_a_resumed_run_do_not_change_a_byte() {
    let folder = tempfile::tempdir().unwrap();
    let run = |out: &str, words: &[&str]| {
        let out = folder.path().join(out);
        let common = ["--quick", "--chains", "2", "--steps", "600", "--only", "BA-400-4, J = 0.4407"];
        let output = balanced(&out, &[&common, words].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        (FILES.map(|file| fs::read(out.join(file)).unwrap()), String::from_utf8(output.stdout).unwrap())
    };
    let (one, told) = run("1", &["--threads", "1"]);
    let (two, silence) = run("2", &["--threads", "2", "--quiet"]);
    assert!(silence.is_empty());
    // It says what it chose, and that it is frozen: of the eight samplers that the driver tunes.
    assert_eq!(told.lines().filter(|line| !line.starts_with('|') && line.contains("frozen")).count(), 8);
    // A cell that is lost is made again, the others are kept.
    let lost = folder.path().join("1/cells/BA-400-4__J_=_0.4407.AB-trace.json");
    fs::remove_file(lost).unwrap();
    let (again, _) = run("1", &["--resume"]);
    for (index, file) in FILES.iter().enumerate() {
        assert!(one[index] == two[index], "{file} depends on the threads");
        assert!(one[index] == again[index], "{file} is another after --resume");
    }
    let report: Value = serde_json::from_slice(&one[0]).unwrap();
    let cells = report["cells"].as_array().unwrap();
    assert_eq!((cells.len(), report["scans"].as_array().unwrap().len()), (13, 48));
    for cell in cells {
        assert!(cell["ess_of_chains_per_10000_queries"].as_array().unwrap().len() == 2, "{cell}");
        assert!(cell["exact"].as_bool().unwrap() && cell["faults"] == 0, "{cell}");
    }
}

#[test]
fn a_bad_option_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    for (words, because) in [
        (["--steps", "10"], "--steps"),
        (["--chains", "1"], "--chains"),
        (["--threads", "0"], "--threads"),
        (["--only", "nothing"], "--only: no target has this in its name"),
    ] {
        let output = balanced(folder.path(), &words);
        let line = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(line.starts_with("error: ") && line.lines().count() == 1 && line.contains(because), "{line}");
    }
}

#[test]
fn the_driver_freezes_what_flips_more_than_its_start() {
    let mut memory = Box::new(SparseMemory::<64, 256>::new());
    let model = Ising::spins_edges_once(torus(8, 8, 0.3), &[0.1; 64], memory.lend()).unwrap();
    let w = Curvature::of(&SparseMatrix::of(model.form())).unwrap();
    let driver = Driver { seed: 3, sweeps: 20, burn_in: 4000, adapt: 12_000, precision: false, far: false };
    let progress = Progress::new(true, 0);
    let mut jumps = Vec::new();
    for (which, given) in
        [(Which::Edges, true), (Which::Trace, true), (Which::Shift, true), (Which::Trace, false)]
    {
        let (mut room, w) = (Room::default(), given.then_some(&w));
        let (kernel, chosen) = driver.second_order(&model, w, which, &mut room, &progress).unwrap();
        println!("{which:?}, given {given}: {chosen}");
        assert!(chosen.frozen && chosen.end.len() == model.layout().words());
        let trace: f32 = kernel.noise().d().unwrap().as_flattened().iter().sum();
        // The row sums of |W|, 16 J, are the optimum on an even torus; the estimated W has other entries,
        // each off by its ridge and its rounding.
        let optimum = 64.0 * 16.0 * 0.3;
        let within = if given { 0.003 } else { 0.05 };
        assert!((trace / optimum - 1.0).abs() < within, "{which:?}, given {given}: {trace} for {optimum}");
        jumps.push(chosen.jump);
    }
    // From the far end, α = 1 and σ without a bound, where nearly every move is accepted.
    let (far, mut room) = (Driver { far: true, ..driver }, Room::default());
    let (_, chosen) = far.second_order(&model, Some(&w), Which::Edges, &mut room, &progress).unwrap();
    println!("from the far end: {chosen}");
    assert!(chosen.jump > jumps[0] && chosen.step_size > 100.0, "{chosen}");
    let (_, first) = driver.first_order(&model, &progress).unwrap();
    // The published start, σ = .1 and α = ½, moves a tenth of what any of them does.
    let start = Driver { burn_in: 0, adapt: 5, ..driver }.first_order(&model, &progress).unwrap().1;
    println!("first order: {first}; at the start: {start}");
    assert_eq!((start.step_size, start.balance), (0.1, 0.5));
    assert!(jumps.iter().all(|&jump| jump > 2.0), "{jumps:?}");
}
