//! What a pod's claims need: classes of claims, before any node is looked at.
//!
//! Specification: claims are looked at twice, first whether each is usable at all, then what each
//! needs. A claim is bound with a volume name and the controller's annotation; one with a name
//! alone was bound beforehand by its user and is waited for.

use std::sync::Arc;

use crate::heap::HeapBytes;
use crate::model::{Kind, PersistentVolumeClaim};
use crate::rules::Status;
use crate::rules::volume_claims as claims;
use crate::rules::volume_zone::no_binding_mode;
use crate::snapshot::{Cluster, Pod};

use super::bound::Bound;
use super::candidates::Candidates;
use super::provisioning::Provisioning;

pub(super) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
const IMMEDIATE: &str = "pod has unbound immediate PersistentVolumeClaims";

#[derive(Debug, Clone, Default)]
pub(super) struct Needs {
    /// In the order of the pod's volumes.
    pub(crate) bound: Vec<Bound>,
    /// Claims that are being provisioned for a node already.
    pub(crate) promised: Vec<Promised>,
    /// Smallest first.
    pub(crate) open: Vec<Open>,
}

#[derive(Debug, Clone)]
pub(super) struct Promised {
    pub(crate) node_name: Box<str>,
    pub(crate) provisioning: Provisioning,
}

/// A claim that takes a volume, or is provisioned.
#[derive(Debug, Clone)]
pub(super) struct Open {
    pub(crate) candidates: Candidates,
    pub(crate) provisioning: Provisioning,
}

/// What one claim is.
enum Class {
    Bound,
    WaitsForPod,
    Immediate,
}

impl Needs {
    /// Or why no node will do.
    pub(super) fn of(pod: &Pod, cluster: &Cluster) -> Result<Self, Status> {
        let usable = usable_claims(pod, cluster)?;
        let mut needs = Self::default();
        let mut open: Vec<&Arc<PersistentVolumeClaim>> = Vec::new();
        let mut has_immediate = false;
        for claim in usable {
            match class(claim, cluster)? {
                Class::Bound => needs.bound.push(Bound::of(claim, cluster)),
                Class::Immediate => has_immediate = true,
                Class::WaitsForPod => match selected_node(claim) {
                    Some(node_name) => needs.promised.push(Promised {
                        node_name: node_name.into(),
                        provisioning: Provisioning::of(claim, cluster),
                    }),
                    None => open.push(claim),
                },
            }
        }
        if has_immediate {
            return Err(Status::unresolvable(IMMEDIATE));
        }
        // Stable: equal claims stay in the order of the pod's volumes.
        open.sort_by_key(|claim| claim.requested);
        needs.open = open
            .into_iter()
            .map(|claim| Open {
                candidates: Candidates::of(claim, cluster),
                provisioning: Provisioning::of(claim, cluster),
            })
            .collect();
        Ok(needs)
    }
}

/// Whether a change of these objects may change the needs.
pub(super) fn rests_on(needs: &Result<Needs, Status>, kind: Kind) -> bool {
    let needs = needs.as_ref().ok();
    match kind {
        Kind::PersistentVolumeClaim | Kind::StorageClass => true,
        Kind::PersistentVolume | Kind::CsiDriver => needs.is_some(),
        Kind::CsiNode => needs.is_some_and(|needs| needs.bound.iter().any(Bound::is_migrated)),
        Kind::CsiStorageCapacity => needs.is_some_and(|needs| {
            let promised = needs.promised.iter().map(|promised| &promised.provisioning);
            let open = needs.open.iter().map(|open| &open.provisioning);
            promised.chain(open).any(Provisioning::reads_capacities)
        }),
        _ => false,
    }
}

/// Whether the claim has its volume, by both of them.
pub(super) fn is_bound(claim: &PersistentVolumeClaim) -> bool {
    !claim.volume_name.is_empty() && claim.meta.annotations.get(BIND_COMPLETED).is_some()
}

/// The node that the claim is being provisioned for.
pub(super) fn selected_node(claim: &PersistentVolumeClaim) -> Option<&str> {
    claim.meta.annotations.get(SELECTED_NODE)
}

fn usable_claims<'c>(
    pod: &Pod,
    cluster: &'c Cluster,
) -> Result<Vec<&'c Arc<PersistentVolumeClaim>>, Status> {
    let mut usable = Vec::new();
    for named in claims::all(pod) {
        let name = &named.name;
        let claim = named.find(pod, cluster).ok_or_else(|| {
            Status::unresolvable(if named.is_ephemeral {
                format!(
                    "waiting for ephemeral volume controller to create the \
                     persistentvolumeclaim {name:?}"
                )
            } else {
                claims::not_found(Kind::PersistentVolumeClaim, name)
            })
        })?;
        if *claim.phase == *"Lost" {
            let volume = &claim.volume_name;
            return Err(Status::unresolvable(format!(
                "persistentvolumeclaim {name:?} bound to non-existent persistentvolume {volume:?}"
            )));
        }
        if claim.meta.deletion_seconds.is_some() {
            return Err(Status::unresolvable(format!(
                "persistentvolumeclaim {name:?} is being deleted"
            )));
        }
        if named.is_ephemeral && !claims::is_owned(claim, pod) {
            return Err(Status::unresolvable(claims::not_owner(claim, pod)));
        }
        usable.push(claim);
    }
    Ok(usable)
}

fn class(claim: &PersistentVolumeClaim, cluster: &Cluster) -> Result<Class, Status> {
    if is_bound(claim) {
        return Ok(Class::Bound);
    }
    let is_named = !claim.volume_name.is_empty();
    let name = claims::class_of(claim);
    let storage_class = Some(name)
        .filter(|name| !name.is_empty())
        .and_then(|name| cluster.objects().classes.get("", name));
    match storage_class.map(|class| class.waits_for_first_consumer) {
        // kube-scheduler fails the cycle for a class without a binding mode; it does not reject.
        Some(None) => Err(Status::error(no_binding_mode(name))),
        Some(Some(true)) if !is_named => Ok(Class::WaitsForPod),
        _ => Ok(Class::Immediate),
    }
}

impl HeapBytes for Promised {
    fn heap_bytes(&self) -> usize {
        self.node_name.heap_bytes() + self.provisioning.heap_bytes()
    }
}

impl HeapBytes for Open {
    fn heap_bytes(&self) -> usize {
        self.candidates.heap_bytes() + self.provisioning.heap_bytes()
    }
}

impl HeapBytes for Needs {
    fn heap_bytes(&self) -> usize {
        self.bound.heap_bytes() + self.promised.heap_bytes() + self.open.heap_bytes()
    }
}
