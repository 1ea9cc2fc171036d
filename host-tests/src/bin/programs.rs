//! Random programs for so many seconds, from a first seed on: a report in Markdown. Exit status 1 where one finds something.
//!
//! `programs SECONDS [SEED]`

use bitmc_host_tests::programs::{Defect, run};
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let numbers: Option<Vec<u64>> = std::env::args().skip(1).map(|word| word.parse().ok()).collect();
    let (seconds, first) = match numbers.as_deref() {
        Some(&[seconds]) => (seconds, 1 << 32),
        Some(&[seconds, first]) => (seconds, first),
        _ => {
            eprintln!("usage: programs SECONDS [SEED]");
            return ExitCode::from(2);
        }
    };
    let report = run(first, 0, Some(Duration::from_secs(seconds)), Defect::None);
    println!("Seeds {first} to {}, {seconds} seconds. {}", first + report.programs as u64 - 1, report.text());
    if report.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
