//! The same decision from scratch: every rule is prepared anew, every node is asked, nothing is
//! kept.
//!
//! It is slow and simple, and defines what a decision is. `explain` shows its answers, and the
//! cycle is compared with it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::judging::pre_filter::{self, NodesToCheck};
use crate::judging::{
    Failure, NodeRejection, PreparedFilters, Question, Rejected, Told, choose, filter_failure,
    new_node, nominated, pre_filter_failure, score_failure,
};
use crate::preemption::{CandidateMemo, Unplaced};
use crate::program::{Profile, Program};
use crate::rules::{
    Fault, Feasible, Fitted, IGNORED, Normalization, PreparedFilter, PreparedScore, Scale, Stage,
    Status,
};
use crate::snapshot::{Cluster, NodeSlot, NodeView, Pod};
use crate::timing::Unmetered;

use super::fit_error::FitError;
use super::sampling::{self, Sampling};
use super::{CycleOutcome, post_filter};

/// What one rule says of one node.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scored {
    /// Position in the profile's scores.
    pub(crate) score: usize,
    pub(crate) raw: f64,
    pub(crate) weighted: i64,
    /// Why there is no raw score.
    pub(crate) fault: Option<Fault>,
}

#[derive(Debug, Clone)]
pub(crate) struct NodeJudgement {
    pub(crate) slot: NodeSlot,
    /// The first filter that rejects it, nominated pods included.
    pub(crate) filter: Option<(usize, Arc<Status>)>,
    /// Every filter that rejects it by itself.
    pub(crate) all_filters: Vec<(usize, Arc<Status>)>,
    /// It was left out before any node was looked at. The node that the pod is nominated to is judged all
    /// the same.
    pub(crate) is_outside: bool,
    /// Only of feasible nodes.
    pub(crate) scores: Vec<Scored>,
    pub(crate) total: i64,
}

impl NodeJudgement {
    /// Whether filters were asked about it.
    pub(crate) fn is_looked_at(&self) -> bool {
        !self.is_outside || self.filter.is_some()
    }
}

/// Everything that the reference computes about a pod.
#[derive(Debug)]
pub(crate) struct Judgement {
    /// What was rejected: all, where no node is feasible.
    pub(crate) rejected: Rejected,
    /// Why the cycle fails, where a rule could not judge.
    pub(crate) failed: Option<Failure>,
    /// In order of names.
    pub(crate) nodes: Vec<NodeJudgement>,
    pub(crate) feasible: Vec<NodeSlot>,
}

impl Judgement {
    /// The totals of some nodes, in their order.
    pub(crate) fn totals(&self, slots: &[NodeSlot], cluster: &Cluster) -> Vec<i64> {
        let mut by_slot = vec![0; cluster.nodes().slots()];
        for node in &self.nodes {
            if let Some(cell) = by_slot.get_mut(node.slot.index()) {
                *cell = node.total;
            }
        }
        slots.iter().map(|slot| by_slot.get(slot.index()).copied().unwrap_or(0)).collect()
    }
}

/// The rules of a profile, prepared for one pod by themselves.
#[derive(Debug, Default)]
pub(crate) struct Fresh {
    filters: Vec<Option<Box<dyn PreparedFilter>>>,
    scores: Vec<Option<Box<dyn PreparedScore>>>,
}

impl Fresh {
    pub(crate) fn of(profile: &Profile, pod: &Pod, cluster: &Cluster) -> Self {
        let filters = profile.filters.iter().map(|filter| filter.prepare(pod, cluster));
        let scores = profile.scores.iter().map(|score| score.prepare(pod, cluster));
        Self { filters: filters.collect(), scores: scores.collect() }
    }

    /// The filters that are active in this cycle, by position.
    pub(crate) fn prepared(&self) -> PreparedFilters<'_> {
        let active = |filter: &&dyn PreparedFilter| !matches!(filter.stage(), Stage::Skip);
        self.filters.iter().map(|filter| filter.as_deref().filter(active)).collect()
    }
}

/// Which filters are asked about a node that is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskedFilters {
    /// Up to the first that rejects it.
    First,
    Every,
}

/// Every verdict and every score.
pub(crate) fn judge(
    fresh: &mut Fresh,
    pod: &Arc<Pod>,
    program: &Program,
    profile: &Profile,
    cluster: &Cluster,
    filters: AskedFilters,
) -> Judgement {
    let mut judgement = filter(fresh, pod, program, profile, cluster, filters);
    if !judgement.feasible.is_empty() {
        score(fresh, profile, cluster, &judgement.feasible, &mut judgement.nodes);
    }
    judgement
}

/// Every verdict; scores are left out.
fn filter(
    fresh: &Fresh,
    pod: &Arc<Pod>,
    program: &Program,
    profile: &Profile,
    cluster: &Cluster,
    filters: AskedFilters,
) -> Judgement {
    let prepared = fresh.prepared();
    let mut nodes: Vec<NodeJudgement> = Vec::new();
    let left = match pre_filter::run(profile, &prepared, cluster) {
        Ok(left) => left,
        Err(rejected) => {
            let before = rejected.pre_filter.as_deref();
            let before = before.map(|(filter, status)| (*filter, Arc::new(status.clone())));
            nodes.extend(views(cluster).map(|view| NodeJudgement {
                filter: before.clone(),
                ..NodeJudgement::feasible(view.slot)
            }));
            let failed = pre_filter_failure(profile, &rejected);
            return Judgement { rejected, failed, nodes, feasible: Vec::new() };
        }
    };
    let mut rejected = Rejected::default();
    let mut told = Told::default();
    let only = match &left {
        NodesToCheck::All => None,
        NodesToCheck::Only { slots, .. } => Some(slots.iter().copied().collect::<BTreeSet<_>>()),
    };
    let own = cluster.nominations().node_of(&pod.uid).and_then(|name| cluster.nodes().find(name));
    for view in views(cluster) {
        let mut judgement = NodeJudgement::feasible(view.slot);
        let is_outside = only.as_ref().is_some_and(|slots| !slots.contains(&view.slot));
        if is_outside && Some(view.slot) != own {
            judgement.is_outside = true;
            nodes.push(judgement);
            continue;
        }
        let ahead = nominated::ahead_of(pod, &view.node.name, program, cluster);
        let with_nominated = nominated::with_pods(view.slot, &ahead, &prepared, cluster);
        let first = if filters == AskedFilters::Every {
            let all = told.all_rejections(&prepared, view, cluster);
            let named = |rejection: &NodeRejection| {
                Some((rejection.filter, Arc::clone(rejection.status.as_ref()?)))
            };
            judgement.all_filters = all.iter().filter_map(named).collect();
            with_nominated.or_else(|| all.into_iter().next())
        } else {
            with_nominated
                .or_else(|| nominated::first_rejection(&prepared, cluster, view, Unmetered))
        };
        if let Some(NodeRejection { filter, status: Some(status), .. }) = &first {
            judgement.filter = Some((*filter, Arc::clone(status)));
        }
        judgement.is_outside = is_outside && first.is_some();
        rejected.nodes.extend(first);
        nodes.push(judgement);
    }
    if let NodesToCheck::Only { narrowed_by, .. } = left {
        rejected.narrowed_by = narrowed_by;
    }
    let is_feasible = |node: &&NodeJudgement| node.filter.is_none() && !node.is_outside;
    let feasible = nodes.iter().filter(is_feasible).map(|node| node.slot).collect();
    let failed = failure(fresh, pod, profile, cluster, &nodes);
    Judgement { rejected, failed, nodes, feasible }
}

/// As [`super::Cycle::decide`]. `sampling` is where the cycle's stands; its own is not moved on.
pub(crate) fn decide(
    question: Question<'_>,
    cluster: &Cluster,
    sampling: &Sampling,
) -> CycleOutcome {
    let (pod, program) = (question.pod, question.program);
    let Some(profile) = program.profiles.get(question.profile) else {
        return CycleOutcome::Failed(String::new().into());
    };
    let mut fresh = Fresh::of(profile, pod, cluster);
    let mut judgement = filter(&fresh, pod, program, profile, cluster, AskedFilters::First);
    let own = cluster.nominations().node_of(&pod.uid).and_then(|name| cluster.nodes().find(name));
    let own = own.filter(|slot| judgement.feasible.contains(slot));
    let feasible = if let Some(own) = own {
        vec![own]
    } else if sampling::is_asked_for(profile) && judgement.rejected.pre_filter.is_none() {
        match sampled(&judgement, &fresh, profile, cluster, sampling) {
            Ok(feasible) => feasible,
            Err(why) => return CycleOutcome::Failed(why),
        }
    } else if let Some(why) = judgement.failed {
        return CycleOutcome::Failed(why);
    } else {
        judgement.feasible.clone()
    };
    if feasible.is_empty() {
        let (rejected, prepared) = (&judgement.rejected, &fresh.prepared());
        let unplaced = Unplaced { question, profile, rejected, prepared, cluster };
        let rejects = new_node::rejects_one_by_one(prepared, cluster);
        return CycleOutcome::Rejected(Arc::new(FitError::of(
            unplaced,
            new_node::kept_back_by(rejected, profile, cluster, rejects),
            post_filter::run(unplaced, None, &mut CandidateMemo::default()),
        )));
    }
    score(&mut fresh, profile, cluster, &feasible, &mut judgement.nodes);
    let totals = judgement.totals(&feasible, cluster);
    match choose(&feasible, &totals, question.tie, cluster) {
        Some((slot, total)) => CycleOutcome::Chosen { slot, total, feasible: feasible.len() },
        None => CycleOutcome::Failed(String::new().into()),
    }
}

/// The feasible nodes that a search from where sampling stands finds, in the order in which it finds them;
/// or why it fails.
fn sampled(
    judgement: &Judgement,
    fresh: &Fresh,
    profile: &Profile,
    cluster: &Cluster,
    sampling: &Sampling,
) -> Result<Vec<NodeSlot>, Failure> {
    let inside = judgement.nodes.iter().filter(|node| !node.is_outside);
    let by_slot: BTreeMap<NodeSlot, &NodeJudgement> =
        inside.map(|node| (node.slot, node)).collect();
    let in_order: Vec<NodeSlot> = if judgement.rejected.narrowed_by.is_empty() {
        cluster.nodes().in_zones().into_owned()
    } else {
        judgement.nodes.iter().filter(|node| !node.is_outside).map(|node| node.slot).collect()
    };
    let enough = sampling::enough(profile, in_order.len(), false);
    let mut found: Vec<NodeSlot> = Vec::new();
    for slot in sampling::turned(&in_order, sampling.next_start()) {
        match by_slot.get(&slot).and_then(|node| node.filter.as_ref()) {
            Some((filter, status)) if status.rejection.is_failure() => {
                return Err(filter_failure(profile, *filter, Some(status)));
            }
            Some(_) => {}
            None if found.len() == enough => break,
            None => found.push(slot),
        }
    }
    if found.len() > 1 {
        let scores = fresh.scores.iter().map(Option::as_deref);
        if let Some(why) = score_failure(profile, scores) {
            return Err(why.into());
        }
    }
    Ok(found)
}

/// Why the cycle fails. kube-scheduler takes the nominated node, if it is feasible, before it looks
/// at others, and does not score a single node.
fn failure(
    fresh: &Fresh,
    pod: &Pod,
    profile: &Profile,
    cluster: &Cluster,
    nodes: &[NodeJudgement],
) -> Option<Failure> {
    let feasible = || nodes.iter().filter(|node| node.filter.is_none() && !node.is_outside);
    let nominated = cluster.nominations().node_of(&pod.uid);
    let nominated = nominated.and_then(|node| cluster.nodes().find(node));
    if nominated.is_some_and(|slot| feasible().any(|node| node.slot == slot)) {
        return None;
    }
    let first_failed = nodes.iter().find_map(|node| {
        let (filter, status) = node.filter.as_ref()?;
        status.rejection.is_failure().then(|| filter_failure(profile, *filter, Some(status)))
    });
    first_failed.or_else(|| match feasible().count() {
        0 | 1 => None,
        _ => {
            let scores = fresh.scores.iter().map(Option::as_deref);
            score_failure(profile, scores).map(Failure::from)
        }
    })
}

impl NodeJudgement {
    fn feasible(slot: NodeSlot) -> Self {
        Self {
            slot,
            filter: None,
            all_filters: Vec::new(),
            is_outside: false,
            scores: Vec::new(),
            total: 0,
        }
    }
}

/// Every node, in order of names.
fn views(cluster: &Cluster) -> impl Iterator<Item = NodeView<'_>> {
    let nodes = cluster.nodes().by_rank().iter().filter_map(|slot| cluster.nodes().view(*slot));
    nodes.inspect(|_| cluster.progress().beat())
}

fn score(
    fresh: &mut Fresh,
    profile: &Profile,
    cluster: &Cluster,
    feasible: &[NodeSlot],
    nodes: &mut [NodeJudgement],
) {
    let mut mask = vec![false; cluster.nodes().slots()];
    for slot in feasible {
        if let Some(cell) = mask.get_mut(slot.index()) {
            *cell = true;
        }
    }
    let shown = Feasible { mask: &mask, count: feasible.len() };
    for (position, (prepared, rule)) in fresh.scores.iter_mut().zip(&profile.scores).enumerate() {
        let Some(prepared) = prepared else { continue };
        if prepared.reads_feasible() {
            prepared.see_feasible(cluster, shown);
        }
        if prepared.is_skipped() {
            continue;
        }
        let mut raw = vec![IGNORED; mask.len()];
        for slot in feasible {
            let value = cluster.nodes().view(*slot).map(|view| prepared.raw(cluster, view));
            if let (Some(cell), Some(value)) = (raw.get_mut(slot.index()), value) {
                *cell = value;
            }
        }
        let normalized = normalize(prepared.as_ref(), rule.scale, cluster, shown, &raw);
        for node in nodes.iter_mut().filter(|node| shown.mask.get(node.slot.index()) == Some(&true))
        {
            let index = node.slot.index();
            let raw = raw.get(index).copied().unwrap_or_default();
            let weighted = rule.weight * normalized.get(index).copied().unwrap_or_default();
            node.total += weighted;
            let fault = cluster.nodes().view(node.slot).filter(|_| raw == IGNORED);
            let fault = fault.and_then(|view| prepared.fault(cluster, view));
            if node.scores.is_empty() {
                node.scores.reserve(profile.scores.len());
            }
            node.scores.push(Scored { score: position, raw, weighted, fault });
        }
    }
}

/// By slot; `raw` holds [`IGNORED`] where a node is not feasible.
fn normalize(
    prepared: &dyn PreparedScore,
    scale: Scale,
    cluster: &Cluster,
    feasible: Feasible<'_>,
    raw: &[f64],
) -> Vec<i64> {
    let normalization = scale.normalization(prepared);
    if *normalization == Normalization::Whole {
        let mut normalized = vec![0; raw.len()];
        scale.normalize_all(prepared, cluster, feasible, raw, &mut normalized);
        return normalized;
    }
    let fitted = Fitted::over(raw.iter().copied());
    raw.iter().map(|value| normalization.apply(&fitted, *value)).collect()
}
