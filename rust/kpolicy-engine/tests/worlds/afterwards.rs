//! Checks at the end of a world: answers do not depend on history, and nothing is held without a
//! user.

use std::sync::Arc;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{BindOutcome, Kind};
use serde_json::json;

use crate::run::{Agreed, Run, feed, same};
use crate::world::Step;

impl Run<'_> {
    /// An engine that is shown the cluster as it is now, in another order, says the same of every
    /// pending pod: no answer depends on the way here.
    pub(crate) fn rebuild(&mut self) -> Agreed {
        self.settle_what_left();
        self.nobody_is_forgotten()?;
        let engine = &self.engine;
        let Some(profile) = engine.program().profiles.first() else { return Ok(()) };
        let is_drawn = profile.percentage_of_nodes_to_score < 100
            || profile
                .preemption
                .as_ref()
                .is_some_and(|own| own.enough.min_candidate_nodes_absolute < 100);
        if is_drawn || engine.statistics().objects_promised > 0 {
            return Ok(());
        }
        let by_lot = self.world.steps.iter().rev().find_map(|step| match step {
            Step::Load(program) => self.world.programs.get(*program),
            _ => None,
        });
        let Some(program) = by_lot else { return Ok(()) };
        let by_lot = program["tieBreak"] == "random";
        let mut anew = Engine::new(self.world.seed);
        anew.set_time(self.now_ns);
        let _ = anew.load(program);
        for ((kind, uid), object) in self.shown.iter().rev() {
            let mut object = object.clone();
            if *kind == Kind::Pod {
                let Some(entry) = engine.cluster().pods().get(uid) else { continue };
                if let Some(node) = entry.node() {
                    if let Some(placed) = self.placed.get(uid).filter(|_| entry.is_assumed()) {
                        object = placed.clone();
                    }
                    object["spec"]["nodeName"] = json!(&**node);
                } else if object["spec"]["nodeName"].is_null() {
                    let nominated = engine.cluster().nominations().node_of(uid);
                    object["status"]["nominatedNodeName"] = json!(nominated.map(|node| &**node));
                }
            }
            feed(&mut anew, &object);
        }
        let have = self.engine.statistics();
        let want = anew.statistics();
        same("nodes", &have.nodes, &want.nodes)?;
        same("pods", &have.pods, &want.pods)?;
        for pending in self.engine.pending() {
            let of = |engine: &mut Engine| {
                let mut decision = engine.decide_from_scratch(&pending.uid);
                if by_lot {
                    let nowhere: Arc<str> = "".into();
                    decision.node = Arc::clone(&nowhere);
                    decision.nominated_node = nowhere;
                    decision.victims.clear();
                    decision.displaced.clear();
                    decision.writes.clear();
                    // From 1.37 on the message names the node and the number of victims.
                    if let Some((before, _)) = decision.message.split_once("found a potential") {
                        decision.message = before.to_owned().into();
                    }
                }
                decision
            };
            let (have, want) = (of(&mut self.engine), of(&mut anew));
            same("the way here matters", &have, &want)?;
            self.seen.rebuilt += 1;
        }
        Ok(())
    }

    /// Reservations of pods that are deleted end.
    fn settle_what_left(&mut self) {
        let left = |uid: &&String| !self.shown.contains_key(&(Kind::Pod, (*uid).clone()));
        let left: Vec<String> = self.placed.keys().filter(left).cloned().collect();
        left.iter().for_each(|uid| self.settle(uid, BindOutcome::Gone));
    }

    /// Without pods nothing is held for any.
    pub(crate) fn end(&mut self) -> Agreed {
        let shown: Vec<String> = self.shown.keys().map(|(_, own)| own.clone()).collect();
        for uid in shown {
            self.remove(Kind::Pod, "", "", &uid);
        }
        self.settle_what_left();
        let left = self.engine.statistics();
        let held = (
            left.pods,
            left.pods_assumed,
            left.objects_promised,
            left.pods_parked,
            left.pods_on_unknown_nodes,
        );
        same("something is still held", &held, &(0, 0, 0, 0, 0))?;
        let cluster = self.engine.cluster();
        same("the census", &cluster.census().identities_count(), &0)?;
        same("nominations", &cluster.nominations().nodes().count(), &0)
    }
}
