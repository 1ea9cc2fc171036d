//! Snapshots of every kind of which some bytes are altered, or that are made of any bytes at all.

mod chains;
mod others;

use super::Source;
use super::abreast::lanes;
use crate::snapshot::{load, save, sealed};
use bitmc::LaneRng;
use bitmc::snapshot::{FRAME, Snapshot, VERSION};

/// A snapshot out of `data`, loaded into something that goes on afterwards.
///
/// # Panics
/// Where loading or going on does, or what is refused has changed something.
pub fn bytes(data: &[u8]) {
    let source = &mut Source::new(data);
    if source.one_in(2) { chains::run(source) } else { others::run(source) }
}

/// What must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// What is refused changes nothing, and whatever was loaded can be kept again.
    Whole,
    /// Continuous chains say so themselves: refused because the energy at x is not finite, they stand at x. Bytes that
    /// are not refused may have them leave for infinity.
    Continuous,
}

/// Lets it go on a little, loads a forged snapshot, and lets it go on again.
fn forged<T: Snapshot>(
    mut it: T,
    source: &mut Source<'_>,
    kind: Kind,
    mut go: impl FnMut(&mut T, &mut LaneRng),
) {
    let (name, mut rng) = (std::any::type_name::<T>(), lanes(source));
    (0..source.below(4)).for_each(|_| go(&mut it, &mut rng));
    let bytes = forgery(save(&[&it]), source);
    (0..source.below(4)).for_each(|_| go(&mut it, &mut rng));
    let before = save(&[&it]);
    let loaded = load(&bytes, &mut [&mut it]);
    // Where parts are left, those before them are loaded.
    let rest = matches!(loaded, Err(bitmc::snapshot::SnapshotError::Rest { .. }));
    let unchanged = rest || kind == Kind::Continuous || save(&[&it]) == before;
    assert!(loaded.is_ok() || unchanged, "{name}: half loaded, {loaded:?}");
    (0..4).for_each(|_| go(&mut it, &mut rng));
    if kind == Kind::Whole {
        let kept = save(&[&it]);
        assert_eq!(load(&kept, &mut [&mut it]), Ok(()), "{name}: its own snapshot is refused");
        assert!(save(&[&it]) == kept, "{name}: its own snapshot is another one");
    }
}

/// Other bytes: most often with a right checksum, which is what guards all others.
fn forgery(mut bytes: Vec<u8>, source: &mut Source<'_>) -> Vec<u8> {
    let end = bytes.len();
    match source.below(8) {
        // Any parts.
        0 => {
            let parts: Vec<u8> = (0..source.below(200)).map(|_| source.byte()).collect();
            let length = (parts.len() as u32).to_le_bytes();
            bytes = [b"bmcs".as_slice(), &VERSION.to_le_bytes(), &length, &parts, &[0; 4]].concat();
            sealed(bytes)
        }
        // Anything.
        1 => (0..source.below(64)).map(|_| source.byte()).collect(),
        kind => {
            for _ in 0..source.below(8) {
                let at = usize::from(source.byte()) | usize::from(source.byte()) << 8;
                bytes[FRAME - 4 + at % (end - FRAME)] = source.byte();
            }
            if kind == 2 {
                bytes.truncate(source.below(256));
                bytes
            } else {
                sealed(bytes)
            }
        }
    }
}
