//! The snapshot: the cluster as of the newest applied change, laid out for asking every node at
//! once.
//!
//! [`Cluster`] holds nodes and their loads, pods and their places, nominations, other objects, and
//! the change log. A change returns its occurrence, so that parked pods can be woken.

pub(crate) mod attached;
pub(crate) mod census;
pub(crate) mod columns;
pub(crate) mod containers;
pub(crate) mod covering;
pub(crate) mod device_columns;
pub(crate) mod device_flags;
pub(crate) mod device_groups;
pub(crate) mod device_kinds;
pub(crate) mod device_reads;
pub(crate) mod device_rows;
pub(crate) mod device_selectors;
pub(crate) mod device_slices;
pub(crate) mod device_taint_rules;
pub(crate) mod devices_in_use;
pub(crate) mod domains;
pub(crate) mod evictions;
pub(crate) mod extended_resources;
mod headroom;
pub(crate) mod hundredths;
pub(crate) mod images;
pub(crate) mod log;
pub(crate) mod node;
pub(crate) mod node_tree;
pub(crate) mod nodes;
pub(crate) mod objects;
pub(crate) mod occurrence;
pub(crate) mod pod;
pub(crate) mod pods;
mod progress;
pub(crate) mod promises;
pub(crate) mod read_labels;
mod resizes;
pub(crate) mod supposed;
mod tables;
pub(crate) mod taint_sets;
pub(crate) mod usage;
mod written;

mod changes;
mod label_keys;
mod lanes_read;
mod tenancy;

use std::sync::Arc;

use kpolicy_cel::{Expression, Timestamp};

use crate::intern::Name;
use crate::model::Kind;

pub use census::Census;
pub use domains::Domains;
pub(crate) use evictions::Evictions;
pub use lanes_read::lanes_read;

pub use log::{Change, Changes, Generation, Log};
pub use node::{Load, Node, NodeParts, NodeSlot, NodeView};
pub use nodes::Nodes;
pub use objects::Objects;
pub use occurrence::Occurrence;
pub use pod::Pod;

pub use pods::{Nominations, PodEntry, Pods};
pub use progress::Progress;

use promises::Promises;
use read_labels::ReadLabels;
use tables::Tables;
use written::Written;

/// The epoch, until a time is told.
#[derive(Debug)]
struct Moment(Timestamp);

impl Default for Moment {
    fn default() -> Self {
        Self(Timestamp::new(0, 0).unwrap_or(Timestamp::MIN))
    }
}

/// The snapshot: all objects that rules may read, indexed for them, and the log of changes.
#[derive(Debug, Default)]
pub struct Cluster {
    nodes: Nodes,
    pods: Pods,
    census: Census,
    nominations: Nominations,
    evictions: Evictions,
    objects: Objects,
    promises: Promises,
    written: Written,
    read_labels: ReadLabels,
    log: Log,
    tables: Tables,
    progress: Arc<Progress>,
    moment: Moment,
    /// The time that the caller told last, in seconds since the epoch. The moment is its minute.
    now_seconds: i64,
}

impl Cluster {
    /// The moment as of which rules decide, a whole minute.
    pub fn moment(&self) -> Timestamp {
        self.moment.0
    }

    /// The time that the caller told last, in seconds since the epoch, for time-outs.
    pub(crate) fn now_seconds(&self) -> i64 {
        self.now_seconds
    }

    /// Caches follow where a claim may wait too long for its devices by then.
    pub(crate) fn set_now_seconds(&mut self, seconds: i64) {
        if seconds != self.now_seconds && self.objects.devices_in_use.has_conditions() {
            self.log.push(Change::Time(self.moment.0, self.moment.0));
        }
        self.now_seconds = seconds;
    }

    /// Rules decide as of this moment from now on. Caches follow where `is_noted`.
    pub(crate) fn set_moment(&mut self, moment: Timestamp, is_noted: bool) {
        if is_noted {
            self.log.push(Change::Time(self.moment.0, moment));
        }
        self.moment = Moment(moment);
    }

    /// Nodes by slot, with the load of pods on each.
    pub fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// All pods by uid, and where each is.
    pub fn pods(&self) -> &Pods {
        &self.pods
    }

    /// Pods on nodes, grouped by what rules count.
    pub fn census(&self) -> &Census {
        &self.census
    }

    /// Which pods are nominated to which nodes.
    pub fn nominations(&self) -> &Nominations {
        &self.nominations
    }

    pub(crate) fn evictions(&self) -> &Evictions {
        &self.evictions
    }

    pub(crate) fn objects(&self) -> &Objects {
        &self.objects
    }

    /// What finding devices has taken so far, in units.
    pub fn units_of_devices(&self) -> u64 {
        self.objects.units_of_devices()
    }

    /// Objects that stand as decided, not as the API server has them yet.
    pub(crate) fn promises(&self) -> &Promises {
        &self.promises
    }

    /// Takes compiled selectors of devices. What was judged without them is judged again.
    pub(crate) fn load_selector(&mut self, text: &str, compiled: Result<Expression, String>) {
        self.objects.selectors.load(text, compiled);
        self.log.push(Change::Object(Kind::DeviceClass));
    }

    /// Which labels of pods selectors read.
    pub(crate) fn read_labels(&self) -> &ReadLabels {
        &self.read_labels
    }

    /// Whoever works for long on the snapshot reports it there.
    pub fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// The newest changes, for caches that follow them.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The generation of the newest change.
    pub fn generation(&self) -> Generation {
        self.log.generation()
    }

    /// The changes since a generation, if there are few enough to be looked at one by one.
    pub(crate) fn changes_since(
        &self,
        seen: Option<Generation>,
    ) -> Option<(Generation, Changes<'_>)> {
        let seen = seen?;
        let changes = self.log.since(seen)?;
        (changes.len() <= self.nodes.len()).then_some((seen, changes))
    }

    /// A name as pods and nodes hold it, if any does.
    pub(crate) fn find_name(&self, text: &str) -> Option<Name> {
        self.tables.find_name(text)
    }

    pub(crate) fn templates(&self) -> usize {
        self.tables.templates()
    }

    pub(crate) fn identities(&self) -> usize {
        self.tables.identities()
    }

    /// Labels of a namespace; `None` if it is not known.
    pub(crate) fn namespace_labels(&self, namespace: &str) -> Option<&crate::model::Labels> {
        self.objects.namespaces.get("", namespace).map(|found| &found.meta.labels)
    }

    /// A row for a pod that is not in the snapshot.
    pub fn row(&mut self, pod: crate::model::Pod) -> Arc<Pod> {
        let row = self.tables.pod(pod);
        self.read_labels.follow_pod(&row);
        Arc::new(row)
    }
}

/// A hypothetical node: some pods are added or removed.
#[derive(Debug, Clone)]
pub struct Imagined<'a> {
    pub(crate) slot: NodeSlot,
    pub(crate) node: &'a Node,
    pub(crate) load: Load,
}

impl Imagined<'_> {
    pub(crate) fn view(&self) -> NodeView<'_> {
        NodeView { slot: self.slot, node: self.node, load: &self.load }
    }
}
