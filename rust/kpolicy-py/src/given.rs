//! Converts arguments from Python (flat tuples, see `_engine.pyi`) into the engine's types.

use kpolicy_engine::api::{KeptNode, LeftNode, LeftRoom, RefusedNode};

pub(crate) fn kept(nodes: Vec<(String, i64)>) -> Vec<KeptNode> {
    nodes.into_iter().map(|(node, score)| KeptNode { node: node.into(), score }).collect()
}

pub(crate) fn refused(nodes: Vec<(String, String, bool)>) -> Vec<RefusedNode> {
    let refused = nodes.into_iter().map(|(node, reason, is_unresolvable)| RefusedNode {
        node: node.into(),
        reason,
        is_unresolvable,
    });
    refused.collect()
}

/// (token, failure, nodes as (node, uids of victims, violations), or none).
pub(crate) type Left = (u64, String, Option<Vec<(String, Vec<String>, u64)>>);

pub(crate) fn left((token, failure, nodes): Left) -> LeftRoom {
    let node = |(node, victims, violations): (String, Vec<String>, u64)| LeftNode {
        node: node.into(),
        victims: victims.into_iter().map(Into::into).collect(),
        violations: usize::try_from(violations).unwrap_or(usize::MAX),
    };
    LeftRoom { token, failure, nodes: nodes.map(|nodes| nodes.into_iter().map(node).collect()) }
}
