//! The objects that a rule promises a pod on its node, besides the resources that the node's load
//! counts.
//!
//! The snapshot holds the objects of a reservation as they will be, so that the next pod sees them.
//! To undo a reservation, the snapshot restores what the API server showed last of each object; no
//! rule is needed.

use crate::api::PreBindWrite;
use crate::model::{Kind, Meta, Object};

/// A pod's hold on objects other than its node.
#[derive(Debug, Default)]
pub struct Reservation {
    /// Objects as they will be once everything is written.
    pub(crate) promised: Vec<Object>,
    /// Objects that must stay as they are until the pod is bound, promised to others or not.
    pub(crate) relied_on: Vec<(Kind, Meta)>,
    /// Annotations that the pod gets with its bind, and has in the snapshot from now on.
    pub(crate) annotations: Vec<(Box<str>, Box<str>)>,
    /// What is to be written before the bind.
    pub(crate) writes: Vec<PreBindWrite>,
}
