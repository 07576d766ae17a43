//! The different sets of taints of all nodes, and which of them each node has. Kept in step with
//! nodes, so that a rule asks each set once and looks at no node. Positions of sets depend on history.

use rustc_hash::FxHashMap;

use crate::intern::Shared;
use crate::model::Taint;

use super::lanes_read::count;

/// The position of the set without taints.
const UNTAINTED: u32 = 0;

#[derive(Debug)]
struct TaintSet {
    taints: Shared<Box<[Taint]>>,
    nodes: usize,
}

#[derive(Debug, Default)]
pub(crate) struct TaintSets {
    /// The position of a set in `sets` and one more, by slot.
    by_slot: Vec<u32>,
    /// `None` where no node has the set any more.
    sets: Vec<Option<TaintSet>>,
    /// Positions of sets that no node has.
    free: Vec<u32>,
    by_id: FxHashMap<u64, u32>,
}

impl TaintSets {
    /// Writes for every slot what `of` gives for the taints of its node.
    pub(crate) fn write<T: Copy>(&self, cells: &mut [T], of: impl Fn(&[Taint]) -> T) {
        count(self.by_slot.len());
        let untainted = of(&[]);
        if self.by_id.is_empty() {
            cells.fill(untainted);
            return;
        }
        let of_set = |set: &Option<TaintSet>| set.as_ref().map_or(untainted, |set| of(&set.taints));
        let values: Vec<T> =
            std::iter::once(untainted).chain(self.sets.iter().map(of_set)).collect();
        for (cell, set) in cells.iter_mut().zip(&self.by_slot) {
            *cell = values.get(*set as usize).copied().unwrap_or(untainted);
        }
    }

    /// Follows a node that came, changed or, without taints, went.
    pub(super) fn follow(&mut self, index: usize, taints: Option<&Shared<Box<[Taint]>>>) {
        if self.by_slot.len() <= index {
            self.by_slot.resize(index + 1, UNTAINTED);
        }
        let new = match taints {
            Some(taints) if !taints.is_empty() => self.position(taints),
            Some(_) | None => UNTAINTED,
        };
        let Some(cell) = self.by_slot.get_mut(index) else { return };
        let old = std::mem::replace(cell, new);
        if let Some(Some(set)) = index_of(new).and_then(|index| self.sets.get_mut(index)) {
            set.nodes += 1;
        }
        let Some(place) = index_of(old).and_then(|index| self.sets.get_mut(index)) else { return };
        if let Some(set) = place {
            set.nodes -= 1;
            if set.nodes == 0 {
                self.by_id.remove(&set.taints.id());
                *place = None;
                self.free.push(old);
            }
        }
        if self.by_id.is_empty() {
            self.sets.clear();
            self.free.clear();
        }
    }

    fn position(&mut self, taints: &Shared<Box<[Taint]>>) -> u32 {
        if let Some(position) = self.by_id.get(&taints.id()) {
            return *position;
        }
        let position = match self.free.pop() {
            Some(free) => free,
            None => {
                self.sets.push(None);
                u32::try_from(self.sets.len()).unwrap_or(UNTAINTED)
            }
        };
        if let Some(place) = index_of(position).and_then(|index| self.sets.get_mut(index)) {
            *place = Some(TaintSet { taints: taints.clone(), nodes: 0 });
        }
        self.by_id.insert(taints.id(), position);
        position
    }
}

/// The index of a set in the list of those with taints.
fn index_of(set: u32) -> Option<usize> {
    (set as usize).checked_sub(1)
}

#[cfg(test)]
mod tests {
    use crate::model::{Effect, Meta, Node, Taint};
    use crate::snapshot::Cluster;

    fn node(name: &str, keys: &[&str]) -> Node {
        let taint =
            |key: &&str| Taint { key: (*key).into(), value: "".into(), effect: Effect::NoSchedule };
        let meta = Meta { name: name.into(), ..Meta::default() };
        Node { meta, taints: keys.iter().map(taint).collect(), ..Node::default() }
    }

    fn lengths(cluster: &Cluster) -> Vec<usize> {
        let mut lengths = vec![9; cluster.nodes().slots()];
        cluster.nodes().taint_sets().write(&mut lengths, <[Taint]>::len);
        lengths
    }

    #[test]
    fn every_node_has_the_answer_of_its_own_taints_as_nodes_change() {
        let mut cluster = Cluster::default();
        let changes: [(&str, &[&str]); 9] = [
            ("a", &[]),
            ("b", &["x"]),
            ("c", &["x", "y"]),
            ("d", &["x"]),
            ("b", &[]),
            ("d", &["z", "y", "x"]),
            ("a", &["x"]),
            ("c", &[]),
            ("d", &["x"]),
        ];
        for (name, keys) in changes {
            cluster.set_node(node(name, keys));
            let want: Vec<usize> =
                cluster.nodes().iter().map(|view| view.node.taints.len()).collect();
            assert_eq!(lengths(&cluster), want, "after {name} got {keys:?}");
        }
        cluster.remove_node("a");
        cluster.remove_node("d");
        assert_eq!(lengths(&cluster), [0; 4]);
        assert!(cluster.nodes().taint_sets().sets.is_empty());
    }
}
