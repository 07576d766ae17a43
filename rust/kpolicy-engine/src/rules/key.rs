//! The key of a sub-shape: all that a rule reads of a pod.

/// What a rule reads of a pod, as ids and numbers. Pods with equal keys get equal answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Key(Vec<u64>);

impl Key {
    /// Usually the id of a facet (`pod.template.tolerations.id()`).
    pub(crate) fn push(&mut self, part: u64) {
        self.0.push(part);
    }

    /// A text of any length.
    pub(crate) fn push_text(&mut self, text: &str) {
        self.push(text.len() as u64);
        for chunk in text.as_bytes().chunks(8) {
            self.push(chunk.iter().fold(0, |part, byte| part << 8 | u64::from(*byte)));
        }
    }

    pub(crate) fn parts(&self) -> &[u64] {
        &self.0
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
