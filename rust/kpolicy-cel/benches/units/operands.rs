//! The operands that overloads are called with.

use kpolicy_cel::{Value, from_json};
use serde_json::{Value as Json, json};

/// Operands of a type: small, large, and for texts what each of the parsers reads.
pub(crate) fn of_type(head: &str, function: &str) -> Vec<(&'static str, Value)> {
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

/// The overload's id without its suffix, as far as texts depend on it.
pub(crate) fn family_of(id: &str) -> String {
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
