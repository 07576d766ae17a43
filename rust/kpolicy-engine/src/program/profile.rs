//! One profile of the program.

use std::sync::Arc;

use serde_json::Value;

use crate::model::ApiPaths;
use crate::rules::dynamic_resources::DynamicResources;
use crate::rules::expression::{
    self, Conditions, EvaluationCounts, Ledger, Limits, VictimRule, Witness,
};
use crate::rules::gang_scheduling::{self, GangScheduling};
use crate::rules::{
    Filter, FilterRule, Scale, Score, ScoreRule, catalog, dynamic_resources, scale,
};

use super::preemption::{self, Preemption};
use crate::fields::{CONFLICT, Fields, OUT_OF_RANGE, Refusals, UNKNOWN};

/// The largest weight of one score.
const WEIGHT_MAX: i64 = 1_000_000;
/// Of the releases 1.N that a score may be asked to follow.
const MINOR_MAX: i64 = 999;
/// The largest sum of a profile's weights: a total of hundredfolds then fits 32 bits.
const WEIGHTS_MAX: i64 = 20_000_000;

/// The rules for pods of one scheduler name.
#[derive(Debug)]
pub struct Profile {
    pub(crate) scheduler_name: Arc<str>,
    /// 100: every node; 0: as many as kube-scheduler would choose for the size of the cluster.
    pub percentage_of_nodes_to_score: i64,
    /// In the order in which they are asked.
    pub filters: Vec<FilterRule>,
    /// Filters that never reject: they are asked about the chosen node, and count.
    pub(crate) audits: Vec<(FilterRule, Arc<EvaluationCounts>)>,
    /// Scores with their weights, in the order in which they are asked.
    pub scores: Vec<ScoreRule>,
    /// What expression rules counted, by name, filters first.
    pub counts: Vec<(Arc<str>, Arc<EvaluationCounts>)>,
    /// Rules that can say what each part of their expressions gave, filters first.
    pub(crate) witnesses: Vec<Witness>,
    /// Match conditions, or who may be evicted, read namespaces.
    pub(crate) reads_namespaces: bool,
    /// What expressions read by API path.
    pub(crate) paths: ApiPaths,
    /// `None`: this profile never evicts.
    pub preemption: Option<Preemption>,
    /// `DynamicResources` with its arguments, where the profile has it.
    pub(crate) devices: Option<DynamicResources>,
}

impl Profile {
    /// Who may be evicted, where the policy says more than that they matter less.
    pub(crate) fn victims(&self) -> Option<&VictimRule> {
        self.preemption.as_ref()?.victims.as_ref()
    }

    /// The position of `DynamicResources` among the filters, which shapes what users read when a
    /// pod fits nowhere.
    pub(crate) fn dynamic_resources(&self) -> Option<usize> {
        self.filters.iter().position(|filter| filter.name.as_ref() == dynamic_resources::NAME)
    }
}

/// A filter as it was read.
struct Read {
    rule: FilterRule,
    counts: Option<Arc<EvaluationCounts>>,
    is_audit: bool,
    witness: Option<Witness>,
    reads_namespace: bool,
    paths: ApiPaths,
}

struct ReadScore {
    rule: ScoreRule,
    counts: Option<Arc<EvaluationCounts>>,
    witness: Option<Witness>,
    reads_namespace: bool,
    paths: ApiPaths,
}

pub(super) fn read(
    item: &Value,
    place: &str,
    policies: &[Limits],
    refusals: &mut Refusals,
) -> Option<Profile> {
    let mut fields = Fields::of(item, place, refusals)?;
    let scheduler_name = fields.text("schedulerName", refusals);
    let percentage = fields.integer_or("percentageOfNodesToScore", 100, 0..=100, refusals);
    let filters = fields.list("filters", refusals);
    let scores = fields.list("scores", refusals);
    let preemption = match fields.object("preemption", refusals) {
        Some(fields) => preemption::read(fields, policies, refusals)?,
        None => None,
    };
    let mut ledger = Ledger::new(policies);
    let mut profile = Profile {
        scheduler_name: scheduler_name?.into(),
        percentage_of_nodes_to_score: percentage?,
        filters: Vec::new(),
        audits: Vec::new(),
        scores: Vec::new(),
        preemption,
        counts: Vec::new(),
        witnesses: Vec::new(),
        reads_namespaces: false,
        paths: ApiPaths::default(),
        devices: None,
    };
    for (place, item) in filters? {
        let Some(read) = read_filter(item, &place, policies.len(), &mut ledger, refusals) else {
            continue;
        };
        profile.reads_namespaces |= read.reads_namespace;
        profile.paths.add_all(&read.paths);
        let name = Arc::clone(&read.rule.name);
        if *name == *dynamic_resources::NAME {
            profile.devices = devices(item);
        }
        match (read.is_audit, &read.counts) {
            (true, Some(counts)) => profile.audits.push((read.rule, Arc::clone(counts))),
            _ => profile.filters.push(read.rule),
        }
        profile.counts.extend(read.counts.map(|counts| (name, counts)));
        profile.witnesses.extend(read.witness);
    }
    // Whatever a policy asks for, what cannot be done is not done by halves.
    let rule: Box<dyn Filter> = Box::new(GangScheduling);
    profile.filters.push(FilterRule::new(gang_scheduling::NAME.into(), None, rule));
    for (place, item) in scores? {
        let Some(read) = read_score(item, &place, policies.len(), &mut ledger, refusals) else {
            continue;
        };
        profile.reads_namespaces |= read.reads_namespace;
        profile.paths.add_all(&read.paths);
        let name = Arc::clone(&read.rule.name);
        profile.counts.extend(read.counts.map(|counts| (name, counts)));
        profile.witnesses.extend(read.witness);
        profile.scores.push(read.rule);
    }
    ledger.settle();
    let of_victims =
        profile.victims().map(|rule| (rule.counts(), rule.paths(), rule.reads_namespace()));
    if let Some((counts, paths, reads_namespace)) = of_victims {
        profile.counts.push(counts);
        profile.paths.add_all(&paths);
        profile.reads_namespaces |= reads_namespace;
    }
    let score_rules = &profile.scores;
    let weights: i64 = score_rules.iter().map(|score: &ScoreRule| score.weight).sum();
    if weights > WEIGHTS_MAX {
        let hint = format!("at most {WEIGHTS_MAX} together; only their proportion matters");
        refusals.add(OUT_OF_RANGE, place, format!("the weights sum up to {weights}"), hint);
    }
    fields.finish(refusals);
    Some(profile)
}

/// The arguments of `DynamicResources`, which were found right before.
fn devices(item: &Value) -> Option<DynamicResources> {
    let mut refusals = Refusals::default();
    let mut args = Fields::of(item.get("args")?, "", &mut refusals)?;
    dynamic_resources::from_args(&mut args, &mut refusals)
}

fn read_filter(
    item: &Value,
    place: &str,
    policies: usize,
    ledger: &mut Ledger,
    refusals: &mut Refusals,
) -> Option<Read> {
    let mut fields = Fields::of(item, place, refusals)?;
    let name: Arc<str> = fields.text("name", refusals)?.into();
    let policy = read_policy(&mut fields, policies, refusals)?;
    let conditions = expression::conditions(&mut fields, &name, refusals)?;
    let mut paths = conditions.as_ref().map(Conditions::paths).unwrap_or_default();
    let (rule, counts, is_audit, part): (Box<dyn Filter>, _, _, _) =
        match builtin(&mut fields, refusals)? {
            Some((builtin, mut args)) => {
                let Some(make) = catalog::filter(builtin) else {
                    let known = catalog::filter_names().join(", ");
                    unknown_builtin(&fields, builtin, &known, refusals);
                    return None;
                };
                let rule = make(&mut args, refusals);
                args.finish(refusals);
                (rule?, None, false, None)
            }
            None => {
                let loaded = expression::filter(&mut fields, &name, (policy, ledger), refusals)?;
                paths.add_all(&loaded.paths);
                let part = loaded.rule.clone();
                (Box::new(loaded.rule), Some(loaded.counts), loaded.is_audit, Some(part))
            }
        };
    fields.finish(refusals);
    let conditions = conditions.map(Arc::new);
    let reads_namespace = conditions.as_deref().is_some_and(Conditions::reads_namespace);
    let witness = Witness::of_filter(&name, conditions.as_ref(), part);
    Some(Read {
        rule: FilterRule::new(name, conditions, rule),
        counts,
        is_audit,
        witness,
        reads_namespace,
        paths,
    })
}

fn read_score(
    item: &Value,
    place: &str,
    policies: usize,
    ledger: &mut Ledger,
    refusals: &mut Refusals,
) -> Option<ReadScore> {
    let mut fields = Fields::of(item, place, refusals)?;
    let name: Arc<str> = fields.text("name", refusals)?.into();
    let weight = fields.integer("weight", 0..=WEIGHT_MAX, refusals);
    let minor = match fields.optional("release") {
        Some(_) => Some(fields.integer("release", 0..=MINOR_MAX, refusals)?),
        None => None,
    };
    let policy = read_policy(&mut fields, policies, refusals)?;
    let conditions = expression::conditions(&mut fields, &name, refusals)?;
    let mut paths = conditions.as_ref().map(Conditions::paths).unwrap_or_default();
    let (mut rule, counts, part): (Box<dyn Score>, _, _) = match builtin(&mut fields, refusals)? {
        Some((builtin, mut args)) => {
            let Some(make) = catalog::score(builtin) else {
                let known = catalog::score_names().join(", ");
                unknown_builtin(&fields, builtin, &known, refusals);
                return None;
            };
            let rule = make(&mut args, refusals);
            args.finish(refusals);
            (rule?, None, None)
        }
        None => {
            let loaded = expression::score(&mut fields, &name, (policy, ledger), refusals)?;
            paths.add_all(&loaded.paths);
            let part = loaded.rule.clone();
            (Box::new(loaded.rule), Some(loaded.counts), Some(part))
        }
    };
    fields.finish(refusals);
    let scale = match minor {
        Some(minor) if !rule.score_as(minor) && minor <= scale::MINOR_LAST => Scale::Ten,
        Some(_) | None => Scale::Hundred,
    };
    let conditions = conditions.map(Arc::new);
    let reads_namespace = conditions.as_deref().is_some_and(Conditions::reads_namespace);
    let witness = Witness::of_score(&name, conditions.as_ref(), part);
    let rule = ScoreRule::new(name, weight?, scale, conditions, rule);
    Some(ReadScore { rule, counts, witness, reads_namespace, paths })
}

/// Which document a rule is from, by its position; the first where the entry does not say.
pub(super) fn read_policy(
    fields: &mut Fields<'_>,
    policies: usize,
    refusals: &mut Refusals,
) -> Option<usize> {
    let last = i64::try_from(policies).unwrap_or(i64::MAX).saturating_sub(1);
    let policy = fields.integer_or("policy", 0, 0..=last.max(0), refusals)?;
    usize::try_from(policy).ok()
}

/// The built-in that an entry names, with its args; the inner `None`: it is an expression.
fn builtin<'a>(
    fields: &mut Fields<'a>,
    refusals: &mut Refusals,
) -> Option<Option<(&'a str, Fields<'a>)>> {
    let builtin = fields.optional("builtin");
    let expression = fields.optional("expression");
    match (builtin, expression) {
        (Some(builtin), None) => {
            let Some(name) = builtin.as_str() else {
                refusals.add(UNKNOWN, &fields.place_of("builtin"), "a name is wanted", "");
                return None;
            };
            fields.required("args", refusals)?;
            Some(Some((name, fields.object("args", refusals)?)))
        }
        (None, Some(_)) => Some(None),
        _ => {
            let message = "a rule is either a built-in or an expression";
            refusals.add(CONFLICT, fields.place(), message, "give one of the two");
            None
        }
    }
}

fn unknown_builtin(fields: &Fields<'_>, name: &str, known: &str, refusals: &mut Refusals) {
    let message = format!("unknown built-in {name:?}");
    refusals.add(UNKNOWN, &fields.place_of("builtin"), message, format!("known here: {known}"));
}
