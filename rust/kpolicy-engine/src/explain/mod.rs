//! Explains a pod as a JSON line: every verdict, score and reason. Uses `cycle::reference`, with
//! the same rules that decide.

mod devices;
mod lines;
mod node_lines;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::cycle::post_filter;
use crate::cycle::reference::{self, AskedFilters, Fresh, Judgement, NodeJudgement};
use crate::event::{Event, Events, Whose};
use crate::judging::{Question, Tie, choose, names_of, new_node};
use crate::message::{self, Histogram, NO_NODES};
use crate::parked::events_of;
use crate::preemption::{self, Attempt, Candidate, CandidateMemo, Search, Unplaced};
use crate::program::{Profile, Program};
use crate::rules::decision_work::DecisionWork;
use crate::rules::dynamic_resources::{self, PostFilter};
use crate::rules::expression::Witness;
use crate::rules::{FilterRule, Rejection, Status, scheduling_gates};
use crate::snapshot::{Cluster, NodeSlot, Pod};
use crate::threads::Threads;
use crate::waiting::{held_now, seen_now};

pub(crate) use lines::Lines;

use devices::bind;
use node_lines::node_lines;

const NO_POTENTIAL_NODES: &str = "no potential nodes";

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail<'a> {
    /// As `kpolicy explain --output json` prints it.
    Decision,
    /// Under `seen` also what every part of an expression gave, for coverage of tests.
    Parts,
    /// Only the lines of these nodes. Under `counts` how many nodes there are, fit and are best.
    Nodes(&'a BTreeSet<&'a str>),
}

/// What a line rests on besides its pod.
#[derive(Clone, Copy)]
pub(crate) struct Explaining<'a> {
    pub(crate) program: &'a Program,
    pub(crate) cluster: &'a Cluster,
    pub(crate) tie: Tie,
    pub(crate) threads: &'a Threads,
    pub(crate) detail: Detail<'a>,
}

/// All of the line of a pod but its name.
#[derive(Debug, Default)]
pub(crate) struct Explained {
    pub(crate) parts: Map<String, Value>,
    /// The lines about nodes as text, if there are any.
    pub(crate) nodes: Option<Vec<u8>>,
}

/// What there is to say of a pod that a profile serves; nothing for others.
pub(crate) fn explained(pod: &Arc<Pod>, work: Explaining<'_>) -> Option<Explained> {
    let Explaining { program, cluster, tie, threads, detail } = work;
    let position = program.profile_of(pod)?;
    let profile = program.profiles.get(position)?;
    let mut object = Map::new();
    let mut nodes = None;
    if program.reads_time() {
        object.insert("time".into(), cluster.moment().text().into());
    }
    if let Some(status) = scheduling_gates::gate(pod) {
        object.insert("preEnqueue".into(), rendered(scheduling_gates::NAME, &status));
        let gates_gone = Events::of(&[Event::PodGatesGone]);
        let pending = Whose::Pending(program.followed.traits().pending_pod);
        let waits = vec![waited_for(scheduling_gates::NAME, gates_gone, pending)];
        object.insert("waitsFor".into(), waits.into());
    } else if let Some(status) = profile.claims_not_ready(pod, cluster) {
        object.insert("preEnqueue".into(), rendered(dynamic_resources::NAME, &status));
        let own = profile.dynamic_resources().and_then(|position| profile.filters.get(position));
        let waits = own.map(|rule| waited_for(&rule.name, events_of(rule), Whose::Assigned));
        object.insert("waitsFor".into(), waits.into_iter().collect());
    } else if let Some((hold, why)) = held_now(pod, position, program, cluster) {
        let rejection = Rejection::Unresolvable;
        let status = Status { rejection, reasons: vec![why.to_string().into()], fault: None };
        object.insert("preEnqueue".into(), rendered(&hold, &status));
        let events = program.queue.as_ref().map_or(Events::NONE, |queue| queue.hold_events);
        object.insert("waitsFor".into(), vec![waited_for(&hold, events, Whose::Assigned)].into());
    } else if cluster.nodes().is_empty() {
        object.insert("message".into(), NO_NODES.into());
        let by = new_node::kept_back_without_nodes(pod, profile, cluster);
        kept_back(&by, profile, &mut object);
        let waits = vec![waited_for("", Events::of(&[Event::NodeAdd]), Whose::Assigned)];
        object.insert("waitsFor".into(), waits.into());
    } else {
        let work = DecisionWork::of(pod, cluster);
        if work.is_excessive() {
            object.insert("message".into(), work.to_string().into());
            object.insert("waitsFor".into(), Vec::<Value>::new().into());
        } else {
            let entries = work.entries();
            let question = Question { pod, program, profile: position, tie, entries, threads };
            nodes = Some(judged(question, profile, cluster, detail, &mut object));
        }
    }
    if detail == Detail::Parts {
        add_seen(seen_now(pod, position, program, cluster), &mut object);
    }
    Some(Explained { parts: object, nodes })
}

fn add_seen(more: Vec<Value>, object: &mut Map<String, Value>) {
    if let Some(Value::Array(seen)) = object.get_mut("seen") {
        seen.extend(more);
    } else if !more.is_empty() {
        object.insert("seen".into(), more.into());
    }
}

/// Gives the lines about nodes.
fn judged(
    question: Question<'_>,
    profile: &Profile,
    cluster: &Cluster,
    detail: Detail<'_>,
    object: &mut Map<String, Value>,
) -> Vec<u8> {
    let (pod, program) = (question.pod, question.program);
    let mut fresh = Fresh::of(profile, pod, cluster);
    let filters =
        if matches!(detail, Detail::Nodes(_)) { AskedFilters::First } else { AskedFilters::Every };
    let judgement = reference::judge(&mut fresh, pod, program, profile, cluster, filters);
    let devices = profile
        .devices
        .as_ref()
        .and_then(|rule| Some((rule, dynamic_resources::shown(rule, pod, cluster)?)));
    let shown = devices.as_ref().map(|(_, shown)| shown);
    let lines = node_lines(&judgement, pod, profile, cluster, (detail, shown));
    if detail == Detail::Parts {
        object.insert("seen".into(), seen(pod, &judgement, profile, cluster));
        let feasible = judgement.feasible.iter().filter_map(|slot| cluster.nodes().view(*slot));
        let of_devices = shown.map(|shown| shown.seen(cluster, feasible));
        add_seen(of_devices.unwrap_or_default(), object);
    }
    let rejected = &judgement.rejected;
    let before = rejected.pre_filter.as_deref();
    if let Some((filter, status)) = before {
        object.insert("preFilter".into(), rendered(name_of(profile.filters.get(*filter)), status));
    }
    if let Some(failure) = &judgement.failed {
        object.insert("message".into(), failure.why.as_str().into());
        counted(&judgement, 0, detail, object);
        return lines;
    }
    if !judgement.feasible.is_empty() {
        chosen(question, &judgement, cluster, detail, object);
        if let Some(shown) = shown {
            bind(shown, cluster, object);
        }
        return lines;
    }
    counted(&judgement, 0, detail, object);
    let prepared = fresh.prepared();
    let histogram = match before {
        Some(_) => Histogram::default(),
        None => rejected.histogram(pod, profile, &prepared, cluster),
    };
    let before = before.map(|(_, status)| status.message()).unwrap_or_default();
    let text = |told: &str| message::fit_error(cluster.nodes().len(), &before, &histogram, told);
    object.insert("message".into(), text("").into());
    let rejects = new_node::rejects_one_by_one(&prepared, cluster);
    let by = new_node::kept_back_by(rejected, profile, cluster, rejects);
    kept_back(&by, profile, object);
    if matches!(detail, Detail::Nodes(_)) {
        return lines;
    }
    object.insert("waitsFor".into(), waits(&rejected.rules(&by), pod, profile, cluster));
    if let Some((rule, _)) = &devices {
        let own = profile.dynamic_resources();
        // It is not asked where a rule before it rejects.
        let is_asked = |node: &&NodeJudgement| match &node.filter {
            Some((filter, _)) => Some(*filter) >= own,
            None => node.is_looked_at(),
        };
        let reached = judgement.nodes.iter().filter(is_asked).map(|node| node.slot);
        let found = PostFilter::of(rule, question.pod, cluster, reached);
        object.insert("dra".into(), found.to_json());
    }
    let unplaced = Unplaced { question, profile, rejected, prepared: &prepared, cluster };
    let looks = profile.preemption.is_some();
    let attempt =
        looks.then(|| preemption::attempt(unplaced, Search::Whole, &mut CandidateMemo::default()));
    let told = post_filter::told(unplaced, attempt.as_ref());
    object.insert("fullMessage".into(), text(&told).into());
    if let Some(attempt) = attempt {
        let mut rendered = preempted(&attempt, cluster);
        let spared = by_node(preemption::spared(unplaced), cluster);
        if !spared.is_empty() {
            rendered.insert("spared".into(), spared.into());
        }
        object.insert("preemption".into(), rendered.into());
    }
    lines
}

/// The rules because of which no new node would help the pod, if there are any.
fn kept_back(by: &[usize], profile: &Profile, object: &mut Map<String, Value>) {
    if !by.is_empty() {
        let names = names_of(by.iter().copied(), profile);
        object.insert("keptBackBy".into(), names.iter().map(AsRef::as_ref).collect());
    }
}

/// How many nodes there are, fit and are best, where not every node has a line.
fn counted(judgement: &Judgement, best: usize, detail: Detail<'_>, to: &mut Map<String, Value>) {
    if matches!(detail, Detail::Nodes(_)) {
        let (nodes, feasible) = (judgement.nodes.len(), judgement.feasible.len());
        to.insert("counts".into(), json!({"nodes": nodes, "feasible": feasible, "best": best}));
    }
}

/// What each expression rule and its parts gave: filters on every node that was looked at, scores on
/// the feasible ones.
fn seen(pod: &Pod, judgement: &Judgement, profile: &Profile, cluster: &Cluster) -> Value {
    let is_before = judgement.rejected.pre_filter.is_some();
    let looked_at = judgement.nodes.iter().filter(|node| !is_before && node.is_looked_at());
    let looked_at: Vec<NodeSlot> = looked_at.map(|node| node.slot).collect();
    let of_rule = |witness: &Witness| {
        let slots = if witness.is_filter() { &looked_at } else { &judgement.feasible };
        let views = slots.iter().filter_map(|slot| cluster.nodes().view(*slot));
        witness.seen(pod, cluster, views)
    };
    profile.witnesses.iter().map(of_rule).collect()
}

/// What each rejecting rule waits for. kube-scheduler tries the pod again when any of them sees a
/// chance in an event.
fn waits(rules: &[usize], pod: &Pod, profile: &Profile, cluster: &Cluster) -> Value {
    let rules = rules.iter().filter_map(|position| profile.filters.get(*position));
    let waits = |rule: &FilterRule| {
        let events = events_of(rule).without(rule.events_of_no_use_to(pod));
        let mut waits = waited_for(&rule.name, events, Whose::Assigned);
        let next = rule.moments().changes_after(cluster.moment());
        if let (Some(next), Some(fields)) = (next, waits.as_object_mut()) {
            fields.insert("at".into(), next.text().into());
        }
        waits
    };
    rules.map(waits).collect()
}

/// Events of pods on nodes, or of the waiting pod itself.
fn waited_for(plugin: &str, events: Events, whose: Whose) -> Value {
    let labels: Vec<&str> = events.iter().map(|event| event.label(whose)).collect();
    let words: Vec<String> = match events {
        Events::ALL => vec!["anything changes".to_owned()],
        some => some.iter().map(Event::words).collect(),
    };
    json!({"plugin": plugin, "events": labels, "words": words})
}

/// What came of looking for room on every node. Where victims would not help anywhere, that is
/// nothing.
fn preempted(attempt: &Attempt, cluster: &Cluster) -> Map<String, Value> {
    let mut object = Map::new();
    match attempt {
        Attempt::NotEligible(why) => {
            object.insert("message".into(), why.message().into());
        }
        Attempt::Failed(why) => {
            object.insert("message".into(), why.as_str().into());
        }
        Attempt::TooMuchWork { .. } => {
            object.insert("message".into(), attempt.message(cluster.nodes().len()).into());
        }
        Attempt::NotFound { potential: 0, .. } => {
            object.insert("message".into(), NO_POTENTIAL_NODES.into());
        }
        Attempt::NotFound { .. } | Attempt::NoneLeft => {}
        Attempt::Found { candidates, .. } => {
            let by_node = |rendered: fn(&Candidate) -> Value| -> Value {
                let named = candidates.iter().filter_map(|candidate| {
                    Some((node_name(candidate.slot, cluster)?.to_owned(), rendered(candidate)))
                });
                named.collect::<Map<String, Value>>().into()
            };
            let chosen = attempt.chosen().and_then(|chosen| node_name(chosen.slot, cluster));
            object.insert("node".into(), chosen.into());
            object.insert("candidates".into(), by_node(victims));
            object.insert("pdbViolations".into(), by_node(|candidate| candidate.violations.into()));
        }
    }
    object
}

/// Names of pods by the name of their node.
fn by_node(pods: Vec<(NodeSlot, Vec<Arc<Pod>>)>, cluster: &Cluster) -> Map<String, Value> {
    let keys = |pods: Vec<Arc<Pod>>| pods.iter().map(|pod| Value::from(pod.key())).collect();
    pods.into_iter()
        .filter_map(|(slot, pods)| Some((node_name(slot, cluster)?.to_owned(), keys(pods))))
        .collect()
}

fn victims(candidate: &Candidate) -> Value {
    candidate.victims.iter().map(|victim| Value::from(victim.key())).collect()
}

fn chosen(
    question: Question<'_>,
    judgement: &Judgement,
    cluster: &Cluster,
    detail: Detail<'_>,
    object: &mut Map<String, Value>,
) {
    let totals = judgement.totals(&judgement.feasible, cluster);
    let highest = totals.iter().max();
    let best = judgement.feasible.iter().zip(&totals);
    let best = best.filter(|(_, total)| Some(*total) == highest);
    if matches!(detail, Detail::Nodes(_)) {
        counted(judgement, best.count(), detail, object);
    } else {
        let names = best.filter_map(|(slot, _)| Some(node_name(*slot, cluster)?.into()));
        object.insert("best".into(), names.collect::<Vec<Value>>().into());
    }
    let nominated = cluster
        .nominations()
        .node_of(&question.pod.uid)
        .and_then(|node| cluster.nodes().find(node))
        .filter(|slot| judgement.feasible.contains(slot));
    let selected = nominated.or_else(|| {
        choose(&judgement.feasible, &totals, question.tie, cluster).map(|(slot, _)| slot)
    });
    if let Some(name) = selected.and_then(|slot| node_name(slot, cluster)) {
        object.insert("selected".into(), name.into());
    }
}

fn node_name(slot: NodeSlot, cluster: &Cluster) -> Option<&str> {
    Some(cluster.nodes().view(slot)?.node.name.as_ref())
}

fn name_of(rule: Option<&FilterRule>) -> &str {
    rule.map_or("", |rule| rule.name.as_ref())
}

fn rendered(plugin: &str, status: &Status) -> Value {
    let mut object =
        json!({"plugin": plugin, "code": status.rejection.name(), "reasons": status.reasons});
    if let (Some(object), Some(fault)) = (object.as_object_mut(), &status.fault) {
        let rendered = json!({"code": fault.code, "message": &*fault.message});
        object.insert("error".into(), rendered);
    }
    object
}
