//! Models as NumPy arrays and archives of them.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bitmc_desktop::formats::any_bytes(data));
