//! What a first decision costs each rule by itself and each shipped policy, counted in nodes and label
//! values that the snapshot shows to rules: linear in nodes, and no more where nodes lack a label.
//! `make costs` prints the table.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]
#![cfg(debug_assertions)]

mod cluster;
mod programs;
#[path = "../support/mod.rs"]
mod support;

use std::sync::Arc;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Applied, BindOutcome, Still, Verdict};
use kpolicy_engine::rules::catalog;
use kpolicy_engine::snapshot::lanes_read;
use serde_json::Value;

use cluster::Labelled;
use programs::Programs;

const NODES: usize = 5_000;
/// What a rule may read for each node and each domain; a node is a domain of its own too.
const BUILTIN_LANES_MAX: usize = 20;
const POLICY_LANES_MAX: usize = 80;
/// `explain` asks every filter about every node twice, and every score once.
const EXPLAINED_LANES_MAX: usize = 250;
const LANES_OF_BOTH_SIDES_MAX: usize = 4;

/// A program with one rule, or a shipped policy.
struct Measured {
    name: String,
    program: Value,
    lanes_max: usize,
}

/// Programs, each with what it may read.
fn measured(programs: Programs, lanes_max: usize) -> Vec<Measured> {
    programs.into_iter().map(|(name, program)| Measured { name, program, lanes_max }).collect()
}

fn builtins() -> Vec<Measured> {
    measured(programs::builtins(), BUILTIN_LANES_MAX)
}

fn policies() -> Vec<Measured> {
    measured(programs::policies(), POLICY_LANES_MAX)
}

/// What the first decision of each program reads.
fn lanes(measured: &[Measured], nodes: usize, labelled: Labelled) -> Vec<u64> {
    let mut engine = Engine::new(1);
    support::apply(&mut engine, &cluster::objects(nodes, labelled));
    let decide = |(number, measured): (usize, &Measured)| {
        if let Err(refusals) = engine.load(&measured.program) {
            panic!("{}: the program is refused: {refusals:#?}", measured.name);
        }
        let uid = format!("pending-{number}");
        support::apply(&mut engine, &cluster::pod(&uid));
        let uids: [Arc<str>; 1] = [uid.as_str().into()];
        let before = lanes_read();
        let decision = engine.schedule(&uids, 0, &Still).decisions.remove(0);
        let read = lanes_read() - before;
        let is_judged = matches!(decision.verdict, Verdict::Placed | Verdict::Parked);
        assert!(is_judged, "{}: {:?} {}", measured.name, decision.verdict, decision.message);
        engine.settle(&[(Arc::clone(&uids[0]), BindOutcome::Gone)], 0, &mut Applied::default());
        read
    };
    measured.iter().enumerate().map(decide).collect()
}

#[test]
fn a_first_decision_costs_so_much_a_node_whichever_labels_nodes_lack() {
    let mut measured = builtins();
    let (filters, scores) = (catalog::filter_names().len(), catalog::score_names().len());
    assert_eq!((filters, scores), (21, 19));
    assert_eq!(measured.len(), filters + scores);
    let policies = policies();
    assert_eq!(policies.len(), 23);
    measured.extend(policies);
    let present = lanes(&measured, NODES, Labelled::Everywhere);
    let lacking = lanes(&measured, NODES, Labelled::Mostly);
    let doubled = lanes(&measured, 2 * NODES, Labelled::Everywhere);
    let doubled_lacking = lanes(&measured, 2 * NODES, Labelled::Mostly);
    println!(
        "{:<42} {:>10} {:>12} {:>10} {:>12}",
        "lanes read by a first decision", "5,000", "1 % lacking", "10,000", "1 % lacking"
    );
    let mut dear: Vec<String> = Vec::new();
    let columns = present.into_iter().zip(lacking).zip(doubled.into_iter().zip(doubled_lacking));
    for (measured, ((present, lacking), (doubled, doubled_lacking))) in measured.iter().zip(columns)
    {
        let name = &measured.name;
        println!("{name:<42} {present:>10} {lacking:>12} {doubled:>10} {doubled_lacking:>12}");
        let most = (measured.lanes_max * NODES) as u64;
        let is_cheap = present.max(lacking) <= most && doubled.max(doubled_lacking) <= 2 * most;
        // Where only some nodes have a label, both sides of a conditional are worked out.
        let both_sides = (LANES_OF_BOTH_SIDES_MAX * NODES) as u64;
        let costs_nothing =
            |lacking: u64, present: u64| 10 * lacking <= 11 * present + 10 * both_sides;
        if !is_cheap {
            dear.push(format!("{name} reads more than {} lanes a node", measured.lanes_max));
        }
        if !costs_nothing(lacking, present) || !costs_nothing(doubled_lacking, doubled) {
            dear.push(format!("{name} reads more where nodes lack a label"));
        }
    }
    assert!(dear.is_empty(), "{dear:#?}");
}

#[test]
fn explaining_a_pod_node_by_node_is_linear_in_nodes_too() {
    let mut engine = Engine::new(1);
    support::apply(&mut engine, &cluster::objects(NODES, Labelled::Mostly));
    support::apply(&mut engine, &cluster::pod("pending"));
    let policies = policies();
    assert_eq!(policies.len(), 23);
    let mut dear: Vec<String> = Vec::new();
    for Measured { name, program, .. } in policies {
        if let Err(refusals) = engine.load(&program) {
            panic!("{name}: the program is refused: {refusals:#?}");
        }
        let before = lanes_read();
        let line = engine.explain(Some(&["d/pending".to_owned()]));
        let read = lanes_read() - before;
        println!("{name:<42} {read:>10} lanes read to explain a pod at {NODES} nodes");
        assert!(line.len() > 10 * NODES, "{name}: every node is explained");
        if read > (EXPLAINED_LANES_MAX * NODES) as u64 {
            dear.push(name);
        }
    }
    assert!(dear.is_empty(), "{dear:?} read more than {EXPLAINED_LANES_MAX} lanes a node");
}
