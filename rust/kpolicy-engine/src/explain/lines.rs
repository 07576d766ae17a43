//! The bytes of explanations, one line a pod.

use std::io::Write as _;
use std::ops::Range;

use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::snapshot::Pod;

use super::Explained;

/// The keys of the pod's name, and of the lines about nodes.
const NAMED: &str = "pod";
const NODES: &str = "nodes";

/// Lines as they are written. The texts around the name of a pod are found again for pods like it.
#[derive(Default)]
pub(crate) struct Lines {
    bytes: Vec<u8>,
    written: FxHashMap<Vec<u64>, (Range<usize>, Range<usize>)>,
}

impl Lines {
    /// Writes the line of a pod. `alike`: equal for pods whose lines differ in their names only.
    /// `explained` gives all but the name; nothing for a pod that has no line.
    pub(crate) fn add(
        &mut self,
        pod: &Pod,
        alike: Option<Vec<u64>>,
        explained: impl FnOnce() -> Option<Explained>,
    ) {
        if let Some((before, after)) = alike.as_ref().and_then(|key| self.written.get(key)).cloned()
        {
            self.bytes.extend_from_within(before);
            self.name(pod);
            self.bytes.extend_from_within(after);
            return;
        }
        let Some(Explained { parts, nodes }) = explained() else { return };
        // A map is in order of its keys, and so is the line. Nodes come right before the pod.
        let (before, after): (Vec<_>, Vec<_>) =
            parts.into_iter().partition(|(key, _)| key.as_str() < NAMED);
        let start = self.bytes.len();
        self.bytes.push(b'{');
        for (key, value) in before {
            let _ = write!(self.bytes, "{}:{value},", Value::from(key));
        }
        if let Some(nodes) = nodes {
            let _ = write!(self.bytes, "{}:", Value::from(NODES));
            self.bytes.extend_from_slice(&nodes);
            self.bytes.push(b',');
        }
        let named = self.bytes.len();
        self.name(pod);
        let rest = self.bytes.len();
        for (key, value) in after {
            let _ = write!(self.bytes, ",{}:{value}", Value::from(key));
        }
        self.bytes.extend_from_slice(b"}\n");
        if let Some(key) = alike {
            self.written.insert(key, (start..named, rest..self.bytes.len()));
        }
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn name(&mut self, pod: &Pod) {
        let _ = write!(self.bytes, "{}:{}", Value::from(NAMED), Value::from(pod.key()));
    }
}
