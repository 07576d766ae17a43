//! Values at API paths, read from the object as it was written.
//!
//! This second walk over an object happens only if the program in force reads API paths; everything
//! else is skipped without being built. The tables here say which fields are times, which are
//! quantities, and which are never kept because they are long or change all the time.

use std::fmt;
use std::sync::Arc;

use kpolicy_engine::model::api_values::{Map, Timestamp, Value};
use kpolicy_engine::model::{ApiPaths, ApiValues, Kind, Object};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value as Json;

/// What to keep of objects beside the model: nothing, or the paths of the program in force.
#[derive(Debug, Clone, Copy, Default)]
pub struct Keep<'p>(pub Option<&'p ApiPaths>);

/// `*` is any item of a list, any key of a map.
const TIMES: &[&str] = &[
    "metadata.creationTimestamp",
    "metadata.deletionTimestamp",
    "spec.taints.*.timeAdded",
    "status.conditions.*.lastTransitionTime",
    "status.startTime",
];

/// Written as numbers or as texts, kept as texts.
const QUANTITIES: &[&str] = &[
    "spec.containers.*.resources.limits.*",
    "spec.containers.*.resources.requests.*",
    "spec.initContainers.*.resources.limits.*",
    "spec.initContainers.*.resources.requests.*",
    "spec.overhead.*",
    "spec.resources.limits.*",
    "spec.resources.requests.*",
    "spec.volumes.*.emptyDir.sizeLimit",
    "status.allocatable.*",
    "status.capacity.*",
];

const NEVER: &[&str] = &[
    "metadata.managedFields",
    "metadata.resourceVersion",
    "metadata.selfLink",
    "spec.configSource",
    "spec.containers.*.args",
    "spec.containers.*.command",
    "spec.containers.*.env",
    "spec.containers.*.envFrom",
    "spec.containers.*.lifecycle",
    "spec.containers.*.livenessProbe",
    "spec.containers.*.readinessProbe",
    "spec.containers.*.startupProbe",
    "spec.ephemeralContainers",
    "spec.externalID",
    "spec.initContainers.*.args",
    "spec.initContainers.*.command",
    "spec.initContainers.*.env",
    "spec.initContainers.*.envFrom",
    "spec.initContainers.*.lifecycle",
    "spec.initContainers.*.livenessProbe",
    "spec.initContainers.*.readinessProbe",
    "spec.initContainers.*.startupProbe",
    "spec.volumes.*.downwardAPI",
    "spec.volumes.*.ephemeral",
    "spec.volumes.*.projected",
    "status.allocatedResources",
    "status.conditions.*.lastHeartbeatTime",
    "status.conditions.*.lastProbeTime",
    "status.config",
    "status.containerStatuses",
    "status.ephemeralContainerStatuses",
    "status.extendedResourceClaimStatus",
    "status.images",
    "status.initContainerStatuses",
    "status.nodeAllocatableResourceClaimStatuses",
    "status.resources",
    "status.volumesAttached",
    "status.volumesInUse",
];

impl Keep<'_> {
    /// Whether no API path of this kind is kept.
    pub fn is_nothing_of(self, kind: Kind) -> bool {
        self.0.is_none_or(|paths| paths.of(kind).next().is_none())
    }

    /// Adds what is kept of `raw` to the object that was read from it.
    pub fn add_to(self, object: &mut Object, raw: &str) {
        let kind = object.kind();
        let Some(paths) = self.0.filter(|_| !self.is_nothing_of(kind)) else { return };
        let place = match object {
            Object::Pod(pod) => &mut Arc::make_mut(pod).api_values,
            Object::Node(node) => &mut Arc::make_mut(node).api_values,
            Object::Namespace(namespace) => &mut Arc::make_mut(namespace).api_values,
            _ => return,
        };
        *place = kept(raw, paths.of(kind));
    }
}

fn kept<'p>(raw: &str, paths: impl Iterator<Item = &'p str>) -> ApiValues {
    let paths: Vec<Vec<&str>> = paths.map(|path| path.split('.').collect()).collect();
    let wanted: Vec<&[&str]> = paths.iter().map(Vec::as_slice).collect();
    // It was read once, so it is JSON.
    let picked = Picked(&wanted).deserialize(&mut serde_json::Deserializer::from_str(raw));
    let picked = picked.unwrap_or(Json::Null);
    ApiValues::of(paths.iter().map(|path| {
        let found = path.iter().try_fold(&picked, |value, name| value.get(name));
        let mut stack = path.clone();
        (path.join(".").into(), found.and_then(|json| value(json, &mut stack)))
    }))
}

/// The part of an object that paths lead to; where one ends, everything below.
struct Picked<'w>(&'w [&'w [&'w str]]);

impl<'de> DeserializeSeed<'de> for Picked<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Json, D::Error> {
        if self.0.iter().any(|path| path.is_empty()) {
            return Json::deserialize(json);
        }
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Picked<'_> {
    type Value = Json;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("anything")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Json, A::Error> {
        let mut picked = serde_json::Map::new();
        while let Some(name) = fields.next_key::<std::borrow::Cow<'de, str>>()? {
            let below = |path: &&'_ [&'_ str]| path.first().is_some_and(|first| *first == name);
            let below: Vec<&[&str]> = self
                .0
                .iter()
                .copied()
                .filter(below)
                .map(|path| path.get(1..).unwrap_or_default())
                .collect();
            if below.is_empty() {
                fields.next_value::<IgnoredAny>()?;
            } else {
                // The last of duplicate keys counts.
                picked.insert(name.into_owned(), fields.next_value_seed(Picked(&below))?);
            }
        }
        Ok(Json::Object(picked))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Json::Null)
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_str<E>(self, _: &str) -> Result<Json, E> {
        Ok(Json::Null)
    }
}

fn is_listed(patterns: &[&str], path: &[&str]) -> bool {
    patterns.iter().any(|pattern| {
        let mut parts = pattern.split('.');
        path.iter().all(|name| parts.next().is_some_and(|part| part == "*" || part == *name))
            && parts.next().is_none()
    })
}

/// The value at a path; `None` for null and for what is never kept.
fn value<'j>(json: &'j Json, path: &mut Vec<&'j str>) -> Option<Value> {
    if is_listed(NEVER, path) {
        return None;
    }
    match json {
        Json::Null => None,
        Json::Bool(value) => Some(Value::Bool(*value)),
        Json::Number(number) if is_listed(QUANTITIES, path) => {
            Some(Value::from(number.to_string()))
        }
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(value), _) => Some(Value::Int(value)),
            (None, value) => value.map(Value::Double),
        },
        Json::String(text) if is_listed(TIMES, path) => Some(
            Timestamp::parse(text).map_or_else(|| Value::from(text.as_str()), Value::Timestamp),
        ),
        Json::String(text) => Some(Value::from(text.as_str())),
        Json::Array(items) => {
            path.push("*");
            let values = items.iter().filter_map(|item| value(item, path)).collect();
            path.pop();
            Some(Value::list(values))
        }
        Json::Object(fields) => {
            let mut entries = Vec::with_capacity(fields.len());
            for (name, field) in fields {
                path.push(name);
                if let Some(value) = value(field, path) {
                    entries.push((name.as_str(), value));
                }
                path.pop();
            }
            Some(Value::map(Map::of_strings(entries)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Keep, kept};
    use crate::object::tests::decoded;
    use kpolicy_engine::model::api_values::Value;
    use kpolicy_engine::model::{ApiPaths, Kind, Object};

    const NODE: &str = r#"{"metadata": {"name": "n", "creationTimestamp": "2026-01-02T03:04:05Z",
        "labels": {"status": "x"}},
      "spec": {"providerID": null, "taints": [{"key": "a", "timeAdded": "2026-01-02T03:04:05Z"}]},
      "status": {"capacity": {"cpu": 4, "memory": "8Gi"},
        "nodeInfo": {"kernelVersion": "5", "kernelVersion": "6.1", "architecture": "arm64"},
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "conditions": [{"type": "Ready", "status": "True",
          "lastHeartbeatTime": "2026-01-02T03:04:05Z",
          "lastTransitionTime": "2026-01-02T03:04:05Z"}],
        "images": [{"names": ["a"]}]}}"#;

    fn text(path: &str) -> String {
        let kept = kept(NODE, [path].into_iter());
        let found = kept.get(path).expect("it was asked for");
        found.value.as_ref().map_or("absent".into(), |value| format!("{value:?}"))
    }

    #[test]
    fn each_path_gives_what_is_written_there() {
        let time = r#"{"timestamp":"2026-01-02T03:04:05Z"}"#;
        assert_eq!(text("status.nodeInfo.kernelVersion"), r#""6.1""#);
        assert_eq!(text("status.daemonEndpoints.kubeletEndpoint.Port"), "10250");
        assert_eq!(text("metadata.creationTimestamp"), time);
        assert_eq!(text("status.capacity"), r#"{"map":[["cpu","4"],["memory","8Gi"]]}"#);
        assert!(text("status.conditions").contains(&format!(r#"["lastTransitionTime",{time}]"#)));
        assert!(text("spec.taints").contains(&format!(r#"["timeAdded",{time}]"#)));
        assert!(text("status").contains("architecture"));
    }

    #[test]
    fn absent_null_and_never_kept_are_alike() {
        let absent = [
            "spec.providerID",
            "spec.nothing",
            "status.images",
            "status.nodeInfo.kernelVersion.more",
            "status.conditions.type",
        ];
        for path in absent {
            assert_eq!(text(path), "absent", "{path}");
        }
        assert!(!text("status.conditions").contains("lastHeartbeatTime"));
        assert!(!text("status").contains("images"));
    }

    #[test]
    fn paths_that_contain_each_other_are_both_kept() {
        let paths = ["status.nodeInfo", "status.nodeInfo.architecture"];
        let kept = kept(NODE, paths.into_iter());
        let inner = kept.get("status.nodeInfo.architecture").and_then(|kept| kept.value.clone());
        assert_eq!(inner, Some(Value::from("arm64")));
        assert!(kept.get("status.nodeInfo").is_some_and(|kept| kept.text.contains("6.1")));
        assert!(kept.get("status").is_none(), "nobody asked for it");
    }

    #[test]
    fn only_the_kinds_that_are_asked_for_are_walked_again() {
        let mut paths = ApiPaths::default();
        paths.add(Kind::Node, "spec.providerID");
        let keep = Keep(Some(&paths));
        assert!(keep.is_nothing_of(Kind::Pod) && !keep.is_nothing_of(Kind::Node));
        assert!(Keep(None).is_nothing_of(Kind::Node));
        let raw = r#"{"metadata": {"name": "p"}, "spec": {"providerID": "x"}}"#;
        let mut pod = decoded(Kind::Pod, raw);
        keep.add_to(&mut pod, raw);
        assert!(matches!(pod, Object::Pod(pod) if pod.api_values.get("spec.providerID").is_none()));
    }
}
