//! One change of a pod, of a node or of the policy, as it is made and as it is told.

use std::sync::Arc;

use kpolicy_cel::{Compared, Number};
use serde_json::{Value, json};

use crate::model::{
    Effect, Quantity, QuantityFormat, Requirement, SelectorOperator, Taint, Toleration,
    WrittenQuantity,
};
use crate::resources::names;
use crate::snapshot::{NodeSlot, Pod};

const NANOS_PER_MILLI: i128 = 1_000_000;
const THOUSAND: i128 = 1_000;

/// What is to be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Pod,
    Node,
    Policy,
}

impl Side {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Pod => "pod",
            Self::Node => "node",
            Self::Policy => "policy",
        }
    }
}

/// The smallest thing that can be changed by itself.
#[derive(Debug, Clone)]
pub(super) enum Change {
    /// The pod requests less of a resource.
    Request {
        resource: Box<str>,
        from: i64,
        to: i64,
    },
    /// The pod tolerates one more taint.
    Toleration(Toleration),
    /// The pod's node selector does not name this label any more.
    Selector {
        key: Box<str>,
        value: Box<str>,
    },
    /// A term of the pod's required node affinity has one requirement less.
    Requirement(Dropped),
    /// The pod has a required constraint less: its position among all of its sort.
    Constraint {
        sort: Constraint,
        position: usize,
        key: Box<str>,
    },
    /// The pod has a label with this value.
    PodLabel {
        key: Box<str>,
        value: Box<str>,
    },
    Untaint {
        node: NodeName,
        taint: Taint,
    },
    Uncordon {
        node: NodeName,
    },
    /// `None`: the label goes.
    NodeLabel {
        node: NodeName,
        key: Box<str>,
        value: Option<Box<str>>,
    },
    /// A pod of the node goes.
    Removal {
        node: NodeName,
        pod: Arc<Pod>,
    },
    /// The policy has a rule less, by its position among the filters of the profile.
    Rule {
        filter: usize,
        name: Arc<str>,
    },
    /// A rule compares with another number.
    Constant(Constant),
}

#[derive(Debug, Clone)]
pub(super) struct NodeName {
    pub(super) slot: NodeSlot,
    pub(super) name: Arc<str>,
}

/// A requirement of a term, by positions in the pod's spec.
#[derive(Debug, Clone)]
pub(super) struct Dropped {
    pub(super) term: usize,
    pub(super) is_field: bool,
    pub(super) position: usize,
    pub(super) requirement: Requirement,
}

/// A number that an expression compares with, in steps: of the last decimal that is written.
#[derive(Debug, Clone)]
pub(super) struct Constant {
    pub(super) filter: usize,
    pub(super) rule: Arc<str>,
    pub(super) compared: Compared,
    /// The text of the comparison.
    pub(super) text: String,
    pub(super) from: i64,
    pub(super) to: i64,
    /// How many decimals there are; `None` of a whole number of the type `int`.
    pub(super) decimals: Option<i32>,
}

/// The constraints of a pod that keep it from nodes because of other pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Constraint {
    Spread,
    Affinity,
    AntiAffinity,
}

impl Constraint {
    fn name(self) -> &'static str {
        match self {
            Self::Spread => "topologySpread",
            Self::Affinity => "podAffinity",
            Self::AntiAffinity => "podAntiAffinity",
        }
    }
}

impl Change {
    /// What sort of change it is: suggestions of the same sorts are of one kind.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Request { .. } => "request",
            Self::Toleration(_) => "toleration",
            Self::Selector { .. } => "nodeSelector",
            Self::Requirement(_) => "nodeAffinity",
            Self::Constraint { sort, .. } => sort.name(),
            Self::PodLabel { .. } => "podLabel",
            Self::Untaint { .. } => "taint",
            Self::Uncordon { .. } => "cordon",
            Self::NodeLabel { .. } => "nodeLabel",
            Self::Removal { .. } => "room",
            Self::Rule { .. } => "rule",
            Self::Constant(_) => "constant",
        }
    }

    /// How much an amount changes, in thousandths of it; 0 where nothing is an amount.
    pub(super) fn thousandths(&self) -> u64 {
        let Some((from, to)) = self.amounts() else { return 0 };
        let (from, to) = (i128::from(from), i128::from(to));
        let share = (from - to).abs() * THOUSAND / from.abs().max(1);
        u64::try_from(share).unwrap_or(u64::MAX)
    }

    /// What an amount is and becomes, in the smallest steps.
    pub(super) fn amounts(&self) -> Option<(i64, i64)> {
        match self {
            Self::Request { from, to, .. } | Self::Constant(Constant { from, to, .. }) => {
                Some((*from, *to))
            }
            _ => None,
        }
    }

    /// The same change to another amount.
    pub(super) fn with_amount(&self, amount: i64) -> Self {
        match self {
            Self::Request { resource, from, .. } => {
                Self::Request { resource: resource.clone(), from: *from, to: amount }
            }
            Self::Constant(own) => Self::Constant(Constant { to: amount, ..own.clone() }),
            other => other.clone(),
        }
    }

    /// As it is told. Positions and names say how to make it.
    pub(super) fn to_json(&self) -> Value {
        let mut told = match self {
            Self::Request { resource, from, to } => json!({"resource": resource,
                "from": quantity(resource, *from), "to": quantity(resource, *to)}),
            Self::Toleration(own) => json!({"key": own.key, "operator": "Equal",
                "value": own.value, "effect": own.effect.map(effect_name)}),
            Self::Selector { key, value } | Self::PodLabel { key, value } => {
                json!({"key": key, "value": value})
            }
            Self::Requirement(dropped) => dropped.to_json(),
            Self::Constraint { position, key, .. } => {
                json!({"position": position, "topologyKey": key})
            }
            Self::Untaint { node, taint } => json!({"node": &*node.name, "key": taint.key,
                "value": taint.value, "effect": effect_name(taint.effect)}),
            Self::Uncordon { node } => json!({"node": &*node.name}),
            Self::NodeLabel { node, key, value } => {
                json!({"node": &*node.name, "key": key, "value": value})
            }
            Self::Removal { node, pod } => json!({"node": &*node.name, "pod": pod.key(),
                "priority": pod.priority()}),
            Self::Rule { name, .. } => json!({"rule": &**name}),
            Self::Constant(own) => json!({"rule": &*own.rule, "text": own.text,
                "part": own.compared.origin,
                "from": own.written(own.from), "to": own.written(own.to)}),
        };
        if let Some(told) = told.as_object_mut() {
            told.insert("change".into(), self.kind().into());
        }
        told
    }
}

impl Constant {
    /// What can be compared with a number; `None` where it has more decimals than there are steps for.
    pub(super) fn of(
        filter: usize,
        rule: &Arc<str>,
        (compared, text): (Compared, String),
    ) -> Option<Self> {
        let (from, decimals) = match compared.number {
            Number::Int(value) => (value, None),
            Number::Double(value) => {
                let decimals =
                    format!("{value}").split_once('.').map_or(0, |(_, after)| after.len());
                let decimals = i32::try_from(decimals).ok().filter(|decimals| *decimals <= 9)?;
                (rounded(value * 10_f64.powi(decimals))?, Some(decimals))
            }
        };
        let rule = Arc::clone(rule);
        Some(Self { filter, rule, compared, text, from, to: from, decimals })
    }

    pub(super) fn number(&self, steps: i64) -> Number {
        match self.decimals {
            None => Number::Int(steps),
            #[expect(clippy::cast_precision_loss, reason = "steps are of a double")]
            Some(decimals) => Number::Double(steps as f64 / 10_f64.powi(decimals)),
        }
    }

    fn written(&self, steps: i64) -> Value {
        match self.number(steps) {
            Number::Int(value) => value.into(),
            Number::Double(value) => value.into(),
        }
    }
}

/// `None` where a double is no such number of steps.
fn rounded(steps: f64) -> Option<i64> {
    let rounded = steps.round();
    #[expect(clippy::cast_possible_truncation, reason = "it is within 2^53")]
    (rounded.abs() < 9e15).then_some(rounded as i64)
}

impl Dropped {
    fn to_json(&self) -> Value {
        let list = if self.is_field { "matchFields" } else { "matchExpressions" };
        let Requirement { key, operator, values } = &self.requirement;
        json!({"term": self.term, "list": list, "position": self.position, "key": key,
               "operator": operator_name(*operator), "values": values})
    }
}

fn operator_name(operator: SelectorOperator) -> &'static str {
    match operator {
        SelectorOperator::In => "In",
        SelectorOperator::NotIn => "NotIn",
        SelectorOperator::Exists => "Exists",
        SelectorOperator::DoesNotExist => "DoesNotExist",
        SelectorOperator::Gt => "Gt",
        SelectorOperator::Lt => "Lt",
        SelectorOperator::Invalid => "",
    }
}

fn effect_name(effect: Effect) -> &'static str {
    match effect {
        Effect::NoSchedule => "NoSchedule",
        Effect::PreferNoSchedule => "PreferNoSchedule",
        Effect::NoExecute => "NoExecute",
        Effect::Unknown => "",
    }
}

/// An amount in the unit in which it is compared, as the API writes it.
pub(super) fn quantity(resource: &str, amount: i64) -> String {
    let (amount, format) = match resource {
        names::CPU => {
            let nanos = i128::from(amount) * NANOS_PER_MILLI;
            (Quantity::from_nanos(nanos), QuantityFormat::Decimal)
        }
        names::MEMORY | names::EPHEMERAL_STORAGE => {
            (Quantity::from_units(amount), QuantityFormat::Binary)
        }
        _ => (Quantity::from_units(amount), QuantityFormat::Decimal),
    };
    WrittenQuantity { amount, format }.text()
}
