//! Disruption budgets of pods.

use kpolicy_engine::model::{DisruptionBudget, Kind};
use serde::de::{Deserialize, Deserializer};

use crate::wire::map::Keys;
use crate::wire::meta::MetaWire;
use crate::wire::selecting::SelectorSpecWire;
use crate::wire::wire;

wire! {
    struct BudgetWire<'a> {
        "metadata" => meta: MetaWire<'a>,
        "spec" => spec: SelectorSpecWire<'a>,
        "status" => status: BudgetStatusWire,
    }
}

wire! {
    struct BudgetStatusWire {
        "disruptionsAllowed" => disruptions_allowed: i32,
        "disruptedPods" => disrupted_pods: Keys,
    }
}

pub(crate) fn decode<'de, D: Deserializer<'de>>(json: D) -> Result<DisruptionBudget, D::Error> {
    let BudgetWire { meta, spec, status } = BudgetWire::deserialize(json)?;
    Ok(DisruptionBudget {
        meta: meta.into_meta(Kind::PodDisruptionBudget).0,
        selector: spec.into_selector(),
        disruptions_allowed: status.disruptions_allowed,
        disrupted_pods: status.disrupted_pods.0,
    })
}

#[cfg(test)]
mod tests {
    use crate::object::tests::model_of;

    #[test]
    fn budgets_are_read() {
        let budget = model_of!(
            PodDisruptionBudget,
            r#"{"metadata":{"name":"b"},
                "spec":{"minAvailable":"50%","selector":{"matchExpressions":[]}},
                "status":{"disruptionsAllowed":2,
                          "disruptedPods":{"q":"2026-01-01T00:00:00Z","p":null}}}"#
        );
        assert_eq!(budget.disruptions_allowed, 2);
        assert!(budget.selector.is_some_and(|selector| selector.is_everything()));
        assert_eq!(*budget.disrupted_pods, ["p".into(), "q".into()]);
    }
}
