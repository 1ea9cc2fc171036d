//! Every float through every elementary function, or through those that are named as arguments, against
//! float64: a table in Markdown. Exit status 1 where a bound is broken, 2 where a name is unknown.

use bitmc_host_tests::elementary::{FUNCTIONS, Measure, Order};
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    if let Some(name) = names.iter().find(|name| FUNCTIONS.iter().all(|function| function.name != **name)) {
        eprintln!("there is no function {name}");
        return ExitCode::from(2);
    }
    let chosen = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    let mut passed = true;
    println!("| function | inputs | largest error | bound | at | reversals | wrong NaN | seconds | |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for function in FUNCTIONS.iter().filter(|function| chosen(function.name)) {
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
            match (function.order, function.monotone) {
                (Order::Both, _) => "–".to_string(),
                (_, true) => found.reversals.to_string(),
                (_, false) => format!("{}, allowed", found.reversals),
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
