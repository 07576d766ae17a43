//! A file of objects, whatever it holds.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    kpolicy_codec::file::objects(body, &mut |_| {});
});
