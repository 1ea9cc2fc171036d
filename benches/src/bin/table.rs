//! Makes one table of several bench runs: `table LABEL=FOLDER …`, where each folder holds criterion's
//! `criterion/` output and the run's own `log`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Sites (or numbers) that one iteration of a group computes, from criterion's own record.
fn elements(folder: &Path) -> Option<f64> {
    let text = fs::read_to_string(folder.join("new/benchmark.json")).ok()?;
    let json: serde_json::Value = serde_json::from_str(&text).ok()?;
    json["throughput"]["Elements"].as_f64()
}

/// Nanoseconds an iteration: the median.
fn nanoseconds(folder: &Path) -> Option<f64> {
    let text = fs::read_to_string(folder.join("new/estimates.json")).ok()?;
    let json: serde_json::Value = serde_json::from_str(&text).ok()?;
    json["median"]["point_estimate"].as_f64()
}

fn main() {
    let mut rows: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for argument in std::env::args().skip(1) {
        let Some((label, folder)) = argument.split_once('=') else {
            eprintln!("usage: table LABEL=FOLDER …");
            std::process::exit(2);
        };
        let folder = Path::new(folder);
        let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
        let Ok(groups) = fs::read_dir(folder.join("criterion")) else {
            eprintln!("{}: no criterion output", folder.display());
            std::process::exit(1);
        };
        for group in groups.flatten() {
            let name = group.file_name().to_string_lossy().into_owned();
            let naive = group.path().join("naive");
            let (Some(slow), Some(slow_elements)) = (nanoseconds(&naive), elements(&naive)) else { continue };
            for bench in fs::read_dir(group.path()).into_iter().flatten().flatten() {
                let kernel = bench.file_name().to_string_lossy().into_owned();
                let (Some(fast), Some(n)) = (nanoseconds(&bench.path()), elements(&bench.path())) else {
                    continue;
                };
                if kernel == "naive" {
                    continue;
                }
                let acceptance = log
                    .lines()
                    .filter_map(|line| line.strip_prefix("acceptance\t"))
                    .find_map(|line| line.strip_prefix(&format!("{name}\t{kernel}\t")))
                    .unwrap_or("");
                let name = if kernel == "bitmc" { name.clone() } else { format!("{name}, {kernel}") };
                // Sixteen chains are compared site by site, too.
                let times = (slow / slow_elements) / (fast / n);
                let row = format!("| {name} | {label} | {:.2} | {times:.1} | {acceptance} |", fast / n);
                rows.entry(name).or_default().push(row);
            }
        }
    }
    println!("| bench | build | ns an element | times the scalar baseline | acceptance |");
    println!("|---|---|---|---|---|");
    for row in rows.into_values().flatten() {
        println!("{row}");
    }
}
