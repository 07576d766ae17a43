//! Nodes grouped by the values of some labels: a rule that reads only those asks one node of each
//! group, and its answer holds for all of them.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::snapshot::domains::ABSENT;
use crate::snapshot::{Cluster, NodeSlot, NodeView};

use super::Code;

/// With more keys than this, grouping costs more than asking every node.
const KEYS_MAX: usize = 32;

/// Label keys whose values decide an answer.
pub(crate) type LabelKeys<'a> = BTreeSet<&'a str>;

/// Which class each node is in.
#[derive(Debug)]
pub(crate) struct LabelClasses {
    /// By slot; slots without a node are in any class.
    by_slot: Vec<u32>,
    /// One node of each class; `None` where no node is in it.
    members: Vec<Option<NodeSlot>>,
}

impl LabelClasses {
    /// Nodes that agree in the values of all keys, and in whatever else `more` reads of them.
    /// Each by itself where there are too many keys.
    pub(crate) fn of(
        keys: &LabelKeys<'_>,
        cluster: &Cluster,
        more: Option<&dyn Fn(NodeView<'_>) -> u32>,
    ) -> Self {
        let nodes = cluster.nodes();
        if keys.len() > KEYS_MAX {
            let by_slot = (0_u32..).take(nodes.slots()).collect();
            let members = (0..nodes.slots()).map(|slot| nodes.slot_at(slot)).collect();
            return Self { by_slot, members };
        }
        let mut by_slot = vec![ABSENT; nodes.slots()];
        let mut count = 1;
        for key in keys {
            let domains = nodes.domains(key);
            count = split(&mut by_slot, count, domains.len(), domains.ids().iter().copied());
        }
        if let Some(more) = more {
            let value =
                |slot| nodes.slot_at(slot).and_then(|slot| nodes.view(slot)).map_or(0, more);
            count = split(&mut by_slot, count, usize::MAX, (0..nodes.slots()).map(value));
        }
        let mut members = vec![None; count];
        let mut unseen = count;
        for view in nodes.iter() {
            if unseen == 0 {
                break;
            }
            let class = by_slot.get(view.slot.index()).copied().unwrap_or(ABSENT);
            if let Some(member @ None) = members.get_mut(class as usize) {
                *member = Some(view.slot);
                unseen -= 1;
            }
        }
        Self { by_slot, members }
    }

    /// Asks one node of each class, and writes its verdict for all of them.
    pub(crate) fn check_all(
        &self,
        cluster: &Cluster,
        codes: &mut [Code],
        check: impl Fn(NodeView<'_>) -> Code,
    ) {
        self.ask_all(cluster, codes, Code::PASS, check);
    }

    /// As `check_all`, for scores.
    pub(crate) fn score_all(
        &self,
        cluster: &Cluster,
        raw: &mut [f64],
        score: impl Fn(NodeView<'_>) -> f64,
    ) {
        self.ask_all(cluster, raw, 0.0, score);
    }

    fn ask_all<T: Copy>(
        &self,
        cluster: &Cluster,
        cells: &mut [T],
        of_none: T,
        ask: impl Fn(NodeView<'_>) -> T,
    ) {
        let view = |member: &Option<NodeSlot>| cluster.nodes().view((*member)?);
        let answer = |member| view(member).map_or(of_none, &ask);
        let answers: Vec<T> = self.members.iter().map(answer).collect();
        for (cell, class) in cells.iter_mut().zip(&self.by_slot) {
            *cell = answers.get(*class as usize).copied().unwrap_or(of_none);
        }
    }
}

/// Splits `count` classes by a value of each slot, below `end`, and returns how many there are then.
fn split(
    by_slot: &mut [u32],
    count: usize,
    end: usize,
    values: impl Iterator<Item = u32>,
) -> usize {
    if count == 1 && end < usize::MAX {
        by_slot.iter_mut().zip(values).for_each(|(class, value)| *class = value);
        return end;
    }
    let mut known: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    for (class, value) in by_slot.iter_mut().zip(values) {
        let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
        *class = *known.entry((*class, value)).or_insert(next);
    }
    known.len()
}

#[cfg(test)]
mod tests {
    use super::{KEYS_MAX, LabelClasses, LabelKeys};
    use crate::model::{Labels, Meta, Node};
    use crate::rules::Code;
    use crate::snapshot::{Cluster, NodeView};

    /// Nodes in three zones and two kinds of racks; every fourth lacks its zone.
    fn cluster(nodes: usize) -> Cluster {
        let mut cluster = Cluster::default();
        for index in 0..nodes {
            let mut labels: Vec<(&str, String)> = vec![("rack", format!("r{}", index % 2))];
            if !index.is_multiple_of(4) {
                labels.push(("zone", format!("z{}", index % 3)));
            }
            let labels: Labels = labels.into_iter().collect();
            let meta = Meta { name: format!("n{index}").into(), labels, ..Meta::default() };
            cluster.set_node(Node { meta, ..Node::default() });
        }
        cluster
    }

    fn verdict(view: NodeView<'_>) -> Code {
        let labels = &view.node.object.meta.labels;
        match (labels.get("zone"), labels.get("rack")) {
            (Some("z1"), Some("r0")) => Code::reject(1),
            (None, _) => Code::reject(2),
            _ => Code::PASS,
        }
    }

    #[test]
    fn one_node_of_each_class_is_asked_and_every_node_gets_its_own_answer() {
        let mut cluster = cluster(48);
        cluster.remove_node("n5");
        let keys: LabelKeys<'_> = ["zone", "rack", "nobody-has-it"].into();
        let is_first = |view: NodeView<'_>| u32::from(&*view.node.name == "n1");
        let more: &dyn Fn(NodeView<'_>) -> u32 = &is_first;
        for (more, most) in [(None, 8), (Some(more), 9)] {
            let classes = LabelClasses::of(&keys, &cluster, more);
            let asked = std::cell::Cell::new(0);
            let mut codes = vec![Code::PASS; cluster.nodes().slots()];
            classes.check_all(&cluster, &mut codes, |view| {
                asked.set(asked.get() + 1);
                verdict(view)
            });
            assert!((6..=most).contains(&asked.get()), "{} nodes were asked", asked.get());
            let mut compared = 0;
            for view in cluster.nodes().iter() {
                assert_eq!(codes[view.slot.index()], verdict(view), "{}", view.node.name);
                compared += 1;
            }
            assert_eq!(compared, 47);
        }
    }

    #[test]
    fn nodes_are_not_grouped_by_more_keys_than_it_is_worth() {
        let mut cluster = cluster(3);
        cluster.remove_node("n1");
        let names: Vec<String> = (0..=KEYS_MAX).map(|key| format!("k{key}")).collect();
        let keys: LabelKeys<'_> = names.iter().map(String::as_str).collect();
        let asked = std::cell::Cell::new(0);
        let mut codes = vec![Code::PASS; cluster.nodes().slots()];
        LabelClasses::of(&keys, &cluster, None).check_all(&cluster, &mut codes, |_| {
            asked.set(asked.get() + 1);
            Code::reject(1)
        });
        assert_eq!(asked.get(), 2);
    }
}
