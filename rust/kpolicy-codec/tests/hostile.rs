//! Any bytes get an answer, never a panic, and messages are bounded.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

use kpolicy_codec::limits::{QUOTE_BYTES_MAX, UNREADABLE_NAMED_MAX};
use kpolicy_codec::{Keep, Unreadable, file, list, quantity, watch};
use kpolicy_engine::model::{ApiPaths, Event, Kind};
use proptest::prelude::*;

fn is_bounded(unreadable: &[Unreadable]) -> bool {
    let is_short = |text: &str| text.len() <= QUOTE_BYTES_MAX + '…'.len_utf8();
    unreadable.len() <= UNREADABLE_NAMED_MAX + 1
        && unreadable.iter().all(|each| is_short(&each.object) && is_short(&each.message))
}

fn check(body: &[u8]) {
    let mut names = 0;
    let mut sink = |event: Event| {
        if let Event::Present(object) = event {
            assert!(!object.meta().name.is_empty());
            names += 1;
        }
    };
    let mut paths = ApiPaths::default();
    for path in ["metadata", "spec.containers", "spec.a.b", "status.nodeInfo.kernelVersion"] {
        [Kind::Pod, Kind::Node, Kind::Namespace].into_iter().for_each(|kind| paths.add(kind, path));
    }
    let keep = Keep(Some(&paths));
    assert!(is_bounded(&file::objects(body, keep, &mut sink)));
    for kind in [Kind::Pod, Kind::Node, Kind::StorageClass, Kind::PodDisruptionBudget] {
        assert!(is_bounded(&list::page(body, kind, keep, &mut sink).unreadable));
        assert!(is_bounded(&watch::lines(body, kind, keep, &mut sink).unreadable));
    }
}

/// JSON made of the words that matter, whole and broken.
fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "null",
        "true",
        "0",
        "-1",
        "1e999",
        "\"\"",
        "\"Pod\"",
        "\"kind\":",
        "\"apiVersion\":",
        "\"v1\"",
        "\"items\":",
        "\"metadata\":",
        "\"name\":",
        "\"x\"",
        "\"spec\":",
        "\"containers\":",
        "\"type\":",
        "\"ADDED\"",
        "\"object\":",
        "\n",
        "\"labels\":",
        "\"\\ud800\"",
        "\"resources\":",
        "\"requests\":",
        "\"cpu\":",
        "\"-1\"",
        "\\",
        "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"x\"},\"spec\":{",
        "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"x\"}}}\n",
    ]);
    prop::collection::vec(word, 0..60).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes(body in prop::collection::vec(any::<u8>(), 0..400)) {
        check(&body);
    }

    #[test]
    fn words_of_objects(body in words()) {
        check(body.as_bytes());
    }

    #[test]
    fn quantities_are_held_and_stable(text in "[+-]?[0-9]{0,30}(\\.[0-9]{0,30})?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,3})?") {
        if let Ok(read) = quantity::parse(&text) {
            prop_assert!(read.nanos().abs() <= i128::from(i64::MAX) * 1_000_000_000);
            prop_assert_eq!(quantity::parse(&format!("{}n", read.nanos())), Ok(read));
        }
    }

    #[test]
    fn more_digits_are_never_less(whole in 0_u64..1_000_000, digits in "[0-9]{1,40}", suffix in "(n|u|m|k|M|Ki|Mi|Gi|Ei|e3|e-5)?") {
        let less = quantity::parse(&format!("{whole}{suffix}")).expect("a whole number");
        let more = quantity::parse(&format!("{whole}.{digits}{suffix}")).expect("a fraction");
        let next = quantity::parse(&format!("{}{suffix}", whole + 1)).expect("a whole number");
        prop_assert!(less <= more && more <= next, "{less:?} {more:?} {next:?}");
    }
}
