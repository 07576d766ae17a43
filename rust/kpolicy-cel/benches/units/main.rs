//! Measures how many nanoseconds a unit of cost takes, for every function and every kind of
//! operation: `cargo bench -p kpolicy-cel --bench units`.
//!
//! Every overload is called with small and with large operands, readable and unreadable ones. What
//! beginning an evaluation takes is left out: each node is walked for it anyway. The most expensive
//! kinds are printed first, all of them with `-- --all`. A unit is meant to take about ten nanoseconds;
//! how long it takes depends on the machine and on what else runs there. So the figures are compared
//! with each other: it fails where a unit of some kind takes more than `DEARER_MAX` times as long as one
//! of the median kind.
//! `docs/internals/decision-budget.md` says what follows from the figures.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark may do so"
)]

mod operands;

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use kpolicy_cel::{Answer, Budget, Expression, Facts, Map, Read, Value, from_json};
use serde_json::{Value as Json, json};

use operands::{family_of, of_type};

/// What a unit is meant to take.
const NS_A_UNIT: f64 = 10.0;
/// How many times as long as a unit of the median kind one of any kind may take.
const DEARER_MAX: f64 = 3.0;
/// A kind that seems too dear is measured again so many times; the quickest counts.
const AGAIN: usize = 20;
/// What an expression may spend on a node: what would take more is charged before it begins.
const UNITS_MAX: u64 = 10_000;
/// How many of the dearest kinds are printed.
const PRINTED: usize = 40;
/// Each kind is run for so long, so many times; the quickest counts.
const SLICE: Duration = Duration::from_micros(30);
const SLICES: usize = 5;

/// Facts `a0`, `a1`, … are the operands. Facts `made…` make a list or a map anew whenever they are read,
/// and entries of `absent[]` are not there.
struct Operands {
    operands: Vec<Value>,
    /// By the index of a read.
    by_read: Vec<Option<usize>>,
}

impl Operands {
    fn of(expression: &Expression, operands: Vec<Value>) -> Self {
        let position = |read: &Read| read.fact.text.strip_prefix('a')?.parse().ok();
        Self { operands, by_read: expression.reads().iter().map(position).collect() }
    }
}

impl Facts for Operands {
    fn read(&self, read: &Read) -> Answer {
        if let Some(Some(at)) = self.by_read.get(read.index as usize) {
            return self.operands.get(*at).map_or(Answer::Unknown, |value| value.clone().into());
        }
        match &*read.fact.text {
            "absent[]" => Answer::Absent,
            "made.map" => {
                let entries = (0..MADE).map(|at| (LABELS[at], Value::from(LABELS[at])));
                Value::map(Map::of_strings(entries)).into()
            }
            "made.list" => Value::list(LABELS.iter().map(|text| (*text).into()).collect()).into(),
            _ => Answer::Unknown,
        }
    }

    fn is_made(&self, read: &Read) -> bool {
        read.fact.text.starts_with("made")
    }
}

/// As many labels as a node of a cloud has.
const MADE: usize = 12;
const LABELS: [&str; MADE] = [
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "node-role.kubernetes.io/worker",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];

struct Measured {
    kind: String,
    units: u64,
    ns: f64,
}

impl Measured {
    #[allow(clippy::cast_precision_loss)]
    fn ns_a_unit(&self) -> f64 {
        self.ns / self.units as f64
    }
}

fn measured(kind: String, ir: &Json, operands: Vec<Value>) -> Measured {
    let expression = Expression::verify(ir).unwrap_or_else(|why| panic!("{kind}: {why}: {ir}"));
    let facts = Operands::of(&expression, operands);
    let run = || {
        let mut budget = Budget::new(UNITS_MAX);
        let _ = black_box(expression.evaluate(&facts, &mut budget));
        budget.spent()
    };
    let units = run();
    let mut quickest = f64::INFINITY;
    for slice in 0..AGAIN {
        #[allow(clippy::cast_precision_loss)]
        let is_dear = quickest > 2.0 * NS_A_UNIT * units as f64;
        if slice >= SLICES && !is_dear {
            break;
        }
        let began = Instant::now();
        let mut rounds = 0_u32;
        while began.elapsed() < SLICE {
            for _ in 0..8 {
                run();
            }
            rounds += 8;
        }
        let ns = began.elapsed().as_secs_f64() * 1e9 / f64::from(rounds);
        quickest = quickest.min(ns);
    }
    Measured { kind, units, ns: quickest }
}

/// What evaluating a constant takes beyond its unit.
fn beginning() -> f64 {
    let nodes = vec![json!({"op": "constant", "constant": 0})];
    let constant = measured("a constant".to_owned(), &document(nodes, &[json!(1)]), vec![]);
    (constant.ns - NS_A_UNIT).max(0.0)
}

fn document(mut nodes: Vec<Json>, constants: &[Json]) -> Json {
    let spans = vec![json!([0, 1]); nodes.len()];
    for node in &mut nodes {
        if node.get("type").is_none() {
            node["type"] = json!("dyn");
        }
    }
    json!({"format": 1, "constants": constants, "root": nodes.len() - 1, "nodes": nodes,
        "spans": spans, "reads": [], "cost": 1, "time": "node", "type": "dyn"})
}

fn fact(at: usize) -> Json {
    json!({"op": "fact", "fact": format!("a{at}")})
}

fn calls(results: &mut Vec<Measured>) {
    for line in kpolicy_cel::overloads() {
        let (id, rest) = line.split_once('(').expect("an overload");
        let (params, _) = rest.split_once(')').expect("an overload");
        let heads: Vec<&str> = params.split_whitespace().collect();
        let function = family_of(id);
        let choices: Vec<Vec<(&str, Value)>> =
            heads.iter().map(|head| of_type(head, &function)).collect();
        for picked in combinations(&choices) {
            let names: Vec<&str> = picked.iter().map(|(name, _)| *name).collect();
            let mut nodes: Vec<Json> = (0..picked.len()).map(fact).collect();
            let args: Vec<usize> = (0..picked.len()).collect();
            nodes.push(json!({"op": "call", "overload": id, "args": args}));
            let operands = picked.iter().map(|(_, value)| value.clone()).collect();
            let kind = format!("{id}({})", names.join(", "));
            results.push(measured(kind, &document(nodes, &[]), operands));
        }
    }
}

/// Every choice of each operand with the first of the others, and all large ones together.
fn combinations<'a>(choices: &'a [Vec<(&'a str, Value)>]) -> Vec<Vec<(&'a str, Value)>> {
    let first: Vec<(&str, Value)> = choices.iter().filter_map(|of| of.first().cloned()).collect();
    let mut all = vec![first.clone()];
    for (position, of) in choices.iter().enumerate() {
        for choice in of.iter().skip(1) {
            let mut picked = first.clone();
            picked[position] = choice.clone();
            all.push(picked);
        }
    }
    for at in 1..choices.iter().map(Vec::len).max().unwrap_or(0) {
        let picked = choices.iter().filter_map(|of| of.get(at).or(of.last()).cloned()).collect();
        all.push(picked);
    }
    all
}

/// Loops, literals, fields and reads.
fn operations(results: &mut Vec<Measured>) {
    let numbers = || Value::list((0..400).map(Value::Int).collect());
    let words = || Value::list((0..400).map(|at| Value::from(format!("word-{at:04}"))).collect());
    let pairs: Vec<Json> = (0..400).map(|at| json!([format!("key-{at:05}"), at])).collect();
    let map = || from_json(&json!({"map": pairs.clone()})).expect("a map");
    let never = json!({"op": "constant", "type": "bool", "constant": 0});
    let mut add = |kind: &str, nodes: Vec<Json>, constants: &[Json], operands: Vec<Value>| {
        results.push(measured(kind.to_owned(), &document(nodes, constants), operands));
    };
    add("a fact", vec![fact(0)], &[], vec![numbers()]);
    add("a map made by a fact", vec![json!({"op": "fact", "fact": "made.map"})], &[], vec![]);
    add("a list made by a fact", vec![json!({"op": "fact", "fact": "made.list"})], &[], vec![]);
    for (op, decides) in [("or", true), ("and", false)] {
        // Each operand but the last is an error.
        let absent = json!({"op": "fact", "fact": "absent[]", "args": [0]});
        let overflow = json!({"op": "call", "overload": "add_int64", "args": [1, 1]});
        let mut nodes = vec![
            json!({"op": "constant", "constant": 0}),
            json!({"op": "constant", "constant": 1}),
            json!({"op": "constant", "constant": 2}),
        ];
        nodes.extend((0..10).flat_map(|_| [absent.clone(), overflow.clone()]));
        let args: Vec<usize> = (3..nodes.len()).chain([2]).collect();
        nodes.push(json!({"op": op, "args": args}));
        let constants = [json!("key"), json!(i64::MAX), json!(decides)];
        add(&format!("errors absorbed by {op}"), nodes, &constants, vec![]);
    }
    for (name, operand) in [("numbers", numbers()), ("words", words()), ("a map", map())] {
        for (kind, truth) in
            [("all", true), ("exists", false), ("exists_one", false), ("filter", true)]
        {
            let nodes = vec![
                fact(0),
                never.clone(),
                json!({"op": "loop", "kind": kind,
                "slots": [0], "args": [0, 1]}),
            ];
            add(
                &format!("{kind} over 400 of {name}"),
                nodes,
                &[json!(truth)],
                vec![operand.clone()],
            );
        }
        let slot = json!({"op": "slot", "slot": 0});
        for kind in ["map", "sort_by"] {
            let nodes = vec![
                fact(0),
                slot.clone(),
                json!({"op": "loop", "kind": kind,
                "slots": [0], "args": [0, 1]}),
            ];
            add(&format!("{kind} over 400 of {name}"), nodes, &[], vec![operand.clone()]);
        }
        let nodes = vec![
            fact(0),
            slot.clone(),
            json!({"op": "loop", "kind": "transform_map",
            "slots": [0, 1], "args": [0, 1]}),
        ];
        add(&format!("transformMap over 400 of {name}"), nodes, &[], vec![operand.clone()]);
        let nodes = vec![
            fact(0),
            fact(0),
            never.clone(),
            json!({"op": "loop", "kind": "exists",
            "slots": [0], "args": [1, 2]}),
            json!({"op": "loop", "kind": "exists",
            "slots": [1], "args": [0, 3]}),
        ];
        add(&format!("exists in exists over 400 of {name}"), nodes, &[json!(false)], vec![operand]);
    }
    let list = |items: usize| -> Vec<Json> {
        let mut nodes: Vec<Json> = vec![fact(0)];
        nodes.push(json!({"op": "list", "args": vec![0; items]}));
        nodes
    };
    add("a list of 1", list(1), &[], vec![Value::Int(1)]);
    add("a list of 300", list(300), &[], vec![Value::Int(1)]);
    let literal = |entries: usize| -> Vec<Json> {
        let mut nodes: Vec<Json> =
            (0..entries).map(|at| json!({"op": "constant", "constant": at})).collect();
        let args: Vec<usize> = (0..entries).flat_map(|at| [at, at]).collect();
        nodes.push(json!({"op": "map", "args": args}));
        nodes
    };
    let keys: Vec<Json> = (0..300).map(|at| json!(format!("key-{:03}", (at * 37) % 300))).collect();
    add("a map of 1", literal(1), &keys, vec![]);
    add("a map of 300", literal(300), &keys, vec![]);
    let field = |op: &str, name: &str| vec![fact(0), json!({"op": op, "name": name, "args": [0]})];
    for op in ["field", "has", "optional_field"] {
        add(&format!("{op} of 400 entries"), field(op, "key-00399"), &[], vec![map()]);
        add(&format!("{op} that is not there"), field(op, "nothing"), &[], vec![map()]);
    }
}

fn main() -> ExitCode {
    let prints_all = std::env::args().any(|argument| argument == "--all");
    let mut results = Vec::new();
    let beginning = beginning();
    operations(&mut results);
    calls(&mut results);
    results.iter_mut().for_each(|one| one.ns = (one.ns - beginning).max(0.0));
    results.sort_by(|a, b| b.ns_a_unit().total_cmp(&a.ns_a_unit()));
    println!("{:>10} {:>10} {:>9}  kind", "units", "ns", "ns a unit");
    for one in results.iter().take(if prints_all { usize::MAX } else { PRINTED }) {
        println!("{:>10} {:>10.0} {:>9.1}  {}", one.units, one.ns, one.ns_a_unit(), one.kind);
    }
    let median = results.get(results.len() / 2).map_or(NS_A_UNIT, Measured::ns_a_unit);
    let beyond = results.iter().filter(|one| one.ns_a_unit() > DEARER_MAX * median).count();
    println!("beginning an evaluation takes {beginning:.0} ns, which is left out");
    println!(
        "{} kinds; a unit of the median kind takes {median:.1} ns; {beyond} kinds take more than \
         {DEARER_MAX} times that",
        results.len()
    );
    if beyond == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
