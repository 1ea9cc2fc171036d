//! Models as text.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| bitmc_examples::formats::any_text(text));
