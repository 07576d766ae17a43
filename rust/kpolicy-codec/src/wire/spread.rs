//! Topology spread constraints.

use kpolicy_engine::model::SpreadConstraint;

use super::scalar::Text;
use super::selector::SelectorWire;
use super::sequence::{Element, List};
use super::wire;

wire! {
    pub(crate) struct SpreadWire<'a> {
        "maxSkew" => max_skew: i32,
        "topologyKey" => topology_key: Text<'a>,
        "whenUnsatisfiable" => when_unsatisfiable: Text<'a>,
        "labelSelector" => selector: Option<SelectorWire<'a>>,
        "matchLabelKeys" => match_label_keys: List<Text<'a>>,
        "minDomains" => min_domains: Option<i32>,
        "nodeAffinityPolicy" => affinity_policy: Text<'a>,
        "nodeTaintsPolicy" => taints_policy: Text<'a>,
    }
}

impl<'de> Element<'de> for SpreadConstraint {
    type Wire = SpreadWire<'de>;

    /// An action that this release does not know is neither hard nor soft.
    fn from_wire(wire: SpreadWire<'de>) -> Option<Self> {
        let hard = match &*wire.when_unsatisfiable {
            "DoNotSchedule" | "" => true,
            "ScheduleAnyway" => false,
            _ => return None,
        };
        Some(Self {
            max_skew: wire.max_skew,
            topology_key: wire.topology_key.boxed(),
            hard,
            label_selector: wire.selector.map(SelectorWire::into_model),
            match_label_keys: wire.match_label_keys.texts(),
            min_domains: wire.min_domains.unwrap_or(1).max(1),
            honors_affinity: &*wire.affinity_policy != "Ignore",
            honors_taints: &*wire.taints_policy == "Honor",
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::object::tests::pod;

    #[test]
    fn spreading_is_read() {
        let pod = pod(r#"{"metadata": {"name": "p"}, "spec": {"topologySpreadConstraints": [
                {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
                 "labelSelector": {"matchLabels": {"a": "b"}}, "matchLabelKeys": ["y", "x"],
                 "minDomains": 3, "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"},
                {"maxSkew": 1, "topologyKey": "host", "whenUnsatisfiable": "ScheduleAnyway"},
                {"maxSkew": 1, "topologyKey": "host", "whenUnsatisfiable": "SomethingNew"}]}}"#);
        let [hard, soft] = &*pod.spread_constraints else { panic!("two constraints are known") };
        assert!(hard.hard && !hard.honors_affinity && hard.honors_taints);
        assert_eq!((hard.max_skew, hard.min_domains), (2, 3));
        assert_eq!(*hard.match_label_keys, ["y".into(), "x".into()]);
        assert!(!soft.hard && soft.honors_affinity && !soft.honors_taints);
        assert_eq!((soft.min_domains, &soft.label_selector), (1, &None));
    }
}
