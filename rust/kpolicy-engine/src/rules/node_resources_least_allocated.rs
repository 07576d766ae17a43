//! `NodeResourcesLeastAllocated`: the more of its resources would be left, the better a node.
//!
//! Specification: `LeastRequestedPriority` of kube-scheduler up to 1.22. Today's `NodeResourcesFit`
//! scores so as well, but for resources that a node lacks.

use crate::fields::{Fields, Refusals};

use super::resource_args::resources;
use super::resource_mean::{Form, ResourceMean};

pub(crate) const NAME: &str = "NodeResourcesLeastAllocated";

/// From the plugin's args.
pub(crate) fn from_args(args: &mut Fields<'_>, refusals: &mut Refusals) -> Option<ResourceMean> {
    Some(ResourceMean::new(Form::Least, resources(args, refusals)?))
}
