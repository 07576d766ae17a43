//! Lists what the snapshot holds, for a comparison with the API server: the nodes in the first
//! line, then one pod on each line. Nothing is changed.

use serde_json::json;

use super::Engine;

impl Engine {
    /// JSON lines: `[node, …]`, then `[uid, "namespace/name", node, assumed, nominated, scheduler]`
    /// for each pod in order of uid; `node` is empty while it is pending, `nominated` where room is
    /// kept for it.
    pub fn holdings(&self) -> Vec<u8> {
        let nodes: Vec<&str> =
            self.cluster.nodes().iter().map(|view| view.node.name.as_ref()).collect();
        let mut lines = json!(nodes).to_string().into_bytes();
        lines.push(b'\n');
        let nominations = self.cluster.nominations();
        for entry in self.cluster.pods().in_order() {
            let pod = &entry.pod;
            let node = entry.node().map_or("", AsRef::as_ref);
            let nominated = nominations.node_of(&pod.uid).map_or("", AsRef::as_ref);
            let line = json!([
                pod.uid.as_ref(),
                pod.key().as_str(),
                node,
                entry.is_assumed(),
                nominated,
                pod.template.scheduler_name.as_ref(),
            ]);
            lines.extend_from_slice(line.to_string().as_bytes());
            lines.push(b'\n');
        }
        lines
    }
}
