//! Snapshots in vectors, with a checksum of our own.

use bitmc::snapshot::{Reader, Snapshot, SnapshotError, Writer};

/// A snapshot of some parts.
///
/// # Panics
/// Where a length is not what the writer says.
#[must_use]
pub fn save(parts: &[&dyn Snapshot]) -> Vec<u8> {
    let write = |out: &mut [u8]| parts.iter().fold(Writer::new(out), |writer, &part| writer.put(part)).finish();
    let Err(SnapshotError::Memory { need, got: 0 }) = write(&mut []) else { panic!("no memory is enough") };
    let mut bytes = vec![0; need];
    assert_eq!(write(&mut bytes), Ok(need));
    assert!(matches!(write(&mut vec![0; need - 1]), Err(SnapshotError::Memory { .. })));
    bytes
}

/// Loads all of a snapshot into some parts.
///
/// # Errors
/// [`SnapshotError`] where it is refused.
pub fn load(bytes: &[u8], parts: &mut [&mut dyn Snapshot]) -> Result<(), SnapshotError> {
    let mut reader = Reader::new(bytes)?;
    for part in parts {
        reader.get(*part)?;
    }
    reader.finish()
}

/// CRC-32 bit by bit, independent of the kernel's.
#[must_use]
pub fn crc32(bytes: &[u8]) -> u32 {
    let mut register = !0u64;
    for bit in bytes.iter().flat_map(|&byte| (0..8).map(move |bit| u64::from(byte >> bit & 1))) {
        let out = (register ^ bit) & 1;
        register = (register & 0xFFFF_FFFF) >> 1;
        // The polynomial x³² + x²⁶ + x²³ + x²² + x¹⁶ + x¹² + x¹¹ + x¹⁰ + x⁸ + x⁷ + x⁵ + x⁴ + x² + x + 1.
        let powers = [26, 23, 22, 16, 12, 11, 10, 8, 7, 5, 4, 2, 1, 0];
        register ^= out * powers.iter().map(|power| 1u64 << (31 - power)).sum::<u64>();
    }
    !register as u32
}

/// With the checksum that its bytes should have.
#[must_use]
pub fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.len() - 4;
    let sum = crc32(&bytes[..end]);
    bytes[end..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// With one bit flipped.
#[must_use]
pub fn flipped(bytes: &[u8], bit: usize) -> Vec<u8> {
    let mut altered = bytes.to_vec();
    altered[bit / 8] ^= 1 << (bit % 8);
    altered
}
