//! Lines of a watch, of the kind that the first byte picks.

#![no_main]

use kpolicy_engine::model::Kind;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let Some((first, body)) = body.split_first() else { return };
    let kind = Kind::ALL[usize::from(*first) % Kind::ALL.len()];
    kpolicy_codec::watch::lines(body, kind, &mut |_| {});
});
