//! In random clusters, a pod fits on its nominated node after its victims are gone and the controller of
//! claims has given their claims up.

use std::collections::BTreeMap;
use std::sync::Arc;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Applied, BindOutcome, Decision, PreBindWrite, Verdict};
use serde_json::{Value, json};

use crate::objects::{claim, class, decide, node, pod, program, remove, slice};
use crate::support::{self, Draws};

const SEEDS: u64 = 400;
const NODES: usize = 3;
const LOW: usize = 12;
const HIGH: usize = 4;

fn random_slice(draws: &mut Draws, pool: &str, node: Option<&str>) -> Value {
    let has_counters = draws.one_in(3);
    let devices: Value = (0..2 + draws.below(3))
        .map(|index| {
            let mut device = json!({"name": format!("d{index}")});
            if has_counters {
                let slots = (1 + draws.below(3)).to_string();
                device["consumesCounters"] =
                    json!([{"counterSet": "card", "counters": {"slots": {"value": slots}}}]);
            }
            if draws.one_in(4) {
                device["capacity"] = json!({"memory": {"value": "8Gi"}});
                device["allowMultipleAllocations"] = json!(true);
            }
            if draws.one_in(5) {
                device["taints"] = json!([{"key": "k", "effect": "NoSchedule"}]);
            }
            device
        })
        .collect();
    let mut slice = slice(pool, node, &devices);
    if has_counters {
        slice["spec"]["sharedCounters"] =
            json!([{"name": "card", "counters": {"slots": {"value": "5"}}}]);
    }
    slice
}

fn random_claim(draws: &mut Draws, name: &str) -> Value {
    let mut claim = claim(name, 1 + draws.below(2), &json!({}));
    let exactly = &mut claim["spec"]["devices"]["requests"][0]["exactly"];
    if draws.one_in(3) {
        exactly["capacity"] = json!({"requests": {"memory": format!("{}Gi", 1 + draws.below(6))}});
    }
    if draws.one_in(2) {
        exactly["tolerations"] = json!([{"key": "k", "operator": "Exists"}]);
    }
    claim
}

/// An engine, and the claims as the API server has them.
struct Tried {
    engine: Engine,
    claims: BTreeMap<String, Value>,
    pods: BTreeMap<String, Value>,
}

impl Tried {
    fn show_claim(&mut self, name: &str, claim: Value) {
        support::apply(&mut self.engine, &claim);
        self.claims.insert(name.to_owned(), claim);
    }

    /// A placed pod is bound: its claims are written, then the pod.
    fn bind(&mut self, decision: &Decision) {
        let pod = decision.uid.to_string();
        for write in &*decision.writes {
            let PreBindWrite::Claim(work) = write else { panic!("{write:?}") };
            let mut claim = self.claims[&*work.claim].clone();
            if !work.allocation.is_empty() {
                claim["status"]["allocation"] =
                    serde_json::from_str(&work.allocation).expect("JSON");
            }
            let mut users = claim["status"]["reservedFor"].as_array().cloned().unwrap_or_default();
            users.push(json!({"resource": "pods", "name": pod, "uid": pod}));
            claim["status"]["reservedFor"] = json!(users);
            self.show_claim(&work.claim, claim);
        }
        self.engine.settle(
            &[(decision.uid.clone(), BindOutcome::Bound)],
            0,
            &mut Applied::default(),
        );
        let mut bound = self.pods[&pod].clone();
        bound["spec"]["nodeName"] = json!(&*decision.node);
        bound["status"] = json!({"phase": "Running"});
        support::apply(&mut self.engine, &bound);
    }

    /// The pods go, and the controller of claims gives up what nobody uses any more.
    fn evict(&mut self, pods: &[String]) {
        for pod in pods {
            remove(&mut self.engine, pod);
        }
        for (name, mut claim) in self.claims.clone() {
            let users = claim["status"]["reservedFor"].as_array().cloned().unwrap_or_default();
            let is_left = |user: &Value| !pods.iter().any(|pod| user["uid"].as_str() == Some(pod));
            let left: Vec<Value> = users.iter().filter(|user| is_left(user)).cloned().collect();
            if left.len() == users.len() {
                continue;
            }
            claim["status"] = match left.is_empty() {
                true => json!({}),
                false => {
                    json!({"allocation": claim["status"]["allocation"], "reservedFor": left})
                }
            };
            self.show_claim(&name, claim);
        }
    }
}

fn random(seed: u64) -> Tried {
    let mut draws = Draws(seed);
    let release = ["1.37", "1.37", "1.36"][draws.below(3)];
    let mut tried = Tried {
        engine: support::loaded(seed, &program(true, release)),
        claims: BTreeMap::new(),
        pods: BTreeMap::new(),
    };
    support::apply(&mut tried.engine, &class());
    for index in 0..NODES {
        let name = format!("n{index}");
        support::apply(&mut tried.engine, &node(&name));
        let slice = random_slice(&mut draws, &name, Some(&name));
        support::apply(&mut tried.engine, &slice);
    }
    if draws.one_in(3) {
        let slice = random_slice(&mut draws, "net", None);
        support::apply(&mut tried.engine, &slice);
    }
    for index in 0..LOW + HIGH {
        let name = format!("p{index:02}");
        let claim = random_claim(&mut draws, &name);
        tried.show_claim(&name, claim);
        let priority = if index < LOW { 0 } else { 10 };
        let mut claims = vec![name.clone()];
        // Some pods use the claim of another one too.
        if index < LOW && index > 0 && draws.one_in(4) {
            claims.push(format!("p{:02}", draws.below(index)));
        }
        let claims: Vec<&str> = claims.iter().map(String::as_str).collect();
        let pod = pod(&name, priority, None, &claims);
        support::apply(&mut tried.engine, &pod);
        tried.pods.insert(name, pod);
    }
    for index in 0..LOW {
        let decision = decide(&mut tried.engine, &format!("p{index:02}"));
        if decision.verdict == Verdict::Placed {
            tried.bind(&decision);
        }
    }
    tried
}

#[test]
fn after_its_victims_are_gone_the_pod_fits_on_the_node_that_it_was_nominated_to() {
    let (mut looked_at, mut with_several) = (0, 0);
    for seed in 0..SEEDS {
        let mut tried = random(seed);
        for index in LOW..LOW + HIGH {
            let uid: Arc<str> = format!("p{index:02}").into();
            let decision = decide(&mut tried.engine, &uid);
            if decision.verdict == Verdict::Placed {
                tried.bind(&decision);
                continue;
            }
            if decision.victims.is_empty() {
                continue;
            }
            let gone: Vec<String> =
                decision.victims.iter().map(|victim| victim.uid.to_string()).collect();
            looked_at += 1;
            with_several += usize::from(gone.len() > 1);
            let mut applied = Applied::default();
            let evicted: Vec<Arc<str>> = gone.iter().map(|pod| pod.as_str().into()).collect();
            tried.engine.settle_room(&uid, &evicted, true, &mut applied);
            tried.evict(&gone);
            let scratch = tried.engine.decide_from_scratch(&uid);
            assert_eq!(
                (scratch.verdict, &scratch.node),
                (Verdict::Placed, &decision.nominated_node),
                "seed {seed}, {uid} after {gone:?}: {}",
                scratch.message
            );
            let now = decide(&mut tried.engine, &uid);
            assert_eq!(now, scratch, "seed {seed}");
            tried.bind(&now);
        }
    }
    assert!(looked_at > 200 && with_several > 20, "{looked_at}, {with_several}");
}
