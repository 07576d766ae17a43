//! Judges nodes for one pod: prepared filters, their verdicts, and their verdicts with other pods
//! on the node.
//!
//! Depends on the snapshot, the rules and the program. Preemption and the cycle build on it. It
//! keeps nothing between decisions, except what its caller holds for it.

mod by_node;
mod failure;
mod hypothetical;
pub mod nominated;
pub mod pre_filter;
mod question;
mod tie;
pub mod verdicts;

pub use by_node::ByNode;
pub use failure::{filter_failure, pre_filter_failure, pre_score_failure};
pub use hypothetical::{Forks, HypotheticalNode};
pub use nominated::{ahead_of, behind};
pub use question::Question;
pub use tie::{Tie, choose};
pub use verdicts::{EXTENDER, NodeRejection, PreparedFilters, Rejected};
