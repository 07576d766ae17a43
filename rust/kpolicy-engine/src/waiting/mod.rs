//! Pods that wait to be tried, where a policy orders them or holds some back.
//!
//! The caller says who came and who left, and asks for the next pods. Each pod that is handed out counts
//! as its tenant's at once, so that the next one is chosen with it. Pods that are alike in what is read
//! of them are one group, which is evaluated again only when something that it reads has changed. Pods
//! that rest are not handed out, but a hold may begin to hold them.

mod group;
mod held_now;
mod judged;
mod listed;
mod resting;
mod seen;
mod shares;

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::api::{Entered, HeldPod, NextPods, QueueFault, Wake};
use crate::event::{Occurrence, Whose};
use crate::program::{Program, QueueRules};
use crate::rules::Fault;
use crate::rules::expression::{ClusterTotals, DomainSums};
use crate::snapshot::Cluster;

use group::{Rank, Standing, listing};
pub(crate) use held_now::{held_now, seen_now};
use judged::{Judge, Judged};
use listed::Listed;
use resting::Resting;
use seen::Seen;
pub(crate) use shares::shares;

/// What evaluating may take in one call, in units; then what was known before counts.
const UNITS_MAX: u64 = 5_000_000;
/// What an evaluation takes besides what its expressions do.
const EVALUATION: u64 = 50;
/// So many held pods are told in one call.
const TOLD_MAX: usize = 4_096;
/// So many failed evaluations are told in one call; all of them are counted.
const FAULTS_MAX: usize = 64;

#[derive(Debug)]
struct Waiter {
    group: usize,
    rank: Rank,
    entered: Entered,
    /// The hold that the caller knows of.
    told: Option<usize>,
}

#[derive(Debug, Default)]
pub(crate) struct Waiting {
    pods: FxHashMap<Arc<str>, Waiter>,
    groups: Listed,
    resting: Resting,
    /// Pods that no profile serves, or that are not pending: the next decision says so.
    strays: BTreeSet<Arc<str>>,
    untold: BTreeSet<Arc<str>>,
    /// Of pods that were handed out, the arrivals of those that came after the oldest waiting one.
    overtakers: BinaryHeap<Reverse<u64>>,
    arrivals: u64,
    calls: u64,
    seen: Seen,
    totals: ClusterTotals,
    sums: DomainSums,
    /// What evaluating took since the call began.
    units: u64,
    /// What failed since the call began.
    faults: Vec<QueueFault>,
}

/// The call's surroundings.
struct Call<'a> {
    rules: &'a QueueRules,
    program: &'a Program,
    /// Of the queue's clock, which is not that of the wall.
    queue_now_ns: i64,
}

impl Waiting {
    /// Why a pod is held, if it is.
    pub(crate) fn message(&self, uid: &str) -> Option<Arc<str>> {
        match &self.groups.get(self.pods.get(uid)?.group)?.standing {
            Standing::Held(_, message) => Some(Arc::clone(message)),
            Standing::Unknown | Standing::Ready(_) => None,
        }
    }

    /// Whether something happened that may begin or end a hold. Then the caller is to ask who is next: a
    /// wake without a uid says so, once for all pods that are held or rest.
    pub(crate) fn hear(&self, occurrence: &Occurrence, program: &Program, out: &mut Vec<Wake>) {
        let Some(rules) = &program.queue else { return };
        if !self.groups.are_any_held() && self.resting.is_empty() {
            return;
        }
        let is_heard = |event: &_| rules.hold_events.contains(*event);
        if let Some(event) = occurrence.events().into_iter().find(is_heard) {
            let pending = Whose::Pending(program.followed.traits().pending_pod);
            let whose = if occurrence.is_assigned() { Whose::Assigned } else { pending };
            out.push(Wake { uid: "".into(), event: event.label(whose) });
        }
    }

    /// Who came or changed, and who left.
    pub(crate) fn follow(
        &mut self,
        entered: Vec<Entered>,
        left: &[Arc<str>],
        program: &Program,
        cluster: &mut Cluster,
    ) {
        for uid in left {
            self.remove(uid);
            cluster.came_back(uid);
        }
        for entered in entered {
            cluster.came_back(&entered.uid);
            let known = self.remove(&entered.uid);
            if entered.is_resting {
                self.rest(entered, program, cluster);
            } else {
                self.add(entered, known, program, cluster);
            }
        }
    }

    /// The next pods, in order; at most `limit`.
    pub(crate) fn next(
        &mut self,
        limit: usize,
        queue_now_ns: i64,
        program: &Program,
        cluster: &mut Cluster,
    ) -> NextPods {
        let Some(rules) = &program.queue else { return NextPods::default() };
        let call = Call { rules, program, queue_now_ns };
        self.calls += 1;
        self.units = 0;
        self.look_around(&call, cluster);
        self.follow_usage(&call, cluster);
        let rest_is_due = self.hold_resting(&call, cluster);
        let mut next = NextPods::default();
        while next.picked.len() < limit
            && let Some(uid) = self.strays.pop_first()
        {
            next.picked.push(uid);
        }
        while next.picked.len() < limit {
            self.follow_usage(&call, cluster);
            while self.units < UNITS_MAX
                && let Some(index) = self.groups.first_due()
            {
                self.evaluate(index, &call, cluster);
            }
            let Some((index, uid)) = self.first(rules.overtakes_max) else { break };
            // What ordered it before will do. Whether it is held has to be known.
            if rules.has_holds && self.groups.get(index).is_some_and(|group| group.is_due) {
                if self.units >= 2 * UNITS_MAX && !next.picked.is_empty() {
                    break;
                }
                self.evaluate(index, &call, cluster);
                continue;
            }
            self.hand_out(&uid, rules);
            cluster.let_go(&uid);
            next.picked.push(uid);
        }
        self.tell(&call, &mut next);
        next.faults = std::mem::take(&mut self.faults);
        next.is_more = !self.untold.is_empty()
            || rest_is_due
            || (next.picked.is_empty() && self.groups.first_due().is_some());
        next
    }

    /// Marks what reads something that changed since the last call.
    fn look_around(&mut self, call: &Call<'_>, cluster: &Cluster) {
        let totals_differ = self.totals.follow(cluster);
        let changed = self.seen.follow(cluster, call.queue_now_ns, totals_differ);
        if changed.is_read(&call.rules.reads) {
            self.groups.mark_all();
        }
        if changed.is_read(&call.rules.hold_reads) {
            self.resting.mark_all();
        }
    }

    /// Marks what reads tenants whose sums changed.
    fn follow_usage(&mut self, call: &Call<'_>, cluster: &mut Cluster) {
        let changes = cluster.take_usage_changes();
        if changes.are_moved {
            self.regroup(call.program, cluster);
        }
        if changes.tenants.is_empty() {
            return;
        }
        let (reads, of_holds) = (&call.rules.reads, &call.rules.hold_reads);
        if reads.others {
            self.groups.mark_all();
        } else if reads.tenant {
            for tenant in &changes.tenants {
                self.groups.mark_tenant(tenant);
            }
        }
        if of_holds.others {
            self.resting.mark_all();
        } else if of_holds.tenant {
            self.resting.mark_tenants(changes.tenants);
        }
    }

    /// Pods that rested and that a hold holds now wait with the others. Says whether some are still to be
    /// asked about.
    fn hold_resting(&mut self, call: &Call<'_>, cluster: &Cluster) -> bool {
        let judge = Judge { call, cluster, totals: &self.totals, sums: &self.sums };
        for entered in self.resting.take_held(&judge, self.calls) {
            let entered = Entered { is_resting: false, ..entered };
            self.add(entered, None, call.program, cluster);
        }
        self.resting.is_due()
    }

    /// Namespaces belong to other tenants.
    fn regroup(&mut self, program: &Program, cluster: &Cluster) {
        let mut uids: Vec<(u64, Arc<str>)> =
            self.pods.iter().map(|(uid, waiter)| (waiter.rank.arrival, Arc::clone(uid))).collect();
        uids.sort_unstable();
        for (_, uid) in uids {
            let Some(waiter) = self.take(&uid) else { continue };
            self.add(waiter.entered, Some((waiter.rank.arrival, waiter.told)), program, cluster);
        }
        for entered in self.resting.take_all() {
            self.rest(entered, program, cluster);
        }
    }

    /// `known`: its arrival, and the hold that the caller knows of, where it was here before.
    fn add(
        &mut self,
        entered: Entered,
        known: Option<(u64, Option<usize>)>,
        program: &Program,
        cluster: &Cluster,
    ) {
        let (arrival, told) = known.unwrap_or_else(|| (self.next_arrival(), None));
        let Some((key, rank)) = listing(&entered, arrival, program, cluster) else {
            self.strays.insert(entered.uid);
            return;
        };
        let uid = Arc::clone(&entered.uid);
        let group = self.groups.add(key, rank, Arc::clone(&uid));
        if self.groups.get(group).is_some_and(group::Group::is_held) {
            self.untold.insert(Arc::clone(&uid));
        }
        self.pods.insert(uid, Waiter { group, rank, entered, told });
    }

    fn rest(&mut self, entered: Entered, program: &Program, cluster: &Cluster) {
        let arrival = self.next_arrival();
        if program.queue.as_ref().is_some_and(|rules| rules.has_holds)
            && let Some((key, rank)) = listing(&entered, arrival, program, cluster)
        {
            self.resting.add(entered, key, rank);
        }
    }

    fn next_arrival(&mut self) -> u64 {
        self.arrivals += 1;
        self.arrivals
    }

    /// Its arrival and the hold that the caller knows of, if it was here.
    fn remove(&mut self, uid: &Arc<str>) -> Option<(u64, Option<usize>)> {
        self.strays.remove(uid);
        self.resting.remove(uid);
        self.take(uid).map(|waiter| (waiter.rank.arrival, waiter.told))
    }

    fn take(&mut self, uid: &Arc<str>) -> Option<Waiter> {
        self.untold.remove(uid);
        let waiter = self.pods.remove(uid)?;
        self.groups.remove(waiter.group, waiter.rank);
        Some(waiter)
    }

    /// The group whose turn it is, and which of its pods: the one that was overtaken too often, or else
    /// the first in the order.
    fn first(&mut self, overtakes_max: Option<usize>) -> Option<(usize, Arc<str>)> {
        if let Some(most) = overtakes_max {
            match self.groups.oldest() {
                None => self.overtakers.clear(),
                Some((age, index)) => {
                    while self.overtakers.peek().is_some_and(|Reverse(own)| *own <= age) {
                        self.overtakers.pop();
                    }
                    if self.overtakers.len() >= most {
                        let uid = self.groups.get(index)?.oldest()?;
                        return Some((index, Arc::clone(uid)));
                    }
                }
            }
        }
        let index = self.groups.first()?;
        Some((index, Arc::clone(self.groups.get(index)?.first()?)))
    }

    fn hand_out(&mut self, uid: &Arc<str>, rules: &QueueRules) {
        let Some(waiter) = self.pods.get(uid) else { return };
        if rules.overtakes_max.is_some()
            && !waiter.entered.is_set_aside
            && let Some(group) = self.groups.get(waiter.group)
        {
            self.overtakers.push(Reverse(group.effective(waiter.rank.arrival)));
        }
        self.take(uid);
    }

    fn evaluate(&mut self, index: usize, call: &Call<'_>, cluster: &Cluster) {
        self.units += EVALUATION;
        let Some(group) = self.groups.get(index) else { return };
        let first = group.first().cloned();
        let judge = Judge { call, cluster, totals: &self.totals, sums: &self.sums };
        let waiter = first.as_ref().and_then(|uid| self.pods.get(uid));
        let judged = waiter.and_then(|waiter| judge.of_waiting(&waiter.entered, group.key.profile));
        // Of a pod that is gone, the next decision says so.
        let Judged { standing, fault, units } = judged.unwrap_or_default();
        self.units += units;
        self.note(index, first, fault);
        let before = self.groups.stand(index, standing, self.calls);
        let Some(group) = self.groups.get(index) else { return };
        match (&before, &group.standing) {
            (Standing::Held(old, _), Standing::Held(new, _)) if old == new => {}
            (_, Standing::Held(..)) => self.untold.extend(group.uids().cloned()),
            (Standing::Held(..), _) => {
                let arrival = self.next_arrival();
                self.groups.release(index, arrival);
            }
            _ => {}
        }
    }

    /// Once for a group and what its evaluation fails with.
    fn note(&mut self, index: usize, pod: Option<Arc<str>>, fault: Option<(Arc<str>, Fault)>) {
        let told = fault.clone();
        if self.groups.fail(index, fault)
            && self.faults.len() < FAULTS_MAX
            && let (Some(uid), Some((rule, fault))) = (pod, told)
        {
            self.faults.push(QueueFault { uid, rule, code: fault.code, message: fault.message });
        }
    }

    /// Names the pods that are held, each once for the same hold.
    fn tell(&mut self, call: &Call<'_>, next: &mut NextPods) {
        while next.held.len() < TOLD_MAX
            && let Some(uid) = self.untold.pop_first()
        {
            let Some(waiter) = self.pods.get_mut(&uid) else { continue };
            let Some(group) = self.groups.get(waiter.group) else { continue };
            let Standing::Held(position, message) = &group.standing else { continue };
            let profile = call.program.profiles.get(group.key.profile);
            let Some(hold) = profile.and_then(|own| own.holds.get(*position)) else { continue };
            if waiter.told == Some(*position) {
                continue;
            }
            waiter.told = Some(*position);
            next.held.push(HeldPod {
                uid,
                hold: Arc::clone(hold.name()),
                reason: Arc::clone(&hold.reason),
                message: Arc::clone(message),
            });
        }
    }
}
