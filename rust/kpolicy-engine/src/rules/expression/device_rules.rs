//! What a policy says of allocations of devices (`devices.score`): says what one that a node can give is
//! worth to a pod. A value that errs is 0.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kpolicy_cel::{Answer, Budget, Expression, Facts, Moments, Read, Value};

use crate::model::{ApiPaths, Kind};
use crate::rules::devices::{Allocated, TooMuch, Work, Worth};
use crate::rules::normalization::SCORE_MAX_F;
use crate::rules::{Fault, Key};
use crate::snapshot::{Change, Changes, Cluster, Pod};

use super::allowance::COST_EXCEEDED;
use super::conditions::{Conditions, Holds};
use super::domain_sums::DomainSums;
use super::facts::{self, Root, Row, Source};
use super::needs::Needs;
use super::witness::{self, Notes};
use super::world::{ClusterWorld, PodWorld};
use super::{EvaluationCounts, Written, fault_of, wrong_type};

/// So many devices of an allocation are looked at in a unit.
const DEVICES_A_UNIT: usize = 4;

#[derive(Debug)]
pub(crate) struct DeviceRule {
    pub(super) written: Written,
    pub(super) conditions: Option<Arc<Conditions>>,
    pub(super) weight: i64,
}

/// What rules look at of the devices of an allocation.
#[derive(Debug, Default)]
pub(crate) struct LookedAt {
    /// These attributes, as they are named in rules.
    pub(crate) attributes: BTreeSet<Box<str>>,
    /// All attributes.
    pub(crate) everything: bool,
    /// Names of devices, too.
    pub(crate) names: bool,
    /// What is left of the node's devices.
    pub(crate) stock: bool,
    /// How often some fact of the allocation is read.
    reads: usize,
}

impl LookedAt {
    fn add(&mut self, expression: &Expression) {
        for read in expression.reads() {
            let Some((Root::Allocation, row)) = facts::row(&read.fact) else { continue };
            self.add_row(row, read.key());
        }
        for fact in expression.dynamic_facts() {
            if let Some((Root::Allocation, row)) = facts::row(fact) {
                self.add_row(row, None);
            }
        }
    }

    fn add_row(&mut self, row: &Row, attribute: Option<&str>) {
        self.reads += 1;
        let is_of_attribute = facts::OF_ATTRIBUTES.contains(&row.name);
        match attribute {
            Some(attribute) if is_of_attribute => {
                self.attributes.insert(attribute.into());
            }
            _ => self.everything |= is_of_attribute || row.name == facts::DEVICES,
        }
        self.names |= row.name == facts::DEVICES;
        self.stock |= !is_of_attribute && row.name != "size";
    }
}

/// The rules of a profile that score allocations.
#[derive(Debug)]
pub struct DeviceRules {
    rules: Vec<DeviceRule>,
    needs: Needs,
    kinds: Vec<Kind>,
    moments: Moments,
    looked: LookedAt,
    weight: i64,
}

impl DeviceRules {
    pub(crate) fn new(rules: Vec<DeviceRule>) -> Self {
        let mut looked = LookedAt::default();
        let (mut needs, mut kinds, mut moments) = (Needs::default(), Vec::new(), Moments::None);
        for rule in &rules {
            looked.add(&rule.written.expression);
            needs = needs.with(rule.written.needs);
            kinds.extend(&rule.written.kinds);
            moments = moments.with(rule.written.moments.clone());
            if let Some(conditions) = &rule.conditions {
                needs = needs.with(conditions.needs);
                kinds.extend(conditions.kinds());
                moments = moments.with(conditions.moments.clone());
            }
        }
        kinds.sort_unstable();
        kinds.dedup();
        let weight = rules.iter().map(|rule| rule.weight).sum();
        Self { rules, needs, kinds, moments, looked, weight }
    }

    /// What all of them weigh.
    pub(crate) fn weight(&self) -> i64 {
        self.weight
    }

    /// What the score is called: as its rule, where there is one only.
    pub(crate) fn name(&self) -> Arc<str> {
        match self.rules.as_slice() {
            [only] => Arc::clone(&only.written.name),
            _ => Arc::from(NAME),
        }
    }

    pub(crate) fn name_of(&self, place: usize) -> &str {
        self.rules.get(place).map_or("", |rule| &rule.written.name)
    }

    pub(crate) fn looked(&self) -> &LookedAt {
        &self.looked
    }

    pub(crate) fn key(&self, pod: &Pod, key: &mut Key) {
        self.needs.key(pod, key);
    }

    pub(crate) fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    pub(crate) fn moments(&self) -> &Moments {
        &self.moments
    }

    /// Whether something changed that they read besides nodes, or their conditions.
    pub(crate) fn watches(&self, changes: Changes<'_>) -> bool {
        let conditions = self.rules.iter().filter_map(|rule| rule.conditions.as_ref());
        let mut conditions = conditions.filter(|conditions| conditions.may_change());
        changes.iter().any(|change| match change {
            Change::Object(kind) => self.kinds.contains(kind),
            Change::Time(from, to) => self.moments.differ(*from, *to),
            Change::Node(..) | Change::PodPut(..) | Change::PodTaken(..) => false,
        }) || conditions.any(|conditions| conditions.watches(changes))
    }

    pub(crate) fn paths(&self) -> ApiPaths {
        let mut paths = ApiPaths::default();
        for rule in &self.rules {
            paths.add_all(&rule.written.paths());
            if let Some(conditions) = &rule.conditions {
                paths.add_all(&conditions.paths());
            }
        }
        paths
    }

    pub(crate) fn counts(&self) -> impl Iterator<Item = (Arc<str>, Arc<EvaluationCounts>)> {
        self.rules.iter().map(|rule| rule.written.counts())
    }

    /// Counts what the values of the chosen allocation came to.
    pub(crate) fn count(&self, worth: &Worth) {
        for (place, value) in &worth.values {
            let Some(rule) = self.rules.get(*place) else { continue };
            match value {
                Ok(value) if (0.0..=SCORE_MAX_F).contains(value) => {}
                Ok(_) => rule.written.counts.count_clamped(1),
                Err(fault) => rule.written.counts.count_fault(fault),
            }
        }
    }
}

/// What the score of several rules together is called.
const NAME: &str = "devices.score";

/// What the parts of rules gave, by the places of the rules.
#[derive(Debug, Default)]
pub(crate) struct DeviceNotes(BTreeMap<usize, Notes>);

/// The rules that hold for a pod.
#[derive(Debug)]
pub(crate) struct PreparedDeviceRules {
    pub(crate) rules: Arc<DeviceRules>,
    pod: Pod,
    residuals: Vec<(usize, Expression)>,
}

impl PreparedDeviceRules {
    pub(crate) fn of(rules: &Arc<DeviceRules>, pod: &Pod, cluster: &Cluster) -> Self {
        let holds =
            |conditions: &Arc<Conditions>| matches!(conditions.hold(pod, cluster), Holds::Yes);
        let all = rules.rules.iter().enumerate();
        let held = all.filter(|(_, rule)| rule.conditions.as_ref().is_none_or(holds));
        let residuals = held.map(|(place, rule)| (place, rule.written.folded(pod, cluster)));
        Self { residuals: residuals.collect(), rules: Arc::clone(rules), pod: pod.clone() }
    }

    /// What an allocation is worth.
    pub(crate) fn worth(
        &self,
        allocated: &Allocated<'_, '_>,
        cluster: &Cluster,
        work: &mut Work,
    ) -> Result<Worth, TooMuch> {
        let looking = self.rules.looked.reads * allocated.size() / DEVICES_A_UNIT;
        work.charge(looking as u64)?;
        let mut worth = Worth::default();
        for (place, residual) in &self.residuals {
            let Some(rule) = self.rules.rules.get(*place) else { continue };
            let most = rule.written.allowance.per_node();
            let mut budget = Budget::new(most.min(work.left()));
            let world = AllocationWorld { pod: PodWorld { pod: &self.pod, cluster }, allocated };
            let value = value(residual, &world, &mut budget);
            let is_cut = matches!(&value, Err(fault) if fault.code == COST_EXCEEDED);
            if is_cut && work.left() < most {
                return Err(TooMuch);
            }
            work.charge(budget.spent())?;
            #[expect(clippy::cast_precision_loss, reason = "weights are small")]
            let weight = rule.weight as f64;
            let counted = value.as_ref().ok().copied().unwrap_or_default();
            worth.sum += weight * counted.clamp(0.0, SCORE_MAX_F);
            worth.values.push((*place, value));
        }
        Ok(worth)
    }

    /// Notes what the parts of each rule give for an allocation.
    pub(crate) fn note(
        &self,
        allocated: &Allocated<'_, '_>,
        cluster: &Cluster,
        notes: &mut DeviceNotes,
    ) {
        let world = AllocationWorld { pod: PodWorld { pod: &self.pod, cluster }, allocated };
        for (place, _) in &self.residuals {
            let Some(rule) = self.rules.rules.get(*place) else { continue };
            notes.0.entry(*place).or_default().add(&rule.written.expression, &world);
        }
    }

    /// What all rules were seen to give, as `Witness` tells it of others.
    pub(crate) fn seen(&self, mut notes: DeviceNotes, cluster: &Cluster) -> Vec<serde_json::Value> {
        let sums = DomainSums::default();
        let world = ClusterWorld { pod: PodWorld { pod: &self.pod, cluster }, sums: &sums };
        let told = |(place, rule): (usize, &DeviceRule)| {
            let mut errors = Vec::new();
            let (matched, _) = witness::matched(rule.conditions.as_deref(), world, &mut errors);
            let own = notes.0.remove(&place);
            Notes::told(&rule.written.name, "device", (matched, errors), own)
        };
        self.rules.rules.iter().enumerate().map(told).collect()
    }

    /// Whether none holds for the pod.
    pub(crate) fn is_empty(&self) -> bool {
        self.residuals.is_empty()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.residuals.iter().map(|(_, residual)| residual.heap_bytes()).sum()
    }
}

#[expect(clippy::cast_precision_loss, reason = "scores are small numbers")]
fn value(
    residual: &Expression,
    world: &AllocationWorld<'_>,
    budget: &mut Budget,
) -> Result<f64, Fault> {
    match residual.evaluate(world, budget) {
        Ok(Value::Int(value)) => Ok(value as f64),
        Ok(Value::Uint(value)) => Ok(value as f64),
        Ok(Value::Double(value)) if value.is_nan() => Ok(0.0),
        Ok(Value::Double(value)) => Ok(value),
        Ok(other) => Err(wrong_type(&other)),
        Err(error) => Err(fault_of(error)),
    }
}

/// A pod, and an allocation for its claims.
struct AllocationWorld<'a> {
    pod: PodWorld<'a>,
    allocated: &'a Allocated<'a, 'a>,
}

impl Facts for AllocationWorld<'_> {
    fn read(&self, read: &Read) -> Answer {
        match facts::row(&read.fact) {
            Some((Root::Allocation, Row { source: Source::Allocation(answer), .. })) => {
                answer(self.allocated, &read.args)
            }
            _ => self.pod.read(read),
        }
    }

    fn is_made(&self, read: &Read) -> bool {
        matches!(facts::row(&read.fact), Some((Root::Allocation, _))) && facts::is_made(&read.fact)
    }
}
