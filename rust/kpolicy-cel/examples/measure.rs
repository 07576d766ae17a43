//! Prints how long one predicate takes over 5,000 lanes: verify, fold, filter, and lane by lane.
//! `cargo run --release -p kpolicy-cel --example measure`

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

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
        match (&*read.fact, read.key().and_then(|key| self.labels.get(key))) {
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
        match &*read.fact {
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

/// The least of many runs.
fn least(runs: usize, mut work: impl FnMut()) -> Duration {
    let once = |_| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    (0..runs).map(once).min().unwrap_or_default()
}

fn main() -> Result<(), kpolicy_cel::Refusal> {
    let (nodes, ir) = (nodes(), predicate());
    let expression = Expression::verify(&ir)?;
    let folded = expression.fold(&Pod, &mut Budget::new(COST));
    let all = Bits::ones(LANES);
    let budget = || Budget::new(COST);
    let scalar = |expression: &Expression| {
        let holds = |lane: &usize| {
            let value = expression.evaluate(&Lane(&nodes, *lane), &mut budget());
            matches!(value, Ok(Value::Bool(true)))
        };
        (0..LANES).filter(holds).count()
    };
    let passing = folded.filter(&nodes, &all, &mut budget()).truth.count();
    println!("lanes {LANES}, passing {passing}, scalar {}", scalar(&expression));
    println!("verify          {:?}", least(200, || drop(black_box(Expression::verify(&ir)))));
    println!(
        "fold            {:?}",
        least(200, || drop(black_box(expression.fold(&Pod, &mut budget()))))
    );
    println!(
        "filter          {:?}",
        least(200, || drop(black_box(expression.filter(&Both(&nodes), &all, &mut budget()))))
    );
    println!(
        "filter, folded  {:?}",
        least(200, || drop(black_box(folded.filter(&nodes, &all, &mut budget()))))
    );
    println!(
        "lane by lane    {:?}",
        least(10, || {
            black_box(scalar(&folded));
        })
    );
    Ok(())
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
