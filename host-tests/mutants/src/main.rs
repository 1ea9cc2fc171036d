//! Every mutant of the kernel in one build, and the tests that see each.
//!
//! A mutant is one change of the source: another operator, another result of a function, a branch of a `match` that is
//! gone. All of them are written into a copy of the kernel behind one switch, so that the tests are built once. Each test
//! then runs alone and says which places it reaches. A mutant is judged by the tests that reach its place, the fastest first,
//! until one fails. Results are kept by the words of the mutant, and a room is judged again where its files have changed.

mod judge;
mod plant;

use anyhow::{Context, Result, bail};
use clap::Parser;
use plant::Mutant;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Parser)]
#[command(version, about = "Every mutant of the kernel in one build, and the tests that see each")]
struct Options {
    /// The folder `kernel/src` of the repository
    kernel: PathBuf,
    /// A copy of the repository, whose kernel is changed
    tree: PathBuf,
    /// The file that keeps each result, to go on where a run was stopped
    #[arg(long)]
    results: PathBuf,
    /// The file that keeps what was caught, and what was not, in each file of the kernel
    #[arg(long)]
    summary: PathBuf,
    /// The date and commit of this run
    #[arg(long, default_value = "")]
    judged: String,
    /// Try again what `results` has as not caught, but for what is listed as equivalent
    #[arg(long)]
    again: bool,
    /// The page that is written
    #[arg(long)]
    page: PathBuf,
    /// Mutants that change nothing which can be seen, each with its reason
    #[arg(long)]
    equivalent: PathBuf,
    /// Rooms of the kernel [default: all]
    #[arg(long, value_delimiter = ',')]
    rooms: Vec<String>,
    /// Try one mutant of so many, and all of the rooms named in --whole
    #[arg(long, default_value_t = 1)]
    every: u64,
    /// Rooms of which every mutant is tried, whatever --every says
    #[arg(long, value_delimiter = ',')]
    whole: Vec<String>,
    /// Seconds of tests of a mutant
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
}

/// The toolchain whose compiler tells a constant from a run.
const CARGO: [&str; 2] = ["+nightly", "--quiet"];

fn cargo(tree: &Path) -> Command {
    let mut command = Command::new("cargo");
    command.args(CARGO).current_dir(tree).env("CARGO_TARGET_DIR", tree.join("target"));
    command.env("RUSTFLAGS", "--cap-lints=allow -Zthreads=1");
    command
}

fn main() -> Result<()> {
    let options = Options::parse();
    let tree = fs::canonicalize(&options.tree)?;
    let mut sources = BTreeMap::new();
    read(&options.kernel, &options.kernel, &mut sources)?;
    let mutants = plant_all(&tree, &sources)?;
    let tests = judge::tests(&tree)?;
    judge::judge(&options, &sources, &mutants, &tests)
}

/// The room of a file: its folder, or its own name.
pub fn room(file: &str) -> &str {
    file.split('/').next().unwrap_or(file).trim_end_matches(".rs")
}

fn read(root: &Path, folder: &Path, sources: &mut BTreeMap<String, String>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read(root, &path, sources)?;
        } else if path.extension().is_some_and(|end| end == "rs") {
            let name = path.strip_prefix(root)?.to_string_lossy().into_owned();
            sources.insert(name, fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

/// Plants what compiles: changes that do not are left out, a few at a time, until the rest does.
fn plant_all(tree: &Path, sources: &BTreeMap<String, String>) -> Result<Vec<Mutant>> {
    // What did not compile before is left out from the beginning; where all is as it was, nothing is built again.
    let before = fs::read_to_string(tree.join("target/left-out.txt")).unwrap_or_default();
    let mut left_out: HashSet<String> = before.lines().map(str::to_string).collect();
    for round in 0.. {
        let (mut mutants, mut planted) = (Vec::new(), HashMap::new());
        for (file, source) in sources.iter().filter(|(file, _)| file.as_str() != "lib.rs") {
            let file_planted = plant::plant(file, source, &left_out, &mut mutants)?;
            write(&tree.join("kernel/src").join(file), &file_planted.text)?;
            planted.insert(file.clone(), file_planted);
        }
        let switch = include_str!("switch.rs").replace("MUTANTS", &mutants.len().to_string());
        write(&tree.join("kernel/src/mutant.rs"), &switch)?;
        let library = &sources["lib.rs"];
        let at = library.find("#![no_std]").context("the kernel has no `#![no_std]`")?;
        let features = "#![feature(core_intrinsics, const_eval_select)]\n";
        let text = format!("{}{features}{}\nmod mutant;\n", &library[..at], &library[at..]);
        write(&tree.join("kernel/src/lib.rs"), &text)?;
        let errors = check(tree)?;
        eprintln!(
            "round {round}: {} mutants, {} do not compile, {} errors",
            mutants.len(),
            left_out.len(),
            errors.len()
        );
        if errors.is_empty() {
            let kept: Vec<Mutant> = mutants;
            let mut names: Vec<&str> = left_out.iter().map(String::as_str).collect();
            names.sort_unstable();
            fs::write(tree.join("target/left-out.txt"), names.join("\n"))?;
            return Ok(kept
                .into_iter()
                .map(|mutant| Mutant {
                    line: if left_out.contains(&mutant.name()) { 0 } else { mutant.line },
                    ..mutant
                })
                .collect());
        }
        let before = left_out.len();
        for (file, at, message) in errors {
            let Some(planted) = planted.get(&file) else { bail!("{file}: {message}") };
            let inside = |range: &Range<usize>| range.start <= at.start && at.end <= range.end;
            let change =
                planted.changes.iter().filter(|(_, range)| inside(range)).min_by_key(|(_, range)| range.len());
            let place = planted
                .places
                .iter()
                .filter(|(_, _, range)| inside(range))
                .min_by_key(|(_, _, range)| range.len());
            match (change, place) {
                (Some((number, change)), Some((_, _, place))) if change.len() <= place.len() => {
                    left_out.insert(mutants[*number as usize].name());
                }
                (_, Some((first, count, _))) => {
                    left_out.extend((*first..first + count).map(|number| mutants[number as usize].name()));
                }
                // What is inferred further down: the place before it is at fault, or one before that in another round.
                _ => {
                    let is_in = |first: u32| !left_out.contains(&mutants[first as usize].name());
                    let before = planted
                        .places
                        .iter()
                        .filter(|(first, _, range)| range.start < at.start && is_in(*first));
                    let Some((first, count, _)) = before.max_by_key(|(_, _, range)| range.start) else {
                        bail!("{file}, byte {}: {message}", at.start)
                    };
                    left_out.extend((*first..first + count).map(|number| mutants[number as usize].name()));
                }
            }
        }
        if left_out.len() == before {
            bail!("the rest of the mutants does not compile");
        }
    }
    unreachable!("the rounds end in a return")
}

/// Writes a file that is not so already.
fn write(path: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(path).is_ok_and(|before| before == text) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().context("a file has a folder")?)?;
    Ok(fs::write(path, text)?)
}

/// The errors of the kernel: file, bytes, words.
fn check(tree: &Path) -> Result<Vec<(String, Range<usize>, String)>> {
    let output = cargo(tree)
        .args(["check", "--package", "bitmc", "--features", "serde", "--message-format", "json"])
        .stderr(Stdio::null())
        .output()?;
    let mut errors = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let value: serde_json::Value = serde_json::from_str(line)?;
        let message = &value["message"];
        if message["level"] != "error" {
            continue;
        }
        let text = message["rendered"].as_str().unwrap_or("").to_string();
        let spans = message["spans"].as_array().map(Vec::as_slice).unwrap_or_default();
        let span = spans.iter().find(|span| span["is_primary"] == true);
        let Some(span) = span else { continue };
        let file = span["file_name"].as_str().unwrap_or("");
        let file = file.rsplit_once("kernel/src/").map_or(file, |(_, name)| name).to_string();
        let byte = |name: &str| span[name].as_u64().unwrap_or(0) as usize;
        errors.push((file, byte("byte_start")..byte("byte_end"), text));
    }
    if errors.is_empty() && !output.status.success() {
        bail!("the kernel does not build, and no error names a place");
    }
    Ok(errors)
}
