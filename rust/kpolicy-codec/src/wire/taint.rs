//! Tolerations of pods, and what taints of nodes do.
//!
//! The API says that an empty operator is `Equal`.

use kpolicy_engine::model::{Effect, Toleration, TolerationOperator};

use super::scalar::Text;
use super::sequence::Element;
use super::wire;

wire! {
    pub(crate) struct TolerationWire<'a> {
        "key" => key: Text<'a>,
        "operator" => operator: Text<'a>,
        "value" => value: Text<'a>,
        "effect" => effect: Text<'a>,
    }
}

impl<'de> Element<'de> for Toleration {
    type Wire = TolerationWire<'de>;

    fn from_wire(wire: TolerationWire<'de>) -> Option<Self> {
        Some(Self {
            key: wire.key.boxed(),
            operator: match &*wire.operator {
                "" | "Equal" => TolerationOperator::Equal,
                "Exists" => TolerationOperator::Exists,
                "Lt" => TolerationOperator::Lt,
                "Gt" => TolerationOperator::Gt,
                _ => TolerationOperator::Unknown,
            },
            value: wire.value.boxed(),
            effect: (!wire.effect.is_empty()).then(|| effect(&wire.effect)),
        })
    }
}

pub(crate) fn effect(text: &str) -> Effect {
    match text {
        "NoSchedule" => Effect::NoSchedule,
        "PreferNoSchedule" => Effect::PreferNoSchedule,
        "NoExecute" => Effect::NoExecute,
        _ => Effect::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use crate::object::tests::pod;
    use kpolicy_engine::model::{Effect, TolerationOperator};

    #[test]
    fn tolerations_are_read() {
        let tolerations = pod(r#"{"metadata": {"name": "p"}, "spec": {"tolerations": [
                {"key": "k", "value": "v", "effect": "NoExecute", "tolerationSeconds": 3},
                {"operator": "Exists"}, {"key": "k", "operator": "Lt", "value": "5"},
                {"operator": "In"}]}}"#)
        .tolerations;
        let read: Vec<_> =
            tolerations.iter().map(|each| (&*each.key, each.operator, each.effect)).collect();
        assert_eq!(
            read,
            [
                ("k", TolerationOperator::Equal, Some(Effect::NoExecute)),
                ("", TolerationOperator::Exists, None),
                ("k", TolerationOperator::Lt, None),
                ("", TolerationOperator::Unknown, None),
            ]
        );
    }
}
