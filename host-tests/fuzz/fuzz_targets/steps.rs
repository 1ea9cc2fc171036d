//! Models, samplers and their generators.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bitmc_host_tests::fuzz::steps(data));
