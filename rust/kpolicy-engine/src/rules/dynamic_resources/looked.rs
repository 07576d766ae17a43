//! What the claims of a pod look at of devices: nodes that have the same of it are alike.

use std::sync::Arc;

use crate::model::{Ask, ConstraintKind, Mode, ResourceClaim, Wanted};
use crate::release::Followed;
use crate::rules::expression::LookedAt;
use crate::snapshot::Cluster;
use crate::snapshot::device_groups::Looked;
use crate::snapshot::device_reads::DeviceRead;
use crate::snapshot::device_selectors::Compiled;

use super::state::Extended;

/// With more selectors, everything counts as looked at.
const SELECTORS_MAX: usize = 2_048;

/// `open`: the claims that have no devices yet.
pub(super) fn looked<'a>(
    open: impl Iterator<Item = &'a Arc<ResourceClaim>>,
    extended: Option<&Extended>,
    cluster: &Cluster,
    followed: Followed,
) -> Looked {
    let mut looked = Looked {
        at_taint_rules: followed.has_taint_rules(),
        at_all_counters: !followed.traits().repairs_allocator,
        ..Looked::default()
    };
    let mut left = SELECTORS_MAX;
    for claim in open {
        for constraint in &claim.constraints {
            match &constraint.kind {
                ConstraintKind::Match(attribute) | ConstraintKind::Distinct(attribute) => {
                    look_at(attribute, &mut looked);
                }
                ConstraintKind::Unknown => {}
            }
        }
        for request in claim.requests.iter() {
            let asks: &[Ask] = match &request.wanted {
                Wanted::Exactly(ask) => std::slice::from_ref(ask),
                Wanted::FirstAvailable(asks) => asks,
                Wanted::Unknown => &[],
            };
            for ask in asks {
                looked.at_devices_in_use |= ask.is_admin || !matches!(ask.mode, Mode::Exact(_));
                look_as_class(&ask.class, cluster, &mut left, &mut looked);
                look_as(&ask.selectors, cluster, &mut left, &mut looked);
            }
        }
    }
    let classes =
        extended.iter().flat_map(|own| &own.asked).filter_map(|(_, class)| class.as_ref());
    for class in classes {
        look_as_class(class, cluster, &mut left, &mut looked);
    }
    if left == 0 {
        looked.at_everything = true;
    }
    if looked.at_everything {
        looked.attributes.clear();
    }
    looked
}

/// What the rules of a policy look at of the allocations of a node.
pub(super) fn look_as_rules(rules: &LookedAt, looked: &mut Looked) {
    rules.attributes.iter().for_each(|attribute| look_at(attribute, looked));
    looked.at_everything |= rules.everything;
    looked.at_devices_in_use |= rules.stock;
    if looked.at_everything {
        looked.attributes.clear();
    }
}

/// A driver may write it with its domain or without.
fn look_at(attribute: &str, looked: &mut Looked) {
    let mut add = |name: &str| {
        if !looked.attributes.contains(name) {
            looked.attributes.insert(name.into());
        }
    };
    add(attribute);
    if let Some((_, bare)) = attribute.split_once('/') {
        add(bare);
    }
}

/// What counting the devices of a class looks at, and which of them are held.
pub(crate) fn looked_at_by_count(class: &str, cluster: &Cluster) -> Looked {
    let mut looked = Looked { at_devices_in_use: true, ..Looked::default() };
    let mut left = SELECTORS_MAX;
    look_as_class(class, cluster, &mut left, &mut looked);
    looked.at_everything |= left == 0;
    looked
}

fn look_as_class(class: &str, cluster: &Cluster, left: &mut usize, looked: &mut Looked) {
    if let Some(class) = cluster.objects().device_classes.get("", class) {
        look_as(&class.selectors, cluster, left, looked);
    }
}

/// What selectors look at, as long as there are not too many.
fn look_as(
    selectors: &[Option<Box<str>>],
    cluster: &Cluster,
    left: &mut usize,
    looked: &mut Looked,
) {
    for text in selectors.iter().flatten() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        match cluster.objects().selectors.get(text) {
            Some(Compiled::Ready(_, Some(reads))) => {
                for read in reads {
                    if let DeviceRead::Attribute(domain, name) = read {
                        look_at(&format!("{domain}/{name}"), looked);
                        look_at(name, looked);
                    }
                }
            }
            Some(Compiled::Ready(_, None)) => looked.at_everything = true,
            Some(Compiled::Refused(_)) | None => {}
        }
    }
}
