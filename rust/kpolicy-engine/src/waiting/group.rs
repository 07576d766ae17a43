//! Pods of the queue that are alike in everything that orders and holds them: one answer for all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::api::Entered;
use crate::program::{Program, QueueRules};
use crate::rules::{Fault, Key};
use crate::snapshot::{Cluster, Pod};

/// What the pods of a group have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct GroupKey {
    pub(super) tenant: Arc<str>,
    pub(super) profile: usize,
    pub(super) is_set_aside: bool,
    /// 0 where the program does not read it.
    pub(super) attempts: i64,
    /// Where the program reads how long a pod has waited, each is alone. Empty otherwise.
    pub(super) uid: Arc<str>,
    /// What is read of the pod.
    pub(super) key: Key,
}

impl GroupKey {
    pub(super) fn of(
        pod: &Pod,
        profile: usize,
        entered: &Entered,
        rules: &QueueRules,
        cluster: &Cluster,
    ) -> GroupKey {
        let reads = &rules.reads;
        let mut key = Key::default();
        reads.needs.key(pod, &mut key);
        let nobody = || Arc::from("");
        let tenant = match cluster.usage() {
            Some(usage) if reads.tenant => usage.tenant(pod.namespace()),
            _ => nobody(),
        };
        GroupKey {
            tenant,
            profile,
            is_set_aside: entered.is_set_aside,
            attempts: if reads.attempts { entered.attempts } else { 0 },
            uid: if reads.age { Arc::clone(&entered.uid) } else { nobody() },
            key,
        }
    }
}

/// The order of kube-scheduler: priority, then the beginning of the wait, then the creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    pub(super) less_priority: i64,
    pub(super) since_ns: i64,
    pub(super) created_seconds: i64,
    /// How many pods had arrived before it: no two are equal.
    pub(super) arrival: u64,
}

/// The group of a pod, and its place in it. `None`: no profile serves the pod, or it is not pending.
pub(super) fn listing(
    entered: &Entered,
    arrival: u64,
    program: &Program,
    cluster: &Cluster,
) -> Option<(GroupKey, Rank)> {
    let (rules, entry) = (program.queue.as_ref()?, cluster.pods().get(&entered.uid)?);
    let pod = &entry.pod;
    let profile = program.profile_of(pod).filter(|_| entry.node().is_none())?;
    let rank = Rank {
        less_priority: -i64::from(pod.priority()),
        since_ns: entered.since_ns,
        created_seconds: pod.created_seconds.unwrap_or(0),
        arrival,
    };
    Some((GroupKey::of(pod, profile, entered, rules, cluster), rank))
}

/// A place in the order: pods that are set aside come last, those without a number before them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    is_set_aside: bool,
    has_no_number: bool,
    number: u64,
    rank: Rank,
}

/// Numbers that are in the order of the doubles that they are made of.
fn ordered(number: f64) -> u64 {
    // Zero has two signs and is one number.
    let bits = (number + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Standing {
    /// Not evaluated yet.
    Unknown,
    /// To be tried; with the number of the order, if there is one.
    Ready(Option<f64>),
    /// A hold holds it back: which one of the profile, and why.
    Held(usize, Arc<str>),
}

#[derive(Debug)]
pub(super) struct Group {
    pub(super) key: GroupKey,
    members: BTreeMap<Rank, Arc<str>>,
    by_arrival: BTreeSet<(u64, Rank)>,
    pub(super) standing: Standing,
    /// What an expression failed with, when it was evaluated last, and which rule that was.
    pub(super) fault: Option<(Arc<str>, Fault)>,
    /// The call in which it was evaluated last; 0: never.
    pub(super) asked_at: u64,
    pub(super) is_due: bool,
    /// When a hold let the group go, as an arrival: nobody overtook its pods before that.
    pub(super) released: u64,
    /// Where it is listed.
    pub(super) listed: Option<Place>,
    pub(super) listed_age: Option<u64>,
}

impl Group {
    pub(super) fn new(key: GroupKey) -> Self {
        Self {
            key,
            members: BTreeMap::new(),
            by_arrival: BTreeSet::new(),
            standing: Standing::Unknown,
            fault: None,
            asked_at: 0,
            is_due: false,
            released: 0,
            listed: None,
            listed_age: None,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub(super) fn is_held(&self) -> bool {
        matches!(self.standing, Standing::Held(..))
    }

    pub(super) fn add(&mut self, rank: Rank, uid: Arc<str>) {
        self.by_arrival.insert((rank.arrival, rank));
        self.members.insert(rank, uid);
    }

    pub(super) fn remove(&mut self, rank: Rank) {
        self.by_arrival.remove(&(rank.arrival, rank));
        self.members.remove(&rank);
    }

    /// The first by rank.
    pub(super) fn first(&self) -> Option<&Arc<str>> {
        self.members.first_key_value().map(|(_, uid)| uid)
    }

    /// The first that arrived.
    pub(super) fn oldest(&self) -> Option<&Arc<str>> {
        self.by_arrival.first().and_then(|(_, rank)| self.members.get(rank))
    }

    pub(super) fn uids(&self) -> impl Iterator<Item = &Arc<str>> {
        self.members.values()
    }

    /// Its place, by its first pod; `None` while it is not to be tried.
    pub(super) fn place(&self) -> Option<Place> {
        let Standing::Ready(number) = self.standing else { return None };
        let (rank, _) = self.members.first_key_value()?;
        Some(Place {
            is_set_aside: self.key.is_set_aside,
            has_no_number: number.is_none(),
            number: number.map_or(0, ordered),
            rank: *rank,
        })
    }

    /// From when on others may have overtaken its oldest pod. Those that are set aside wait for longer.
    pub(super) fn age(&self) -> Option<u64> {
        let is_ready = matches!(self.standing, Standing::Ready(_)) && !self.key.is_set_aside;
        let (arrival, _) = self.by_arrival.first().filter(|_| is_ready)?;
        Some(self.effective(*arrival))
    }

    pub(super) fn effective(&self, arrival: u64) -> u64 {
        arrival.max(self.released)
    }
}

#[cfg(test)]
mod tests {
    use super::ordered;

    #[test]
    fn numbers_are_ordered_as_doubles_are() {
        let rising = [f64::NEG_INFINITY, -1e300, -1.5, -1e-300, 0.0, 1e-300, 2.0, f64::INFINITY];
        for pair in rising.windows(2) {
            if let [low, high] = pair {
                assert!(ordered(*low) < ordered(*high), "{low} {high}");
            }
        }
        assert_eq!(ordered(-0.0), ordered(0.0));
    }
}
