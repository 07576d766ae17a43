//! The fuzz targets: every function that reads bytes, and the engine behind it.
//!
//! Each target returns how many objects it read. The targets of cargo-fuzz and `examples/mutate.rs`
//! share them. The assertions are here: no panic, messages are bounded, a pod is placed on a node
//! that exists, and the same input gives the same decisions.

use std::sync::Arc;

use kpolicy_codec::limits::UNREADABLE_NAMED_MAX;
use kpolicy_codec::quantity::parse;
use kpolicy_codec::{Keep, Unreadable, file, list, watch};
use kpolicy_engine::Engine;
use kpolicy_engine::api::{Applied, Batch, BindOutcome, Still, Verdict};
use kpolicy_engine::model::{Event, Kind};
use serde_json::Value;

/// The default profile as it is compiled: `python -m kpolicy` makes the same bytes of no policy.
const PROGRAM: &[u8] = include_bytes!("program.json");
/// A small cluster for programs to decide on.
const CLUSTER: &[u8] = include_bytes!("cluster.json");
/// Pods decided in one run, so that a large input is not a slow one.
const PODS_MAX: usize = 64;

/// A file of objects.
pub(crate) fn object(body: &[u8]) -> u64 {
    let mut read = 0;
    let unreadable = file::objects(body, Keep(None), &mut |event| read += counted(&event));
    assert_bounded(&unreadable);
    read
}

/// A page of a list, of the kind that the first byte picks.
pub(crate) fn page(body: &[u8]) -> u64 {
    let Some((first, body)) = body.split_first() else { return 0 };
    let mut read = 0;
    let feed = list::page(body, kind(*first), Keep(None), &mut |event| read += counted(&event));
    assert_bounded(&feed.unreadable);
    read
}

/// Lines of a watch, of the kind that the first byte picks.
pub(crate) fn lines(body: &[u8]) -> u64 {
    let Some((first, body)) = body.split_first() else { return 0 };
    let mut read = 0;
    let feed = watch::lines(body, kind(*first), Keep(None), &mut |event| read += counted(&event));
    assert_bounded(&feed.unreadable);
    read
}

/// A quantity: what parses is within the cap and equal to itself in nanos.
pub(crate) fn quantity(text: &[u8]) -> u64 {
    let Ok(quantity) = parse(&String::from_utf8_lossy(text)) else { return 0 };
    assert!(quantity.nanos().abs() <= i128::from(i64::MAX) * 1_000_000_000);
    assert_eq!(parse(&format!("{}n", quantity.nanos())), Ok(quantity));
    0
}

/// A recorded cluster: loaded, explained, and its pending pods placed, twice.
pub(crate) fn world(body: &[u8]) -> u64 {
    let program = serde_json::from_slice(PROGRAM).unwrap_or_default();
    let (mut first, read) = holding(&program, body);
    let (mut second, _) = holding(&program, body);
    let explained = first.explain(None);
    assert_eq!(explained, second.explain(None));
    let placed = decided(&mut first);
    assert_eq!(placed.decisions, decided(&mut second).decisions);
    read
}

/// A cluster that changes: watch lines of any kind, and between them lines that are not JSON and
/// let the cycle run (`schedule`) or binds fail (`forget`).
pub(crate) fn deltas(body: &[u8]) -> u64 {
    let mut engine = Engine::new(1);
    let program: Value = serde_json::from_slice(PROGRAM).unwrap_or_default();
    assert!(engine.load(&program).is_ok());
    let (mut read, mut applied) = (0, Applied::default());
    let mut assumed: Vec<Arc<str>> = Vec::new();
    for line in body.split(|byte| *byte == b'\n').take(256) {
        match line {
            b"schedule" => assumed.extend(placed(&decided(&mut engine))),
            b"forget" => {
                let outcomes: Vec<_> =
                    assumed.drain(..).map(|uid| (uid, BindOutcome::Failed)).collect();
                engine.settle(&outcomes, 0, &mut applied);
            }
            b"relist" => {
                engine.list_begin(Kind::Pod);
                engine.list_end(Kind::Pod, 0, &mut applied);
            }
            _ => {
                let Some((first, line)) = line.split_first() else { continue };
                let apply = &mut |event: Event| {
                    read += counted(&event);
                    engine.apply(event, 0, &mut applied);
                };
                assert_bounded(&watch::lines(line, kind(*first), Keep(None), apply).unreadable);
            }
        }
    }
    decided(&mut engine);
    engine.explain(None);
    read
}

/// A program document: refused with a place, or it decides the small cluster.
pub(crate) fn program(body: &[u8]) -> u64 {
    let Ok(document) = serde_json::from_slice::<Value>(body) else { return 0 };
    let mut engine = Engine::new(1);
    if let Err(refusals) = engine.load(&document) {
        assert!(!refusals.is_empty());
        assert!(refusals.iter().all(|one| !one.code.is_empty() && !one.message.is_empty()));
        return 0;
    }
    let mut applied = Applied::default();
    file::objects(CLUSTER, Keep(None), &mut |event| engine.apply(event, 0, &mut applied));
    engine.explain(None);
    decided(&mut engine);
    1
}

fn holding(program: &Value, body: &[u8]) -> (Engine, u64) {
    let mut engine = Engine::new(1);
    assert!(engine.load(program).is_ok());
    let (mut read, mut applied) = (0, Applied::default());
    let unreadable = file::objects(body, Keep(None), &mut |event| {
        read += counted(&event);
        engine.apply(event, 0, &mut applied);
    });
    assert_bounded(&unreadable);
    (engine, read)
}

fn decided(engine: &mut Engine) -> Batch {
    let uids: Vec<Arc<str>> =
        engine.pending().iter().take(PODS_MAX).map(|pod| Arc::clone(&pod.uid)).collect();
    let batch = engine.schedule(&uids, 0, &Still);
    for decision in &batch.decisions {
        assert_eq!(decision.verdict == Verdict::Placed, !decision.node.is_empty());
        assert!(decision.verdict != Verdict::Parked || !decision.message.is_empty());
    }
    batch
}

fn placed(batch: &Batch) -> Vec<Arc<str>> {
    let placed = batch.decisions.iter().filter(|one| one.verdict == Verdict::Placed);
    placed.map(|one| Arc::clone(&one.uid)).collect()
}

fn assert_bounded(unreadable: &[Unreadable]) {
    assert!(unreadable.len() <= UNREADABLE_NAMED_MAX + 1);
}

fn kind(first: u8) -> Kind {
    Kind::ALL[usize::from(first) % Kind::ALL.len()]
}

/// What is read has a name, whatever was written.
fn counted(event: &Event) -> u64 {
    let meta = match event {
        Event::Present(object) => object.meta(),
        Event::Gone(_, meta) => meta,
    };
    assert!(!meta.name.is_empty() && !meta.uid.is_empty());
    1
}
