//! Random policies that the compiler accepted (`python -m tests.hostile` writes them): what their rules
//! spend stays within the budget, on a busy cluster.

use std::cmp::Reverse;
use std::{env, fs};

use kpolicy_engine::api::Verdict;
use kpolicy_engine::rules::decision_work::units_max;
use serde_json::{Value, json};

use crate::cluster::{
    BYTES_MAX, NODES, Taken, allocated_bytes, busy_cluster, decide_often, mib, pod, undo_and_delete,
};
use crate::{alone, support};

/// How many are printed.
const PRINTED: usize = 12;
const POLICIES_MIN: usize = 10;
/// Texts of the policy are cut to as much.
const PRINTED_BYTES: usize = 160;

struct Trial<'a> {
    seed: &'a Value,
    rules: &'a str,
    taken: Taken,
    left_bytes: usize,
}

fn policies() -> Vec<Value> {
    let committed = include_str!("policies.json").to_owned();
    let more = env::var("KPOLICY_HOSTILE_POLICIES").ok();
    let more = more.map(|path| fs::read_to_string(path).expect("the file of policies is there"));
    let texts = [Some(committed), more];
    let read = |text: String| -> Vec<Value> {
        serde_json::from_str(&text).expect("the policies are JSON")
    };
    texts.into_iter().flatten().flat_map(read).collect()
}

#[test]
fn policies_that_the_compiler_accepts_stay_within_units_and_memory() {
    let _alone = alone();
    let mut engine = busy_cluster(&support::default_program());
    let policies = policies();
    assert!(policies.len() >= POLICIES_MIN, "{} policies", policies.len());
    let mut trials: Vec<Trial<'_>> = Vec::new();
    for policy in &policies {
        let before = allocated_bytes();
        if let Err(refusals) = engine.load(&policy["program"]) {
            panic!("{}: the program is refused: {refusals:#?}", policy["rules"]);
        }
        support::apply(&mut engine, &pod("pod", json!({})));
        let taken = decide_often(&mut engine, &policy["program"], "pod");
        undo_and_delete(&mut engine, "pod");
        assert!(engine.load(&support::default_program()).is_ok());
        let left_bytes = allocated_bytes().saturating_sub(before);
        let rules = policy["rules"].as_str().unwrap_or_default();
        trials.push(Trial { seed: &policy["seed"], rules, taken, left_bytes });
    }
    trials.sort_by_key(|trial| Reverse(trial.taken.time));
    println!("{} policies; those that took longest:", trials.len());
    for Trial { seed, rules, taken, left_bytes } in trials.iter().take(PRINTED) {
        println!(
            "{:>8.2} ms {:>9} units {:>4} MiB at most {:>3} MiB left  seed {seed}: {rules:.*}",
            taken.time.as_secs_f64() * 1_000.0,
            taken.units,
            mib(taken.peak_bytes),
            mib(*left_bytes),
            PRINTED_BYTES
        );
    }
    for Trial { rules, taken, left_bytes, .. } in &trials {
        let is_judged = matches!(taken.decision.verdict, Verdict::Placed | Verdict::Parked);
        assert!(is_judged, "{rules}: {}", taken.decision.message);
        assert!(taken.units <= units_max(NODES), "{rules}: {} units", taken.units);
        assert!(taken.peak_bytes <= BYTES_MAX, "{rules}: {} MiB", mib(taken.peak_bytes));
        assert!(*left_bytes <= BYTES_MAX, "{rules}: {} MiB left", mib(*left_bytes));
    }
}
