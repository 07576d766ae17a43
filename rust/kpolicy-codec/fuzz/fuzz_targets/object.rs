//! A file of objects, whatever it holds. What must hold is in `targets.rs`.

#![no_main]

#[path = "../targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|body: &[u8]| {
    targets::object(body);
});
