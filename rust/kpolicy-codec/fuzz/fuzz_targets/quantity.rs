//! A quantity: what parses is within the cap and equal to itself in nanos.

#![no_main]

use kpolicy_codec::quantity::parse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(quantity) = parse(text) {
        assert!(quantity.nanos().abs() <= i128::from(i64::MAX) * 1_000_000_000);
        assert_eq!(parse(&format!("{}n", quantity.nanos())), Ok(quantity));
    }
});
