//! A claim that has its volume: whether a node can reach it.
//!
//! Specification: where the node's kubelet handed an in-tree plugin over to a CSI driver, the
//! volume's node affinity is read as that driver's.

use crate::heap::HeapBytes;
use crate::model::{
    CsiNode, NodeSelector, NodeSelectorTerm, PersistentVolume, PersistentVolumeClaim,
};
use crate::rules::label_classes::LabelKeys;
use crate::rules::node_selection::can_be_parsed;
use crate::rules::volume_migration as migration;
use crate::snapshot::{Cluster, Node};

#[derive(Debug, Clone)]
pub(super) enum Bound {
    /// To a volume that is not there.
    Missing,
    To {
        affinity: Option<NodeSelector>,
        migrated: Option<Migrated>,
    },
}

/// The volume as a CSI driver sees it.
#[derive(Debug, Clone)]
pub(super) struct Migrated {
    plugin: &'static str,
    /// Or why it cannot be translated.
    affinity: Result<Option<NodeSelector>, String>,
}

/// What a node is to a bound claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reach<'a> {
    Within,
    Outside,
    Missing,
    Unknown(&'a str),
}

impl Bound {
    pub(super) fn of(claim: &PersistentVolumeClaim, cluster: &Cluster) -> Self {
        cluster
            .objects()
            .volumes
            .get("", &claim.volume_name)
            .map_or(Self::Missing, |it| Self::to(it))
    }

    pub(super) fn to(volume: &PersistentVolume) -> Self {
        Self::To { affinity: volume.node_affinity.clone(), migrated: Migrated::of(volume) }
    }

    pub(super) fn is_migrated(&self) -> bool {
        self.migrated_plugin().is_some()
    }

    /// The in-tree plugin that nodes may have handed over to a CSI driver.
    pub(super) fn migrated_plugin(&self) -> Option<&'static str> {
        match self {
            Self::To { migrated, .. } => Some(migrated.as_ref()?.plugin),
            Self::Missing => None,
        }
    }

    /// Adds the labels of nodes that decide whether they reach it.
    pub(super) fn label_keys<'a>(&'a self, keys: &mut LabelKeys<'a>) {
        let Self::To { affinity, migrated } = self else { return };
        let translated = migrated.as_ref().and_then(|migrated| migrated.affinity.as_ref().ok());
        add_label_keys(affinity.as_ref(), keys);
        add_label_keys(translated.and_then(Option::as_ref), keys);
    }

    pub(super) fn reach(&self, node: &Node, csi_node: Option<&CsiNode>) -> Reach<'_> {
        let Self::To { affinity, migrated } = self else { return Reach::Missing };
        let migrated = migrated
            .as_ref()
            .filter(|migrated| migration::is_migrated_on(migrated.plugin, csi_node));
        let affinity = match migrated.map(|migrated| &migrated.affinity) {
            None => affinity,
            Some(Ok(affinity)) => affinity,
            Some(Err(why)) => return Reach::Unknown(why),
        };
        if is_reachable(affinity.as_ref(), node) { Reach::Within } else { Reach::Outside }
    }
}

impl Migrated {
    fn of(volume: &PersistentVolume) -> Option<Self> {
        let source = volume.in_tree.as_ref()?;
        let plugin = migration::plugin_of(source).filter(|plugin| plugin.is_migrated)?;
        let affinity =
            migration::handle(volume, source).map(|_| migration::migrated_affinity(volume, plugin));
        Some(Self { plugin: plugin.name, affinity })
    }
}

/// Adds the labels of nodes that a volume's affinity asks for.
pub(super) fn add_label_keys<'a>(affinity: Option<&'a NodeSelector>, keys: &mut LabelKeys<'a>) {
    let terms = affinity.iter().flat_map(|affinity| affinity.terms.iter());
    let requirements = terms.flat_map(|term| term.match_expressions.iter());
    keys.extend(requirements.map(|requirement| &*requirement.key));
}

/// Whether a volume's node affinity allows the node. kube-scheduler asks it without the node's
/// name, so it ignores `matchFields` that it can parse.
pub(super) fn is_reachable(affinity: Option<&NodeSelector>, node: &Node) -> bool {
    let labels = &node.object.meta.labels;
    let selects = |term: &NodeSelectorTerm| {
        let is_empty = term.match_expressions.is_empty() && term.match_fields.is_empty();
        !is_empty
            && can_be_parsed(term)
            && term.match_expressions.iter().all(|requirement| requirement.matches(labels))
    };
    affinity.is_none_or(|required| required.terms.iter().any(selects))
}

impl HeapBytes for Bound {
    fn heap_bytes(&self) -> usize {
        match self {
            Self::Missing => 0,
            Self::To { affinity, migrated } => affinity.heap_bytes() + migrated.heap_bytes(),
        }
    }
}

impl HeapBytes for Migrated {
    fn heap_bytes(&self) -> usize {
        self.affinity.heap_bytes()
    }
}
