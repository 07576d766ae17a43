//! The inputs of a decision besides the snapshot.

use std::sync::Arc;

use crate::program::Program;
use crate::snapshot::Pod;
use crate::threads::Threads;

use super::Tie;

/// One pod to be placed, by which program, and how ties are broken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question<'a> {
    pub pod: &'a Arc<Pod>,
    pub program: &'a Program,
    /// Position of the profile that serves the pod.
    pub profile: usize,
    pub tie: Tie,
    /// How many entries the pod's spec has: what asking a filter takes grows with them.
    pub entries: u64,
    /// On which the work may be divided.
    pub threads: &'a Threads,
}
