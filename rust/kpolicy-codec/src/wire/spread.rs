//! Topology spread constraints.

use kpolicy_engine::model::SpreadConstraint;

use super::scalar::Text;
use super::selector::SelectorWire;
use super::sequence::List;
use super::wire;

wire! {
    pub struct SpreadWire<'a> {
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

impl SpreadWire<'_> {
    /// `None` for an action that this release does not know: neither hard nor soft.
    pub fn into_model(self) -> Option<SpreadConstraint> {
        let hard = match &*self.when_unsatisfiable {
            "DoNotSchedule" | "" => true,
            "ScheduleAnyway" => false,
            _ => return None,
        };
        Some(SpreadConstraint {
            max_skew: self.max_skew,
            topology_key: self.topology_key.boxed(),
            hard,
            label_selector: self.selector.map(SelectorWire::into_model),
            match_label_keys: self.match_label_keys.texts(),
            min_domains: self.min_domains.unwrap_or(1).max(1),
            honors_affinity: &*self.affinity_policy != "Ignore",
            honors_taints: &*self.taints_policy == "Honor",
        })
    }
}
