//! Looking at only some of the nodes, compared with a walk over them in kube-scheduler's order: the same
//! nodes are found, the next search starts where this one ended, and a decision equals one from scratch.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

#[path = "worlds/draws.rs"]
mod draws;
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Applied, Decision, Event, KeptNode, Kind, RefusedNode, Still, Verdict};
use kpolicy_engine::model::Meta;
use kpolicy_engine::threads::Threads;
use serde_json::{Value, json};

use draws::Draws;

const ZONE: &str = "topology.kubernetes.io/zone";
const NODES: usize = 260;
const PODS: usize = 60;

/// Nodes by zone, and their order, as written down in kube-scheduler.
#[derive(Default)]
struct Walk {
    zones: Vec<(String, Vec<String>)>,
    order: Vec<String>,
    next_start: usize,
}

impl Walk {
    fn add(&mut self, name: &str, zone: &str) {
        if !self.zones.iter().any(|(have, _)| have == zone) {
            self.zones.push((zone.to_owned(), Vec::new()));
        }
        let zone = self.zones.iter_mut().find(|(have, _)| have == zone).expect("it was added");
        zone.1.push(name.to_owned());
    }

    fn remove(&mut self, name: &str) {
        self.zones.iter_mut().for_each(|(_, nodes)| nodes.retain(|have| have != name));
        self.zones.retain(|(_, nodes)| !nodes.is_empty());
    }

    fn list(&mut self) {
        self.order.clear();
        let longest = self.zones.iter().map(|(_, nodes)| nodes.len()).max().unwrap_or(0);
        for turn in 0..longest {
            self.order.extend(self.zones.iter().filter_map(|(_, nodes)| nodes.get(turn).cloned()));
        }
    }

    /// The nodes that are found among these; the next walk starts where this one ends.
    fn find(
        &mut self,
        among: &[String],
        passing: &BTreeSet<String>,
        percentage: usize,
        attempted: Option<&str>,
    ) -> Vec<String> {
        let count = among.len();
        let share = if percentage == 0 { 5.max(50 - count / 125) } else { percentage };
        let enough = if count < 100 { count } else { 100.max(count * share / 100) };
        let (mut found, mut rejected) = (Vec::new(), BTreeSet::new());
        for step in 0..count {
            let name = &among[(self.next_start + step) % count];
            if !passing.contains(name) {
                rejected.insert(name.as_str());
            } else if found.len() == enough {
                break;
            } else {
                found.push(name.clone());
            }
        }
        rejected.extend(attempted);
        self.next_start = (self.next_start + found.len() + rejected.len()) % self.order.len();
        found
    }
}

fn node(name: &str, zone: &str, draws: &mut Draws) -> Value {
    let cpu = draws.pick(&["1", "2", "4"]).to_owned();
    let taints = match draws.one_in(5) {
        true => json!([{"key": "ours", "value": "x", "effect": "NoSchedule"}]),
        false => json!([]),
    };
    json!({"apiVersion": "v1", "kind": "Node", "spec": {"taints": taints},
        "metadata": {"name": name, "labels": {ZONE: zone, "kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": cpu, "memory": "64Gi", "pods": "110"}}})
}

fn pod(name: &str, spec: Value, nominated: Option<&str>) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "spec": spec,
        "metadata": {"name": name, "namespace": "d", "uid": name, "labels": {"app": "web"}},
        "status": {"phase": "Pending", "nominatedNodeName": nominated}})
}

fn program(percentage: usize) -> Value {
    let mut program = support::default_program();
    program["profiles"][0]["percentageOfNodesToScore"] = json!(percentage);
    program
}

/// What a run met.
#[derive(Debug, Default)]
struct Met {
    stopped_early: usize,
    narrowed: usize,
    nominated: usize,
    nowhere: usize,
}

struct Trial {
    /// Decides in one step, and in two with extenders in between, which keep all nodes.
    engines: [Engine; 2],
    walk: Walk,
    percentage: usize,
    met: Met,
}

impl Trial {
    fn apply(&mut self, object: &Value) {
        for engine in &mut self.engines {
            support::apply(engine, object);
        }
    }

    fn spec(&self, draws: &mut Draws) -> Value {
        let cpu = draws.pick(&["100m", "1500m", "3", "9"]).to_owned();
        let mut spec = json!({"containers": [{"name": "c", "image": "i",
            "resources": {"requests": {"cpu": cpu}}}]});
        if draws.one_in(6) {
            let terms: Vec<Value> = (0..=draws.below(140))
                .map(|_| {
                    let name = &self.walk.order[draws.below(self.walk.order.len())];
                    json!({"matchFields": [
                        {"key": "metadata.name", "operator": "In", "values": [name]}]})
                })
                .collect();
            spec["affinity"] = json!({"nodeAffinity":
                {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}});
        }
        spec
    }

    /// The nodes that a pod is narrowed down to, and those of them that pass.
    fn judged(&mut self, name: &str) -> (BTreeSet<String>, BTreeSet<String>) {
        let line = self.engines[0].explain(Some(&[format!("d/{name}")]));
        let line: Value = serde_json::from_slice(&line).expect("JSON");
        let nodes = line["nodes"].as_array().expect("a list");
        let names = |of: &dyn Fn(&Value) -> bool| -> BTreeSet<String> {
            let names = nodes.iter().filter(|node| of(node));
            names.map(|node| node["name"].as_str().expect("a name").to_owned()).collect()
        };
        let all = names(&|_| true);
        (all, names(&|node| node["filter"].is_null()))
    }

    fn decide(&mut self, name: &str, spec: &Value, own: Option<&str>) {
        self.apply(&pod(name, spec.clone(), own));
        let (_, passing) = self.judged(name);
        let terms =
            &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
        let named: Option<BTreeSet<String>> = terms["nodeSelectorTerms"].as_array().map(|terms| {
            let name =
                |term: &Value| term["matchFields"][0]["values"][0].as_str().map(str::to_owned);
            terms.iter().filter_map(name).collect()
        });
        let among: Vec<String> = match &named {
            Some(names) => names.iter().cloned().collect(),
            None => self.walk.order.clone(),
        };
        let passing: BTreeSet<String> =
            passing.into_iter().filter(|name| among.contains(name)).collect();
        self.met.narrowed += usize::from(named.is_some());
        let (taken, rejected) = own.map_or((None, None), |own| {
            if passing.contains(own) { (Some(own), None) } else { (None, Some(own)) }
        });
        let start = self.walk.next_start;
        let mut found = self.walk.find(&among, &passing, self.percentage, rejected);
        self.met.stopped_early += usize::from(found.len() < passing.len());
        let scored = taken.map_or(found.len(), |_| 1);
        if let Some(taken) = taken {
            self.met.nominated += 1;
            self.walk.next_start = start;
            found.retain(|name| name != taken);
            found.insert(0, taken.to_owned());
        }

        let uid: Arc<str> = name.into();
        let [at_once, in_two] = &mut self.engines;
        let scratch = at_once.decide_from_scratch(&uid);
        let mut batch = at_once.schedule(std::slice::from_ref(&uid), 0, &Still).decisions;
        let decision = batch.pop().expect("a decision");
        assert_eq!((&decision.node, decision.score), (&scratch.node, scratch.score), "{name}");
        assert_eq!(decision.nodes_feasible, scratch.nodes_feasible, "{name}");
        assert_eq!(decision.message, scratch.message, "{name}");
        assert_eq!(decision.verdict == Verdict::Placed, !found.is_empty(), "{name}");
        if decision.verdict == Verdict::Placed {
            assert_eq!(decision.nodes_feasible, scored, "{name}");
            assert!(taken.is_none_or(|taken| taken == &*decision.node), "{name}");
        }
        self.met.nowhere += usize::from(found.is_empty());

        let filtered = in_two.filter(&uid, &Still);
        let names: Vec<String> = filtered.feasible.iter().map(ToString::to_string).collect();
        assert_eq!(names, found, "{name}: from {start}");
        let keep = |node: &Arc<str>| KeptNode { node: Arc::clone(node), score: 0 };
        let kept: Vec<KeptNode> = filtered.feasible.iter().map(keep).collect();
        let chosen = in_two.choose(&uid, filtered.token, &kept, &[], &Still);
        assert_eq!((&chosen.node, chosen.score), (&decision.node, decision.score), "{name}");
        assert_eq!(chosen.message, decision.message, "{name}");
    }

    fn change_nodes(&mut self, turn: usize, draws: &mut Draws) {
        let name = self.walk.order[draws.below(self.walk.order.len())].clone();
        let zone = format!("zone-{}", draws.below(9));
        match turn % 3 {
            0 => {
                self.walk.remove(&name);
                self.walk.list();
                for engine in &mut self.engines {
                    let meta = Meta { name: name.as_str().into(), ..Meta::default() };
                    let gone = Event::Gone(Kind::Node, Box::new(meta));
                    engine.apply(gone, 0, &mut Applied::default());
                }
            }
            1 => {
                let name = format!("late-{turn}");
                self.walk.add(&name, &zone);
                self.walk.list();
                self.apply(&node(&name, &zone, draws));
            }
            // The order is as it was until nodes come or go.
            _ => {
                let has_moved = self
                    .walk
                    .zones
                    .iter()
                    .any(|(have, nodes)| *have != zone && nodes.contains(&name));
                if has_moved {
                    self.walk.remove(&name);
                    self.walk.add(&name, &zone);
                }
                self.apply(&node(&name, &zone, draws));
            }
        }
    }
}

fn run(seed: u64, percentage: usize) -> Met {
    let mut draws = Draws::of(seed);
    let engine = |threads: usize| {
        let mut engine = Engine::with_threads(seed, Arc::new(Threads::new(threads)));
        assert!(engine.load(&program(percentage)).is_ok(), "the program is good");
        engine
    };
    let engines = [engine(1), engine(4)];
    let (walk, met) = (Walk::default(), Met::default());
    let mut trial = Trial { engines, walk, percentage, met };
    for index in 0..NODES {
        // Some zones have many nodes, and names are not in the order in which they come.
        let zones = 1 + draws.below(8);
        let zone = format!("zone-{}", draws.below(zones));
        let name = format!("node-{:03}", (index * 7 + 3) % NODES);
        trial.walk.add(&name, &zone);
        trial.apply(&node(&name, &zone, &mut draws));
    }
    trial.walk.list();
    for index in 0..PODS {
        if draws.one_in(4) {
            trial.change_nodes(index, &mut draws);
        }
        let spec = trial.spec(&mut draws);
        let own = draws.below(trial.walk.order.len());
        let own = draws.one_in(6).then(|| trial.walk.order[own].clone());
        trial.decide(&format!("pod-{index:02}"), &spec, own.as_deref());
    }
    trial.met
}

#[test]
fn the_same_nodes_are_found_as_by_a_walk_in_kube_schedulers_order() {
    let mut met: BTreeMap<usize, Met> = BTreeMap::new();
    for (seed, percentage) in [(1, 0), (2, 1), (3, 40), (4, 60), (5, 99)] {
        met.insert(percentage, run(seed, percentage));
    }
    println!("{met:?}");
    let sum = |of: fn(&Met) -> usize| met.values().map(of).sum::<usize>();
    assert!(sum(|met| met.stopped_early) >= 40, "{met:?}");
    assert!(sum(|met| met.narrowed) >= 20, "{met:?}");
    assert!(sum(|met| met.nominated) >= 5, "{met:?}");
    assert!(sum(|met| met.nowhere) >= 20, "{met:?}");
}

/// One engine with equal nodes, of which 120 are looked at.
struct Even {
    engine: Engine,
}

impl Even {
    fn of_nodes(count: usize) -> Self {
        let mut engine = Engine::with_threads(1, Arc::new(Threads::new(1)));
        assert!(engine.load(&program(40)).is_ok(), "the program is good");
        for index in 0..count {
            let name = format!("node-{index:03}");
            support::apply(
                &mut engine,
                &json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
                    "status": {"allocatable": {"cpu": "4", "memory": "64Gi", "pods": "110"}}}),
            );
        }
        Self { engine }
    }

    /// Positions of the nodes about which extenders are asked, and the answer where they refuse some.
    fn decide(
        &mut self,
        name: &str,
        own: Option<usize>,
        refuses: impl Fn(usize) -> bool,
    ) -> (Vec<usize>, Decision) {
        let own = own.map(|own| format!("node-{own:03}"));
        let spec = json!({"containers": [{"name": "c", "image": "i"}]});
        support::apply(&mut self.engine, &pod(name, spec, own.as_deref()));
        let uid: Arc<str> = name.into();
        let filtered = self.engine.filter(&uid, &Still);
        let position = |node: &Arc<str>| node["node-".len()..].parse().expect("a number");
        let found: Vec<usize> = filtered.feasible.iter().map(position).collect();
        let (mut kept, mut refused) = (Vec::new(), Vec::new());
        for (node, position) in filtered.feasible.iter().zip(&found) {
            let node = Arc::clone(node);
            match refuses(*position) {
                true => refused.push(RefusedNode {
                    node,
                    reason: "no".to_owned(),
                    is_unresolvable: false,
                }),
                false => kept.push(KeptNode { node, score: 0 }),
            }
        }
        let chosen = self.engine.choose(&uid, filtered.token, &kept, &refused, &Still);
        (found, chosen)
    }
}

fn turn(from: usize, count: usize) -> Vec<usize> {
    (from..from + count).map(|position| position % 300).collect()
}

#[test]
fn a_message_is_about_the_nodes_that_extenders_were_asked_about() {
    let mut even = Even::of_nodes(300);
    let (found, refused) = even.decide("first", None, |_| true);
    assert_eq!(found, turn(0, 120));
    let message = "0/300 nodes are available: 120 no.";
    assert!(refused.message.starts_with(message), "{}", refused.message);
    let (found, placed) = even.decide("second", None, |_| false);
    assert_eq!(found, turn(120, 120));
    assert_eq!(placed.verdict, Verdict::Placed);
}

#[test]
fn a_nominated_node_that_extenders_keep_leaves_the_next_start_where_it_was() {
    let mut even = Even::of_nodes(300);
    let (found, placed) = even.decide("first", Some(200), |_| false);
    assert_eq!((found[0], found.len(), &*placed.node), (200, 121, "node-200"));
    let (found, _) = even.decide("second", None, |_| false);
    assert_eq!(found, turn(0, 120));
    // Refused, it was tried besides the 120 others, or once more as one of them.
    let (found, placed) = even.decide("third", Some(7), |node| node == 7);
    assert_eq!((found[0], found.len()), (7, 121));
    assert_eq!(placed.verdict, Verdict::Placed);
    let (found, placed) = even.decide("fourth", Some(250), |node| node == 250);
    assert_eq!(
        found[1..],
        turn(241, 120).into_iter().filter(|node| *node != 250).collect::<Vec<_>>()
    );
    assert_eq!(placed.verdict, Verdict::Placed);
    let (found, refused) = even.decide("fifth", Some(250), |_| true);
    assert_eq!((found[0], &found[1..]), (250, &turn(362, 120)[..]));
    let message = "0/300 nodes are available: 121 no.";
    assert!(refused.message.starts_with(message), "{}", refused.message);
    let (found, _) = even.decide("sixth", None, |_| false);
    assert_eq!(found[0], (362 + 121) % 300);
}
