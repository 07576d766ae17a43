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
