//! Models as text.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| bitmc_desktop::formats::any_text(text));
