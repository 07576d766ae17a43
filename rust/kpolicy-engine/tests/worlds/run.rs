//! Runs a world: compares every decision with one from scratch, and everything that is kept with
//! what can be computed anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

use kpolicy_codec::{Keep, file};
use kpolicy_engine::Engine;
use kpolicy_engine::api::{Applied, BindOutcome, Decision, Event, Kind, Still, Verdict, Wake};
use kpolicy_engine::engine::AdviceAsked;
use kpolicy_engine::model::Meta;
use kpolicy_engine::program::Preemption;
use kpolicy_engine::snapshot::PodEntry;
use serde_json::{Value, json};

use crate::bound::Bound;
use crate::changes;
use crate::programs::facts_of;
use crate::seen::Seen;
use crate::wakes::{BEGINS_NS, Parked};
pub(crate) use crate::world::Fault;
use crate::world::{Step, World};

/// Where and how the engine was at odds with itself.
#[derive(Debug, Clone)]
pub(crate) struct Difference {
    pub step: usize,
    pub what: String,
}

pub(crate) type Agreed = Result<(), String>;

pub(crate) struct Run<'w> {
    pub fault: Fault,
    pub parked: Parked,
    program: usize,
    pub observed: String,
    pub now_ns: i64,
    pub world: &'w World,
    pub engine: Engine,
    /// Fed the same, decides one by one, without looking ahead, what the other decides in a batch.
    pub twin: Engine,
    /// Every object as shown last, by kind and name (pods by uid).
    pub shown: BTreeMap<(Kind, String), Value>,
    victims: BTreeMap<String, Vec<Arc<str>>>,
    bound: BTreeMap<String, Bound>,
    /// Pods as they were when they were placed: what their nodes hold until a bind is confirmed.
    pub placed: BTreeMap<String, Value>,
    pub seen: Seen,
}

pub(crate) fn feed(engine: &mut Engine, object: &Value) -> Vec<Wake> {
    let mut applied = Applied::default();
    let body = object.to_string();
    let paths = engine.paths();
    let unreadable = file::objects(body.as_bytes(), Keep(Some(&paths)), &mut |event| {
        engine.apply(event, 0, &mut applied);
    });
    assert!(unreadable.is_empty(), "{unreadable:?}: {object}");
    applied.wakes
}

fn key(object: &Value) -> Option<(Kind, String)> {
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == object["kind"])?;
    let meta = &object["metadata"];
    let own = match kind {
        Kind::Pod => meta["uid"].as_str()?.to_owned(),
        _ => {
            format!("{}/{}", meta["namespace"].as_str().unwrap_or_default(), meta["name"].as_str()?)
        }
    };
    Some((kind, own))
}

pub(crate) fn same<T: PartialEq + std::fmt::Debug>(what: &str, have: &T, want: &T) -> Agreed {
    match have == want {
        true => Ok(()),
        false => Err(format!("{what}\n  have {have:?}\n  want {want:?}")),
    }
}

impl<'w> Run<'w> {
    pub(crate) fn begin(
        world: &'w World,
        fault: Fault,
        mut engine: Engine,
        mut twin: Engine,
    ) -> Self {
        engine.set_time(BEGINS_NS);
        twin.set_time(BEGINS_NS);
        Self {
            fault,
            parked: Parked::default(),
            program: 0,
            observed: String::new(),
            now_ns: BEGINS_NS,
            world,
            engine,
            twin,
            shown: BTreeMap::new(),
            victims: BTreeMap::new(),
            bound: BTreeMap::new(),
            placed: BTreeMap::new(),
            seen: Seen { worlds: 1, ..Seen::default() },
        }
    }

    pub(crate) fn step(&mut self, step: &Step) -> Agreed {
        match step {
            Step::Apply(object) => self.apply(object.clone()),
            Step::Remove(kind, namespace, name, uid) => self.remove(*kind, namespace, name, uid),
            Step::Relist(kind, missing) => self.relist(*kind, missing),
            Step::Try(uid) => {
                self.decide(uid)?;
                self.excuse(&[uid]);
                return Ok(());
            }
            Step::Batch(uids) => {
                self.batch(uids)?;
                self.excuse(&uids.iter().map(String::as_str).collect::<Vec<_>>());
                return Ok(());
            }
            Step::TwoSteps(uid, nth, gone) => {
                self.two_steps(uid, *nth, gone.as_deref())?;
                self.excuse(&[uid]);
                return Ok(());
            }
            Step::Settle(uid, outcome) => self.settle(uid, *outcome),
            Step::Confirm(uid) => self.confirm(uid),
            Step::Evict(uid, at_once) => self.evict(uid, *at_once),
            Step::Load(program) => self.load(*program)?,
            Step::Flood(changes) => self.flood(*changes),
            Step::Pass(first, more) => self.pass(*first, *more),
        }
        self.nobody_is_forgotten()
    }

    fn apply(&mut self, object: Value) {
        let Some(key) = key(&object) else { return };
        self.note_change(key.0, self.shown.get(&key).cloned().as_ref(), Some(&object));
        if key.0 == Kind::Pod && !self.is_unaware_of_bind(&key.1, &object) {
            self.parked.confirm(&key.1);
        }
        let wakes = feed(&mut self.engine, &object);
        self.hear(&wakes);
        let is_missed = self.fault == Fault::MissesNodes
            && key.0 == Kind::Node
            && self.shown.contains_key(&key);
        if !is_missed {
            feed(&mut self.twin, &object);
        }
        self.shown.insert(key, object);
    }

    fn both(&mut self, mut work: impl FnMut(&mut Engine, &mut Applied)) {
        work(&mut self.twin, &mut Applied::default());
        let mut applied = Applied::default();
        work(&mut self.engine, &mut applied);
        self.hear(&applied.wakes);
    }

    fn note_change(&mut self, kind: Kind, old: Option<&Value>, new: Option<&Value>) {
        if let Some(name) = changes::name_of(kind.name(), old, new) {
            self.seen.count("change", &name);
        }
    }

    /// An update that does not know of our bind yet leaves the reservation as it is.
    fn is_unaware_of_bind(&self, uid: &str, object: &Value) -> bool {
        let is_assumed = self.engine.cluster().pods().get(uid).is_some_and(PodEntry::is_assumed);
        let has_ended = matches!(object["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        is_assumed && !has_ended && object["spec"]["nodeName"].as_str().unwrap_or("").is_empty()
    }

    pub(crate) fn remove(&mut self, kind: Kind, namespace: &str, name: &str, uid: &str) {
        let meta = Meta {
            namespace: namespace.into(),
            name: name.into(),
            uid: uid.into(),
            ..Meta::default()
        };
        let own = if kind == Kind::Pod { uid.to_owned() } else { format!("{namespace}/{name}") };
        let shown = self.shown.remove(&(kind, own));
        self.note_change(kind, shown.as_ref(), None);
        if kind == Kind::Pod {
            self.parked.confirm(uid);
        }
        self.both(|engine, applied| {
            engine.apply(Event::Gone(kind, Box::new(meta.clone())), 0, applied);
        });
    }

    fn relist(&mut self, kind: Kind, missing: &str) {
        let missing = if kind == Kind::Pod { missing.to_owned() } else { format!("/{missing}") };
        if kind == Kind::Pod {
            self.parked.confirm(&missing);
        }
        self.shown.remove(&(kind, missing));
        self.list(kind);
    }

    fn list(&mut self, kind: Kind) {
        let listed = self.shown.iter().filter(|((have, _), _)| *have == kind);
        let listed: Vec<Value> = listed.map(|(_, object)| object.clone()).collect();
        self.both(|engine, applied| {
            engine.list_begin(kind);
            listed.iter().for_each(|object| applied.wakes.extend(feed(engine, object)));
            engine.list_end(kind, 0, applied);
        });
    }

    pub(crate) fn settle(&mut self, uid: &str, outcome: BindOutcome) {
        let outcomes = [(Arc::from(uid), outcome)];
        let is_assumed = self.engine.cluster().pods().get(uid).is_some_and(PodEntry::is_assumed);
        if outcome == BindOutcome::Gone || (outcome == BindOutcome::Failed && is_assumed) {
            self.parked.confirm(uid);
        }
        self.both(|engine, applied| engine.settle(&outcomes, 0, applied));
        if outcome == BindOutcome::Gone {
            self.shown.remove(&(Kind::Pod, uid.to_owned()));
        }
    }

    fn confirm(&mut self, uid: &str) {
        let entry = self.engine.cluster().pods().get(uid);
        let Some(entry) = entry.filter(|entry| entry.is_assumed()) else { return };
        let node = entry.node().map(ToString::to_string);
        let Some(mut pod) = self.shown.get(&(Kind::Pod, uid.to_owned())).cloned() else { return };
        pod["spec"]["nodeName"] = json!(node);
        pod["status"] = json!({"startTime": "2026-01-01T00:01:00Z"});
        // Some binder may leave out what a bind is to write.
        if let Some(bound) = self.bound.get(uid).filter(|_| !uid.ends_with('7')) {
            pod = bound.of(&pod);
        }
        self.apply(pod);
    }

    fn evict(&mut self, uid: &str, at_once: bool) {
        for victim in self.victims.remove(uid).unwrap_or_default() {
            let shown = self.shown.get(&(Kind::Pod, victim.to_string())).cloned();
            match shown.filter(|_| !at_once) {
                Some(mut pod) => {
                    pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T01:00:00Z");
                    pod["status"]["conditions"] = json!([{"type": "DisruptionTarget",
                        "status": "True", "reason": "PreemptionByScheduler"}]);
                    self.apply(pod);
                }
                None => self.remove(Kind::Pod, "", "", &victim),
            }
        }
    }

    fn load(&mut self, program: usize) -> Agreed {
        let Some(document) = self.world.programs.get(program) else { return Ok(()) };
        for engine in [&mut self.engine, &mut self.twin] {
            // Shrinking also makes some that are refused; of drawn ones none is.
            let _ = engine.load(document);
        }
        self.parked.clear();
        self.program = program;
        // As the scheduler does: what the new program reads by API path was not kept so far.
        for resource in self.engine.stale() {
            if let Some(kind) = Kind::of_resource(resource) {
                self.seen.listed_for_paths += 1;
                self.list(kind);
            }
        }
        same("listed anew, and still stale", &self.engine.stale(), &Vec::new())
    }

    fn flood(&mut self, changes: usize) {
        for change in 0..changes {
            let labels = json!({"team": if change % 2 == 0 { "web" } else { "db" }});
            let object = json!({"apiVersion": "v1", "kind": "Namespace",
                                "metadata": {"name": "green", "labels": labels}});
            let wakes = feed(&mut self.engine, &object);
            self.hear(&wakes);
            feed(&mut self.twin, &object);
        }
    }

    /// Decides on one pod in both engines.
    fn decide(&mut self, uid: &str) -> Result<Decision, String> {
        let uid: Arc<str> = uid.into();
        let want = self.engine.decide_from_scratch(&uid);
        self.explained(&want)?;
        let have = one(&mut self.engine, &uid, self.now_ns);
        same("not as from scratch", &have, &want)?;
        let twin = one(&mut self.twin, &uid, self.now_ns);
        same("two engines with the same events", &twin, &have)?;
        self.note(&have);
        Ok(have)
    }

    pub(crate) fn note(&mut self, decision: &Decision) {
        let _ = writeln!(self.observed, "{decision:?}");
        let seen = &mut self.seen;
        seen.decisions += 1;
        seen.placed += usize::from(decision.verdict == Verdict::Placed);
        seen.parked += usize::from(decision.verdict == Verdict::Parked);
        seen.failed += usize::from(decision.verdict == Verdict::Failed);
        seen.preempting += usize::from(!decision.victims.is_empty());
        seen.displacing += usize::from(!decision.displaced.is_empty());
        let promised = self.engine.statistics().objects_promised;
        seen.promised += usize::from(promised > 0);
        self.parked.note(decision);
        if decision.verdict == Verdict::Parked {
            let document = &self.world.programs[self.program];
            for rule in &decision.rejected_by {
                seen.count("rejected by", rule);
                facts_of(document, rule).iter().for_each(|fact| seen.count("fact", fact));
            }
        }
        let uid = decision.uid.to_string();
        if decision.verdict == Verdict::Placed
            && let Some(pod) = self.shown.get(&(Kind::Pod, uid.clone()))
        {
            let bound = Bound::by(decision);
            self.placed.insert(uid.clone(), bound.of(pod));
            self.bound.insert(uid, bound);
        }
        if !decision.victims.is_empty() {
            let uids = decision.victims.iter().map(|victim| Arc::clone(&victim.uid)).collect();
            self.victims.insert(decision.uid.to_string(), uids);
        }
    }

    /// `explain` says the same in other words.
    fn explained(&mut self, want: &Decision) -> Agreed {
        let (sampled, enough) = match self.engine.program().profiles.first() {
            Some(profile) => {
                let enough = |own: &Preemption| own.enough.min_candidate_nodes_absolute >= 100;
                let own = profile.preemption.as_ref();
                (profile.percentage_of_nodes_to_score < 100, own.is_some_and(enough))
            }
            None => return Ok(()),
        };
        if !matches!(want.verdict, Verdict::Placed | Verdict::Parked) || sampled {
            return Ok(());
        }
        let key = format!("{}/{}", want.namespace, want.name);
        let lines = self.engine.explain(Some(&[key]));
        let observed: Value = serde_json::from_slice(&lines).expect("a line is JSON");
        if want.verdict == Verdict::Placed {
            return same("explain selects", &observed["selected"], &json!(&*want.node));
        }
        let message = observed["message"].as_str().unwrap_or_default();
        if !want.message.starts_with(message) || !observed["selected"].is_null() {
            return Err(format!("explain says {message:?}, decided is {:?}", want.message));
        }
        if !want.victims.is_empty() && enough {
            let victims = &observed["preemption"]["candidates"][&*want.nominated_node];
            let victims = victims.as_array().map_or(0, Vec::len);
            same("explain's victims", &victims, &want.victims.len())?;
        }
        Ok(())
    }

    /// Pods that are explained in one call share what is alike; alone, each is judged by itself.
    fn explained_together(&mut self) -> Agreed {
        let together = self.engine.explain(None);
        let lines = together.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let keys: Vec<String> = lines
            .map(|line| serde_json::from_slice::<Value>(line).expect("a line is JSON"))
            .map(|line| line["pod"].as_str().unwrap_or_default().to_owned())
            .collect();
        if keys.iter().collect::<BTreeSet<_>>().len() < keys.len() {
            return Ok(());
        }
        let apart: Vec<u8> =
            keys.into_iter().flat_map(|key| self.engine.explain(Some(&[key]))).collect();
        let [together, apart] = [together, apart].map(|lines| String::from_utf8(lines).ok());
        same("pods explained together", &together, &apart)
    }

    fn batch(&mut self, uids: &[String]) -> Agreed {
        self.explained_together()?;
        // Nothing comes of it: decisions are as from scratch afterwards.
        let asked = AdviceAsked { limit: 1, ..AdviceAsked::default() };
        same("advice", &self.engine.advise(&asked), &self.twin.advise(&asked))?;
        let uids: Vec<Arc<str>> = uids.iter().map(|uid| Arc::from(uid.as_str())).collect();
        let have = self.engine.schedule(&uids, self.now_ns, &Still).decisions;
        let mut want = Vec::new();
        for uid in &uids {
            let scratch = self.twin.decide_from_scratch(uid);
            want.push(one(&mut self.twin, uid, self.now_ns));
            same("not as from scratch", &want[want.len() - 1], &scratch)?;
        }
        same("a batch is not as one by one", &have, &want)?;
        have.iter().for_each(|decision| self.note(decision));
        self.seen.in_batches += have.len();
        Ok(())
    }
}

fn one(engine: &mut Engine, uid: &Arc<str>, now_ns: i64) -> Decision {
    let mut decisions = engine.schedule(std::slice::from_ref(uid), now_ns, &Still).decisions;
    decisions.pop().expect("one pod, one decision")
}
