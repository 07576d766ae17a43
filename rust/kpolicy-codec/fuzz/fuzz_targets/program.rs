//! A program document: refused, or it decides a small cluster. What must hold is in `targets.rs`.

#![no_main]

#[path = "../targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|body: &[u8]| {
    targets::program(body);
});
