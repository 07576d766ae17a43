//! Measures how many nanoseconds a unit of cost takes, for every function and every kind of
//! operation: `cargo bench -p kpolicy-cel --bench units`.
//!
//! Every overload is called with small and with large operands, readable and unreadable ones. A
//! unit is meant to take about ten nanoseconds. The most expensive kinds are printed first, all of
//! them with `-- --all`. `docs/internals/decision-budget.md` says what follows from the figures.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark may do so"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use kpolicy_cel::{Answer, Budget, Expression, Facts, Read, Value, from_json};
use serde_json::{Value as Json, json};

/// What a unit may take, and by how much the dearest kind may miss it on a busy machine.
const NS_A_UNIT: f64 = 10.0;
const TOLERANCE: f64 = 1.5;
/// How many of the dearest kinds are printed.
const PRINTED: usize = 40;
/// Each kind is run for so long, so many times; the quickest counts.
const SLICE: Duration = Duration::from_micros(30);
const SLICES: usize = 5;

/// Facts `a0`, `a1`, … are the operands.
struct Operands(Vec<Value>);

impl Facts for Operands {
    fn read(&self, read: &Read) -> Answer {
        let at = read.fact.text.strip_prefix('a').and_then(|at| at.parse::<usize>().ok());
        at.and_then(|at| self.0.get(at)).map_or(Answer::Unknown, |value| value.clone().into())
    }
}

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
    let facts = Operands(operands);
    let run = || {
        let mut budget = Budget::new(u64::MAX);
        let _ = black_box(expression.evaluate(&facts, &mut budget));
        budget.spent()
    };
    let units = run();
    let mut quickest = f64::INFINITY;
    for _ in 0..SLICES {
        let began = Instant::now();
        let mut rounds = 0_u32;
        while began.elapsed() < SLICE {
            for _ in 0..8 {
                run();
            }
            rounds += 8;
        }
        quickest = quickest.min(began.elapsed().as_secs_f64() * 1e9 / f64::from(rounds));
    }
    Measured { kind, units, ns: quickest }
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

/// Operands of a type: small, large, and for texts what each of the parsers reads.
fn of_type(head: &str, function: &str) -> Vec<(&'static str, Value)> {
    let made = |json: Json| from_json(&json).expect("a value");
    let numbers = |count: i64| Value::list((0..count).map(Value::Int).collect());
    let words = |count: usize| {
        Value::list((0..count).map(|at| Value::from(format!("word-{at:04}"))).collect())
    };
    let entries = |count: usize| {
        let pairs: Vec<Json> =
            (0..count).map(|at| json!([format!("key-{at:05}"), format!("v{at}")])).collect();
        made(json!({"map": pairs}))
    };
    match head {
        "int" => vec![("3", Value::Int(3)), ("max", Value::Int(i64::MAX))],
        "uint" => vec![("3u", Value::Uint(3))],
        "double" => vec![("1.5", Value::Double(1.5)), ("1e300", Value::Double(1.1e300))],
        "bool" => vec![("true", Value::Bool(true))],
        "string" => texts(function).into_iter().map(|(name, text)| (name, text.into())).collect(),
        "bytes" => vec![
            ("12 bytes", made(json!({"bytes": "aGVsbG8gd29ybGQh"}))),
            ("12 kB", Value::Bytes(vec![7_u8; 12_000].into())),
        ],
        "list" => vec![
            ("3 numbers", numbers(3)),
            ("400 numbers", numbers(400)),
            ("400 words", words(400)),
            ("40 lists of 10 words", Value::list((0..40).map(|_| words(10)).collect())),
            ("one list in 64 lists", (0..64).fold(numbers(200), |list, _| Value::list(vec![list]))),
            ("pairs", made(json!([[0, 0], [1, 5], [2, 7], [10, 9]]))),
            ("optionals", Value::list((0..100).map(|at| Value::some(Value::Int(at))).collect())),
        ],
        "map" => vec![("3 entries", entries(3)), ("400 entries", entries(400))],
        "timestamp" => vec![("time", made(json!({"timestamp": "2026-11-01T10:00:00Z"})))],
        "duration" => vec![("90s", made(json!({"duration": "90s"})))],
        "optional" => vec![("some", Value::some(Value::Int(1)))],
        "quantity" => vec![
            ("100Mi", made(json!({"quantity": "100Mi"}))),
            ("1n", made(json!({"quantity": "123456789n"}))),
        ],
        "selector" => vec![
            ("a=b", made(json!({"selector": "key-00001=v1"}))),
            ("in 60", made(json!({"selector": format!("key-00001 in ({})", many(60, "v", ","))}))),
        ],
        "ip" => vec![("ip", made(json!({"ip": "10.0.0.1"}))), ("ip6", made(json!({"ip": "::1"})))],
        "cidr" => vec![("cidr", made(json!({"cidr": "10.0.0.0/8"})))],
        "semver" => vec![("1.2.3", made(json!({"semver": "1.2.3-alpha.1+b"})))],
        "url" => vec![("url", made(json!({"url": "https://example.com:80/a%20b?x=1&y=2&z=3"})))],
        "format" => vec![("dns1123Label", made(json!({"format": "dns1123Label"})))],
        "null" => vec![("null", Value::Null)],
        _ => vec![
            ("1", Value::Int(1)),
            ("word", Value::from("word-0399")),
            ("400 words", words(400)),
            ("400 entries", entries(400)),
            ("nested", Value::list((0..40).map(|_| words(10)).collect())),
            ("4 kB", Value::from("ab ".repeat(1_365))),
        ],
    }
}

fn many(count: usize, word: &str, separator: &str) -> String {
    let words: Vec<String> = (0..count).map(|at| format!("{word}{at}")).collect();
    words.join(separator)
}

fn texts(function: &str) -> Vec<(&'static str, String)> {
    let mut texts = vec![
        ("short", "a".to_owned()),
        ("250 bytes", "ab-c9.".repeat(41)),
        ("4 kB", "ab ".repeat(1_365)),
        ("4 kB of é", "é".repeat(2_048)),
    ];
    let readable = match function {
        "to_int" | "to_uint" => "1234567890123",
        "to_double" => "1234.5678901234567890123e-12",
        "to_timestamp" => "2026-11-01T10:00:00.123456789+02:00",
        "to_duration" => "1h2m3.456789s",
        "quantity" | "is_quantity" | "cpu" | "units" => "1234567890.123Mi",
        "semver" | "is_semver" => "1.22.333-alpha.1.beta.2+build.5",
        "ip" | "is_ip" | "is_canonical_ip" | "contains_ip" => "2001:db8:0:0:1:0:0:1",
        "cidr" | "is_cidr" | "contains_cidr" => "2001:db8::/32",
        "url" | "is_url" => "https://user@example.com:8080/a/b%20c/d?query=1&other=2#part",
        "selector" => "app=web,tier!=front,env in (a,b,c),!x,y",
        "format" => "%s and %d and %s",
        "format_named" => "dns1123Label",
        "find" | "find_all" | "matches" => "(a|b)+[^x]*?c{1,3}",
        "base64_decode" => "aGVsbG8gd29ybGQhaGVsbG8gd29ybGQh",
        "get_hours" | "get_full_year" => "Europe/Berlin",
        _ => "a-word",
    };
    texts.push(("readable", readable.to_owned()));
    if function == "selector" {
        texts.push(("50 keys", many(50, "key=v,k", "")));
        texts.push(("50 pairs", many(50, "key=v", ",")));
        texts.push(("60 values", format!("a in ({})", many(60, "v", ","))));
    }
    texts
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

/// The overload's id without its suffix, as far as texts depend on it.
fn family_of(id: &str) -> String {
    let known = [
        "to_int",
        "to_uint",
        "to_double",
        "to_timestamp",
        "to_duration",
        "is_quantity",
        "quantity",
        "cpu",
        "units",
        "is_semver",
        "semver",
        "is_ip",
        "is_canonical_ip",
        "contains_ip",
        "ip",
        "is_cidr",
        "contains_cidr",
        "cidr",
        "is_url",
        "url",
        "selector",
        "format_named",
        "format",
        "find_all",
        "find",
        "matches",
        "base64_decode",
        "get_hours",
        "get_full_year",
    ];
    let is_of = |family: &&&str| id.starts_with(&format!("{family}_"));
    known.iter().find(is_of).map_or_else(String::new, |family| (*family).to_owned())
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
    add("a constant", vec![json!({"op": "constant", "constant": 0})], &[json!(1)], vec![]);
    add("a fact", vec![fact(0)], &[], vec![numbers()]);
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

fn main() {
    let prints_all = std::env::args().any(|argument| argument == "--all");
    let mut results = Vec::new();
    operations(&mut results);
    calls(&mut results);
    results.sort_by(|a, b| b.ns_a_unit().total_cmp(&a.ns_a_unit()));
    println!("{:>10} {:>10} {:>9}  kind", "units", "ns", "ns a unit");
    for one in results.iter().take(if prints_all { usize::MAX } else { PRINTED }) {
        println!("{:>10} {:>10.0} {:>9.1}  {}", one.units, one.ns, one.ns_a_unit(), one.kind);
    }
    let dear = results.iter().filter(|one| one.ns_a_unit() > NS_A_UNIT * TOLERANCE).count();
    println!("{} kinds, {dear} dearer than {} ns a unit", results.len(), NS_A_UNIT * TOLERANCE);
}
