//! Which pods of a batch are looked ahead at when the shape of one is new.
//!
//! As many as the cluster is large: what is worked out ahead is renewed for each pod that is placed
//! in between, which is a small part of the work only where there are many nodes. None if their shapes
//! together would not be worth waking a thread: then each is made when its pod is decided. They may not
//! ask for more than the call may still take.

use std::sync::Arc;

use crate::cycle::{LANES_MIN, Prospect, Prospects};
use crate::program::Program;
use crate::rules::decision_work::units_max;
use crate::snapshot::Cluster;
use crate::timing::SAMPLED_OF;

use super::admission::admission;

/// One pod is looked ahead at for so many nodes.
const NODES_A_PROSPECT: usize = 250;
/// The most pods that are looked ahead at.
const PROSPECTS_MAX: usize = 32;
/// In so large a cluster a shape is made on all threads even if it is alone. In smaller ones waking
/// them for each step takes longer than what they save. Debug builds do what they can: their tests have
/// few nodes.
const ALONE_NODES_MIN: usize = if cfg!(debug_assertions) { 2 } else { 100_000 };

/// When an engine looks ahead, and at how many pods.
#[derive(Debug, Clone, Copy)]
pub(super) struct LookAhead {
    nodes_a_prospect: usize,
    /// The columns that shapes lack, times nodes.
    lanes_min: usize,
}

impl Default for LookAhead {
    fn default() -> Self {
        Self { nodes_a_prospect: NODES_A_PROSPECT, lanes_min: LANES_MIN }
    }
}

impl LookAhead {
    /// At one pod for so many nodes, however little their shapes lack.
    pub(super) fn at_one_for(nodes: usize) -> Self {
        Self { nodes_a_prospect: nodes.max(1), lanes_min: 0 }
    }

    /// At how many of so many pods, if the shape of the first lacks so many columns: the others are taken to
    /// be like it.
    fn count(self, pods: usize, columns: usize, nodes: usize) -> usize {
        let count = (nodes / self.nodes_a_prospect).min(PROSPECTS_MAX);
        let lanes = columns.saturating_mul(nodes).saturating_mul(count.min(pods));
        if count < 2 || lanes < self.lanes_min { 0 } else { count }
    }
}

/// The pods that a call has left to decide, and what it may take for them.
#[derive(Clone, Copy)]
pub(super) struct Left<'a> {
    pub(super) uids: &'a [Arc<str>],
    pub(super) units: u64,
}

impl Left<'_> {
    /// Nobody is looked ahead at.
    pub(super) const NONE: Self = Self { uids: &[], units: 0 };

    /// Of the decision with this number on, the first ones. The shape of the first lacks so many columns.
    pub(super) fn prospects(
        self,
        decision: u64,
        columns: usize,
        look_ahead: LookAhead,
        program: &Program,
        cluster: &Cluster,
    ) -> Prospects {
        let nodes = cluster.nodes().len();
        let count = look_ahead.count(self.uids.len(), columns, nodes);
        let shapes_min = if nodes < ALONE_NODES_MIN { 2 } else { 1 };
        if count == 0 {
            return Prospects { pods: Vec::new(), shapes_min };
        }
        let mut prospects = Vec::with_capacity(count);
        let mut units = 0_u64;
        let ready = self.uids.iter().filter_map(|uid| admission(uid, program, cluster).ok());
        for (decision, ready) in (decision..).zip(ready).take(count) {
            let in_expressions = match program.profiles.get(ready.profile) {
                Some(profile) if !profile.counts.is_empty() => units_max(nodes) / 2,
                _ => 0,
            };
            units = units.saturating_add(ready.units).saturating_add(in_expressions);
            if units > self.units {
                break;
            }
            let is_timed = decision.is_multiple_of(SAMPLED_OF);
            prospects.push(Prospect { pod: ready.pod, profile: ready.profile, is_timed });
        }
        Prospects { pods: prospects, shapes_min }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::{Arc, Mutex};

    use serde_json::json;

    use super::LookAhead;
    use crate::Engine;
    use crate::api::{Applied, Event, Object, Still};
    use crate::event::{Event as Wakes, Events, Occurrence};
    use crate::model::{Labels, Meta, Node, Pod};
    use crate::part::Parts;
    use crate::rules::{Code, Filter, FilterRule, HeldBytes, Key, PreparedFilter, Reads, Status};
    use crate::snapshot::{self, Cluster, NodeParts, NodeView};
    use crate::threads::Threads;

    /// Every pod is of a shape of its own, and one is more than the rule can bear.
    #[derive(Debug)]
    struct Frail;

    impl Filter for Frail {
        fn key(&self, pod: &snapshot::Pod, key: &mut Key) {
            key.push_text(&pod.name);
        }

        fn prepare(&self, pod: &snapshot::Pod, _: &Cluster) -> Option<Box<dyn PreparedFilter>> {
            assert_ne!(pod.name.as_ref(), "p5", "this pod is too much");
            None
        }

        fn events(&self) -> Events {
            Events::NONE
        }

        fn parts(&self) -> Parts {
            Parts::NONE
        }

        fn wakes(&self, _: &snapshot::Pod, _: Wakes, _: &Occurrence, _: &Cluster) -> bool {
            false
        }
    }

    /// Lets every node pass, and keeps where the stretches of lanes began that it was asked for.
    #[derive(Debug, Clone, Default)]
    struct Divided(Arc<Mutex<Vec<usize>>>);

    impl Filter for Divided {
        fn key(&self, _: &snapshot::Pod, _: &mut Key) {}

        fn prepare(&self, _: &snapshot::Pod, _: &Cluster) -> Option<Box<dyn PreparedFilter>> {
            Some(Box::new(self.clone()))
        }

        fn events(&self) -> Events {
            Events::NONE
        }

        fn parts(&self) -> Parts {
            Parts::NONE
        }

        fn wakes(&self, _: &snapshot::Pod, _: Wakes, _: &Occurrence, _: &Cluster) -> bool {
            false
        }
    }

    impl PreparedFilter for Divided {
        fn reads(&self) -> Reads {
            Reads::parts(NodeParts::NONE)
        }

        fn check(&self, _: &Cluster, _: NodeView<'_>) -> Code {
            Code::PASS
        }

        fn has_ranges(&self) -> bool {
            true
        }

        fn check_range(&self, _: &Cluster, first: usize, codes: &mut [Code]) {
            self.0.lock().unwrap().push(first);
            codes.fill(Code::PASS);
        }

        fn describe(&self, _: &Cluster, _: NodeView<'_>, _: Code) -> Status {
            Status::unresolvable(String::new())
        }

        fn fork(&self) -> Box<dyn PreparedFilter> {
            Box::new(self.clone())
        }

        fn held_bytes(&self) -> HeldBytes {
            HeldBytes::Fixed(size_of_val(self))
        }
    }

    #[test]
    fn the_lanes_of_a_new_shape_are_divided_among_the_threads() {
        for (threads, is_divided) in [(1, false), (2, true), (4, true)] {
            let mut engine = engine(threads);
            let rule = Divided::default();
            let filter = FilterRule::new("Divided".into(), None, Box::new(rule.clone()));
            engine.program.profiles[0].filters.push(filter);
            engine.schedule(&uids()[..1], 0, &Still);
            let mut starts = rule.0.lock().unwrap().clone();
            starts.sort_unstable();
            assert_eq!(starts.len() > 1, is_divided, "{threads} threads: {starts:?}");
            assert_eq!(starts.first(), Some(&0));
        }
    }

    fn engine(threads: usize) -> Engine {
        let mut engine = Engine::with_threads(1, Arc::new(Threads::new(threads)));
        engine.look_ahead(1);
        let profiles = json!([{"schedulerName": "*", "filters": [], "scores": []}]);
        let program = json!({"format": 1, "hash": "h", "policies": [], "tieBreak": "name",
            "profiles": profiles});
        engine.load(&program).expect("it is a program");
        let mut applied = Applied::default();
        for index in 0..20 {
            let meta = |name: String| Meta {
                namespace: "d".into(),
                uid: name.as_str().into(),
                name: name.into(),
                labels: Labels::default(),
                ..Meta::default()
            };
            let node = Node { meta: meta(format!("n{index}")), ..Node::default() };
            let pod = Pod { meta: meta(format!("p{index}")), ..Pod::default() };
            engine.apply(Event::Present(Object::Node(Arc::new(node))), 0, &mut applied);
            engine.apply(Event::Present(Object::Pod(Arc::new(pod))), 0, &mut applied);
        }
        engine
    }

    fn uids() -> Vec<Arc<str>> {
        (0..20).map(|index| format!("p{index}").into()).collect()
    }

    #[test]
    fn only_shapes_that_together_lack_enough_are_looked_ahead_for() {
        let look_ahead = LookAhead { lanes_min: 500_000, ..LookAhead::default() };
        assert_eq!(look_ahead.count(100, 3, 5_000), 0, "20 pods, three columns of each");
        assert_eq!(look_ahead.count(100, 5, 5_000), 20);
        assert_eq!(look_ahead.count(19, 5, 5_000), 0, "fewer pods are left");
        assert_eq!(look_ahead.count(100, 3, 10_000), 32);
        assert_eq!(look_ahead.count(1, 5, 100_000), 32, "one alone lacks enough");
        assert_eq!(look_ahead.count(100, 1_000_000, 300), 0, "too few nodes");
        assert_eq!(LookAhead::at_one_for(1).count(2, 1, 3), 3);
    }

    #[test]
    fn a_panic_of_a_rule_on_any_thread_ends_the_call_with_its_text() {
        for threads in [1, 2, 4] {
            let mut engine = engine(threads);
            assert_eq!(engine.schedule(&uids()[..1], 0, &Still).decisions.len(), 1);
            let rule = FilterRule::new("Frail".into(), None, Box::new(Frail));
            engine.program.profiles[0].filters.push(rule);
            let call = || engine.schedule(&uids()[1..], 0, &Still);
            let panic = catch_unwind(AssertUnwindSafe(call)).expect_err("one pod is too much");
            let text = panic.downcast_ref::<String>().expect("a text");
            assert!(text.contains("this pod is too much"), "{threads} threads: {text}");
        }
    }

    #[test]
    fn shapes_of_the_next_pods_are_made_with_the_first_and_counted_once() {
        let mut engine = engine(2);
        let rule = FilterRule::new("Frail".into(), None, Box::new(Frail));
        engine.program.profiles[0].filters.push(rule);
        let uids: Vec<Arc<str>> = uids().into_iter().filter(|uid| uid.as_ref() != "p5").collect();
        engine.schedule(&uids[..1], 0, &Still);
        assert_eq!(engine.statistics().cached_shapes, 1);
        let nodes = engine.cluster.nodes().len();
        let left = super::Left { uids: &uids[1..], units: u64::MAX };
        let found = left.prospects(1, 1, engine.look_ahead, &engine.program, &engine.cluster);
        assert_eq!(found.pods.len(), nodes - 2, "all but p5 and the first");
        assert_eq!(found.pods.iter().filter(|one| one.is_timed).count(), 1);
        engine.schedule(&uids[1..], 0, &Still);
        let statistics = engine.statistics();
        assert_eq!((statistics.shape_misses, statistics.shape_hits), (19, 0));
    }
}
