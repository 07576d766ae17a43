//! An allocation as the rules of a policy see it: its devices, and what it leaves of those of the node.

use kpolicy_cel::{Map, Value};
use rustc_hash::FxHashSet;

use crate::model::Attribute;

use super::attempt::{Attempt, Candidate, Chosen};
use super::constraints::attribute_of;
use super::device_facts::{DeviceFacts, attribute_value};
use super::stock::{After, Count, Stock};

/// An allocation for all claims of a pod that have none yet.
#[derive(Debug)]
pub(crate) struct Allocated<'s, 'a> {
    attempt: &'s Attempt<'a>,
    /// What there was, and what is left; `None` where nobody looks at it.
    stock: Option<(&'s Stock, After)>,
}

impl<'s, 'a> Allocated<'s, 'a> {
    pub(super) fn new(attempt: &'s Attempt<'a>, stock: Option<(&'s Stock, After)>) -> Self {
        Self { attempt, stock }
    }

    /// What the node has, what of it others leave, and what this allocation leaves of that.
    pub(crate) fn counts(&self) -> [Count; 3] {
        let stock = self.stock.as_ref();
        stock.map_or_else(Default::default, |(stock, after)| [stock.all, stock.before, after.left])
    }

    /// How many devices it has.
    pub(crate) fn size(&self) -> usize {
        self.attempt.chosen.iter().map(Vec::len).sum()
    }

    fn chosen(&self) -> impl Iterator<Item = (usize, &'s Chosen, &'s Candidate<'a>)> {
        let (attempt, all) = (self.attempt, self.attempt.chosen.iter().enumerate());
        all.flat_map(move |(claim, chosen)| {
            chosen.iter().filter_map(move |one| Some((claim, one, attempt.candidate(one.place)?)))
        })
    }

    fn attributes(&self, name: &str) -> impl Iterator<Item = Option<&'a Attribute>> {
        self.chosen().map(move |(_, _, candidate)| {
            attribute_of(candidate.row, &candidate.slice.driver, name)
        })
    }

    /// The values that its devices have of an attribute, in the order in which they were chosen.
    pub(crate) fn values(&self, name: &str) -> Value {
        let values = self.attributes(name).flatten().filter_map(attribute_value);
        Value::list(values.collect())
    }

    /// How many different values its devices have of an attribute; one without it is like no other.
    pub(crate) fn distinct(&self, name: &str) -> usize {
        let mut seen: FxHashSet<&Attribute> = FxHashSet::default();
        let all = self.attributes(name);
        all.filter(|value| value.is_none_or(|value| seen.insert(value))).count()
    }

    /// Its devices, in the order in which they were chosen.
    pub(crate) fn devices(&self) -> Value {
        Value::list(self.chosen().filter_map(|own| self.device(own)).collect())
    }

    fn device(
        &self,
        (claim, chosen, candidate): (usize, &Chosen, &Candidate<'_>),
    ) -> Option<Value> {
        let request = self.attempt.requests.get(chosen.request)?;
        let claim = self.attempt.claims.get(claim)?;
        let (slice, device) = (candidate.slice, candidate.device);
        let facts = DeviceFacts { driver: &slice.driver, row: candidate.row };
        let (of_pool, of_partition) = match &self.stock {
            Some((stock, after)) => stock.left_beside(self.attempt, candidate, chosen.place, after),
            None => (0, 0.0),
        };
        let fields: [(&'static str, Value); 10] = [
            ("claim", Value::string(&*claim.meta.name)),
            ("request", Value::string(&*request.full_name())),
            ("deviceClass", Value::string(&*request.class.meta.name)),
            ("driver", Value::string(&*slice.driver)),
            ("pool", Value::string(&*slice.pool)),
            ("device", Value::string(&*device.name)),
            ("attributes", facts.all_attributes()),
            ("capacity", facts.all_capacities()),
            ("leftOfPool", Value::Int(of_pool)),
            ("leftOfPartition", Value::Double(of_partition)),
        ];
        Some(Value::map(Map::of_strings(fields)))
    }
}
