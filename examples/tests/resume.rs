//! Every sampler of `digits` goes on from its file with the bits of a run that did not stop.

use bitmc_examples::checkpoint::Checkpoint;
use bitmc_examples::digits::{Case, Choice, Keeper, Start};
use bitmc_examples::mmd::Mmd;
use bitmc_examples::model::{DIGIT, DigitData};
use bitmc_examples::progress::Progress;
use bitmc_examples::trace::Trace;
use clap::{Parser, ValueEnum};
use std::path::Path;

#[derive(Parser)]
struct Words {
    #[command(flatten)]
    checkpoint: Checkpoint,
}

/// The same points, counts and states; the seconds are others.
fn same(one: &Trace, two: &Trace) -> bool {
    let rows = |trace: &Trace| trace.states.rows().map(<[u32]>::to_vec).collect::<Vec<_>>();
    format!("{:?} {:?}", one.points, one.total) == format!("{:?} {:?}", two.points, two.total)
        && rows(one) == rows(two)
}

#[test]
fn every_sampler_goes_on() {
    let data = DigitData::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("data")).unwrap();
    let mmd = Mmd::new(&data.reference);
    let progress = Progress::new(true, 0);
    let folder = tempfile::tempdir().unwrap();
    let case = Case {
        data: &data,
        start: Start::Noise,
        inpaint: false,
        seed: 3,
        chains: 3,
        steps: 115,
        enough: None,
        mmd: Some(&mmd),
        progress: &progress,
    };
    for &choice in Choice::value_variants() {
        let file = folder.path().join(choice.name());
        let run = |word: &str, case: &Case<'_>| {
            let every: &[&str] = if word == "--checkpoint" { &["--every", "70"] } else { &[] };
            let words = Words::parse_from([&["digits", word, file.to_str().unwrap()], every].concat());
            let mut keeper = Keeper::new(&words.checkpoint, choice.name(), DIGIT).unwrap();
            case.run(choice, None, &mut keeper).unwrap().trace
        };
        // Its file stays as it was after 70 steps: between two points, and within a cycle of ACS.
        let whole = run("--checkpoint", &case);
        let resumed = run("--resume", &case);
        assert!(whole.total.steps == resumed.total.steps && same(&whole, &resumed), "{}", choice.name());
        if choice == Choice::Langevin {
            // What comes from the file is not made again: another start does not show. Negative control: without the file it does.
            let other = Case { start: Start::Mode, ..case.clone() };
            assert!(same(&whole, &run("--resume", &other)), "the chains are not those of the file");
            assert!(!same(&whole, &run("--checkpoint", &other)), "the check cannot see another run");
        }
    }
}
