//! Random programs against enumeration: `bitmc_host_tests::programs`.
//!
//! `BITMC_PROGRAM=<seed>` runs one program. `BITMC_PROGRAMS_SECONDS=<seconds>` runs programs for that long.

use bitmc_host_tests::programs::{Defect, program, run, wrong_landscape};
use std::collections::BTreeMap;
use std::time::Duration;

/// The first seed of the everyday run, and its programs: twenty seconds on two cores.
const FIRST: u64 = 1;
const PROGRAMS: usize = 512;

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
    let report = run(FIRST, PROGRAMS, time, Defect::None);
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
        // Without the defect these programs find nothing: they are the first of the test above.
        let found = run(FIRST, 128, None, defect).findings.len();
        println!("{defect:?}: {found} of 128 programs");
        assert!(found >= 4, "{defect:?} is found by {found} of 128 programs");
    }
}

#[test]
fn wrong_moves_between_replicas_are_found() {
    let mut found = BTreeMap::new();
    for (kind, wrong) in (0..96).map(wrong_landscape) {
        let (found, all) = found.entry(kind).or_insert((0, 0));
        *found += u32::from(wrong);
        *all += 1;
    }
    assert_eq!(found.len(), 3, "{found:?}");
    for (kind, (found, all)) in found {
        println!("{kind}: {found} of {all} programs");
        assert!(8 * found >= all, "{kind} is found by {found} of {all} programs");
    }
}
