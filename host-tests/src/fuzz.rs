//! Bytes as a description of a model, of samplers and of the random numbers: any bytes must run without harm.
//!
//! `tests/exact/fuzz.rs` calls these functions with random bytes every day; libFuzzer (`host-tests/fuzz`, run by
//! `.ci/long fuzz`) looks for bytes that reach new code.
//!
//! The rules, for what the constructors accept:
//! * nothing panics, and every step ends, whatever the generator gives;
//! * the state is always one of its layout, within the arities of its sites; clamped sites stay, and a step that
//!   is not accepted changes nothing;
//! * no log ratio is NaN;
//! * the energy that a chain carries along is that of its state computed anew, within a bound from the sizes of the
//!   model's terms;
//! * a chain that is told its energies takes the steps of one that evaluates them, bit for bit;
//! * what a tuner finds is within its settings, and what is learned is a number, finite where nothing is too large.

mod abreast;
mod binary;
mod energies;
mod flow;
mod kept;
pub(crate) mod kernels;
mod learned;
mod ordinal;
mod replicas;
mod source;
mod told;
mod trial;
mod tuned;

pub use kept::bytes;
pub use source::Source;
pub use trial::Trial;

/// A chain that is told a gradient which is not the one at its proposal.
///
/// # Panics
/// Where that is seen.
pub fn wrongly_told(data: &[u8]) {
    let _ = told::run(&mut Source::new(data), true);
}

/// A model, its samplers and their generator, all out of `data`.
///
/// # Panics
/// Where a rule is broken.
pub fn steps(data: &[u8]) {
    let source = &mut Source::new(data);
    match source.below(24) {
        0..=5 => binary::run(source),
        6..=10 => ordinal::run(source),
        11..=13 => abreast::run(source),
        14 | 15 => flow::run(source),
        // `None` where something is refused.
        16 | 17 => _ = tuned::run(source),
        18..=21 => _ = told::run(source, false),
        _ => _ = learned::run(source),
    }
}
