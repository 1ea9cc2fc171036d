//! Random programs against enumeration: `bitmc_host_tests::programs`.
//!
//! `BITMC_PROGRAM=<seed>` runs a single program, `BITMC_PROGRAMS_SECONDS=<seconds>` as many as fit.

use bitmc_host_tests::programs::{Defect, program, run};
use std::time::Duration;

/// The first seed of the everyday run, and its programs: a minute or so on two cores.
const FIRST: u64 = 1;
const PROGRAMS: usize = 1024;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a whole number"))
}

#[test]
fn random_programs() {
    if let Some(seed) = number("BITMC_PROGRAM") {
        let outcome = program(seed, Defect::None);
        println!("{outcome:#?}");
        assert!(!outcome.found());
        return;
    }
    let time = number("BITMC_PROGRAMS_SECONDS").map(Duration::from_secs);
    let report = run(FIRST, PROGRAMS, time);
    println!("{}", report.text());
    assert!(report.findings.is_empty(), "{} programs found something", report.findings.len());
}

#[test]
fn negative_controls_are_found() {
    let defects = [
        Defect::Unadjusted,
        Defect::HalfEnergy,
        Defect::StaleGradient,
        Defect::ForgottenClamp,
        Defect::KeptBits,
        Defect::NotForged,
    ];
    for defect in defects {
        // The same programs without the defect find nothing: that is the test above.
        let found = (FIRST..FIRST + 150).filter(|&seed| program(seed, defect).found()).count();
        println!("{defect:?}: {found} of 150 programs");
        assert!(found >= 5, "{defect:?} is found by {found} of 150 programs");
    }
}
