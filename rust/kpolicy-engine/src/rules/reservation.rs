//! What a rule promises a pod on its node, beyond the room that the node's load accounts for.
//!
//! The objects of a reservation stand in the snapshot as they are going to be, so that the next pod sees
//! them so. Undoing one needs no rule: the snapshot has what the API server showed last of each object,
//! and restores it when the pod is forgotten, moved or deleted.

use crate::api::PreBindWrite;
use crate::model::{Kind, Meta, Object};

/// A pod's hold on objects other than its node.
#[derive(Debug, Default)]
pub struct Reservation {
    /// Objects as they will be once everything is written.
    pub promised: Vec<Object>,
    /// Objects that must stay as they are until the pod is bound, promised to others or not.
    pub relied_on: Vec<(Kind, Meta)>,
    /// What is to be written before the bind.
    pub writes: Vec<PreBindWrite>,
}
