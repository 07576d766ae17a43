//! `DynamicResources`: claims on devices.
//!
//! Allocating devices is not done here: a pod that has claims is parked with a reason that says so,
//! and is left to a scheduler that can. Pods without claims are scored 0 everywhere, as
//! kube-scheduler does.

use crate::event::{Event, Events, Occurrence};
use crate::fields::Fields;
use crate::heap::HeapBytes;
use crate::part::Parts;
use crate::snapshot::{Changes, Cluster, NodeParts, NodeView, Pod};

use super::{
    Code, Filter, HeldBytes, Key, Normalization, PreparedFilter, PreparedScore, Reads, Refresh,
    Score, Stage, Status,
};

pub(crate) const NAME: &str = "DynamicResources";
pub(crate) const HAS_CLAIMS: &str = "pod has resource claims, which kpolicy does not allocate";

#[derive(Debug)]
pub(crate) struct DynamicResources;

/// Accepts kube-scheduler's timeouts: nothing is allocated here that could take so long.
pub(crate) fn from_args(args: &mut Fields<'_>) -> DynamicResources {
    args.optional("filterTimeout");
    args.optional("bindingTimeout");
    DynamicResources
}

#[derive(Debug, Clone)]
struct Refused {
    status: Status,
}

#[derive(Debug)]
struct Nothing;

impl Filter for DynamicResources {
    fn key(&self, pod: &Pod, key: &mut Key) {
        key.push(u64::from(pod.template.resource_claims.is_empty()));
    }

    fn prepare(&self, pod: &Pod, _: &Cluster) -> Option<Box<dyn PreparedFilter>> {
        (!pod.template.resource_claims.is_empty()).then(|| -> Box<dyn PreparedFilter> {
            Box::new(Refused { status: Status::unresolvable(HAS_CLAIMS) })
        })
    }

    fn events(&self) -> Events {
        Events::of(&[Event::PodUpdate])
    }

    fn parts(&self) -> Parts {
        Parts::NONE
    }

    fn wakes(&self, _: &Pod, _: Event, _: &Occurrence, _: &Cluster) -> bool {
        // Claims of a pod cannot change.
        false
    }
}

impl PreparedFilter for Refused {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::NONE)
    }

    fn refresh(&mut self, _: Changes<'_>, _: &Cluster) -> Refresh {
        Refresh::Nodes
    }

    fn stage(&self) -> Stage<'_> {
        Stage::Reject(&self.status)
    }

    fn check(&self, _: &Cluster, _: NodeView<'_>) -> Code {
        Code::reject(1)
    }

    fn describe(&self, _: &Cluster, _: NodeView<'_>, _: Code) -> Status {
        self.status.clone()
    }

    fn is_local(&self) -> bool {
        true
    }

    fn fork(&self) -> Box<dyn PreparedFilter> {
        Box::new(self.clone())
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(size_of_val(self) + self.status.heap_bytes())
    }
}

impl Score for DynamicResources {
    fn key(&self, _: &Pod, _: &mut Key) {}

    fn prepare(&self, _: &Pod, _: &Cluster) -> Option<Box<dyn PreparedScore>> {
        Some(Box::new(Nothing))
    }
}

impl PreparedScore for Nothing {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::NONE)
    }

    fn raw(&self, _: &Cluster, _: NodeView<'_>) -> f64 {
        0.0
    }

    fn normalization(&self) -> &Normalization {
        &Normalization::Highest
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(size_of_val(self))
    }
}
