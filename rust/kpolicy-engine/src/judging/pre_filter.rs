//! kube-scheduler's `PreFilter` stage: which rules skip the pod, which reject it as a whole, and
//! which nodes are left to judge.
//!
//! Specification: an unresolvable rejection ends the stage; of other rejections the last one
//! counts. Sets of nodes are intersected, and an empty intersection is an unresolvable rejection.

use std::sync::Arc;

use crate::program::Profile;
use crate::rules::{NodeNames, Rejection, Stage, Status};
use crate::snapshot::{Cluster, NodeSlot};

use super::verdicts::{PreparedFilters, Rejected, conflicting};

/// Which nodes are left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NodesToCheck {
    All,
    /// In order of names; names of no node are left out.
    Only {
        slots: Vec<NodeSlot>,
        narrowed_by: Vec<usize>,
    },
}

pub(crate) fn run(
    profile: &Profile,
    prepared: &PreparedFilters<'_>,
    cluster: &Cluster,
) -> Result<NodesToCheck, Rejected> {
    let mut last: Option<(usize, Status)> = None;
    let mut only: Option<NodeNames> = None;
    let mut narrowed_by: Vec<usize> = Vec::new();
    for (position, filter) in prepared.iter().enumerate() {
        let Some(filter) = filter else { continue };
        if let Stage::Reject(status) = filter.stage() {
            if status.rejection != Rejection::Unschedulable {
                return Err(Rejected::by_pre_filter(position, status.clone()));
            }
            last = Some((position, status.clone()));
            continue;
        }
        let Some(names) = filter.only_nodes() else { continue };
        narrowed_by.push(position);
        let left: NodeNames = match &only {
            None => names.clone(),
            Some(before) => before.intersection(names).cloned().collect(),
        };
        if left.is_empty() {
            let mut named: Vec<Arc<str>> = narrowed_by
                .iter()
                .filter_map(|position| Some(Arc::clone(&profile.filters.get(*position)?.name)))
                .collect();
            named.sort_unstable();
            return Err(Rejected::by_pre_filter(position, conflicting(&named)));
        }
        only = Some(left);
    }
    if let Some((position, status)) = last {
        return Err(Rejected::by_pre_filter(position, status));
    }
    Ok(match only {
        None => NodesToCheck::All,
        Some(names) => NodesToCheck::Only {
            slots: names.iter().filter_map(|name| cluster.nodes().find(name)).collect(),
            narrowed_by,
        },
    })
}
