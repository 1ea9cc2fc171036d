//! What a program with a command line needs: numbers of a range, and failures in one line, without a backtrace.

use crate::Error;
use crate::files::say;
use clap::Parser;
use clap::error::ErrorKind;
use std::io::Write;
use std::process::ExitCode;

/// Reads a number of a range; NaN is in none. For clap's `value_parser`.
pub fn within(least: f32, most: f32) -> impl Fn(&str) -> Result<f32, String> + Clone + Send + Sync + 'static {
    move |word| {
        let value: f32 = word.parse().map_err(|_| format!("{word:?} is no number"))?;
        let plain = |bound: f32| format!("{bound:?}").trim_end_matches(".0").to_string();
        let refused = || format!("{word} is not from {} to {}", plain(least), plain(most));
        if (least..=most).contains(&value) { Ok(value) } else { Err(refused()) }
    }
}

/// Reads a temperature of [`LogZ`](crate::LogZ), from 1e-20 to 1e20, in 64 bits. For clap's `value_parser`.
///
/// # Errors
/// Where it is no number, or not in this range.
pub fn temperature(word: &str) -> Result<f64, String> {
    within(1e-20, 1e20)(word)?;
    word.parse().map_err(|_| format!("{word:?} is no number"))
}

/// The body of a program's `main`: reads the options, runs, and reports a failure in one line. Exit code 2 for an option,
/// 1 for a file or a model.
pub fn main<O: Parser>(run: impl FnOnce(O) -> Result<(), Error>) -> ExitCode {
    // Negative numbers are values, so that an option that cannot have one says so.
    let negative = |word: clap::Arg| {
        let named = !word.is_positional() && word.get_action().takes_values();
        if named { word.allow_negative_numbers(true) } else { word }
    };
    let words = O::command().mut_args(negative).mut_subcommands(|command| command.mut_args(negative));
    let options = words.try_get_matches().and_then(|matches| O::from_arg_matches(&matches));
    let failure = match options {
        Ok(options) => match run(options) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(failure) => failure,
        },
        Err(help) if !help.use_stderr() => {
            say(help.to_string().trim_end());
            return ExitCode::SUCCESS;
        }
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let command = O::command();
            let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
            Error::Option(format!("one of {} expected (--help tells more)", names.join(", ")))
        }
        Err(error) => Error::Option(one_line(&error.to_string())),
    };
    let _ = writeln!(std::io::stderr(), "error: {}", failure.to_string().replace('\n', " "));
    ExitCode::from(if matches!(failure, Error::Option(_)) { 2 } else { 1 })
}

/// The message of a command line parser without its usage lines.
fn one_line(message: &str) -> String {
    let useful = message.lines().map(str::trim);
    let useful = useful.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
    let words: Vec<&str> = useful.filter(|line| !line.is_empty()).collect();
    let mut line = words.join(" ").trim_start_matches("error: ").to_string();
    // What Rust says of numbers, in the words of the command line.
    for (rust, plain) in [
        ("invalid digit found in string", "not a whole number from 0"),
        ("cannot parse integer from empty string", "not a number"),
        ("cannot parse float from empty string", "not a number"),
        ("invalid float literal", "not a number"),
        ("number too large to fit in target type", "too large"),
    ] {
        line = line.replace(rust, plain);
    }
    line + " (--help lists the options)"
}
