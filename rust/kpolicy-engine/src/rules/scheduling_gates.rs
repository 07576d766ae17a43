//! `SchedulingGates`: a pod with gates is not tried.

use crate::snapshot::Pod;

use super::Status;

pub(crate) const NAME: &str = "SchedulingGates";

/// Why the pod waits, if it does.
pub(crate) fn gate(pod: &Pod) -> Option<Status> {
    pod.is_gated().then(|| {
        let names = pod.template.scheduling_gates.join(" ");
        Status::unresolvable(format!("waiting for scheduling gates: [{names}]"))
    })
}
