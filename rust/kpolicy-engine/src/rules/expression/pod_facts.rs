//! Facts of the pod of the cycle, and members of pods in loops.

use std::sync::Arc;

use kpolicy_cel::{Answer, ErrorKind as FaultKind, Fault, Map, Name, Object, Value};

use crate::model::{Container, Effect, Labels, ResourceList, Taint, Toleration, VolumeSource};
use crate::resources::names;
use crate::rules::tolerations::{Operators, tolerates};
use crate::snapshot::Pod;

use super::facts::{self, Source};

/// A fact with one text as its argument.
pub(super) fn keyed<T: Into<Value>>(args: &[Value], of: impl FnOnce(&str) -> T) -> Answer {
    match args {
        [Value::String(key)] => Answer::Known(of(key).into()),
        _ => no_such_overload(),
    }
}

pub(super) fn no_such_overload() -> Answer {
    Answer::Failed(Fault::new(FaultKind::NoSuchOverload, "no such overload"))
}

pub(super) fn entry(labels: &Labels, args: &[Value]) -> Answer {
    match args {
        [Value::String(key)] => labels.get(key).map_or(Answer::Absent, Into::into),
        _ => no_such_overload(),
    }
}

pub(super) fn map(labels: &Labels) -> Value {
    Value::map(Map::of_strings(labels.iter().map(|(key, value)| (key, value.into()))))
}

pub(super) fn list(items: impl Iterator<Item = Value>) -> Answer {
    Answer::Known(Value::list(items.collect()))
}

pub(super) fn record<const N: usize>(fields: [(&'static str, Value); N]) -> Value {
    Value::map(Map::of_strings(fields))
}

/// A record without its empty texts.
fn record_of_texts<const N: usize>(fields: [(&'static str, &str); N]) -> Value {
    let there = fields.into_iter().filter(|(_, text)| !text.is_empty());
    Value::map(Map::of_strings(there.map(|(name, text)| (name, text.into()))))
}

pub(super) fn controller(pod: &Pod) -> Answer {
    let of = |owner: &crate::model::OwnerReference| {
        record([("kind", owner.kind.as_ref().into()), ("name", owner.name.as_ref().into())])
    };
    pod.template.owner.as_ref().map_or(Answer::Absent, |owner| Answer::Known(of(owner)))
}

pub(super) fn owner(pod: &Pod, of: impl FnOnce(&crate::model::OwnerReference) -> Value) -> Answer {
    pod.template.owner.as_ref().map_or(Answer::Absent, |owner| Answer::Known(of(owner)))
}

pub(super) fn containers(containers: &[Container]) -> Answer {
    list(containers.iter().map(|container| {
        let ports = container.host_ports.iter().map(|port| {
            record([
                ("protocol", port.protocol.as_ref().into()),
                ("hostIP", port.ip.as_ref().into()),
                ("hostPort", i64::from(port.port).into()),
            ])
        });
        record([
            ("name", container.name.as_ref().into()),
            ("image", container.image.as_ref().into()),
            ("ports", Value::list(ports.collect())),
            ("requests", amounts(&container.requests)),
            ("limits", amounts(&container.limits)),
        ])
    }))
}

/// Whole units, thousandths of CPU.
fn amounts(list: &ResourceList) -> Value {
    let amount = |(name, quantity): (&str, &crate::model::Quantity)| {
        let rounded = if name == names::CPU {
            quantity.millis_rounded_up()
        } else {
            quantity.units_rounded_up()
        };
        (Arc::<str>::from(name), rounded.into())
    };
    Value::map(Map::of_strings(list.iter().map(amount)))
}

pub(super) fn images(pod: &Pod) -> Answer {
    let images = &pod.template.images;
    list(images.init_containers.iter().chain(&images.containers).map(|image| image.as_ref().into()))
}

pub(super) fn claims(pod: &Pod) -> Value {
    let claimed = pod.template.volumes.iter().filter_map(|volume| match &volume.source {
        VolumeSource::Claim { name, .. } => Some(name.as_ref().into()),
        VolumeSource::Ephemeral => Some(format!("{}-{}", pod.name, volume.name).into()),
        _ => None,
    });
    Value::list(claimed.collect())
}

fn effect_name(effect: Effect) -> &'static str {
    match effect {
        Effect::NoSchedule => "NoSchedule",
        Effect::PreferNoSchedule => "PreferNoSchedule",
        Effect::NoExecute => "NoExecute",
        Effect::Unknown => "",
    }
}

pub(super) fn taint(taint: &Taint) -> Value {
    record([
        ("key", taint.key.as_ref().into()),
        ("value", taint.value.as_ref().into()),
        ("effect", effect_name(taint.effect).into()),
    ])
}

pub(super) fn toleration(toleration: &Toleration) -> Value {
    let operator = match toleration.operator {
        crate::model::TolerationOperator::Equal => "Equal",
        crate::model::TolerationOperator::Exists => "Exists",
        crate::model::TolerationOperator::Lt => "Lt",
        crate::model::TolerationOperator::Gt => "Gt",
        crate::model::TolerationOperator::Unknown => "",
    };
    record_of_texts([
        ("key", &toleration.key),
        ("operator", operator),
        ("value", &toleration.value),
        ("effect", toleration.effect.map_or("", effect_name)),
    ])
}

pub(super) fn tolerates_taint(pod: &Pod, args: &[Value]) -> Answer {
    let [Value::Map(fields)] = args else { return no_such_overload() };
    let text = |name: &str| match fields.get_text(name) {
        Some(Value::String(text)) => text.as_ref().into(),
        _ => Box::<str>::default(),
    };
    let effect = match text("effect").as_ref() {
        "NoSchedule" => Effect::NoSchedule,
        "PreferNoSchedule" => Effect::PreferNoSchedule,
        "NoExecute" => Effect::NoExecute,
        _ => Effect::Unknown,
    };
    let taint = Taint { key: text("key"), value: text("value"), effect };
    // An expression means the same whatever gates are open.
    let tolerated = |toleration| tolerates(toleration, &taint, Operators::Plain);
    pod.template.tolerations.iter().any(tolerated).into()
}

/// The API says: Guaranteed if every container has limits of CPU and memory and requests as much,
/// BestEffort if no container names either of the two, else Burstable.
pub(super) fn qos_class(pod: &Pod) -> &'static str {
    let containers = &pod.template.containers;
    let all = || containers.init.iter().chain(&containers.regular);
    let computed = [names::CPU, names::MEMORY];
    let names_any = |container: &Container| {
        computed.iter().any(|name| {
            container.requests.get(name).is_some() || container.limits.get(name).is_some()
        })
    };
    let is_full = |container: &Container| {
        computed.iter().all(|name| {
            let limit = container.limits.get(name);
            limit.is_some() && container.requests.get(name).is_none_or(|have| Some(have) == limit)
        })
    };
    if !all().any(names_any) {
        "BestEffort"
    } else if all().all(is_full) {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

/// A pod of a loop.
#[derive(Debug, Clone)]
pub(super) struct PodObject(pub Arc<Pod>);

impl Object for PodObject {
    fn type_name(&self) -> &'static str {
        "Pod"
    }

    fn member(&self, name: &Name, args: &[Value]) -> Answer {
        match facts::source(name) {
            Some(Source::Pod(answer)) => answer(&self.0, args),
            _ => Answer::Unknown,
        }
    }

    fn identity(&self) -> &str {
        &self.0.uid
    }
}
