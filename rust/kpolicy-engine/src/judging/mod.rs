//! Judges nodes for one pod: prepared filters, their verdicts, and their verdicts with other pods
//! on the node.
//!
//! Depends on the snapshot, the rules and the program. Preemption and the cycle build on it. It
//! keeps nothing between decisions, except what its caller holds for it.

mod by_node;
mod failure;
mod hypothetical;
pub(crate) mod new_node;
pub(crate) mod nominated;
pub(crate) mod pre_filter;
mod question;
mod tie;
mod told;
pub(crate) mod verdicts;

pub(crate) use by_node::ByNode;
pub(crate) use failure::{Failure, filter_failure, pre_filter_failure, score_failure};
pub(crate) use hypothetical::{Forks, HypotheticalNode};
pub(crate) use nominated::{ahead_of, behind};
pub(crate) use question::Question;
pub(crate) use tie::{Tie, choose};
pub(crate) use told::Told;
pub(crate) use verdicts::{EXTENDER, NodeRejection, PreparedFilters, Rejected, names_of};
