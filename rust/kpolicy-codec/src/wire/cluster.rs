//! Namespaces, services, controllers and disruption budgets.

use kpolicy_engine::model::{
    ApiValues, Controller, ControllerKind, DisruptionBudget, Kind, Namespace, Service,
};

use super::map::{Keys, TextMap};
use super::meta::MetaWire;
use super::selector::{SelectorWire, of_labels};
use super::wire;

wire! {
    /// An object of which only the metadata is read.
    pub(crate) struct BareWire<'a> {
        "metadata" => meta: MetaWire<'a>,
    }
}

wire! {
    /// A service or replication controller: its selector is a map of labels.
    pub(crate) struct MapSelectorWire<'a> {
        "metadata" => meta: MetaWire<'a>,
        "spec" => spec: MapSelectorSpecWire,
    }
}

wire! {
    pub(crate) struct MapSelectorSpecWire {
        "selector" => selector: Option<TextMap>,
    }
}

wire! {
    /// A replica set or stateful set.
    pub(crate) struct ControllerWire<'a> {
        "metadata" => meta: MetaWire<'a>,
        "spec" => spec: SelectorSpecWire<'a>,
    }
}

wire! {
    pub(crate) struct SelectorSpecWire<'a> {
        "selector" => selector: Option<SelectorWire<'a>>,
    }
}

wire! {
    pub(crate) struct BudgetWire<'a> {
        "metadata" => meta: MetaWire<'a>,
        "spec" => spec: SelectorSpecWire<'a>,
        "status" => status: BudgetStatusWire,
    }
}

wire! {
    pub(crate) struct BudgetStatusWire {
        "disruptionsAllowed" => disruptions_allowed: i32,
        "disruptedPods" => disrupted_pods: Keys,
    }
}

impl BareWire<'_> {
    pub(crate) fn into_namespace(self) -> Namespace {
        Namespace { meta: self.meta.into_meta(Kind::Namespace).0, api_values: ApiValues::default() }
    }
}

impl MapSelectorWire<'_> {
    pub(crate) fn into_service(self) -> Service {
        Service {
            meta: self.meta.into_meta(Kind::Service).0,
            selector: self.spec.selector.unwrap_or_default().0,
        }
    }

    pub(crate) fn into_controller(self) -> Controller {
        Controller {
            meta: self.meta.into_meta(Kind::ReplicationController).0,
            kind: ControllerKind::ReplicationController,
            selector: self.spec.selector.map(|labels| of_labels(&labels.0)),
        }
    }
}

impl ControllerWire<'_> {
    pub(crate) fn into_model(self, kind: ControllerKind) -> Controller {
        Controller {
            meta: self.meta.into_meta(kind.into()).0,
            kind,
            selector: self.spec.selector.map(SelectorWire::into_model),
        }
    }
}

impl BudgetWire<'_> {
    pub(crate) fn into_model(self) -> DisruptionBudget {
        DisruptionBudget {
            meta: self.meta.into_meta(Kind::PodDisruptionBudget).0,
            selector: self.spec.selector.map(SelectorWire::into_model),
            disruptions_allowed: self.status.disruptions_allowed,
            disrupted_pods: self.status.disrupted_pods.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::object::tests::decoded;
    use kpolicy_engine::model::{Controller, Kind, Object, SelectorOperator};

    fn controller(kind: Kind, spec: &str) -> Controller {
        match decoded(kind, &format!(r#"{{"metadata":{{"name":"x"}},"spec":{spec}}}"#)) {
            Object::Controller(controller) => *controller,
            other => panic!("not a controller: {other:?}"),
        }
    }

    #[test]
    fn controllers_select_by_map_or_by_selector() {
        let map = controller(Kind::ReplicationController, r#"{"selector":{"a":"b"}}"#);
        let set = controller(Kind::ReplicaSet, r#"{"selector":{"matchLabels":{"a":"b"}}}"#);
        assert_eq!(map.selector, set.selector);
        let selector = set.selector.expect("it has one");
        assert_eq!(selector.requirements[0].operator, SelectorOperator::In);
        assert_eq!(controller(Kind::StatefulSet, "{}").selector, None);
        assert_eq!(controller(Kind::ReplicationController, "{}").selector, None);
    }

    #[test]
    fn services_and_budgets_are_read() {
        let service = r#"{"metadata":{"name":"s"},"spec":{"selector":{"a":"b"}}}"#;
        let Object::Service(service) = decoded(Kind::Service, service) else {
            panic!("not a service")
        };
        assert_eq!(service.selector.get("a"), Some("b"));
        let budget = r#"{"metadata":{"name":"b"},
            "spec":{"minAvailable":"50%","selector":{"matchExpressions":[]}},
            "status":{"disruptionsAllowed":2,
                      "disruptedPods":{"q":"2026-01-01T00:00:00Z","p":null}}}"#;
        let Object::DisruptionBudget(budget) = decoded(Kind::PodDisruptionBudget, budget) else {
            panic!("not a budget")
        };
        assert_eq!(budget.disruptions_allowed, 2);
        assert!(budget.selector.is_some_and(|selector| selector.is_everything()));
        assert_eq!(*budget.disrupted_pods, ["p".into(), "q".into()]);
    }
}
