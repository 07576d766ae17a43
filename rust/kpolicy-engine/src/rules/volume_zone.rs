//! `VolumeZone`: the zone and region that a bound volume's labels name.
//!
//! Specification: a label's value is a set with `__` between its items; a node without any zone or
//! region label will do; a volume's beta label is also met by the node's GA label. Reads: claims
//! and volumes of the pod, classes of claims without a volume, node labels.

use crate::event::{Event, Events, Occurrence};
use crate::heap::HeapBytes;
use crate::model::{Kind, Labels, Object, PersistentVolume};
use crate::part::{Part, Parts};
use crate::snapshot::objects::Replaced;
use crate::snapshot::{Change, Changes, Cluster, NodeParts, NodeView, Pod};

use super::label_classes::{LabelClasses, LabelKeys};
use super::volume_claims as claims;
use super::{Code, Filter, HeldBytes, Key, PreparedFilter, Reads, Refresh, Stage, Status};

pub(crate) const NAME: &str = "VolumeZone";

const REASON: &str = "node(s) had no available volume zone";
const NO_CLASS: &str = "PersistentVolumeClaim had no pv name and storageClass name";
const NO_VOLUME: &str = "PersistentVolume had no name";
const ELSEWHERE: Code = Code::reject(1);

/// The beta label is first in each pair.
pub(crate) const ZONE: (&str, &str) =
    ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone");
pub(crate) const REGION: (&str, &str) =
    ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region");
const KEYS: [(&str, &str); 4] = [ZONE, REGION, (ZONE.1, ZONE.1), (REGION.1, REGION.1)];

pub(crate) const SET_DELIMITER: &str = "__";

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct VolumeZone;

#[derive(Debug, Clone)]
struct PreparedVolumeZone {
    places: Result<Vec<Place>, Status>,
}

/// One label of a volume, and what it leaves to nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    key: &'static str,
    /// What the node may have instead.
    or_key: &'static str,
    values: Vec<Box<str>>,
}

impl Filter for VolumeZone {
    fn key(&self, pod: &Pod, key: &mut Key) {
        if claims::by_name(pod).next().is_some() {
            claims::key_by_name(pod, key);
        }
    }

    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedFilter>> {
        claims::by_name(pod).next()?;
        Some(Box::new(PreparedVolumeZone { places: places_of_pod(pod, cluster) }))
    }

    /// kube-scheduler tries a rule at every change of taints if the rule registers new nodes
    /// without their taints.
    fn events(&self) -> Events {
        Events::of(&[
            Event::NodeAdd,
            Event::NodeLabel,
            Event::NodeTaint,
            Event::ObjectAdd(Kind::StorageClass),
            Event::ObjectAdd(Kind::PersistentVolumeClaim),
            Event::ObjectUpdate(Kind::PersistentVolumeClaim),
            Event::ObjectAdd(Kind::PersistentVolume),
            Event::ObjectUpdate(Kind::PersistentVolume),
        ])
    }

    fn parts(&self) -> Parts {
        Parts::of(&[Part::NodeExistence, Part::NodeLabels])
    }

    /// Hints look at some changes of the objects that are read only.
    fn narrow_events(&self) -> Events {
        Events::of_objects(self.kinds())
    }

    fn wakes(&self, pod: &Pod, _: Event, occurrence: &Occurrence, _: &Cluster) -> bool {
        match occurrence {
            Occurrence::Node { .. } => true,
            Occurrence::Object(replaced) => object_wakes(pod, replaced),
            Occurrence::Pod { .. } | Occurrence::Time { .. } => false,
        }
    }

    fn kinds(&self) -> &[Kind] {
        &[Kind::PersistentVolumeClaim, Kind::PersistentVolume, Kind::StorageClass]
    }
}

fn object_wakes(pod: &Pod, replaced: &Replaced) -> bool {
    match (&replaced.old, &replaced.new) {
        (_, Some(Object::StorageClass(class))) => class.waits_for_first_consumer == Some(true),
        (_, Some(Object::PersistentVolumeClaim(claim))) => claims::names_directly(pod, claim),
        (Some(Object::PersistentVolume(old)), Some(Object::PersistentVolume(new))) => {
            places_of_volume(old).ne(places_of_volume(new))
        }
        (None, Some(Object::PersistentVolume(_))) => true,
        _ => false,
    }
}

/// What the volumes of all claims say; or why the pod can go nowhere.
fn places_of_pod(pod: &Pod, cluster: &Cluster) -> Result<Vec<Place>, Status> {
    let missing = |kind, name: &str| Status::unresolvable(claims::not_found(kind, name));
    let mut places = Vec::new();
    for name in claims::by_name(pod) {
        if name.is_empty() {
            return Err(Status::unresolvable(claims::NO_NAME));
        }
        let claim = claims::find(cluster, pod.namespace(), name)
            .ok_or_else(|| missing(Kind::PersistentVolumeClaim, name))?;
        if claim.volume_name.is_empty() {
            waits_for_a_pod(claims::class_of(claim), cluster)?;
            continue;
        }
        let volume = cluster.objects().volumes.get("", &claim.volume_name);
        let volume = volume.ok_or_else(|| missing(Kind::PersistentVolume, &claim.volume_name))?;
        places.extend(places_of_volume(volume));
    }
    Ok(places)
}

/// A claim without a volume is left alone where its volume will follow the pod.
fn waits_for_a_pod(class_name: &str, cluster: &Cluster) -> Result<(), Status> {
    if class_name.is_empty() {
        return Err(Status::unresolvable(NO_CLASS));
    }
    let class = cluster.objects().classes.get("", class_name);
    match class.map(|class| class.waits_for_first_consumer) {
        None => Err(Status::unresolvable(claims::not_found(Kind::StorageClass, class_name))),
        Some(None) => Err(Status::unresolvable(no_binding_mode(class_name))),
        Some(Some(false)) => Err(Status::unresolvable(NO_VOLUME)),
        Some(Some(true)) => Ok(()),
    }
}

pub(crate) fn no_binding_mode(class_name: &str) -> String {
    format!("VolumeBindingMode not set for StorageClass {class_name:?}")
}

fn places_of_volume(volume: &PersistentVolume) -> impl Iterator<Item = Place> {
    KEYS.into_iter().filter_map(|(key, or_key)| {
        let values = items_of(volume.meta.labels.get(key)?)?;
        Some(Place { key, or_key, values })
    })
}

/// The items of a label's set. Kubernetes ignores a set with an empty item.
fn items_of(value: &str) -> Option<Vec<Box<str>>> {
    let items = value.split(SET_DELIMITER).map(str::trim);
    items.map(|item| (!item.is_empty()).then(|| item.into())).collect()
}

impl Place {
    fn has(&self, labels: &Labels) -> bool {
        let value = labels.get(self.key).or_else(|| labels.get(self.or_key));
        value.is_some_and(|value| self.values.iter().any(|item| **item == *value))
    }
}

impl PreparedFilter for PreparedVolumeZone {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::LABELS)
    }

    fn refresh(&mut self, changes: Changes<'_>, _: &Cluster) -> Refresh {
        let is_stale = |change: &Change| matches!(change, Change::Object(kind) if VolumeZone.kinds().contains(kind));
        if changes.iter().any(is_stale) { Refresh::Again } else { Refresh::Nodes }
    }

    fn stage(&self) -> Stage<'_> {
        match &self.places {
            Err(status) => Stage::Reject(status),
            Ok(places) if places.is_empty() => Stage::Skip,
            Ok(_) => Stage::Check,
        }
    }

    fn check(&self, _: &Cluster, node: NodeView<'_>) -> Code {
        let labels = &node.node.object.meta.labels;
        let places = self.places.as_deref().unwrap_or_default();
        let is_anywhere = KEYS.iter().all(|(key, _)| labels.get(key).is_none());
        if is_anywhere || places.iter().all(|place| place.has(labels)) {
            Code::PASS
        } else {
            ELSEWHERE
        }
    }

    fn check_all(&self, cluster: &Cluster, codes: &mut [Code]) {
        let keys: LabelKeys<'_> = KEYS.iter().map(|(key, _)| *key).collect();
        let classes = LabelClasses::of(&keys, cluster, None);
        classes.check_all(cluster, codes, |view| self.check(cluster, view));
    }

    fn describe(&self, _: &Cluster, _: NodeView<'_>, _: Code) -> Status {
        Status::unresolvable(REASON)
    }

    fn is_local(&self) -> bool {
        true
    }

    fn fork(&self) -> Box<dyn PreparedFilter> {
        Box::new(self.clone())
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(size_of_val(self) + self.places.heap_bytes())
    }
}

impl HeapBytes for Place {
    fn heap_bytes(&self) -> usize {
        self.values.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, items_of, places_of_volume};
    use crate::model::{Labels, Meta, PersistentVolume};

    fn volume(labels: &[(&str, &str)]) -> PersistentVolume {
        let labels: Labels = labels.iter().copied().collect();
        PersistentVolume { meta: Meta { labels, ..Meta::default() }, ..PersistentVolume::default() }
    }

    fn places(labels: &[(&str, &str)]) -> Vec<Place> {
        places_of_volume(&volume(labels)).collect()
    }

    #[test]
    fn a_label_is_a_set_without_empty_items() {
        let items = |value: &str| items_of(value).map(|items| items.join("|"));
        assert_eq!(items("a__b").as_deref(), Some("a|b"));
        assert_eq!(items(" a __b").as_deref(), Some("a|b"));
        assert_eq!(items("a_b").as_deref(), Some("a_b"));
        assert_eq!(items("a__"), None);
        assert_eq!(items(""), None);
    }

    #[test]
    fn the_beta_label_is_met_by_the_ga_label_and_not_the_other_way_round() {
        let beta = places(&[("failure-domain.beta.kubernetes.io/zone", "a__b")]);
        let ga = places(&[("topology.kubernetes.io/zone", "a")]);
        let node = |key: &str, value: &str| -> Labels { [(key, value)].into_iter().collect() };
        assert_eq!((beta.len(), ga.len()), (1, 1));
        assert!(beta[0].has(&node("topology.kubernetes.io/zone", "b")));
        assert!(beta[0].has(&node("failure-domain.beta.kubernetes.io/zone", "a")));
        assert!(!beta[0].has(&node("topology.kubernetes.io/zone", "c")));
        assert!(!beta[0].has(&node("topology.kubernetes.io/region", "a")));
        assert!(!ga[0].has(&node("failure-domain.beta.kubernetes.io/zone", "a")));
    }
}
