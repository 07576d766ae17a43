//! `RequestedToCapacityRatio`: how good a node is follows from how much of it would be used, by a shape.
//!
//! Specification: `requestedToCapacityRatioArguments` of kube-scheduler up to 1.22.

use crate::fields::{Fields, Refusals};

use super::resource_args::{resources, shape};
use super::resource_mean::{Form, ResourceMean};

pub(crate) const NAME: &str = "RequestedToCapacityRatio";

/// From the plugin's args.
pub(crate) fn from_args(args: &mut Fields<'_>, refusals: &mut Refusals) -> Option<ResourceMean> {
    let points = shape(args, refusals)?;
    let resources = resources(args, refusals)?;
    Some(ResourceMean::new(Form::Ratio { points, is_plain_mean: false }, resources))
}
