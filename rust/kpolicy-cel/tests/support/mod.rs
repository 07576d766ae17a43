//! A small world for the tests: nodes as lanes, one pod, and a seeded random generator.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kpolicy_cel::{Answer, Bits, Column, Columns, Dictionary, Facts, Map, Name, Read, Value};

/// Steele's splitmix64.
pub(crate) struct Chance(pub u64);

impl Chance {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap_or(0)
    }

    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        let at = self.below(items.len());
        &items[at]
    }
}

pub(crate) struct Names(pub Vec<&'static str>);

impl Dictionary for Names {
    fn text(&self, id: u32) -> &str {
        self.0[id as usize - 1]
    }

    fn id(&self, text: &str) -> Option<u32> {
        let at = self.0.iter().position(|name| *name == text)?;
        u32::try_from(at + 1).ok()
    }
}

/// Lanes with labels, taints, numbers and flags.
pub(crate) struct World {
    pub names: Names,
    pub labels: BTreeMap<&'static str, Vec<u32>>,
    pub free: Vec<i64>,
    pub used: Vec<i64>,
    pub load: Vec<f64>,
    pub ready: Vec<bool>,
    pub taints: Vec<u32>,
    pub taint_sets: Vec<Vec<&'static str>>,
    /// Texts that come as classes: versions, addresses, nothing, or a number where a text is due.
    pub said: Vec<u32>,
    /// Answered lane by lane only.
    pub rack: Vec<i64>,
}

pub(crate) const SAID: [&str; 5] = ["1.2.3", "v1.28", "10.0.0.7", "fd00::1", "7"];
pub(crate) const NAMES: [&str; 6] = ["spot", "ssd", "zone-a", "zone-b", "", "9"];

impl World {
    pub(crate) fn random(chance: &mut Chance) -> Self {
        let lanes = 1 + chance.below(200);
        let mut ids = |bound: usize| -> Vec<u32> {
            (0..lanes).map(|_| u32::try_from(chance.below(bound)).unwrap_or(0)).collect()
        };
        let labels = BTreeMap::from([("a", ids(7)), ("b", ids(4)), ("c", ids(2))]);
        let taints = ids(4);
        let said = ids(SAID.len() + 1);
        let extremes = [0, 1, -1, 5, 100, 4000, i64::MAX, i64::MIN, i64::MAX / 2];
        let doubles = [0.0, 0.5, 1.0, -2.25, 1e300, f64::NAN, f64::INFINITY, 4000.0];
        Self {
            names: Names(NAMES.to_vec()),
            labels,
            free: (0..lanes).map(|_| *chance.pick(&extremes)).collect(),
            used: (0..lanes).map(|_| *chance.pick(&extremes[..6])).collect(),
            load: (0..lanes).map(|_| *chance.pick(&doubles)).collect(),
            ready: (0..lanes).map(|_| chance.below(2) == 0).collect(),
            taints,
            said,
            taint_sets: vec![vec![], vec!["spot"], vec!["ssd", "spot"]],
            rack: (0..lanes).map(|_| *chance.pick(&extremes[..5])).collect(),
        }
    }
}

impl Columns for World {
    fn lanes(&self) -> usize {
        self.free.len()
    }

    fn column(&self, read: &Read) -> Column<'_> {
        match &*read.fact.text {
            "node.labels[]" => match read.key().and_then(|key| self.labels.get(key)) {
                Some(ids) => Column::Text { ids, dictionary: &self.names },
                None => Column::Constant(Answer::Absent),
            },
            "node.free" => Column::Int(Cow::Borrowed(&self.free)),
            // The same numbers in either form, by world.
            "node.used" if self.used.len().is_multiple_of(2) => {
                #[allow(clippy::cast_precision_loss, reason = "they are small")]
                let whole = self.used.iter().map(|value| *value as f64).collect();
                Column::Whole(Cow::Owned(whole))
            }
            "node.used" => Column::Int(Cow::Owned(self.used.clone())),
            "node.load" => Column::Double(Cow::Borrowed(&self.load)),
            "node.spare" => {
                let mut absent = Bits::zeros(self.free.len());
                self.labels["a"]
                    .iter()
                    .enumerate()
                    .filter(|(_, id)| **id == 0)
                    .for_each(|(lane, _)| absent.set(lane));
                let column = Box::new(match self.free.len() % 4 {
                    0 | 1 => Column::Int(Cow::Borrowed(&self.free)),
                    #[allow(clippy::cast_precision_loss, reason = "they are small")]
                    2 => Column::Whole(self.used.iter().map(|value| *value as f64).collect()),
                    _ => Column::Int(Cow::Owned(self.used.clone())),
                });
                Column::Sparse { column, absent }
            }
            "node.ready" => {
                let mut words = vec![0_u64; self.ready.len().div_ceil(64)];
                for (lane, ready) in self.ready.iter().enumerate() {
                    words[lane / 64] |= u64::from(*ready) << (lane % 64);
                }
                Column::Bool(Cow::Owned(words))
            }
            "node.taints" => Column::Classes(&self.taints),
            "node.said" => Column::Classes(&self.said),
            "cluster.nodes" => Column::Constant(Answer::from(3_i64)),
            _ => Column::Unavailable,
        }
    }

    fn is_shared(&self, fact: &Name) -> bool {
        fact.text.starts_with("pod.")
    }

    fn read(&self, lane: usize, read: &Read) -> Answer {
        if self.is_shared(&read.fact) {
            return Pod.read(read);
        }
        match &*read.fact.text {
            "node.labels[]" => match read.key().and_then(|key| self.labels.get(key)) {
                Some(ids) if ids[lane] != 0 => Answer::from(self.names.text(ids[lane])),
                _ => Answer::Absent,
            },
            "node.free" => Answer::from(self.free[lane]),
            "node.load" => Answer::from(self.load[lane]),
            "node.spare" if self.labels["a"][lane] == 0 => Answer::Absent,
            "node.spare" if self.free.len() % 4 < 2 => Answer::from(self.free[lane]),
            "node.used" | "node.spare" => Answer::from(self.used[lane]),
            "node.ready" => Answer::from(self.ready[lane]),
            "node.rack" => Answer::from(self.rack[lane]),
            "cluster.nodes" => Answer::from(3_i64),
            "node.said" => match self.said[lane] as usize {
                0 => Answer::Absent,
                5 => Answer::from(7_i64),
                id => Answer::from(SAID[id - 1]),
            },
            "node.taints" => match self.taints[lane] {
                0 => Answer::Absent,
                id => {
                    let set = &self.taint_sets[id as usize - 1];
                    let taint =
                        |key: &&str| Value::map(Map::of_strings([("key", Value::from(*key))]));
                    Answer::Known(Value::list(set.iter().map(taint).collect()))
                }
            },
            _ => Answer::Unknown,
        }
    }
}

/// What is known of the pod.
pub(crate) struct Pod;

impl Facts for Pod {
    fn read(&self, read: &Read) -> Answer {
        match (&*read.fact.text, read.key()) {
            ("pod.priority", _) => Answer::from(5_i64),
            ("pod.share", _) => Answer::from(0.5),
            ("pod.labels[]", Some("a")) => Answer::from("spot"),
            ("pod.labels[]", Some("b")) => Answer::from("9"),
            ("pod.labels[]", Some(_)) => Answer::Absent,
            ("pod.bears[]", Some(key)) => Answer::from(key.len() > 3),
            ("pod.hostNetwork", _) => Answer::from(true),
            ("pod.names", _) => Answer::Known(Value::list(vec!["spot".into(), "ssd".into()])),
            _ => Answer::Unknown,
        }
    }
}

/// The pod and one lane.
#[allow(dead_code, reason = "not every test asks lane by lane")]
pub(crate) struct Lane<'a>(pub &'a World, pub usize);

impl Facts for Lane<'_> {
    fn read(&self, read: &Read) -> Answer {
        match Pod.read(read) {
            Answer::Unknown => self.0.read(self.1, read),
            answer => answer,
        }
    }
}
