//! A claim that has its volume: whether a node can reach it.
//!
//! Clause: where the node's kubelet handed an in-tree plugin over to a CSI driver, the volume's node
//! affinity is read as that driver's.

use crate::model::{
    CsiNode, NodeSelector, NodeSelectorTerm, PersistentVolume, PersistentVolumeClaim,
};
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
        matches!(self, Self::To { migrated: Some(_), .. })
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

/// Clause: a volume's affinity is asked without the node's name, and then its terms' fields, as long
/// as they can be read, are left out.
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
