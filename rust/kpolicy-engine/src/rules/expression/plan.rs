//! How an expression will be asked of all nodes: over columns, class by class, or node by node.
//!
//! Owns which facts have columns, and of which nodes of equal answers can be found without asking.
//! Assumes what `columns` gives; must not evaluate anything.

use kpolicy_cel::Expression;

use super::api_path::kept_path;
use super::columns::is_shared;

/// The slowest way in which a part of an expression is asked of all nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Manner {
    /// Kernels over columns only.
    Columns,
    /// Some parts once for each class of nodes that read the same.
    Classes,
    /// Some parts once for each node.
    Nodes,
}

impl Manner {
    pub fn name(self) -> &'static str {
        match self {
            Self::Columns => "columns",
            Self::Classes => "classes",
            Self::Nodes => "nodes",
        }
    }
}

/// What stands side by side for all nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Texts or sets by id: nodes of equal ids answer the same.
    Classes,
    Numbers,
}

fn kind_of(fact: &str) -> Option<Kind> {
    let path = fact.strip_prefix("node.")?;
    if kept_path(path).is_some() {
        return Some(Kind::Classes);
    }
    Some(match path {
        "labels[]" | "metadata.labels[]" | "domain.name" | "name" | "metadata.name"
        | "conditions[]" | "taints" => Kind::Classes,
        "unschedulable" | "ready" | "fits" | "hasImage" | "podLimit" | "podCount"
        | "allocatable" | "capacity" | "requested" | "free" | "utilization"
        | "domain.nodeCount" | "domain.free" | "domain.allocatable" => Kind::Numbers,
        _ => {
            let set = path.strip_prefix("domain.").unwrap_or(path).strip_prefix("pods.")?;
            matches!(set, "count" | "sum" | "size").then_some(Kind::Numbers)?
        }
    })
}

/// The manner, and the facts because of which it is no better, sorted.
pub fn manner(expression: &Expression) -> (Manner, Vec<String>) {
    let plan = expression.columnar_plan(is_shared);
    let lacking = plan.columns.iter().filter(|fact| kind_of(fact).is_none());
    let without_classes = |facts: &&std::sync::Arc<str>| kind_of(facts) != Some(Kind::Classes);
    let unclassed = plan.classed.iter().flat_map(|(_, facts)| facts.iter().filter(without_classes));
    let mut blamed: Vec<String> = lacking.chain(unclassed).map(ToString::to_string).collect();
    blamed.extend(plan.by_lane.iter().flat_map(|_| expression.dynamic_facts()).map(Into::into));
    let classes = plan.classed.iter().flat_map(|(_, facts)| facts).map(ToString::to_string);
    let manner = if !blamed.is_empty() || !plan.by_lane.is_empty() {
        Manner::Nodes
    } else if plan.classed.is_empty() {
        Manner::Columns
    } else {
        blamed.extend(classes);
        Manner::Classes
    };
    blamed.sort_unstable();
    blamed.dedup();
    (manner, blamed)
}
