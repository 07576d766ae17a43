//! Parked pods: which pods wait, which rules rejected them, and which event may help which pod.
//!
//! Pods that the same rules rejected, with equal keys for each rule, form a group, so that a hint
//! is asked once for a group. Specification: one rule that sees a chance is enough; a rule that
//! registers `NodeAdd` but not `NodeTaint` is always woken by the latter. Sizes are bounded by the
//! number of pending pods.
//!
//! A pod that a new node could help says so to autoscalers, until a rule that no new node helps comes to
//! reject it too. Whether one does is asked when time passes, if what such rules read has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::api::Wake;
use crate::event::{Event, Events, Occurrence, Whose};
use crate::judging::{EXTENDER, new_node};
use crate::program::{Profile, Program};
use crate::rules::{FilterRule, Key};
use crate::snapshot::{Cluster, Pod};

/// What pods of a group have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct GroupKey {
    profile: usize,
    /// Positions of the rules that rejected, sorted; empty where there was no node at all.
    rules: Box<[usize]>,
    /// What these rules read of the pod: the keys of each, with their lengths. Where a new node could
    /// help, also of the rules that none helps.
    keys: Key,
    /// Whether a new node could help.
    is_helped: bool,
}

/// Why a pod is parked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ParkedFor<'a> {
    /// Positions in the profile's filters, sorted.
    pub(crate) rules: &'a [usize],
    /// Whether a new node could help.
    pub(crate) is_helped: bool,
    /// For people.
    pub(crate) message: &'a Arc<str>,
}

/// What asking whether pods are kept back may take in one call, in units; the others are asked about next
/// time.
const UNITS_MAX: u64 = 5_000_000;
/// What looking at a node takes besides what expressions do.
const NODE_UNITS: u64 = 50;

impl GroupKey {
    fn is_of_extender(&self) -> bool {
        self.rules.contains(&EXTENDER)
    }
}

#[derive(Debug)]
struct Group {
    key: GroupKey,
    events: Events,
    pods: BTreeMap<Arc<str>, Waiting>,
}

#[derive(Debug, Clone)]
struct Waiting {
    pod: Arc<Pod>,
    message: Arc<str>,
}

#[derive(Debug, Default)]
pub(crate) struct Parked {
    groups: Vec<Option<Group>>,
    free: Vec<usize>,
    by_key: FxHashMap<GroupKey, usize>,
    by_event: FxHashMap<Event, BTreeSet<usize>>,
    of_pod: FxHashMap<Arc<str>, usize>,
    /// Whatever changes what is read by rules that no new node helps, of pods that one could help.
    doubted_by: Events,
    /// Something of that happened since all were asked about.
    is_in_doubt: bool,
    /// The group to be asked about next.
    next_doubted: usize,
}

/// The events that a rule waits for.
pub(crate) fn events_of(rule: &FilterRule) -> Events {
    let events = rule.events();
    if events.contains(Event::NodeAdd) {
        events.with(Events::of(&[Event::NodeTaint]))
    } else {
        events
    }
}

fn wakes(
    rule: &FilterRule,
    pod: &Pod,
    event: Event,
    occurrence: &Occurrence,
    cluster: &Cluster,
) -> bool {
    let events = rule.events();
    let is_hinted = if events.contains(event) {
        rule.wakes(pod, event, occurrence, cluster)
    } else {
        event == Event::NodeTaint && events.contains(Event::NodeAdd)
    };
    is_hinted || (rule.more_events().contains(event) && rule.wakes_more(pod, occurrence, cluster))
}

/// What a rule reads of a pod.
fn key_of(rule: &FilterRule, pod: &Pod) -> Key {
    let mut key = Key::default();
    rule.key(pod, &mut key);
    key
}

impl Parked {
    pub(crate) fn len(&self) -> usize {
        self.of_pod.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.of_pod.is_empty()
    }

    pub(crate) fn message(&self, uid: &str) -> Option<Arc<str>> {
        let group = self.groups.get(*self.of_pod.get(uid)?)?.as_ref()?;
        Some(Arc::clone(&group.pods.get(uid)?.message))
    }

    /// Parks a pod of a profile.
    pub(crate) fn park(
        &mut self,
        pod: &Arc<Pod>,
        profile: usize,
        why: ParkedFor<'_>,
        program: &Program,
    ) {
        self.remove(&pod.uid);
        let mut keys = Key::default();
        let filters = program.profiles.get(profile).map_or(&[][..], |profile| &profile.filters);
        let rejecting = why.rules.iter().filter_map(|position| filters.get(*position));
        let beyond = beyond_new_nodes(filters).filter(|_| why.is_helped);
        for rule in rejecting.chain(beyond) {
            let key = key_of(rule, pod);
            keys.push(key.len() as u64);
            key.parts().iter().for_each(|part| keys.push(*part));
        }
        let key = GroupKey { profile, rules: why.rules.into(), keys, is_helped: why.is_helped };
        let index = match self.by_key.get(&key) {
            Some(index) => *index,
            None => self.add(key, program),
        };
        if let Some(Some(group)) = self.groups.get_mut(index) {
            let waiting = Waiting { pod: Arc::clone(pod), message: Arc::clone(why.message) };
            group.pods.insert(Arc::clone(&pod.uid), waiting);
            self.of_pod.insert(Arc::clone(&pod.uid), index);
        }
    }

    fn add(&mut self, key: GroupKey, program: &Program) -> usize {
        let rules = program.profiles.get(key.profile).map(|profile| rules_of(&key, profile));
        let events = match rules {
            // Nobody knows what an extender's answer depends on, so any event wakes the pod.
            _ if key.is_of_extender() => Events::ALL,
            Some(rules) if !rules.is_empty() => {
                let of_rule = |rule: &&FilterRule| events_of(rule).with(rule.more_events());
                rules.iter().map(of_rule).fold(Events::NONE, Events::with)
            }
            _ => Events::of(&[Event::NodeAdd]),
        };
        if let Some(profile) = program.profiles.get(key.profile).filter(|_| key.is_helped) {
            let read = |rule: &FilterRule| {
                rule.parts().events().with(rule.events()).with(rule.more_events())
            };
            self.doubted_by =
                beyond_new_nodes(&profile.filters).map(read).fold(self.doubted_by, Events::with);
        }
        let group = Group { key: key.clone(), events, pods: BTreeMap::new() };
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.groups.push(None);
                self.groups.len() - 1
            }
        };
        if let Some(place) = self.groups.get_mut(index) {
            *place = Some(group);
        }
        for event in events.iter() {
            self.by_event.entry(event).or_default().insert(index);
        }
        self.by_key.insert(key, index);
        index
    }

    pub(crate) fn remove(&mut self, uid: &str) -> bool {
        let Some(index) = self.of_pod.remove(uid) else { return false };
        if let Some(Some(group)) = self.groups.get_mut(index) {
            group.pods.remove(uid);
            if group.pods.is_empty() {
                self.drop_group(index);
            }
        }
        true
    }

    fn drop_group(&mut self, index: usize) {
        if let Some(group) = self.groups.get_mut(index).and_then(Option::take) {
            for event in group.events.iter() {
                if let Some(groups) = self.by_event.get_mut(&event) {
                    groups.remove(&index);
                }
            }
            self.by_key.remove(&group.key);
            self.free.push(index);
        }
    }

    /// Everybody tries again: there are new rules.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Wakes whom this may help, in order of uid.
    pub(crate) fn hear(
        &mut self,
        occurrence: &Occurrence,
        program: &Program,
        cluster: &Cluster,
        out: &mut Vec<Wake>,
    ) {
        if self.is_empty() {
            return;
        }
        if let Occurrence::Pod { new: Some(new), is_assigned: false, .. } = occurrence {
            self.hear_of_itself(new, occurrence, program, cluster, out);
            return;
        }
        let pending = Whose::Pending(program.followed.traits().pending_pod);
        for event in occurrence.events() {
            self.is_in_doubt |= self.doubted_by.contains(event);
            let mut woken: Vec<Arc<str>> = Vec::new();
            let waiting = self.by_event.get(&event).into_iter().flatten();
            for index in waiting.copied().collect::<Vec<_>>() {
                let Some(Some(group)) = self.groups.get(index) else { continue };
                if group.wakes(event, occurrence, program, cluster) {
                    woken.extend(group.pods.keys().cloned());
                    self.drop_group(index);
                }
            }
            woken.sort_unstable();
            let whose = if occurrence.is_assigned() { Whose::Assigned } else { pending };
            let label = event.label(whose);
            for uid in woken {
                self.of_pod.remove(&uid);
                out.push(Wake { uid, event: label });
            }
        }
    }

    /// Wakes the pods that rules keep back by now which no new node helps, so that their next attempt
    /// says so.
    pub(crate) fn wake_kept_back(
        &mut self,
        program: &Program,
        cluster: &Cluster,
        out: &mut Vec<Wake>,
    ) {
        if !self.is_in_doubt {
            return;
        }
        let (spent_before, mut looked) = (program.units_spent(), 0_u64);
        for _ in 0..self.groups.len() {
            let spent = program.units_spent().saturating_sub(spent_before);
            if spent.saturating_add(looked.saturating_mul(NODE_UNITS)) >= UNITS_MAX {
                return;
            }
            let index = if self.next_doubted < self.groups.len() { self.next_doubted } else { 0 };
            self.next_doubted = index + 1;
            let Some(Some(group)) = self.groups.get(index) else { continue };
            let Some(profile) = program.profiles.get(group.key.profile) else { continue };
            let Some(first) = group.pods.values().next().filter(|_| group.key.is_helped) else {
                continue;
            };
            let (is_kept_back, nodes) = new_node::is_kept_back(&first.pod, profile, cluster);
            looked = looked.saturating_add(nodes);
            if is_kept_back {
                let event = Event::TimePasses.label(Whose::Assigned);
                for uid in group.pods.keys() {
                    self.of_pod.remove(uid);
                    out.push(Wake { uid: Arc::clone(uid), event });
                }
                self.drop_group(index);
            }
        }
        self.is_in_doubt = false;
    }

    /// A waiting pod was updated itself.
    fn hear_of_itself(
        &mut self,
        new: &Arc<Pod>,
        occurrence: &Occurrence,
        program: &Program,
        cluster: &Cluster,
        out: &mut Vec<Wake>,
    ) {
        let Some(Some(group)) = self.of_pod.get(&new.uid).and_then(|index| self.groups.get(*index))
        else {
            return;
        };
        let Some(profile) = program.profiles.get(group.key.profile) else { return };
        let rules = rules_of(&group.key, profile);
        let helps =
            |event: &Event| rules.iter().any(|rule| wakes(rule, new, *event, occurrence, cluster));
        let old = group.pods.get(&new.uid).map(|waiting| &waiting.pod);
        // Kinds without a hint, or that cannot be changed: whether the rule reads them decides.
        let may_pass = |rule: &&FilterRule| {
            old.is_some_and(|old| key_of(rule, old) != key_of(rule, new))
                && rule.passes_somewhere(new, cluster)
        };
        let events = occurrence.events();
        let helping =
            match group.key.is_of_extender() {
                true => events.first().copied(),
                false => events.iter().copied().find(helps).or_else(|| {
                    rules.iter().any(may_pass).then(|| events.first().copied()).flatten()
                }),
            };
        let (profile, positions) = (group.key.profile, group.key.rules.clone());
        let is_helped = group.key.is_helped;
        let Some(message) = self.message(&new.uid) else { return };
        match helping {
            Some(event) => {
                self.remove(&new.uid);
                let event = event.label(Whose::Pending(program.followed.traits().pending_pod));
                out.push(Wake { uid: Arc::clone(&new.uid), event });
            }
            // It waits on, as what it is now.
            None => {
                self.is_in_doubt |= is_helped && self.doubted_by != Events::NONE;
                let why = ParkedFor { rules: &positions, is_helped, message: &message };
                self.park(new, profile, why, program);
            }
        }
    }
}

/// The rules that no new node helps.
fn beyond_new_nodes(filters: &[FilterRule]) -> impl Iterator<Item = &FilterRule> {
    filters.iter().filter(|rule| rule.is_beyond_new_nodes())
}

fn rules_of<'a>(key: &GroupKey, profile: &'a Profile) -> Vec<&'a FilterRule> {
    key.rules.iter().filter_map(|position| profile.filters.get(*position)).collect()
}

impl Group {
    fn wakes(
        &self,
        event: Event,
        occurrence: &Occurrence,
        program: &Program,
        cluster: &Cluster,
    ) -> bool {
        if !self.events.contains(event) {
            return false;
        }
        let Some(profile) = program.profiles.get(self.key.profile) else { return true };
        let rules = rules_of(&self.key, profile);
        let Some(waiting) = self.pods.values().next() else { return false };
        rules.is_empty()
            || self.key.is_of_extender()
            || rules.iter().any(|rule| wakes(rule, &waiting.pod, event, occurrence, cluster))
    }
}
