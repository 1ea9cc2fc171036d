//! Every float through every elementary function, against float64: a table in Markdown. Exit status 1
//! where a bound is broken.

use bitmc_host_tests::elementary::{FUNCTIONS, Measure};
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let mut passed = true;
    println!("| function | inputs | largest error | bound | at | reversals | wrong NaN | seconds | |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for function in &FUNCTIONS {
        let start = Instant::now();
        let found = function.sweep(1);
        let good = function.allows(&found);
        passed &= good;
        let unit = if function.measure == Measure::Ulp { "ulp" } else { "relative" };
        println!(
            "| {} | {} | {} {unit} | {} | {:e} | {} | {} | {:.0} | {} |",
            function.name,
            found.inputs,
            Figure(found.error),
            function.bound,
            found.at,
            if function.monotone {
                found.reversals.to_string()
            } else {
                format!("{}, allowed", found.reversals)
            },
            found.wrong_nan,
            start.elapsed().as_secs_f64(),
            if good { "pass" } else { "FAIL" },
        );
    }
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A number that may be near 1 or far below it.
struct Figure(f64);

impl std::fmt::Display for Figure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0 < 1e-3 { write!(f, "{:.3e}", self.0) } else { write!(f, "{:.4}", self.0) }
    }
}
