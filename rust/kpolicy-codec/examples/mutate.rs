//! Fuzzing on a stable toolchain: the corpus of `fuzz/`, mutated by a seeded generator.
//! `cargo run --release -p kpolicy-codec --example mutate -- --seconds 60 [--seed 1]`
//!
//! A panic ends the run with the input written to `mutate-failure`. Prints what it tried.

#![allow(clippy::expect_used, clippy::panic, reason = "a tool for developers may end with a panic")]

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[path = "../fuzz/targets.rs"]
mod targets;

const INPUT_BYTES_MAX: usize = 1 << 20;
const STEPS_MAX: u64 = 6;
/// Far above what an input of the greatest size takes even on a busy machine.
const INPUT_TIME_MAX: Duration = Duration::from_secs(10);

/// Text that decoders stumble over.
const TOKENS: [&str; 36] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "null",
    "true",
    "0",
    "-1",
    "1e999",
    "1e-999",
    "0.1",
    "9223372036854775808",
    "\"\"",
    "{}",
    "[]",
    "\\u0000",
    "\\ud800",
    "\u{FEFF}",
    "\n",
    "\0",
    "{\"a\":",
    "[[[[[[[[",
    "\"metadata\":",
    "\"spec\":",
    "\"items\":[",
    "\"kind\":\"List\",",
    "\"1e99999999999\"",
    "\"-1Ei\"",
    "\"0.0000000001n\"",
    "\"2026-01-01T00:00:00Z\"",
    "{\"type\":\"ADDED\",\"object\":",
    "\"name\":\"x\"",
];

fn main() -> ExitCode {
    let seconds = argument("--seconds").unwrap_or(10);
    let mut random = Random(argument("--seed").unwrap_or(1).wrapping_mul(2).wrapping_add(1));
    let targets: [Target; 7] = [
        Target::new("object", targets::object),
        Target::new("list", targets::page),
        Target::new("watch", targets::lines),
        Target::new("quantity", targets::quantity),
        Target::new("world", targets::world),
        Target::new("deltas", targets::deltas),
        Target::new("program", targets::program),
    ];
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut runs = [0_u64; 7];
    let mut objects = 0_u64;
    while Instant::now() < until {
        for (target, count) in targets.iter().zip(&mut runs) {
            let input = target.mutated(&mut random);
            let began = Instant::now();
            match catch_unwind(AssertUnwindSafe(|| (target.run)(&input))) {
                Ok(read) if began.elapsed() < INPUT_TIME_MAX => objects += read,
                outcome => {
                    let what = if outcome.is_ok() { "too slow" } else { "a panic" };
                    let kept = fs::write("mutate-failure", &input).is_ok();
                    eprintln!("{}: {what} (input kept: {kept})", target.name);
                    return ExitCode::FAILURE;
                }
            }
            *count += 1;
        }
    }
    for (target, count) in targets.iter().zip(&runs) {
        println!("{}: {count} inputs from {} of the corpus", target.name, target.corpus.len());
    }
    println!("{objects} objects were read");
    ExitCode::SUCCESS
}

fn argument(name: &str) -> Option<u64> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.nth(1)?.parse().ok()
}

struct Target {
    name: &'static str,
    run: fn(&[u8]) -> u64,
    corpus: Vec<Vec<u8>>,
}

impl Target {
    fn new(name: &'static str, run: fn(&[u8]) -> u64) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
        let mut paths: Vec<_> = fs::read_dir(folder)
            .expect("the corpus is in the repository")
            .map(|entry| entry.expect("a folder can be listed").path())
            .collect();
        paths.sort();
        let corpus: Vec<Vec<u8>> =
            paths.iter().map(|path| fs::read(path).expect("a file can be read")).collect();
        assert!(!corpus.is_empty());
        Self { name, run, corpus }
    }

    fn mutated(&self, random: &mut Random) -> Vec<u8> {
        let mut input = random.pick(&self.corpus).clone();
        for _ in 0..=random.below(STEPS_MAX) {
            let (from, to) = random.range(input.len());
            match random.below(8) {
                0 if !input.is_empty() => {
                    let at = from.min(input.len() - 1);
                    input[at] ^= 1 << random.below(8);
                }
                1 => drop(input.drain(from..to)),
                2 => input.truncate(from),
                3 => {
                    let copy = input[from..to].repeat(1 + random.index(3));
                    input.splice(to..to, copy);
                }
                4 => {
                    let other = random.pick(&self.corpus);
                    let (start, end) = random.range(other.len());
                    input.splice(from..to, other[start..end].iter().copied());
                }
                5 => {
                    let repeats = 1 << random.below(10);
                    input.splice(from..from, random.pick(&TOKENS).repeat(repeats).into_bytes());
                }
                _ => {
                    input.splice(from..from, random.pick(&TOKENS).bytes());
                }
            }
        }
        input.truncate(INPUT_BYTES_MAX);
        input
    }
}

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    fn index(&mut self, bound: usize) -> usize {
        usize::try_from(self.below(u64::try_from(bound).unwrap_or(u64::MAX))).unwrap_or(0)
    }

    fn pick<'t, T>(&mut self, choices: &'t [T]) -> &'t T {
        &choices[self.index(choices.len())]
    }

    /// A range, mostly short.
    fn range(&mut self, length: usize) -> (usize, usize) {
        let from = self.index(length + 1);
        let most = if self.below(4) == 0 { length - from } else { 16.min(length - from) };
        (from, from + self.index(most + 1))
    }
}
