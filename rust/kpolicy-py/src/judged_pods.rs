//! Recorded decisions of which another engine is asked for a second opinion: how many of its opinions are
//! other ones, and about which pods.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use kpolicy_engine::api::{Acted, COMPARISONS, Comparison, Labelled, Located, Verdict};
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
    call: usize,
    at_ns: i64,
    pod: Pod,
    /// Empty if it was parked.
    node: Arc<str>,
    is_extended: bool,
    comparison: Comparison,
    /// The node of the opinion, or empty.
    other_node: Arc<str>,
}

/// How many opinions there are of each kind.
type Counts = [usize; COMPARISONS];

/// What is kept besides counts.
pub(crate) enum Kept {
    /// Every disagreement, also about pods that are not judged here.
    Disagreements,
    /// The first differences, and how many each workload has. A workload is named by the controller of its
    /// pods or by one of these labels; a pod without is one by itself.
    Differences { count_max: usize, named_by: Vec<String> },
}

/// What came of judging.
#[derive(Default)]
pub(crate) struct Judged {
    /// Recorded decisions, of which those are judged that placed or parked a pod.
    pub(crate) decisions: usize,
    pub(crate) counts: Counts,
    pub(crate) disagreements: Vec<Disagreement>,
    /// One pod of each, with the counts of all its pods.
    pub(crate) workloads: Vec<(Labelled, Counts)>,
    known: HashMap<Workload, usize>,
}

/// Namespace, controller and labels, and the uid of a pod that is one by itself.
type Workload = (Arc<str>, Box<str>, Labels, Option<Arc<str>>);

impl Judged {
    /// The engine takes over what was decided. `call`: the position of the call.
    pub(crate) fn judge(
        &mut self,
        held: &mut Held,
        decided: DecidedPods,
        call: usize,
        kept: &Kept,
    ) {
        let DecidedPods { count, pods, acted, is_extended, at_ns } = decided;
        self.decisions += count;
        held.core.set_time(at_ns);
        let opinions = held.core.second_opinions(&acted);
        for ((pod, acted), opinion) in pods.into_iter().zip(acted).zip(opinions) {
            let comparison = Comparison::of(&acted, &opinion);
            add(&mut self.counts, comparison);
            let is_kept = match kept {
                Kept::Disagreements => comparison != Comparison::Same,
                Kept::Differences { count_max, named_by } if comparison.is_difference() => {
                    self.count_workload(held, &pod, &acted.uid, comparison, named_by);
                    self.disagreements.len() < *count_max
                }
                Kept::Differences { .. } => false,
            };
            if is_kept {
                let (node, other_node) = (acted.node, opinion.node);
                let found =
                    Disagreement { call, at_ns, pod, node, is_extended, comparison, other_node };
                self.disagreements.push(found);
            }
        }
    }

    fn count_workload(
        &mut self,
        held: &Held,
        pod: &Pod,
        uid: &Arc<str>,
        comparison: Comparison,
        named_by: &[String],
    ) {
        // It may be gone.
        let of = held.core.labelled(std::slice::from_ref(uid)).pop().unwrap_or_else(|| Labelled {
            uid: Arc::clone(uid),
            namespace: Arc::clone(&pod.namespace),
            name: Arc::clone(&pod.name),
            controller: Box::default(),
            labels: Labels::default(),
        });
        let names = |label: &String| of.labels.get(label).is_some_and(|name| !name.is_empty());
        let is_named = !of.controller.is_empty() || named_by.iter().any(names);
        let by_itself = (!is_named).then(|| Arc::clone(uid));
        let key = (Arc::clone(&of.namespace), of.controller.clone(), of.labels.clone(), by_itself);
        let workloads = &mut self.workloads;
        let position = *self.known.entry(key).or_insert_with(|| {
            workloads.push((of, Counts::default()));
            workloads.len() - 1
        });
        if let Some((_, counts)) = self.workloads.get_mut(position) {
            add(counts, comparison);
        }
    }
}

fn add(counts: &mut Counts, comparison: Comparison) {
    if let Some(count) = counts.get_mut(comparison.number()) {
        *count += 1;
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
            one.comparison.number(),
            &*one.other_node,
        )
            .into_pyobject(py)
    })
}

/// For Python, as `_engine.pyi` says.
pub(crate) fn workloads<'py>(
    py: Python<'py>,
    workloads: &[(Labelled, Counts)],
) -> PyResult<Bound<'py, PyList>> {
    tuples::list(py, workloads, |py, (pod, counts)| {
        (tuples::one_labelled(py, pod)?, counts).into_pyobject(py)
    })
}

impl DecidedPods {
    /// A pod that another scheduler placed.
    pub(crate) fn of_other(pod: Located, at_ns: i64) -> Self {
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
