//! What binds write into pods besides the node.

use kpolicy_engine::api::{Decision, PreBindWrite};
use serde_json::{Value, json};

/// Annotations by key.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bound(Vec<(String, String)>);

impl Bound {
    pub(crate) fn by(decision: &Decision) -> Self {
        let written = decision.writes.iter().filter_map(|write| match write {
            PreBindWrite::Annotation(own) => Some((own.key.to_string(), own.value.to_string())),
            _ => None,
        });
        Self(written.collect())
    }

    /// The pod with them.
    pub(crate) fn of(&self, pod: &Value) -> Value {
        let mut pod = pod.clone();
        for (key, value) in &self.0 {
            pod["metadata"]["annotations"][key] = json!(value);
        }
        pod
    }
}
