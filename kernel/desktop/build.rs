//! The commit that the command names in its output, where there is one.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=../../.git/HEAD");
    println!("cargo::rerun-if-changed=../../.git/logs/HEAD");
    let said = Command::new("git").args(["rev-parse", "--short=10", "HEAD"]).output();
    let commit = said
        .ok()
        .filter(|said| said.status.success())
        .map(|said| String::from_utf8_lossy(&said.stdout).trim().to_string());
    println!("cargo::rustc-env=BITMC_COMMIT={}", commit.unwrap_or_else(|| "unknown".into()));
}
