//! Rules written as expressions.
//!
//! Owns how an expression becomes a filter or a score: folded by what is known of the pod once per
//! sub-shape, then asked of all nodes over columns, or of one node. What it reads decides its cache
//! key, when it is asked again and what wakes its pods. Assumes expressions that `kpolicy_cel` has
//! verified. Must not know where in a policy an expression was written, beyond its rule's name.

mod api_path;
mod columns;
mod conditional;
mod conditional_score;
mod conditions;
mod filter;
mod load;
mod needs;
mod pod_facts;
mod pod_set;
mod score;
mod witness;
mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kpolicy_cel::{Budget, Expression};

use crate::snapshot::{Change, Changes, Cluster, NodeParts, Pod};

use super::{Reads, Refresh};
use needs::Needs;

pub use api_path::paths_of;
pub use conditional::ConditionalFilter;
pub use conditional_score::ConditionalScore;
pub use conditions::Conditions;
pub use load::{LoadedFilter, LoadedScore, conditions, filter, score};
pub use witness::Witness;
pub use world::{ClusterWorld, NodeWorld, PodWorld};

/// What evaluating an expression may cost for one node (KR110 where it is more).
const COST_PER_NODE_MAX: u64 = 10_000;

/// How often a rule erred, and how often an audited one would have rejected.
#[derive(Debug, Default)]
pub struct Counts {
    errors: AtomicU64,
    audited: AtomicU64,
}

impl Counts {
    pub fn errors(&self) -> u64 {
        self.errors.load(Ordering::Relaxed)
    }

    pub fn audited(&self) -> u64 {
        self.audited.load(Ordering::Relaxed)
    }

    fn count_errors(&self, errors: usize) {
        self.errors.fetch_add(errors as u64, Ordering::Relaxed);
    }

    /// An audited rule would have rejected the node that was chosen.
    pub fn count_audited(&self) {
        self.audited.fetch_add(1, Ordering::Relaxed);
    }
}

/// A verified expression of a rule.
#[derive(Debug)]
struct Written {
    name: Arc<str>,
    expression: Expression,
    needs: Needs,
    counts: Arc<Counts>,
}

/// One node by itself takes about as long as so many in columns, and columns take as long as so many
/// nodes by themselves to begin with.
const LANES_A_NODE: usize = 64;
const NODES_TO_BEGIN: usize = 16;

impl Written {
    fn worth_asking_all(nodes: usize) -> usize {
        NODES_TO_BEGIN + nodes / LANES_A_NODE
    }

    fn reads(&self) -> Reads {
        let node = self.needs.node.with(NodeParts::EXISTENCE);
        Reads { node, load: self.needs.load }
    }

    /// Whether a node's answer rests on no other node.
    fn is_local(&self) -> bool {
        !self.needs.other_pods && !self.needs.other_nodes
    }

    /// What is left of it once the pod is known.
    fn folded(&self, pod: &Pod, cluster: &Cluster) -> Expression {
        self.expression.fold(&PodWorld { pod, cluster }, &mut Budget::new(COST_PER_NODE_MAX))
    }

    fn refresh(&self, changes: Changes<'_>) -> Refresh {
        let needs = self.needs;
        let mut refresh = Refresh::Nodes;
        for change in changes.iter() {
            match change {
                Change::Object(kind) => {
                    if needs.namespace && *kind == crate::model::Kind::Namespace {
                        return Refresh::Again;
                    }
                }
                Change::Node(_, parts) => {
                    let read =
                        NodeParts::EXISTENCE.with(NodeParts::LABELS).with(NodeParts::ALLOCATABLE);
                    if needs.other_nodes && parts.meets(read) {
                        refresh = Refresh::All;
                    }
                }
                Change::PodPut(..) | Change::PodTaken(..) => {
                    if needs.other_pods {
                        refresh = Refresh::All;
                    }
                }
            }
        }
        refresh
    }
}
