//! Measures one predicate and one priority over 5,000 lanes: `cargo bench -p kpolicy-cel`.
//!
//! Steps: verify, fold for a pod, evaluate all lanes at once, evaluate lane by lane. Facts are
//! columns in memory, so only the evaluation is timed.

#![allow(clippy::expect_used, reason = "a benchmark may end with a panic")]

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use kpolicy_cel::{
    Answer, Bits, Budget, Column, Columns, Dictionary, Expression, Facts, Read, Value,
};
use serde_json::json;

const LANES: usize = 5_000;
const COST: u64 = 1_000_000_000;

struct Words(Vec<String>);

impl Dictionary for Words {
    fn text(&self, id: u32) -> &str {
        self.0.get(id as usize).map_or("", String::as_str)
    }

    fn id(&self, text: &str) -> Option<u32> {
        self.0.iter().position(|word| word == text).and_then(|at| u32::try_from(at).ok())
    }
}

struct Nodes {
    words: Words,
    labels: BTreeMap<&'static str, Vec<u32>>,
    free: Vec<i64>,
}

impl Columns for Nodes {
    fn lanes(&self) -> usize {
        LANES
    }

    fn column(&self, read: &Read) -> Column<'_> {
        match (&*read.fact.text, read.key().and_then(|key| self.labels.get(key))) {
            ("node.labels[]", Some(ids)) => Column::Text { ids, dictionary: &self.words },
            ("node.labels[]", None) => Column::Constant(Answer::Absent),
            ("node.free", _) => Column::Int(Cow::Borrowed(&self.free)),
            _ => Column::Unavailable,
        }
    }

    fn read(&self, lane: usize, read: &Read) -> Answer {
        let at = |ids: &[u32]| ids.get(lane).copied().unwrap_or(0);
        match self.column(read) {
            Column::Constant(answer) => answer,
            Column::Int(values) => {
                values.get(lane).map_or(Answer::Absent, |value| Answer::from(*value))
            }
            Column::Text { ids, dictionary } => match at(ids) {
                0 => Answer::Absent,
                id => Answer::from(dictionary.text(id)),
            },
            _ => Answer::Unknown,
        }
    }
}

struct Pod;

impl Facts for Pod {
    fn read(&self, read: &Read) -> Answer {
        match &*read.fact.text {
            "pod.priority" => Answer::from(100_i64),
            "pod.request" => Answer::from(500_i64),
            "pod.namespace" => Answer::from("ml-batch"),
            _ => Answer::Unknown,
        }
    }
}

struct Lane<'a>(&'a Nodes, usize);

impl Facts for Lane<'_> {
    fn read(&self, read: &Read) -> Answer {
        match Pod.read(read) {
            Answer::Unknown => self.0.read(self.1, read),
            answer => answer,
        }
    }
}

fn nodes() -> Nodes {
    let words = ["", "yes", "amd64", "arm64", "s390x", "spot", "ml", "web"];
    let column = |cycle: &[u32]| cycle.iter().copied().cycle().take(LANES).collect::<Vec<u32>>();
    Nodes {
        words: Words(words.iter().map(|word| (*word).to_owned()).collect()),
        labels: BTreeMap::from([
            ("gpu", column(&[1, 1, 0, 1])),
            ("arch", column(&[2, 3, 2, 4, 2])),
            ("lifecycle", column(&[5, 0, 0, 0, 0, 0, 0])),
            ("team", column(&[6, 7, 7])),
        ]),
        free: (0_i64..).map(|lane| lane * 37 % 4000).take(LANES).collect(),
    }
}

/// `'gpu' in labels && arch in [amd64, arm64] && !(lifecycle == spot && priority >= 1000)
/// && (team == ml || pod.namespace.startsWith('ml-')) && free('cpu') >= 2 * request('cpu')`
fn predicate() -> serde_json::Value {
    let text = |at: usize| json!({"op": "constant", "type": "string", "constant": at});
    let label = |op: &str, kind: &str, key: usize| json!({"op": op, "type": kind, "fact": "node.labels[]", "args": [key]});
    let call = |overload: &str, kind: &str, args: &[usize]| json!({"op": "call", "type": kind, "overload": overload, "args": args});
    json!({"format": 1, "root": 33, "constants": [
        "gpu", "arch", "lifecycle", "team", "cpu", "spot", "ml", "ml-", ["amd64", "arm64"], 1000, 2,
    ], "nodes": [
        text(0), text(1), text(2), text(3), text(4), text(5), text(6), text(7),
        json!({"op": "constant", "type": ["list", "string"], "constant": 8}),
        json!({"op": "constant", "type": "int", "constant": 9}),
        json!({"op": "constant", "type": "int", "constant": 10}),
        label("present", "bool", 0), label("fact", "string", 1),
        call("in_list", "bool", &[12, 8]),
        label("present", "bool", 2), label("fact", "string", 2),
        call("equals_any", "bool", &[15, 5]),
        json!({"op": "fact", "type": "int", "fact": "pod.priority"}),
        call("greater_equals_int64", "bool", &[17, 9]),
        json!({"op": "and", "type": "bool", "args": [14, 16, 18]}),
        call("not_bool", "bool", &[19]),
        label("present", "bool", 3), label("fact", "string", 3),
        call("equals_any", "bool", &[22, 6]),
        json!({"op": "and", "type": "bool", "args": [21, 23]}),
        json!({"op": "fact", "type": "string", "fact": "pod.namespace"}),
        call("starts_with_string", "bool", &[25, 7]),
        json!({"op": "or", "type": "bool", "args": [24, 26]}),
        json!({"op": "fact", "type": "int", "fact": "node.free", "args": [4]}),
        json!({"op": "fact", "type": "int", "fact": "pod.request", "args": [4]}),
        call("multiply_int64", "int", &[10, 29]),
        call("greater_equals_int64", "bool", &[28, 30]),
        json!({"op": "constant", "type": "int", "constant": 9}),
        json!({"op": "and", "type": "bool", "args": [11, 13, 20, 27, 31]}),
    ]})
}

/// `free('cpu') >= 2 * request('cpu') ? free('cpu') : 0`, of which a priority is made.
fn priority() -> serde_json::Value {
    let fact = |name: &str| json!({"op": "fact", "type": "int", "fact": name, "args": [0]});
    let constant = |at: usize, kind: &str| json!({"op": "constant", "type": kind, "constant": at});
    let call = |overload: &str, kind: &str, args: &[usize]| json!({"op": "call", "type": kind, "overload": overload, "args": args});
    json!({"format": 1, "root": 7, "constants": ["cpu", 2, 0], "nodes": [
        constant(0, "string"), fact("node.free"), fact("pod.request"), constant(1, "int"),
        call("multiply_int64", "int", &[3, 2]), call("greater_equals_int64", "bool", &[1, 4]),
        constant(2, "int"), json!({"op": "conditional", "type": "int", "args": [5, 1, 6]}),
    ]})
}

fn predicates(criterion: &mut Criterion) {
    let (nodes, ir) = (nodes(), predicate());
    let budget = || Budget::new(COST);
    let expression = Expression::verify(&ir).expect("it is sound");
    let folded = expression.fold(&Pod, &mut budget());
    let all = Bits::ones(LANES);
    let scalar = || {
        let holds = |lane: &usize| {
            let value = folded.evaluate(&Lane(&nodes, *lane), &mut budget());
            matches!(value, Ok(Value::Bool(true)))
        };
        (0..LANES).filter(holds).count()
    };
    let passing = folded.filter(&nodes, &all, &mut budget()).truth.count();
    assert_eq!(passing, scalar(), "columns and lanes agree");
    criterion.bench_function("predicate/verify", |bencher| {
        bencher.iter(|| Expression::verify(black_box(&ir)));
    });
    criterion.bench_function("predicate/fold for a pod", |bencher| {
        bencher.iter(|| black_box(&expression).fold(&Pod, &mut budget()));
    });
    criterion.bench_function("predicate/all lanes", |bencher| {
        bencher.iter(|| black_box(&expression).filter(&Both(&nodes), &all, &mut budget()));
    });
    criterion.bench_function("predicate/all lanes, folded", |bencher| {
        bencher.iter(|| black_box(&folded).filter(&nodes, &all, &mut budget()));
    });
    criterion.bench_function("predicate/lane by lane", |bencher| bencher.iter(scalar));
}

fn priorities(criterion: &mut Criterion) {
    let nodes = nodes();
    let budget = || Budget::new(COST);
    let expression = Expression::verify(&priority()).expect("it is sound");
    let folded = expression.fold(&Pod, &mut budget());
    let all = Bits::ones(LANES);
    assert!(!folded.score(&nodes, &all, &mut budget()).error.any(), "it can be judged");
    criterion.bench_function("priority/all lanes, folded", |bencher| {
        bencher.iter(|| black_box(&folded).score(&nodes, &all, &mut budget()));
    });
}

/// Nodes that also answer for the pod, for a filter that was not folded.
struct Both<'a>(&'a Nodes);

impl Columns for Both<'_> {
    fn lanes(&self) -> usize {
        LANES
    }

    fn column(&self, read: &Read) -> Column<'_> {
        match Pod.read(read) {
            Answer::Unknown => self.0.column(read),
            answer => Column::Constant(answer),
        }
    }

    fn read(&self, lane: usize, read: &Read) -> Answer {
        Lane(self.0, lane).read(read)
    }
}

criterion_group!(columns, predicates, priorities);
criterion_main!(columns);
