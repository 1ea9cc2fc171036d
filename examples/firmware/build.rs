//! Hands the linker the memory of the machine that a target stands for.

use std::{env, fs, path::PathBuf};

fn main() {
    let target = env::var("TARGET").unwrap_or_default();
    let machine = match target.as_str() {
        "thumbv6m-none-eabi" => "microbit",
        "thumbv7m-none-eabi" | "thumbv7em-none-eabihf" => "mps2",
        "riscv32imac-unknown-none-elf" => "virt",
        _ => panic!("no machine for the target {target}"),
    };
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let file = format!("memory/{machine}.x");
    fs::copy(&file, out.join("memory.x")).expect("the machine's memory");
    println!("cargo:rustc-link-search={}", out.display());
    println!("cargo:rustc-check-cfg=cfg(machine, values(\"microbit\", \"mps2\", \"virt\"))");
    println!("cargo:rustc-cfg=machine=\"{machine}\"");
    println!("cargo:rustc-env=OPTIMISATION={}", env::var("OPT_LEVEL").unwrap_or_default());
    println!("cargo:rerun-if-changed={file}");
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_REPORT").is_some() {
        println!("cargo:rustc-link-arg=-Tdefmt.x");
    }
}
