//! The releases of Kubernetes whose kube-scheduler is followed, and all that differs between them.
//!
//! Rules and messages read this table by the program that they belong to: they do not know releases
//! by number. A new release is a variant of [`Release`], its `Traits` and a column of the gates
//! (`docs/internals/adopting-a-release.md`).

mod gates;

use serde_json::Value;

use crate::event::{Event, PendingPod, Whose};
use crate::fields::{CONFLICT, Fields, Refusals, UNKNOWN, WRONG_TYPE};
use crate::resources::ResizeRule;

use gates::Switches;
pub use gates::{FEATURE_GATES, FeatureGate, Gate, Stage};

/// A release of Kubernetes, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Release {
    /// Kubernetes 1.34.
    V1_34,
    /// Kubernetes 1.35.
    V1_35,
    /// Kubernetes 1.36.
    V1_36,
    /// Kubernetes 1.37.
    V1_37,
}

impl Release {
    /// Every release that is followed.
    pub const ALL: [Self; 4] = [Self::V1_34, Self::V1_35, Self::V1_36, Self::V1_37];
    /// The one that is followed where nothing says which.
    pub const NEWEST: Self = Self::V1_37;

    /// As users write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1_34 => "1.34",
            Self::V1_35 => "1.35",
            Self::V1_36 => "1.36",
            Self::V1_37 => "1.37",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|release| release.name() == name)
    }

    /// The label of the event that a pod without a node was added.
    pub fn pod_added(self) -> &'static str {
        self.traits().pod_added
    }

    /// The label of the event that the last scheduling gate of a pod is gone.
    pub fn gates_gone(self) -> &'static str {
        Event::PodGatesGone.label(Whose::Pending(self.traits().pending_pod))
    }

    /// Metrics that not every release has.
    pub fn metrics(self) -> &'static [&'static str] {
        self.traits().metrics
    }

    pub(crate) const fn traits(self) -> &'static Traits {
        match self {
            Self::V1_34 => &V1_34,
            Self::V1_35 => &V1_35,
            Self::V1_36 => &V1_36,
            Self::V1_37 => &V1_37,
        }
    }
}

/// What `NodeResourcesBalancedAllocation` scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BalanceScored {
    /// How evenly the node would be used with the pod.
    WithPod,
    /// How much the pod changes that.
    Change,
}

/// Where `ImageLocality` counts images that the pod mounts as volumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImageVolumes {
    NotCounted,
    /// In the sum of bytes, and not in how many bytes are the most.
    InSum,
    InBoth,
}

/// Which nodes count in-tree volumes of Portworx for their CSI driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Portworx {
    /// Nodes whose kubelet says that it handed them over.
    OfMigratedNodes,
    OfAllNodes,
}

/// Which namespaces a selector of the placed pod's affinity terms selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamespaceSelectors {
    /// Those whose labels it matches, or all, if it matches the empty set of labels.
    ByLabelsOrNone,
    ByLabels,
}

/// What differs between releases and hangs on no feature gate.
#[derive(Debug)]
pub(crate) struct Traits {
    pub(crate) balance: BalanceScored,
    pub(crate) image_volumes: ImageVolumes,
    pub(crate) portworx: Portworx,
    pub(crate) namespace_selectors: NamespaceSelectors,
    pub(crate) resizes: ResizeRule,
    /// Whether rules that taint devices come with the gate of taints, and have none of their own.
    pub(crate) taint_rules_come_with_taints: bool,
    /// Whether a pod fails that has claims with devices besides new ones, when nodes are scored: each
    /// of its claims is paired with a new allocation.
    pub(crate) scores_claims_as_new: bool,
    /// Whether `DynamicResources` scores nodes.
    pub(crate) scores_devices: bool,
    /// What `DynamicResources` adds to the message of a pod without claims that fits nowhere.
    pub(crate) nothing_to_deallocate: &'static str,
    /// The same for a pod with claims of which none can be deallocated.
    pub(crate) nothing_deallocated: &'static str,
    /// How a message about a claim of another pod begins the word for it.
    pub(crate) word_for_owner: &'static str,
    /// Whether the allocator of devices is free of the faults of 1.36: counters and marks that a
    /// refused device keeps, counters by the name of a pool without its driver, one value a request
    /// in constraints, configurations that are repeated.
    pub(crate) repairs_allocator: bool,
    /// Whether the message of a pod for which victims are evicted says so.
    pub(crate) tells_of_room: bool,
    /// How the labels of events name a pending pod.
    pub(crate) pending_pod: PendingPod,
    /// The label of the event that a pod without a node was added.
    pub(crate) pod_added: &'static str,
    /// Metrics that only some releases have.
    pub(crate) metrics: &'static [&'static str],
}

const V1_34: Traits = Traits { scores_devices: false, taint_rules_come_with_taints: true, ..V1_35 };
const V1_35: Traits = Traits {
    balance: BalanceScored::WithPod,
    image_volumes: ImageVolumes::NotCounted,
    portworx: Portworx::OfMigratedNodes,
    namespace_selectors: NamespaceSelectors::ByLabelsOrNone,
    resizes: ResizeRule::EachContainer,
    taint_rules_come_with_taints: false,
    scores_claims_as_new: true,
    scores_devices: true,
    nothing_to_deallocate: "no new claims to deallocate",
    nothing_deallocated: "still not schedulable",
    word_for_owner: "pod",
    repairs_allocator: false,
    tells_of_room: false,
    pending_pod: PendingPod::Unschedulable,
    pod_added: "UnschedulablePodAdd",
    metrics: &[],
};
const V1_36: Traits = Traits {
    balance: BalanceScored::Change,
    image_volumes: ImageVolumes::InSum,
    portworx: Portworx::OfAllNodes,
    resizes: ResizeRule::EachContainerAndPod,
    scores_claims_as_new: false,
    word_for_owner: "Pod",
    ..V1_35
};
const V1_37: Traits = Traits {
    image_volumes: ImageVolumes::InBoth,
    namespace_selectors: NamespaceSelectors::ByLabels,
    resizes: ResizeRule::LargestSum,
    nothing_to_deallocate: "",
    nothing_deallocated: "",
    repairs_allocator: true,
    tells_of_room: true,
    pending_pod: PendingPod::Target,
    pod_added: "UnscheduledPodAdd",
    metrics: &["scheduler_queue_incoming_entities_total", "scheduler_queued_entities"],
    ..V1_36
};

/// The release that a program follows, with the feature gates that its operator set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Followed {
    release: Release,
    switches: Switches,
}

impl Followed {
    /// With the gates as the release has them by default.
    pub fn of(release: Release) -> Self {
        Self { release, switches: Switches::of(release) }
    }

    /// Which one it is.
    pub fn release(self) -> Release {
        self.release
    }

    pub(crate) fn traits(self) -> &'static Traits {
        self.release.traits()
    }

    /// Whether the gate is open.
    pub fn has(self, gate: Gate) -> bool {
        self.switches.has(gate)
    }

    /// Whether `DeviceTaintRule`s are laid over devices.
    pub(crate) fn has_taint_rules(self) -> bool {
        let comes_with_taints = self.traits().taint_rules_come_with_taints;
        self.has(Gate::DRADeviceTaints)
            && (comes_with_taints || self.has(Gate::DRADeviceTaintRules))
    }

    /// Whether devices may have to be made ready before a pod is bound.
    pub(crate) fn has_binding_conditions(self) -> bool {
        self.has(Gate::DRADeviceBindingConditions) && self.has(Gate::DRAResourceClaimDeviceStatus)
    }
}

impl Default for Followed {
    fn default() -> Self {
        Self::of(Release::NEWEST)
    }
}

/// From `release` and `featureGates` of a program; the newest where it does not say.
pub(crate) fn read(fields: &mut Fields<'_>, refusals: &mut Refusals) -> Option<Followed> {
    let name = fields.text_or("release", Release::NEWEST.name(), refusals)?;
    let Some(release) = Release::named(name) else {
        let known = Release::ALL.map(Release::name).join(", ");
        let message = format!("unknown release {name:?}");
        refusals.add(UNKNOWN, &fields.place_of("release"), message, format!("known: {known}"));
        return None;
    };
    let mut followed = Followed::of(release);
    let place = fields.place_of("featureGates");
    let Some(written) = fields.optional("featureGates") else { return Some(followed) };
    let Some(written) = written.as_object() else {
        refusals.add(WRONG_TYPE, &place, "an object of gates is wanted", "");
        return None;
    };
    for (name, value) in written {
        let place = format!("{place}.{name}");
        set(&mut followed, name, value, &place, refusals)?;
    }
    Some(followed)
}

fn set(
    followed: &mut Followed,
    name: &str,
    value: &Value,
    place: &str,
    refusals: &mut Refusals,
) -> Option<()> {
    let Some(is_open) = value.as_bool() else {
        refusals.add(WRONG_TYPE, place, "true or false is wanted", "");
        return None;
    };
    let release = followed.release.name();
    let gate = FEATURE_GATES.iter().find(|gate| gate.name == name);
    let Some(gate) = gate.filter(|gate| gate.stage(followed.release) != Stage::Absent) else {
        let message = format!("kube-scheduler {release} has no feature gate {name:?}");
        refusals.add(UNKNOWN, place, message, "");
        return None;
    };
    let stage = gate.stage(followed.release);
    match gate.read {
        _ if stage.is_open() == is_open => {}
        Some(_) if stage == Stage::Locked => {
            refusals.add(CONFLICT, place, format!("{name} is always on in {release}"), "");
            return None;
        }
        Some(read) => followed.switches.set(read, is_open),
        None => {
            let message = format!("the feature gate {name} is not honoured");
            refusals.add(CONFLICT, place, message, "decisions are those of its default");
            return None;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{FEATURE_GATES, Followed, Gate, Release, Stage, read};
    use crate::fields::{Fields, Refusals};

    fn followed(program: &Value) -> Result<Followed, Vec<&'static str>> {
        let mut refusals = Refusals::default();
        let mut fields = Fields::of(program, "$", &mut refusals).unwrap();
        let read = read(&mut fields, &mut refusals);
        read.ok_or_else(|| refusals.into_list().iter().map(|one| one.code).collect())
    }

    #[test]
    fn a_program_that_does_not_say_follows_the_newest() {
        assert_eq!(followed(&json!({})), Ok(Followed::of(Release::NEWEST)));
        assert_eq!(Release::ALL.last(), Some(&Release::NEWEST));
        for release in Release::ALL {
            assert_eq!(
                followed(&json!({"release": release.name()})),
                Ok(Followed::of(release)),
                "{release:?}"
            );
        }
        assert_eq!(followed(&json!({"release": "1.33"})), Err(vec!["PR101"]));
    }

    #[test]
    fn gates_that_rules_read_can_be_set_and_others_only_to_what_they_are() {
        let with = |release: &str, name: &str, is_open: bool| {
            followed(&json!({"release": release, "featureGates": {name: is_open}}))
        };
        let comparing = with("1.36", "TaintTolerationComparisonOperators", true).unwrap();
        assert!(comparing.has(Gate::TaintTolerationComparisonOperators));
        assert!(
            !with("1.37", "StorageCapacityScoring", false)
                .unwrap()
                .has(Gate::StorageCapacityScoring)
        );
        assert_eq!(with("1.34", "VolumeLimitScaling", true), Err(vec!["PR101"]), "not there yet");
        assert_eq!(with("1.37", "NodeDeclaredFeatures", false), Err(vec!["PR106"]), "locked");
        assert_eq!(with("1.36", "GenericWorkload", false), Ok(Followed::of(Release::V1_36)));
        assert_eq!(with("1.36", "GenericWorkload", true), Err(vec!["PR106"]), "nothing reads it");
    }

    #[test]
    fn gates_are_in_order_of_name_and_each_that_is_read_is_in_the_table() {
        assert!(FEATURE_GATES.is_sorted_by(|left, right| left.name < right.name));
        let read: Vec<Gate> = FEATURE_GATES.iter().filter_map(|gate| gate.read).collect();
        assert_eq!(read.len(), Gate::ALL.len());
        assert!(Gate::ALL.iter().all(|gate| read.contains(gate)));
        for gate in FEATURE_GATES {
            let stages = Release::ALL.map(|release| gate.stage(release));
            assert!(stages.iter().any(|stage| *stage != Stage::Absent), "{}", gate.name);
        }
    }
}
