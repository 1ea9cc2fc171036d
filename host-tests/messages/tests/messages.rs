//! The compiler says what is wrong, in our words, and what would be right.

use std::path::Path;
use std::process::Command;

/// A program, and what is said of it.
const CASES: [(&str, &[&str]); 6] = [
    (
        "kernel",
        &[
            "`BlockGibbs` does not sample the energy `Ising<'_>`",
            "this kernel does not fit the energy of the chain",
            "kernels for any energy are `Langevin`",
        ],
    ),
    (
        "unwrapped",
        &["does not sample the energy `Ising<'_>`", "constructors of kernels return a `Result`: add `?`"],
    ),
    ("closure", &["is no observer", "a closure is one inside of `Watch`: `&mut Watch(|x, energy, info| …)`"]),
    ("generator", &["`Old` is no generator of `rand_core` 0.10", "rand 0.10, rand_xoshiro 0.8"]),
    ("info", &["E0638"]),
    ("error", &["E0004", "non-exhaustive patterns"]),
];

/// Whether a program compiles, and what the compiler says.
fn compile(program: &str) -> (bool, String) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "check",
        "--quiet",
        "--offline",
        "--color",
        "never",
        "--features",
        "mistakes",
        "--bin",
        program,
    ]);
    cargo.arg("--manifest-path").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
    cargo.arg("--target-dir").arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("mistakes"));
    let output = cargo.output().expect("cargo runs");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn mistakes_are_explained() {
    // Beside programs with a mistake the same one without: it is the mistake that is refused.
    let (right, text) = compile("right");
    assert!(right, "{text}");
    for (program, expected) in CASES {
        let (right, text) = compile(program);
        assert!(!right, "{program} compiles");
        assert_eq!(
            text.matches("\nerror[").count() + usize::from(text.starts_with("error[")),
            1,
            "{program}: {text}"
        );
        // Long notes may be broken into lines.
        let words =
            |text: &str| text.split_whitespace().filter(|&word| word != "|").collect::<Vec<_>>().join(" ");
        for part in expected {
            assert!(words(&text).contains(&words(part)), "{program} does not say: {part}\n{text}");
        }
    }
}
