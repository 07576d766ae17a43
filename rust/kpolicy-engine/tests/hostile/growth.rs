//! A hostile pod as a list of growths: which part of a pod has how many entries, of which texts.
//!
//! Such a list is written in `finds.txt`; this module reads it and makes the pod. `spec_parts` and
//! `affinity_parts` say what each part looks like.

use std::fmt;

use serde_json::Value;

use crate::affinity_parts::AFFINITY_PARTS;
use crate::cluster::{COMMON_LABELS, NODES, OBJECT_BYTES_MAX, node_name, pod};
use crate::draws::Draws;
use crate::spec_parts::SPEC_PARTS;

/// The values of all selectors of a part together.
const SELECTOR_VALUES_MAX: usize = 150_000;

/// Which label keys of nodes a part names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    /// That no node has, each another.
    Missing,
    /// That all nodes have, with four values each.
    Common,
    Zone,
    Hostname,
}

impl Keys {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Missing, "missing"),
        (Self::Common, "common"),
        (Self::Zone, "zone"),
        (Self::Hostname, "hostname"),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(keys, _)| *keys == self).map_or("", |(_, name)| *name)
    }
}

/// One part of a pod, grown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Growth {
    pub part: &'static Part,
    pub entries: usize,
    pub keys: Keys,
    /// Values of each selector of an entry.
    pub values: usize,
    /// Requirements of each selector of an entry.
    pub requirements: usize,
    /// The length of texts that are free.
    pub text: usize,
    /// Part of each missing key, so that pods can ask for keys that no other pod asks for.
    pub salt: usize,
}

/// A part of a pod that can have many entries.
#[derive(Debug)]
pub(crate) struct Part {
    pub name: &'static str,
    /// The most entries that the codec reads and the API server may take.
    pub entries_max: usize,
    pub add: fn(&mut Value, &Growth),
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Part {}

pub(crate) fn parts() -> impl Iterator<Item = &'static Part> {
    SPEC_PARTS.iter().chain(&AFFINITY_PARTS)
}

impl Growth {
    pub(crate) fn any(draws: &mut Draws) -> Self {
        let all: Vec<&'static Part> = parts().collect();
        let part = *draws.pick(&all);
        // Small and large numbers are as likely as each other.
        let mut up_to = |bits: usize| {
            let most = 1 << draws.below(bits);
            1 + draws.below(most)
        };
        let entries = up_to(16).min(part.entries_max);
        let (values, requirements, text) = (up_to(12), up_to(6), up_to(6));
        let (keys, _) = *draws.pick(&Keys::ALL);
        Self { part, entries, keys, values, requirements, text, salt: 0 }
    }

    /// The same part with one number or the keys changed.
    pub(crate) fn changed(&self, draws: &mut Draws) -> Self {
        let mut growth = self.clone();
        let scaled = |number: usize, draws: &mut Draws| match draws.below(4) {
            0 => 1 + number / 2,
            1 => number * 2,
            2 => number + number / 8 + 1,
            _ => 1 + number - number / 8,
        };
        match draws.below(5) {
            0 | 1 => growth.entries = scaled(growth.entries, draws).min(growth.part.entries_max),
            2 => growth.values = scaled(growth.values, draws).min(4_096),
            3 => growth.requirements = scaled(growth.requirements, draws).min(512),
            _ => growth.keys = draws.pick(&Keys::ALL).0,
        }
        growth
    }

    /// So that selectors alone are not much larger than an object may be.
    fn limit_selectors(&mut self) {
        self.requirements = self.requirements.min(SELECTOR_VALUES_MAX / self.entries).max(1);
        let selectors = self.entries * self.requirements;
        self.values = self.values.min(SELECTOR_VALUES_MAX / selectors).max(1);
    }

    /// A key of a node's label.
    pub(crate) fn key(&self, index: usize) -> String {
        match self.keys {
            Keys::Missing => {
                format!("k{}-{index:05}{}", self.salt, "k".repeat(self.text.saturating_sub(8)))
            }
            Keys::Common => format!("common{:02}", index % COMMON_LABELS),
            Keys::Zone => "topology.kubernetes.io/zone".to_owned(),
            Keys::Hostname => "kubernetes.io/hostname".to_owned(),
        }
    }

    /// A value that a node may have under such a key.
    pub(crate) fn value(&self, index: usize) -> String {
        match self.keys {
            Keys::Missing => format!("v{index}"),
            Keys::Common => format!("v{}", index % 5),
            Keys::Zone => format!("zone-{}", index % 12),
            Keys::Hostname => node_name(index % NODES),
        }
    }

    /// A text without a meaning, each index another.
    pub(crate) fn text(&self, index: usize) -> String {
        format!("t{index:05}{}", "x".repeat(self.text.saturating_sub(6)))
    }
}

/// Growths of one pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hostile(pub Vec<Growth>);

impl Hostile {
    pub(crate) fn any(draws: &mut Draws) -> Self {
        let growths = if draws.one_in(2) { 1 } else { 1 + draws.below(4) };
        Self((0..growths).map(|_| Growth::any(draws)).collect())
    }

    pub(crate) fn changed(&self, draws: &mut Draws) -> Self {
        let mut growths = self.0.clone();
        match draws.below(6) {
            0 if growths.len() < 6 => growths.push(Growth::any(draws)),
            1 if growths.len() > 1 => {
                growths.swap_remove(draws.below(growths.len()));
            }
            _ => {
                let place = draws.below(growths.len());
                growths[place] = growths[place].changed(draws);
            }
        }
        Self(growths)
    }

    /// With this share, of 1,024, of each part's entries.
    pub(crate) fn scaled(&self, share: usize) -> Self {
        let scaled = |growth: &Growth| Growth {
            entries: (growth.entries * share / 1_024).max(1),
            ..growth.clone()
        };
        Self(self.0.iter().map(scaled).collect())
    }

    /// The pod, which an API server accepts: with half the entries until it is small enough.
    pub(crate) fn pod(&self, name: &str) -> Value {
        let mut growths = self.clone();
        growths.0.iter_mut().for_each(Growth::limit_selectors);
        loop {
            let mut object = pod(name, Value::Object(serde_json::Map::new()));
            growths.0.iter().for_each(|growth| (growth.part.add)(&mut object, growth));
            if object.to_string().len() <= OBJECT_BYTES_MAX {
                return object;
            }
            growths = growths.scaled(512);
            growths.0.iter_mut().for_each(|growth| growth.values = 1 + growth.values / 2);
        }
    }

    /// Asking for keys of labels that no pod of another number asks for.
    pub(crate) fn salted(&self, salt: usize) -> Self {
        Self(self.0.iter().map(|growth| Growth { salt, ..growth.clone() }).collect())
    }

    /// From its written form; an error says what cannot be read.
    pub(crate) fn read(line: &str) -> Result<Self, String> {
        line.split(" + ").map(Growth::read).collect::<Result<_, _>>().map(Self)
    }
}

impl Growth {
    fn read(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split(' ').collect();
        let [name, keys, entries, requirements, values, length] = words.as_slice() else {
            return Err(format!("{text:?} has other than six words"));
        };
        let number = |word: &str| word.parse::<usize>().map_err(|error| format!("{word}: {error}"));
        let part = parts().find(|part| part.name == *name);
        let keys = Keys::ALL.iter().find(|(_, word)| word == keys);
        Ok(Self {
            part: part.ok_or_else(|| format!("there is no part {name}"))?,
            keys: keys.ok_or_else(|| format!("there are no keys of {text:?}"))?.0,
            entries: number(entries)?,
            requirements: number(requirements)?,
            values: number(values)?,
            text: number(length)?,
            salt: 0,
        })
    }
}

impl fmt::Display for Growth {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { part, entries, keys, values, requirements, text, salt: _ } = self;
        let keys = keys.name();
        write!(out, "{} {keys} {entries} {requirements} {values} {text}", part.name)
    }
}

impl fmt::Display for Hostile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, growth) in self.0.iter().enumerate() {
            let sign = if index == 0 { "" } else { " + " };
            write!(out, "{sign}{growth}")?;
        }
        Ok(())
    }
}
