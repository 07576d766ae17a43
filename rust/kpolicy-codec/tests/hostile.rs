//! Any bytes get an answer, never a panic, and messages are bounded.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

use kpolicy_codec::limits::{PIECE_BYTES, QUOTE_BYTES_MAX, UNREADABLE_NAMED_MAX};
use kpolicy_codec::{Keep, Unreadable, file, list, quantity, watch};
use kpolicy_engine::model::{ApiPaths, Event, Kind};
use kpolicy_engine::threads::Threads;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell;

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

/// What a text is read as by so many threads: the objects in their order, and what cannot be read.
fn read(body: &str, threads: &Threads) -> (Vec<String>, String) {
    let mut names = Vec::new();
    let mut sink = |event| {
        let Event::Present(object) = event else { panic!("nothing is gone") };
        names.push(format!("{} {}", object.kind().name(), object.meta().name));
    };
    let rest = threads.inside(|| {
        let of_file = file::objects(body.as_bytes(), Keep(None), &mut sink);
        let of_page = list::page(body.as_bytes(), Kind::Pod, Keep(None), &mut sink);
        format!("{of_file:?} {of_page:?}")
    });
    (names, rest)
}

/// Texts of several pieces: good and bad objects, lists in lists, and what looks like the beginning of
/// an object and is none.
fn long_texts() -> impl Strategy<Value = String> {
    let pod = r#"{"kind":"Pod","metadata":{"name":"a"}}"#;
    let long = "é".repeat(PIECE_BYTES);
    let object = prop::sample::select(vec![
        pod.to_owned(),
        r#"{"kind":"Pod","metadata":{"name":"b","labels":{"k":"é"}},"spec":{"nodeName":"n"}}"#
            .into(),
        r#"{"kind":"Node","metadata":{"name":"n"}}"#.into(),
        r#"{"metadata":{"name":"c"}}"#.into(),
        r#"{"kind":"Pod","metadata":{}}"#.into(),
        r#"{"kind":"Pod","metadata":{"name":"d"},"spec":7}"#.into(),
        r#"{"kind":"ConfigMap","metadata":{"name":"e"}}"#.into(),
        format!(r#"{{"kind":"Pod","metadata":{{"name":"f"}},"x":[{pod},{pod},{pod},{pod}]}}"#),
        format!(r#"{{"kind":"Pod","metadata":{{"name":"g","annotations":{{"a":"{long}"}}}}}}"#),
        format!(
            r#"{{"kind":"Pod","metadata":{{"name":"h","annotations":{{"a":"}},{{\"kind\":"}}}}}}"#
        ),
        format!(r#"{{"kind":"List","items":[{pod},{pod},{pod}]}}"#),
        "null".into(),
        "[]".into(),
        "7".into(),
    ]);
    let other = (0_usize..20).prop_map(|index| format!(r#"{{"kind":"Other{index}"}}"#));
    let usual = Just(pod.to_owned());
    let objects = prop::collection::vec(prop_oneof![6 => usual, 3 => object, 1 => other], 0..40);
    let form = prop::sample::select(vec![
        ("", "", ""),
        ("", "\n", ""),
        ("[", ",", "]"),
        (r#"{"kind":"List","items":["#, ",", "]}"),
        (r#"{"items":[ "#, " ,\n  ", r#" ],"kind":"PodList","apiVersion":"v1"}"#),
        (r#"[{"items":["#, ",", r#"]},{"kind":"Pod","metadata":{"name":"z"}}]"#),
    ]);
    let percent = prop_oneof![Just(100), 0..100_usize];
    (objects, form, percent).prop_map(|(objects, (before, between, after), percent)| {
        let whole = format!("{before}{}{after}", objects.join(between));
        let end = whole.len() * percent / 100;
        whole.get(..end).unwrap_or(&whole).to_owned()
    })
}

#[test]
fn any_number_of_threads_reads_the_same() {
    let threads = [2, 4].map(Threads::new);
    let mut runner =
        TestRunner::new(Config { cases: 3_000, failure_persistence: None, ..Config::default() });
    let objects = Cell::new(0);
    let property = |body: String| {
        let one = read(&body, &Threads::new(1));
        objects.set(objects.get() + one.0.len());
        for threads in &threads {
            prop_assert_eq!(&read(&body, threads), &one);
        }
        Ok(())
    };
    runner.run(&long_texts(), property).expect("the same");
    assert!(objects.get() > 20_000, "{}", objects.get());
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
