//! Recorded decisions of which another engine is asked for a second opinion, and the pods about which it
//! has another one.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use kpolicy_engine::api::{Acted, Labelled, Opinion, Verdict};
use kpolicy_engine::model::Labels;
use pyo3::prelude::*;
use pyo3::types::PyList;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, SeqAccess, Visitor};

use crate::decided::FIELDS;
use crate::held::Held;
use crate::tuples;

/// The decisions of a recorded answer that another engine is asked about.
pub(crate) struct DecidedPods {
    /// All that the answer has.
    pub(crate) count: usize,
    pub(crate) pods: Vec<Pod>,
    pub(crate) acted: Vec<Acted>,
    /// Extenders had a say.
    pub(crate) is_extended: bool,
    pub(crate) at_ns: i64,
}

pub(crate) struct Pod {
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
}

/// A pod about which the opinion is another one.
pub(crate) struct Disagreement {
    /// The position of the call among those that were made.
    pub(crate) call: usize,
    pub(crate) at_ns: i64,
    pub(crate) pod: Pod,
    /// Empty if it was parked.
    pub(crate) node: Arc<str>,
    pub(crate) is_extended: bool,
    pub(crate) opinion: Opinion,
    /// The position of what tells to which workload the pod belongs; none if it is no longer there.
    pub(crate) workload: Option<usize>,
}

/// What came of judging.
#[derive(Default)]
pub(crate) struct Judged {
    /// Recorded decisions, of which `judged` were placements or parked a pod.
    pub(crate) decisions: usize,
    pub(crate) judged: usize,
    pub(crate) disagreements: Vec<Disagreement>,
    pub(crate) workloads: Vec<Labelled>,
    known: HashMap<(Arc<str>, Box<str>, Labels), usize>,
}

impl Judged {
    /// The engine takes over what was decided. `call`: the position of the call.
    pub(crate) fn judge(&mut self, held: &mut Held, decided: DecidedPods, call: usize) {
        let DecidedPods { count, pods, acted, is_extended, at_ns } = decided;
        self.decisions += count;
        self.judged += acted.len();
        held.core.set_time(at_ns);
        let opinions = held.core.second_opinions(&acted);
        for ((pod, acted), opinion) in pods.into_iter().zip(acted).zip(opinions) {
            let verdict = verdict_of(&acted);
            if opinion.verdict == verdict && opinion.node == acted.node {
                continue;
            }
            let workload = self.workload(held, &acted.uid);
            let node = acted.node;
            let found = Disagreement { call, at_ns, pod, node, is_extended, opinion, workload };
            self.disagreements.push(found);
        }
    }

    fn workload(&mut self, held: &Held, uid: &Arc<str>) -> Option<usize> {
        let pod = held.core.labelled(std::slice::from_ref(uid)).pop()?;
        let key = (Arc::clone(&pod.namespace), pod.controller.clone(), pod.labels.clone());
        let workloads = &mut self.workloads;
        Some(*self.known.entry(key).or_insert_with(|| {
            workloads.push(pod);
            workloads.len() - 1
        }))
    }
}

/// For Python, as `_engine.pyi` says.
pub(crate) fn disagreements<'py>(
    py: Python<'py>,
    disagreements: &[Disagreement],
) -> PyResult<Bound<'py, PyList>> {
    tuples::list(py, disagreements, |py, one| {
        (
            one.call,
            one.at_ns,
            format!("{}/{}", one.pod.namespace, one.pod.name),
            &*one.node,
            one.is_extended,
            tuples::opinion(py, &one.opinion)?,
            one.workload,
        )
            .into_pyobject(py)
    })
}

fn verdict_of(acted: &Acted) -> Verdict {
    if acted.node.is_empty() { Verdict::Parked } else { Verdict::Placed }
}

impl DecidedPods {
    /// A pod that another scheduler placed.
    pub(crate) fn of_other(pod: kpolicy_engine::api::Located, at_ns: i64) -> Self {
        let acted = Acted { uid: pod.uid, node: pod.node };
        let pod = Pod { namespace: pod.namespace, name: pod.name };
        Self { count: 1, pods: vec![pod], acted: vec![acted], is_extended: false, at_ns }
    }

    /// Before its answer is read.
    pub(crate) fn none(is_extended: bool, at_ns: i64) -> Self {
        Self { count: 0, pods: Vec::new(), acted: Vec::new(), is_extended, at_ns }
    }

    /// Adds those of a recorded answer; `None` if it is not one of decisions.
    pub(crate) fn read(&mut self, answer: &[u8]) -> Option<()> {
        // An exception, or nothing.
        if answer.first() != Some(&b'[') {
            return Some(());
        }
        let (_, _, count, columns): (IgnoredAny, IgnoredAny, usize, Columns) =
            serde_json::from_slice(answer).ok()?;
        if count == 0 {
            return Some(());
        }
        let Columns { verdicts, uids, namespaces, names, nodes, longest } = columns;
        // Some field has a value for each decision.
        if longest != count {
            return None;
        }
        self.count = count;
        for position in 0..count {
            let verdict = *at(&verdicts, position)?;
            let is_placed = verdict == tuples::code(Verdict::Placed);
            if !is_placed && verdict != tuples::code(Verdict::Parked) {
                continue;
            }
            let node = match is_placed {
                true => at(&nodes, position)?.0.clone(),
                false => Arc::default(),
            };
            let (namespace, name) = (at(&namespaces, position)?, at(&names, position)?);
            self.pods.push(Pod { namespace: namespace.0.clone(), name: name.0.clone() });
            self.acted.push(Acted { uid: at(&uids, position)?.0.clone(), node });
        }
        Some(())
    }
}

/// The value of a decision: a column has one for each, or one for all.
fn at<T>(column: &[T], position: usize) -> Option<&T> {
    match column {
        [one] => Some(one),
        _ => column.get(position),
    }
}

/// The columns that are read, and how many values the longest of all columns has.
#[derive(Default)]
struct Columns {
    verdicts: Vec<u8>,
    uids: Vec<Name>,
    namespaces: Vec<Name>,
    names: Vec<Name>,
    nodes: Vec<Name>,
    longest: usize,
}

impl<'de> Deserialize<'de> for Columns {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_seq(OfColumns)
    }
}

struct OfColumns;

impl<'de> Visitor<'de> for OfColumns {
    type Value = Columns;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("the fields of decisions")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut fields: A) -> Result<Columns, A::Error> {
        let Some(verdicts) = fields.next_element()? else { return Ok(Columns::default()) };
        let mut next = || {
            let column: Option<Vec<Name>> = fields.next_element()?;
            column.ok_or_else(|| A::Error::custom("decisions have other fields"))
        };
        let (uids, namespaces, names, nodes) = (next()?, next()?, next()?, next()?);
        let mut read = Columns { verdicts, uids, namespaces, names, nodes, longest: 0 };
        let texts = [&read.uids, &read.namespaces, &read.names, &read.nodes];
        read.longest = texts.map(Vec::len).into_iter().fold(read.verdicts.len(), usize::max);
        let mut count = 5;
        while let Some(column) = fields.next_element::<Vec<IgnoredAny>>()? {
            read.longest = read.longest.max(column.len());
            count += 1;
        }
        match count == FIELDS {
            true => Ok(read),
            false => Err(A::Error::custom("decisions have other fields")),
        }
    }
}

/// A text of a record.
pub(crate) struct Name(pub(crate) Arc<str>);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct Characters;
        impl Visitor<'_> for Characters {
            type Value = Name;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("a name")
            }

            fn visit_str<E>(self, text: &str) -> Result<Name, E> {
                Ok(Name(text.into()))
            }
        }
        json.deserialize_str(Characters)
    }
}
