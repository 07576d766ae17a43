//! Lines of a watch, of the kind that the first byte picks. What must hold is in `targets.rs`.

#![no_main]

#[path = "../targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|body: &[u8]| {
    targets::lines(body);
});
