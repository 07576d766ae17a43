//! Whether a pod is judged at all.

use std::sync::Arc;

use crate::judging::{Question, Tie};
use crate::program::Program;
use crate::rules::decision_work::DecisionWork;
use crate::rules::{Status, scheduling_gates};
use crate::snapshot::{Cluster, Pod};
use crate::threads::Threads;

/// A pod that is to be judged.
#[derive(Debug)]
pub(super) struct Ready {
    pub pod: Arc<Pod>,
    /// Position of the profile that serves it.
    pub profile: usize,
    /// What its spec asks for.
    pub units: u64,
    pub entries: u64,
}

impl Ready {
    pub(super) fn question<'a>(
        &'a self,
        program: &'a Program,
        tie: Tie,
        threads: &'a Threads,
    ) -> Question<'a> {
        let (pod, profile, entries) = (&self.pod, self.profile, self.entries);
        Question { pod, program, profile, tie, entries, threads }
    }
}

/// Why a pod is not judged.
pub(super) enum Barred {
    /// It is not there, or does not wait.
    NotPending,
    /// No profile serves it.
    Unserved(Arc<Pod>),
    Gated(Arc<Pod>, Status),
    /// Its claims on devices are not ready. With the position of its profile.
    Unclaimed(Arc<Pod>, usize, Status),
    /// Its spec asks for too much.
    Excessive(Arc<Pod>, Box<DecisionWork>),
}

/// The pod, if it is to be judged.
pub(super) fn admission(uid: &str, program: &Program, cluster: &Cluster) -> Result<Ready, Barred> {
    let pod = pending_pod(uid, cluster).ok_or(Barred::NotPending)?;
    let Some(profile) = program.profile_of(&pod) else {
        return Err(Barred::Unserved(pod));
    };
    if let Some(status) = scheduling_gates::gate(&pod) {
        return Err(Barred::Gated(pod, status));
    }
    let own = program.profiles.get(profile);
    if let Some(status) = own.and_then(|own| own.claims_not_ready(&pod, cluster)) {
        return Err(Barred::Unclaimed(pod, profile, status));
    }
    let work = DecisionWork::of(&pod, cluster);
    if work.is_excessive() {
        return Err(Barred::Excessive(pod, Box::new(work)));
    }
    let (units, entries) = (work.units(), work.entries());
    Ok(Ready { pod, profile, units, entries })
}

/// The pod, if it is there and waits.
pub(super) fn pending_pod(uid: &str, cluster: &Cluster) -> Option<Arc<Pod>> {
    let entry = cluster.pods().get(uid)?;
    let waits = entry.node().is_none() && !entry.pod.is_terminating;
    waits.then(|| Arc::clone(&entry.pod))
}
