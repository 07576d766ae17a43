//! A quantity: what parses is within the cap and equal to itself in nanos. What must hold is in `targets.rs`.

#![no_main]

#[path = "../targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|body: &[u8]| {
    targets::quantity(body);
});
