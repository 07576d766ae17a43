//! A recorded cluster, loaded, explained and placed. What must hold is in `targets.rs`.

#![no_main]

#[path = "../targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|body: &[u8]| {
    targets::world(body);
});
