//! Memos of pods that fit nowhere give what a search from scratch gives: small full clusters, few
//! kinds of pods that are tried again and again, random changes in between, and every decision
//! compared with `explain`, which keeps nothing.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod support;

use std::sync::Arc;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Applied, Decision, Event, Still, Verdict};
use kpolicy_engine::model::{Kind, Meta};
use serde_json::{Value, json};

const CLUSTERS: u64 = 40;
const STEPS: usize = 60;
const NODES: u64 = 10;
const CORES: u64 = 4;

struct Draws(u64);

impl Draws {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

fn node(index: u64, draws: &mut Draws) -> Value {
    let zone = format!("z{}", draws.below(3));
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": format!("n{index}"), "labels": {"topology.kubernetes.io/zone": zone}},
        "spec": {"unschedulable": draws.below(8) == 0},
        "status": {"allocatable": {"cpu": CORES.to_string(), "memory": "64Gi", "pods": "20"}}})
}

/// On a node, with a start time of its own.
fn running(name: &str, on: u64, draws: &mut Draws) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": "red", "name": name, "uid": name,
                     "labels": {"app": format!("a{}", draws.below(2))}},
        "spec": {"priority": draws.below(3), "nodeName": format!("n{on}"), "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}});
    started(&mut pod, draws);
    pod
}

fn started(pod: &mut Value, draws: &mut Draws) {
    let time = format!("2026-01-01T00:00:{:02}Z", draws.below(60));
    pod["status"] = json!({"phase": "Running", "startTime": time});
}

/// One of a few sorts; `spaced` ones rest on what is on other nodes.
fn waiting(name: &str, sort: u64, is_spaced: bool) -> Value {
    let (priority, cpu) = (1 + sort % 3, 1 + sort / 3 % 3 + 3 * (sort / 9));
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": "red", "name": name, "uid": name, "labels": {"app": "a0"}},
        "spec": {"priority": priority, "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu.to_string()}}}]}});
    if is_spaced {
        let term = json!({"labelSelector": {"matchLabels": {"app": "a1"}},
                          "topologyKey": "topology.kubernetes.io/zone"});
        pod["spec"]["affinity"] =
            json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}});
    }
    pod
}

fn budget(draws: &mut Draws) -> Value {
    json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"namespace": "red", "name": "b"},
        "spec": {"selector": {"matchLabels": {"app": format!("a{}", draws.below(2))}}},
        "status": {"disruptionsAllowed": draws.below(2)}})
}

fn remove(engine: &mut Engine, uid: &str) {
    let meta =
        Meta { uid: uid.into(), namespace: "red".into(), name: uid.into(), ..Meta::default() };
    engine.apply(Event::Gone(Kind::Pod, Box::new(meta)), 0, &mut Applied::default());
}

fn compare(engine: &mut Engine, uid: &str, place: &str) -> Decision {
    let line = engine.explain(Some(&[format!("red/{uid}")]));
    let want: Value = serde_json::from_slice(&line).expect("a line is JSON");
    let uids: [Arc<str>; 1] = [uid.into()];
    let have = engine.schedule(&uids, 0, &Still).decisions.remove(0);
    let room = &want["preemption"];
    match have.verdict {
        Verdict::Placed => assert_eq!(want["selected"], json!(&*have.node), "{place}"),
        Verdict::Parked if have.nominated_node.is_empty() => {
            // The engine itself compares the whole text with a new one, in a debug build.
            let message = want["message"].as_str().unwrap_or_default();
            assert!(have.message.starts_with(message), "{place}: {} {message}", have.message);
            assert!(room["node"].is_null(), "{place}: {room:#}");
        }
        Verdict::Parked => {
            let victims: Vec<Value> =
                have.victims.iter().map(|one| json!(format!("red/{}", one.uid))).collect();
            let wanted = &room["candidates"][&*have.nominated_node];
            assert_eq!(*wanted, Value::Array(victims), "{place}: {room:#}");
        }
        other => panic!("{place}: {other:?} {}", have.message),
    }
    have
}

#[derive(Debug, Default)]
struct Seen {
    placed: usize,
    nominated: usize,
    refused: usize,
}

fn run(seed: u64, seen: &mut Seen) {
    let mut draws = Draws(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut engine = support::loaded(seed, &support::default_program());
    let mut pods: Vec<(String, u64)> = Vec::new();
    for index in 0..NODES {
        support::apply(&mut engine, &node(index, &mut draws));
        for place in 0..CORES - draws.below(2) {
            let name = format!("old-{index}-{place}");
            support::apply(&mut engine, &running(&name, index, &mut draws));
            pods.push((name, index));
        }
    }
    let is_spaced = seed.is_multiple_of(4);
    let mut tried: Vec<String> = Vec::new();
    for step in 0..STEPS {
        let chosen = usize::try_from(draws.below(pods.len() as u64)).expect("an index");
        match draws.below(14) {
            0 => support::apply(&mut engine, &node(draws.below(NODES), &mut draws)),
            1 => support::apply(&mut engine, &budget(&mut draws)),
            2 => {
                let (name, _) = pods.swap_remove(chosen);
                remove(&mut engine, &name);
                Applied::default()
            }
            3 => {
                let (name, on) = (format!("more-{step}"), draws.below(NODES));
                pods.push((name.clone(), on));
                support::apply(&mut engine, &running(&name, on, &mut draws))
            }
            4 | 5 => {
                // Also with nothing changed that a rule reads but when it started.
                let (name, on) = pods[chosen].clone();
                support::apply(&mut engine, &running(&name, on, &mut draws))
            }
            6 if !tried.is_empty() => {
                let at = usize::try_from(draws.below(tried.len() as u64)).expect("an index");
                remove(&mut engine, &tried.swap_remove(at));
                Applied::default()
            }
            _ => Applied::default(),
        };
        for attempt in 0..3 {
            let uid = match tried.len() as u64 {
                count if count > 0 && draws.below(2) == 0 => {
                    let at = usize::try_from(draws.below(count)).expect("an index");
                    tried[at].clone()
                }
                _ => {
                    let name = format!("new-{step}-{attempt}");
                    let sort = draws.below(12);
                    support::apply(&mut engine, &waiting(&name, sort, is_spaced));
                    name
                }
            };
            tried.retain(|have| *have != uid);
            let place = format!("cluster {seed} step {step} {uid}");
            let decision = compare(&mut engine, &uid, &place);
            match (decision.verdict, decision.nominated_node.is_empty()) {
                (Verdict::Placed, _) => seen.placed += 1,
                (_, true) => seen.refused += 1,
                (_, false) => seen.nominated += 1,
            }
            if decision.verdict == Verdict::Parked {
                tried.push(uid);
            }
        }
    }
}

#[test]
fn what_is_known_again_is_what_would_be_found_anew() {
    let mut seen = Seen::default();
    (1..=CLUSTERS).for_each(|seed| run(seed, &mut seen));
    println!("{seen:?}");
    assert!(seen.placed > 50 && seen.nominated > 1_000 && seen.refused > 1_000, "{seen:?}");
}
