//! Runs the tests.

use crate::plant::Mutant;
use crate::{Options, cargo, room};
use anyhow::{Context, Result, bail};
use indicatif::{ParallelProgressIterator, ProgressBar, ProgressStyle};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;
use wait_timeout::ChildExt;
use wait4::Wait4;

/// Test binaries whose tests say what is wrong, and the one that sees each change of a bit.
const BINARIES: [&str; 5] = ["exact", "lanes", "flow", "stat", "hash"];
/// A test that takes longer than this is left out, in seconds.
const LONGEST: f64 = 5.0;

/// A test by itself.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Test {
    binary: String,
    path: PathBuf,
    name: String,
    /// Of a processor.
    seconds: f64,
    /// Places that it reaches, by the number of their first mutant.
    reaches: Vec<u32>,
}

/// What became of a mutant.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
enum Outcome {
    /// By the first test that failed.
    Caught(String),
    /// By the committed hashes, and by no other test.
    Hash,
    Missed,
    /// No test reaches it but those that are too long.
    Unreached,
}

#[derive(Deserialize, Serialize)]
struct Kept {
    mutant: String,
    /// Of the file's text.
    file: u64,
    outcome: Outcome,
}

/// A test with a limit of processor time.
fn command(test: &Test, mutant: &str, seconds: f64) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -t {}; exec \"$0\" \"$@\"", seconds.ceil())]).arg(&test.path);
    command.args(["--exact", &test.name, "--test-threads", "1", "-q"]).env("BITMC_MUTANT", mutant);
    // Tests read files of their package.
    command.env("RAYON_NUM_THREADS", "1").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Whether a test passes; `None` where it does not end by itself within so many seconds of a processor.
fn passes(test: &Test, mutant: &str, folder: &Path, seconds: f64) -> Result<Option<bool>> {
    let mut child = command(test, mutant, seconds).current_dir(folder).spawn()?;
    // Beside other work a second of a processor may take long by the clock.
    let status = child.wait_timeout(Duration::from_secs_f64(60.0 * seconds))?;
    if status.is_none() {
        child.kill()?;
        child.wait()?;
    }
    // A signal ends what is over its limit.
    Ok(status.and_then(|status| status.code()).map(|code| code == 0))
}

fn bar(length: usize, what: &'static str) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{msg} {pos}/{len} {wide_bar} {eta}").expect("the template is right");
    ProgressBar::new(length as u64).with_style(style).with_message(what)
}

/// Builds the tests, and lets each say which places it reaches.
pub fn tests(tree: &Path) -> Result<Vec<Test>> {
    let mut build = cargo(tree);
    build.args([
        "test",
        "--no-run",
        "--profile",
        "mutants",
        "--package",
        "bitmc-host-tests",
        "--message-format",
        "json",
    ]);
    for binary in BINARIES {
        build.args(["--test", binary]);
    }
    let output = build.output()?;
    if !output.status.success() {
        bail!("the tests do not build: {}", String::from_utf8_lossy(&output.stderr));
    }
    let mut tests = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let value: serde_json::Value = serde_json::from_str(line)?;
        let (Some(path), Some(name)) = (value["executable"].as_str(), value["target"]["name"].as_str()) else {
            continue;
        };
        if !BINARIES.contains(&name) {
            continue;
        }
        let list = Command::new(path).args(["--list", "--format", "terse"]).output()?;
        for line in String::from_utf8_lossy(&list.stdout).lines() {
            if let Some(test) = line.strip_suffix(": test") {
                let (binary, path, name) = (name.to_string(), PathBuf::from(path), test.to_string());
                tests.push(Test { binary, path, name, seconds: 0.0, reaches: Vec::new() });
            }
        }
    }
    let (folder, places) = (tree.join("host-tests"), tree.join("target/places"));
    fs::create_dir_all(&places)?;
    // What a test of the same program said before holds.
    let kept = tree.join("target/tests.jsonl");
    let mut known: HashMap<(u64, String), Option<Test>> = HashMap::new();
    for line in fs::read_to_string(&kept).unwrap_or_default().lines() {
        if let Ok(Said { program, name, test }) = serde_json::from_str(line) {
            known.insert((program, name), test);
        }
    }
    let mut programs = HashMap::new();
    for test in &tests {
        if !programs.contains_key(&test.path) {
            programs.insert(test.path.clone(), hash(&fs::read(&test.path)?));
        }
    }
    let file = Mutex::new(fs::OpenOptions::new().create(true).append(true).open(&kept)?);
    let bar = bar(tests.len(), "tests");
    let tests: Vec<Option<Test>> = tests
        .into_par_iter()
        .enumerate()
        .progress_with(bar)
        .map(|(number, test)| -> Result<Option<Test>> {
            let (program, name) = (programs[&test.path], test.name.clone());
            if let Some(said) = known.get(&(program, name.clone())) {
                return Ok(said.clone());
            }
            let said = reached(test, &places.join(number.to_string()), &folder)?;
            let line = serde_json::to_string(&Said { program, name, test: said.clone() })?;
            writeln!(file.lock().expect("no writer panics"), "{line}")?;
            Ok(said)
        })
        .collect::<Result<_>>()?;
    let mut tests: Vec<Test> = tests.into_iter().flatten().collect();
    tests.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    Ok(tests)
}

/// What a test said of itself, by the bytes of its program.
#[derive(Deserialize, Serialize)]
struct Said {
    program: u64,
    name: String,
    test: Option<Test>,
}

/// A test with its seconds and the places that it reaches; none where it takes too long.
fn reached(mut test: Test, file: &Path, folder: &Path) -> Result<Option<Test>> {
    let alone = command(&test, "4294967294", LONGEST).current_dir(folder).spawn()?.wait4()?;
    test.seconds = (alone.rusage.utime + alone.rusage.stime).as_secs_f64();
    match alone.status.code() {
        Some(0) => {}
        Some(_) => bail!("{} {} fails without a mutant", test.binary, test.name),
        None => return Ok(None),
    }
    // What is reached takes time to say.
    let _ = fs::remove_file(file);
    let passed = passes(&test, &file.to_string_lossy(), folder, 4.0 * LONGEST)?;
    let Some(text) = fs::read_to_string(file).ok().filter(|_| passed == Some(true)) else { return Ok(None) };
    test.reaches = text.lines().map(str::parse).collect::<Result<_, _>>()?;
    Ok(Some(test))
}

/// FNV-1a: the same on every machine and in every version.
fn hash(text: impl AsRef<[u8]>) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    text.as_ref().iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// What is known of a file: kept in the repository.
#[derive(Clone, Default, Deserialize, Serialize)]
struct Summary {
    /// Of its text.
    hash: String,
    /// When it was judged, and at which commit.
    judged: String,
    /// One mutant of so many.
    every: u64,
    caught: usize,
    hashes: Vec<String>,
    missed: Vec<String>,
    unreached: Vec<String>,
}

/// Runs the tests of every mutant that is asked for, and writes the page.
pub fn judge(
    options: &Options,
    sources: &BTreeMap<String, String>,
    mutants: &[Mutant],
    tests: &[Test],
) -> Result<()> {
    let text = fs::read_to_string(&options.summary).unwrap_or_else(|_| "{}".into());
    let mut summary: BTreeMap<String, Summary> = serde_json::from_str(&text)?;
    let files: HashMap<&str, u64> = sources.iter().map(|(file, text)| (file.as_str(), hash(text))).collect();
    summary.retain(|file, of| files.get(file.as_str()).is_some_and(|hash| format!("{hash:016x}") == of.hash));
    let asks = |mutant: &Mutant| {
        let room = room(&mutant.file).to_string();
        let every = if options.whole.contains(&room) { 1 } else { options.every };
        let is_asked = options.rooms.is_empty() || options.rooms.contains(&room);
        (mutant.line > 0 && is_asked && hash(mutant.name()).is_multiple_of(every)).then_some(every)
    };
    // What was caught before stays caught; the others are judged again, by the tests of today.
    let mut kept = HashMap::new();
    for mutant in mutants.iter().filter(|mutant| mutant.line > 0) {
        let Some(of) = summary.get(&mutant.file) else { continue };
        let others = [&of.hashes, &of.missed, &of.unreached];
        if hash(mutant.name()) % of.every == 0 && !others.iter().any(|list| list.contains(&mutant.text)) {
            kept.insert(mutant.name(), Outcome::Caught(String::new()));
        }
    }
    let equivalent = equivalent(options)?;
    for line in fs::read_to_string(&options.results).unwrap_or_default().lines() {
        let Ok(of) = serde_json::from_str::<Kept>(line) else { continue };
        let file = of.mutant.split(": ").next().unwrap_or("");
        let again =
            options.again && !matches!(of.outcome, Outcome::Caught(_)) && !equivalent.contains(&of.mutant);
        if files.get(file) == Some(&of.file) && !again {
            kept.insert(of.mutant, of.outcome);
        }
    }
    // By place: the tests that reach it, the fastest first.
    let mut reaching: HashMap<u32, Vec<usize>> = HashMap::new();
    for (index, test) in tests.iter().enumerate() {
        for place in &test.reaches {
            reaching.entry(*place).or_default().push(index);
        }
    }
    let is_work = |number: &u32| {
        let mutant = &mutants[*number as usize];
        asks(mutant).is_some() && !kept.contains_key(&mutant.name())
    };
    let work: Vec<u32> = (0..mutants.len() as u32).filter(is_work).collect();
    let file = fs::OpenOptions::new().create(true).append(true).open(&options.results)?;
    let (file, folder) = (Mutex::new(file), fs::canonicalize(&options.tree)?.join("host-tests"));
    let none = Vec::new();
    let done: Vec<(String, Outcome)> = work
        .par_iter()
        .progress_with(bar(work.len(), "mutants"))
        .map(|number| -> Result<_> {
            let mutant = &mutants[*number as usize];
            let list = reaching.get(&mutant.first).unwrap_or(&none);
            let outcome = one(*number, list.iter().map(|index| &tests[*index]), &folder, options.seconds)?;
            let line = Kept { mutant: mutant.name(), file: files[mutant.file.as_str()], outcome };
            let text = serde_json::to_string(&line)?;
            writeln!(file.lock().expect("no writer panics"), "{text}")?;
            Ok((line.mutant, line.outcome))
        })
        .collect::<Result<_>>()?;
    kept.extend(done);
    let mut of_file: BTreeMap<&str, Vec<(&Mutant, u64)>> = BTreeMap::new();
    for mutant in mutants {
        if let Some(every) = asks(mutant) {
            of_file.entry(&mutant.file).or_default().push((mutant, every));
        }
    }
    for (file, list) in of_file {
        let (hash, judged) = (format!("{:016x}", files[file]), options.judged.clone());
        let mut now = Summary { hash, judged, every: list[0].1, ..Summary::default() };
        for (mutant, _) in list {
            match kept.get(&mutant.name()) {
                Some(Outcome::Caught(_)) => now.caught += 1,
                Some(Outcome::Hash) => now.hashes.push(mutant.text.clone()),
                Some(Outcome::Missed) => now.missed.push(mutant.text.clone()),
                _ => now.unreached.push(mutant.text.clone()),
            }
        }
        summary.insert(file.to_string(), now);
    }
    fs::write(&options.summary, serde_json::to_string_pretty(&summary)? + "\n")?;
    page(options, mutants, &summary)
}

fn one<'a>(
    number: u32,
    tests: impl Iterator<Item = &'a Test> + Clone,
    folder: &Path,
    seconds: f64,
) -> Result<Outcome> {
    let (mut spent, mut any) = (0.0, false);
    let (hashes, others): (Vec<&Test>, Vec<&Test>) = tests.partition(|test| test.binary == "hash");
    for test in others {
        if any && spent + test.seconds > seconds {
            break;
        }
        let passed = passes(test, &number.to_string(), folder, 5.0 * test.seconds + 5.0)?;
        if passed != Some(true) {
            return Ok(Outcome::Caught(format!("{} {}", test.binary, test.name)));
        }
        (spent, any) = (spent + test.seconds, true);
    }
    for test in &hashes {
        if passes(test, &number.to_string(), folder, 5.0 * test.seconds + 5.0)? != Some(true) {
            return Ok(Outcome::Hash);
        }
    }
    Ok(if any || !hashes.is_empty() { Outcome::Missed } else { Outcome::Unreached })
}

const HEADING: &str = "# Mutants of the kernel

Made by `.ci/long mutants`. A mutant is one change of the source: another operator, another result of a function, an arm of a
`match` that is gone. All of them stand in one build behind a switch. Each test runs alone and says which places it reaches. A mutant
is judged by the tests that reach it, the fastest first, up to five seconds of tests. A test that fails or does not end has caught it.

The tests are `exact`, `lanes`, `flow` and `stat`. The committed hashes see each change of a bit, so what they alone catch is
counted apart. Mutants that change nothing are [listed with their reasons](equivalent-mutants.md). What is computed when the kernel
is compiled is not changed, nor are macros and texts. Of a room where fewer are judged than there are, a sample was drawn.
";

/// Mutants that change nothing which can be seen.
fn equivalent(options: &Options) -> Result<HashSet<String>> {
    let list = fs::read_to_string(&options.equivalent).context("the list of equivalent mutants")?;
    let names = list.lines().filter_map(|line| line.strip_prefix("- `")?.split("`:").next());
    Ok(names.map(str::to_string).collect())
}

/// A line for each room, and each mutant that was not caught.
fn page(options: &Options, mutants: &[Mutant], summary: &BTreeMap<String, Summary>) -> Result<()> {
    let equivalent = equivalent(options)?;
    let mut rooms: BTreeMap<&str, ([usize; 7], &str)> = BTreeMap::new();
    let mut lists = [String::new(), String::new()];
    for mutant in mutants {
        let (counts, _) = rooms.entry(room(&mutant.file)).or_default();
        counts[0] += 1;
        counts[1] += usize::from(mutant.line == 0);
    }
    for (file, of) in summary {
        let Some((counts, judged)) = rooms.get_mut(room(file)) else { continue };
        *judged = of.judged.as_str().max(judged);
        counts[2] += of.caught + of.hashes.len() + of.missed.len() + of.unreached.len();
        counts[3] += of.caught;
        for (list, column) in [(&of.hashes, 4), (&of.missed, 6), (&of.unreached, 6)] {
            for text in list {
                let name = format!("{file}: {text}");
                if equivalent.contains(&name) {
                    counts[5] += 1;
                    continue;
                }
                counts[column] += 1;
                let mark = if std::ptr::eq(list, &of.unreached) { " (no test reaches it)" } else { "" };
                lists[usize::from(column == 4)].push_str(&format!("    {name}{mark}\n"));
            }
        }
    }
    let mut text = HEADING.to_string();
    text.push_str("\n| room | mutants | do not compile | judged | caught | by hashes alone | equivalent | missed | last judged |\n");
    text.push_str("|---|---:|---:|---:|---:|---:|---:|---:|---|\n");
    let mut total = [0; 7];
    let columns = |counts: &[usize; 7]| counts.map(|count| format!(" {count} |")).concat();
    for (room, (counts, judged)) in &rooms {
        text.push_str(&format!("| `{room}` |{} {judged} |\n", columns(counts)));
        total.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    text.push_str(&format!("| together |{} |\n", columns(&total)));
    for (title, list) in ["Missed", "Caught by the committed hashes alone"].iter().zip(&lists) {
        if !list.is_empty() {
            text.push_str(&format!("\n{title}:\n\n{list}"));
        }
    }
    fs::write(&options.page, text)?;
    println!(
        "{} judged, {} caught, {} by hashes alone, {} equivalent, {} missed",
        total[2], total[3], total[4], total[5], total[6]
    );
    Ok(())
}
