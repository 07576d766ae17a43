//! Draws a world from a seed. The draw does not depend on the engine's decisions.

use std::collections::BTreeMap;

use kpolicy_engine::api::{BindOutcome, Kind};
use serde_json::Value;

use crate::changes;
use crate::devices;
use crate::draws::Draws;
use crate::objects::{NAMESPACES, NODES, another, node, node_name, pod, selecting};
use crate::programs::program;
use crate::storage;
use crate::world::{Step, World};

/// Beyond what the change log remembers.
const FLOOD_CHANGES: usize = 17_000;

struct Draw {
    draws: Draws,
    steps: Vec<Step>,
    pods: usize,
    /// Names of pods that may still be there, by number.
    there: Vec<usize>,
    /// Pods drawn so far, to have more of their kind.
    kinds: Vec<Value>,
    /// Nodes and pods as drawn last, by kind and name.
    latest: BTreeMap<(Kind, String), Value>,
}

pub(crate) fn world(seed: u64) -> World {
    let mut draws = Draws::of(seed);
    let programs = (0..2 + draws.below(2)).map(|_| program(&mut draws)).collect::<Vec<_>>();
    // Most worlds are short, because there are many; some are long, because caches have a past.
    let length = if draws.one_in(10) { 160 } else { 20 + draws.below(40) };
    let mut draw = Draw {
        draws,
        steps: vec![Step::Load(0)],
        pods: 0,
        there: Vec::new(),
        kinds: Vec::new(),
        latest: BTreeMap::new(),
    };
    draw.beginning();
    let floods = draw.draws.one_in(300);
    for step in 0..length {
        if floods && step == length / 2 {
            draw.steps.push(Step::Flood(FLOOD_CHANGES));
        }
        draw.step(programs.len());
    }
    World { seed, programs, steps: draw.steps }
}

impl Draw {
    fn apply(&mut self, make: impl FnOnce(&mut Draws) -> Value) {
        let object = make(&mut self.draws);
        self.show(object);
    }

    fn show(&mut self, object: Value) {
        let kind = if object["kind"] == "Node" { Kind::Node } else { Kind::Pod };
        if object["kind"] == kind.name() {
            let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            self.latest.insert((kind, name), object.clone());
        }
        self.steps.push(Step::Apply(object));
    }

    /// A node or a pod with one part changed.
    fn part_changes(&mut self, kind: Kind) {
        let name = match kind {
            Kind::Node => node_name(self.draws.below(NODES)),
            _ => self.any_pod().replace('u', "p"),
        };
        let Some(object) = self.latest.get(&(kind, name)) else { return };
        let changed = match kind {
            Kind::Node => changes::of_node(&mut self.draws, object),
            _ => changes::of_pod(&mut self.draws, object),
        };
        self.show(changed);
    }

    fn beginning(&mut self) {
        for index in 0..3 + self.draws.below(NODES - 3) {
            self.apply(|draws| node(draws, index));
        }
        for _ in 0..self.draws.below(8) {
            self.new_pod(true);
        }
        for _ in 0..self.draws.below(6) {
            self.apply(selecting);
        }
        if !self.draws.one_in(3) {
            for _ in 0..4 {
                self.apply(storage::class);
                self.apply(storage::volume);
                self.apply(storage::claim);
            }
        }
    }

    fn new_pod(&mut self, is_placed: bool) -> String {
        let index = self.pods;
        self.pods += 1;
        self.there.push(index);
        // Also on nodes that are not there.
        let on = is_placed.then(|| node_name(self.draws.below(NODES + 1)));
        let object = match self.kinds.is_empty() || self.draws.one_in(3) {
            true => pod(&mut self.draws, index, on),
            false => {
                // As a controller makes them: what is known of a shape is asked for again.
                let like = self.kinds.len().saturating_sub(1 + self.draws.below(4));
                another(&self.kinds[like], index, on)
            }
        };
        self.kinds.push(object.clone());
        self.show(object);
        format!("u{index}")
    }

    /// Any pod that may be there; sometimes one that is not.
    fn any_pod(&mut self) -> String {
        let index = match self.there.is_empty() {
            true => 0,
            false => *self.draws.pick(&self.there),
        };
        format!("u{index}")
    }

    fn step(&mut self, programs: usize) {
        match self.draws.below(57) {
            0..=13 => {
                let uid = self.new_pod(false);
                self.steps.push(Step::Try(uid.clone()));
                if self.draws.one_in(2) {
                    self.steps.push(Step::Confirm(uid));
                }
            }
            14..=17 => {
                let uid = self.any_pod();
                self.steps.push(Step::Try(uid));
            }
            18 => {
                let uids = (0..2 + self.draws.below(4)).map(|_| self.new_pod(false)).collect();
                self.steps.push(Step::Batch(uids));
            }
            19 => {
                let uid = self.new_pod(false);
                let nth = 1 + self.draws.below(4);
                let gone = self.draws.one_in(3).then(|| node_name(self.draws.below(NODES)));
                self.steps.push(Step::TwoSteps(uid, nth, gone));
            }
            20..=22 => {
                let index = self.draws.below(NODES);
                self.apply(|draws| node(draws, index));
            }
            23 => {
                let name = node_name(self.draws.below(NODES));
                self.steps.push(Step::Remove(Kind::Node, String::new(), name, String::new()));
            }
            24 | 25 => {
                self.new_pod(true);
            }
            26 | 27 => self.pod_goes(),
            28 => self.pod_changes(),
            29 | 30 => {
                let uid = self.any_pod();
                let outcome = *self.draws.pick(&[
                    BindOutcome::Failed,
                    BindOutcome::Failed,
                    BindOutcome::Bound,
                    BindOutcome::Gone,
                ]);
                self.steps.push(Step::Settle(uid, outcome));
            }
            31 | 32 => {
                let uid = self.any_pod();
                self.steps.push(Step::Confirm(uid));
            }
            33 => {
                let uid = self.any_pod();
                let at_once = self.draws.one_in(2);
                self.steps.push(Step::Evict(uid, at_once));
            }
            34 | 35 => self.apply(selecting),
            54..=56 => {
                let spans = [0, 20, 60, 420, 1_200, 3_600, 40_000];
                let (first, more) = (*self.draws.pick(&spans), *self.draws.pick(&spans));
                self.steps.push(Step::Pass(first, more));
            }
            36 | 50 | 51 if self.draws.one_in(2) => self.apply(devices::any),
            36 | 50 | 51 => self.apply(storage::any),
            37 | 52 | 53 => self.object_goes(),
            38 => {
                let kind =
                    *self.draws.pick(&[Kind::Node, Kind::Pod, Kind::Namespace, Kind::Service]);
                let missing = match kind {
                    Kind::Node => node_name(self.draws.below(NODES)),
                    Kind::Pod => self.any_pod(),
                    _ => (*self.draws.pick(&NAMESPACES)).to_owned(),
                };
                self.steps.push(Step::Relist(kind, missing));
            }
            39..=43 => {
                self.part_changes(Kind::Node);
                if self.draws.one_in(2) {
                    let uid = self.new_pod(false);
                    self.steps.push(Step::Try(uid));
                }
            }
            44..=47 => self.part_changes(Kind::Pod),
            48 => {
                let index = self.draws.below(self.pods.max(1));
                self.apply(|draws| storage::ephemeral_claim(draws, index));
            }
            _ => {
                let program = self.draws.below(programs);
                self.steps.push(Step::Load(program));
            }
        }
    }

    fn pod_goes(&mut self) {
        let uid = self.any_pod();
        self.there.retain(|index| format!("u{index}") != uid);
        self.steps.push(Step::Remove(Kind::Pod, String::new(), String::new(), uid));
    }

    /// A pod is another one under the same uid: pending, or on a node.
    fn pod_changes(&mut self) {
        if self.there.is_empty() {
            return;
        }
        let index = *self.draws.pick(&self.there);
        let on = self.draws.one_in(2).then(|| node_name(self.draws.below(NODES + 1)));
        self.apply(|draws| pod(draws, index, on));
    }

    fn object_goes(&mut self) {
        let object = match self.draws.below(3) {
            0 => selecting(&mut self.draws),
            1 => devices::any(&mut self.draws),
            _ => storage::any(&mut self.draws),
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == object["kind"]);
        let kind = kind.expect("the kind is known");
        let (namespace, name) = (&object["metadata"]["namespace"], &object["metadata"]["name"]);
        self.steps.push(Step::Remove(kind, text(namespace), text(name), String::new()));
    }
}
