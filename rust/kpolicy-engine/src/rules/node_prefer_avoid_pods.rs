//! `NodePreferAvoidPods`: nodes that ask, by an annotation, to be spared the pods of a controller.
//!
//! Specification: kube-scheduler up to 1.22, annotation
//! `scheduler.alpha.kubernetes.io/preferAvoidPods`. Only replication controllers and replica sets
//! count; an annotation that cannot be read spares nobody.

use serde_json::Value;

use crate::intern::Shared;
use crate::model::OwnerReference;
use crate::snapshot::{Cluster, NodeParts, NodeView, Pod};

use super::{HeldBytes, Key, PreparedScore, Reads, Score};

pub(crate) const NAME: &str = "NodePreferAvoidPods";

const ANNOTATION: &str = "scheduler.alpha.kubernetes.io/preferAvoidPods";
const SCORE_MAX: f64 = 100.0;

#[derive(Debug)]
pub(crate) struct NodePreferAvoidPods;

#[derive(Debug)]
struct PreparedNodePreferAvoidPods {
    /// `None`: no node can ask to be spared this pod.
    controller: Option<Shared<OwnerReference>>,
}

fn controller(pod: &Pod) -> Option<&Shared<OwnerReference>> {
    let owner = pod.template.owner.as_ref()?;
    matches!(owner.kind.as_ref(), "ReplicationController" | "ReplicaSet").then_some(owner)
}

impl Score for NodePreferAvoidPods {
    fn key(&self, pod: &Pod, key: &mut Key) {
        if let Some(owner) = controller(pod) {
            key.push(owner.id());
        }
    }

    fn prepare(&self, pod: &Pod, _: &Cluster) -> Option<Box<dyn PreparedScore>> {
        Some(Box::new(PreparedNodePreferAvoidPods { controller: controller(pod).cloned() }))
    }
}

fn asks_to_be_spared(annotation: &str, controller: &OwnerReference) -> bool {
    let Ok(Value::Object(read)) = serde_json::from_str(annotation) else { return false };
    let Some(Value::Array(entries)) = read.get("preferAvoidPods") else { return false };
    entries.iter().any(|entry| {
        let named = &entry["podSignature"]["podController"];
        named["kind"] == *controller.kind && named["uid"] == *controller.uid
    })
}

impl PreparedScore for PreparedNodePreferAvoidPods {
    fn reads(&self) -> Reads {
        let parts =
            if self.controller.is_some() { NodeParts::ANNOTATIONS } else { NodeParts::NONE };
        Reads::parts(parts)
    }

    fn raw(&self, _: &Cluster, node: NodeView<'_>) -> f64 {
        let Some(controller) = &self.controller else { return SCORE_MAX };
        let annotation = node.node.object.meta.annotations.get(ANNOTATION);
        let is_spared = annotation.is_some_and(|text| asks_to_be_spared(text, controller));
        if is_spared { 0.0 } else { SCORE_MAX }
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(size_of_val(self))
    }
}

#[cfg(test)]
mod tests {
    use super::{ANNOTATION, NodePreferAvoidPods};
    use crate::model::{self, OwnerReference};
    use crate::rules::Score;
    use crate::rules::pod_topology_spread::testing::{node, pod, row, scores};
    use crate::snapshot::Cluster;

    fn of(kind: &str, uid: &str) -> Vec<f64> {
        let mut cluster = Cluster::default();
        let annotation = |uid: &str| {
            format!(
                r#"{{"preferAvoidPods": [
                    {{"podSignature": {{"podController": {{"kind": "ReplicaSet", "uid": "x"}}}}}},
                    {{"podSignature": {{"podController": {{"kind": "ReplicaSet", "uid": "{uid}"}}}},
                      "reason": "r"}}]}}"#
            )
        };
        let texts =
            [annotation("u"), annotation("v"), "[}".to_owned(), "{\"preferAvoidPods\": 3}".into()];
        for (index, text) in texts.iter().enumerate() {
            let mut asking = node(&format!("n{index}"), "");
            asking.meta.annotations = [(ANNOTATION, text.as_str())].into_iter().collect();
            cluster.set_node(asking);
        }
        cluster.settle_order();
        let owner = OwnerReference { kind: kind.into(), uid: uid.into(), ..Default::default() };
        let owner = (!kind.is_empty()).then_some(owner);
        let new = row(&mut cluster, model::Pod { owner, ..pod("new", "", "") });
        let mut prepared = NodePreferAvoidPods.prepare(&new, &cluster).unwrap();
        scores(prepared.as_mut(), &cluster, |_| true).into_iter().map(|(raw, _)| raw).collect()
    }

    #[test]
    fn only_the_controllers_that_a_node_names_are_kept_off_it() {
        assert_eq!(of("ReplicaSet", "u"), [0.0, 100.0, 100.0, 100.0]);
        assert_eq!(of("ReplicaSet", "x"), [0.0, 0.0, 100.0, 100.0]);
        assert_eq!(of("ReplicationController", "u"), [100.0; 4], "of another kind");
        assert_eq!(of("StatefulSet", "u"), [100.0; 4]);
        assert_eq!(of("", ""), [100.0; 4], "no controller");
    }
}
