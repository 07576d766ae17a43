//! Claims that must be bound before their pod, and how far each is.

use std::sync::Arc;

use crate::heap::HeapBytes;

/// A write that a reservation waits for, by what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreBindWrite {
    /// A claim that is to be bound.
    Volume(VolumeWork),
    /// A claim on devices that is to be allocated to the pod, or reserved for it.
    Claim(ClaimWork),
    /// An annotation that the bind itself writes.
    Annotation(BoundAnnotation),
    /// Of a parked pod: a claim on devices that is to be given up, as it keeps the pod from its nodes.
    Release(ClaimRelease),
}

/// What a pod is to say of its placement besides its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundAnnotation {
    /// The key of the annotation.
    pub key: Box<str>,
    /// Its value.
    pub value: Box<str>,
}

/// A claim on devices that nobody else uses, in the namespace of the pod that it keeps from its nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRelease {
    /// The claim's name.
    pub claim: Box<str>,
    /// The claim's uid.
    pub claim_uid: Box<str>,
    /// It was made for extended resources, and is to be deleted; otherwise it loses its allocation.
    pub is_to_delete: bool,
}

impl HeapBytes for ClaimRelease {
    fn heap_bytes(&self) -> usize {
        self.claim.heap_bytes() + self.claim_uid.heap_bytes()
    }
}

/// One claim on devices of a placed pod, in its namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimWork {
    /// The claim's name; empty if it is to be made, for extended resources.
    pub claim: Box<str>,
    /// The claim's uid, or empty.
    pub claim_uid: Box<str>,
    /// The JSON of `status.allocation` to be written; empty if the claim is allocated already.
    pub allocation: Box<str>,
    /// The JSON of `spec.devices.requests` of a claim that is to be made; empty otherwise.
    pub requests: Box<str>,
    /// The JSON of `requestMappings` of a claim that is to be made; empty otherwise.
    pub mappings: Box<str>,
    /// The API server does not say yet that the pod uses it.
    pub is_to_write: bool,
    /// Whether some device has conditions that must be true before the pod is bound.
    pub is_to_wait: bool,
    /// How long to wait for them, from the allocation on.
    pub seconds_max: i64,
}

/// One claim of a placed pod, in its namespace: to be given a volume, or to be provisioned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeWork {
    /// The claim's name.
    pub claim: Box<str>,
    /// The claim's uid.
    pub claim_uid: Box<str>,
    /// The claim's resource version, which the write must find.
    pub claim_version: Box<str>,
    /// The volume that is to name the claim. Empty: the claim is to name the pod's node.
    pub volume: Box<str>,
    /// The volume's uid, or empty.
    pub volume_uid: Box<str>,
    /// The volume's resource version, which the write must find, or empty.
    pub volume_version: Box<str>,
    /// The API server does not say so yet.
    pub is_to_write: bool,
    /// The volume is to say that a controller bound it, not its user.
    pub is_to_mark: bool,
    /// How long to wait until the claim is bound.
    pub seconds_max: i64,
}

/// A claim whose binding is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwaitedVolume {
    /// Of the pod.
    pub uid: Arc<str>,
    /// Where the pod was placed.
    pub node: Arc<str>,
    /// The claim's name.
    pub claim: Box<str>,
    /// Empty: it is being provisioned.
    pub volume: Box<str>,
    /// The version that the API server gave to the written object; empty if nothing was written.
    pub version: Box<str>,
}

/// How far the binding of a claim is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VolumeProgress {
    /// Neither bound nor failed yet.
    Waiting,
    /// The claim is bound, and the node reaches its volume.
    Bound,
    /// It will not be bound so: the pod is to be placed anew.
    Failed(String),
    /// The pod is gone, or is on another node.
    Gone,
}
