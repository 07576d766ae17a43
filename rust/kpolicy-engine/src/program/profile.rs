//! One profile of the program.

use std::sync::Arc;

use kpolicy_cel::Moments;
use serde_json::Value;

use crate::model::{ApiPaths, Kind};
use crate::release::Followed;
use crate::rules::dynamic_resources::{DevicePolicy, DeviceScore, DynamicResources};
use crate::rules::expression::{
    self, Conditions, EvaluationCounts, HoldRule, Ledger, Limits, VictimRule, Witness,
};
use crate::rules::gang_scheduling::{self, GangScheduling};
use crate::rules::{
    Filter, FilterRule, HelpedBy, Scale, Score, ScoreRule, Status, catalog, dynamic_resources,
    scale,
};

use crate::snapshot::{Cluster, Pod};

use super::device_rules;
use super::preemption::{self, Preemption};
use super::queue;
use super::tenant::{self, Tenant};
use crate::fields::{CONFLICT, Fields, OUT_OF_RANGE, Refusals, UNKNOWN};

/// The largest weight of one score.
pub(super) const WEIGHT_MAX: i64 = 1_000_000;
/// Of the releases 1.N that a score may be asked to follow.
const MINOR_MAX: i64 = 999;
/// The largest sum of a profile's weights: a total of hundredfolds then fits 32 bits.
const WEIGHTS_MAX: i64 = 20_000_000;

/// The rules for pods of one scheduler name.
#[derive(Debug)]
pub struct Profile {
    pub(crate) scheduler_name: Arc<str>,
    /// `None`: it serves the pods of every namespace that no other profile of this name serves.
    pub(crate) tenant: Option<Tenant>,
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
    /// Kinds of objects that match conditions read, or who may be evicted.
    pub(crate) kinds_of_conditions: Vec<Kind>,
    /// What expressions read by API path.
    pub(crate) paths: ApiPaths,
    /// What holds pods back from being tried.
    pub(crate) holds: Vec<HoldRule>,
    /// `None`: this profile never evicts.
    pub preemption: Option<Preemption>,
    /// `DynamicResources` with its arguments, where the profile has it.
    pub(crate) devices: Option<DynamicResources>,
}

impl Profile {
    /// How measurements call a rule: all rules of tenants have one name, as there may be many.
    pub(crate) fn measured_as(&self, rule: &Arc<str>) -> Arc<str> {
        let is_of_tenant = self.tenant.as_ref().is_some_and(|tenant| tenant.has(rule));
        if is_of_tenant { Arc::from(tenant::RULES) } else { Arc::clone(rule) }
    }

    /// Who may be evicted, where the policy says more than that they matter less.
    pub(crate) fn victims(&self) -> Option<&VictimRule> {
        self.preemption.as_ref()?.victims.as_ref()
    }

    /// What is read of the moment of the decision, except by filters.
    pub(super) fn other_moments(&self) -> Moments {
        let scores = self.scores.iter().map(ScoreRule::moments);
        let audits = self.audits.iter().map(|(audit, _)| audit.moments());
        let victims = self.victims().map(|rule| rule.moments().clone());
        scores.chain(audits).chain(victims).fold(Moments::None, Moments::with)
    }

    /// Adds the score of the rules for devices, where it has any and allocates devices.
    fn score_devices(&mut self) {
        let Some(own) = &self.devices else { return };
        let Some(rules) = &own.policy.rules else { return };
        let score: Box<dyn Score> = Box::new(DeviceScore(own.clone()));
        self.kinds_of_conditions.extend(rules.kinds());
        self.paths.add_all(&rules.paths());
        self.counts.extend(rules.counts());
        let (name, weight) = (rules.name(), rules.weight());
        self.scores.push(ScoreRule::new(name, weight, Scale::Hundred, None, score));
    }

    /// The position of `DynamicResources` among the filters, which shapes what users read when a
    /// pod fits nowhere.
    pub(crate) fn dynamic_resources(&self) -> Option<usize> {
        self.filters.iter().position(|filter| filter.name.as_ref() == dynamic_resources::NAME)
    }

    /// Why kube-scheduler does not try the pod at all: its claims on devices are not ready.
    pub(crate) fn claims_not_ready(&self, pod: &Pod, cluster: &Cluster) -> Option<Status> {
        if pod.template.resource_claims.is_empty() {
            return None;
        }
        let rule = self.filters.get(self.dynamic_resources()?)?;
        // A policy may say that it does not hold for this pod.
        rule.prepare(pod, cluster)?;
        dynamic_resources::pre_enqueue(self.devices.as_ref()?, pod, cluster)
    }
}

/// A filter as it was read.
struct Read {
    rule: FilterRule,
    counts: Option<Arc<EvaluationCounts>>,
    is_audit: bool,
    witness: Option<Witness>,
    kinds: Vec<Kind>,
    paths: ApiPaths,
}

struct ReadScore {
    rule: ScoreRule,
    counts: Option<Arc<EvaluationCounts>>,
    witness: Option<Witness>,
    kinds: Vec<Kind>,
    paths: ApiPaths,
}

pub(super) fn read(
    item: &Value,
    place: &str,
    (followed, policies): (Followed, &[Limits]),
    refusals: &mut Refusals,
) -> Option<Profile> {
    let mut fields = Fields::of(item, place, refusals)?;
    let scheduler_name = fields.text("schedulerName", refusals);
    let percentage = fields.integer_or("percentageOfNodesToScore", 100, 0..=100, refusals);
    let filters = fields.list("filters", refusals);
    let scores = fields.list("scores", refusals);
    let holds = fields.list("holds", refusals);
    let preemption = match fields.object("preemption", refusals) {
        Some(fields) => preemption::read(fields, policies, refusals)?,
        None => None,
    };
    let tenant = match fields.object("tenant", refusals) {
        Some(fields) => Some(tenant::read(fields, policies.len(), refusals)?),
        None => None,
    };
    let tenant_from = tenant.as_ref().map_or(usize::MAX, |tenant| tenant.policies_from);
    let mut ledger = Ledger::new(policies, tenant_from);
    let device_rules = device_rules::read(&mut fields, policies, refusals)?;
    let mut profile = Profile {
        scheduler_name: scheduler_name?.into(),
        tenant,
        percentage_of_nodes_to_score: percentage?,
        filters: Vec::new(),
        audits: Vec::new(),
        scores: Vec::new(),
        holds: Vec::new(),
        preemption,
        counts: Vec::new(),
        witnesses: Vec::new(),
        kinds_of_conditions: Vec::new(),
        paths: ApiPaths::default(),
        devices: None,
    };
    let frees_devices = profile.preemption.as_ref().is_some_and(|own| own.frees_devices);
    let of_devices = DevicePolicy { frees_devices, rules: device_rules, ..DevicePolicy::default() };
    for (place, item) in filters? {
        let of = (followed, policies.len());
        let Some(read) = read_filter(item, &place, of, (&mut ledger, &of_devices), refusals) else {
            continue;
        };
        profile.kinds_of_conditions.extend(read.kinds);
        profile.paths.add_all(&read.paths);
        let name = Arc::clone(&read.rule.name);
        if *name == *dynamic_resources::NAME {
            profile.devices = devices(item, followed, &of_devices);
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
    let rule = FilterRule::new(gang_scheduling::NAME.into(), None, rule);
    profile.filters.push(rule.of_builtin(Some(gang_scheduling::NAME)));
    for (place, item) in scores? {
        let of = (followed, policies.len());
        let Some(read) = read_score(item, &place, of, &mut ledger, refusals) else {
            continue;
        };
        profile.kinds_of_conditions.extend(read.kinds);
        profile.paths.add_all(&read.paths);
        let name = Arc::clone(&read.rule.name);
        profile.counts.extend(read.counts.map(|counts| (name, counts)));
        profile.witnesses.extend(read.witness);
        profile.scores.push(read.rule);
    }
    device_rules::share(&mut profile, of_devices);
    profile.score_devices();
    ledger.settle();
    for (place, item) in holds? {
        let Some(hold) = queue::read_hold(item, &place, policies.len(), refusals) else { continue };
        profile.kinds_of_conditions.extend(hold.kinds());
        profile.paths.add_all(&hold.paths());
        profile.counts.push(hold.counts());
        profile.holds.push(hold);
    }
    let of_victims =
        profile.victims().map(|rule| (rule.counts(), rule.paths(), rule.kinds().to_vec()));
    if let Some((counts, paths, kinds)) = of_victims {
        profile.counts.push(counts);
        profile.paths.add_all(&paths);
        profile.kinds_of_conditions.extend(kinds);
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
fn devices(item: &Value, followed: Followed, policy: &DevicePolicy) -> Option<DynamicResources> {
    let mut refusals = Refusals::default();
    let mut args = Fields::of(item.get("args")?, "", &mut refusals)?;
    let mut rule = dynamic_resources::from_args(&mut args, followed, &mut refusals)?;
    rule.policy = policy.clone();
    Some(rule)
}

/// `None`: it is refused, or there is no such filter in the release.
fn read_filter(
    item: &Value,
    place: &str,
    (followed, policies): (Followed, usize),
    (ledger, of_devices): (&mut Ledger, &DevicePolicy),
    refusals: &mut Refusals,
) -> Option<Read> {
    let mut fields = Fields::of(item, place, refusals)?;
    let name: Arc<str> = fields.text("name", refusals)?.into();
    let policy = read_policy(&mut fields, policies, refusals)?;
    let helped_by = read_helped_by(&mut fields, refusals)?;
    let conditions = expression::conditions(&mut fields, &name, refusals)?;
    let mut paths = conditions.as_ref().map(Conditions::paths).unwrap_or_default();
    let own = item.get("builtin").and_then(Value::as_str);
    let (rule, counts, is_audit, part): (Box<dyn Filter>, _, _, _) =
        match builtin(&mut fields, refusals)? {
            Some((builtin, mut args)) => {
                let Some(make) = catalog::filter(builtin) else {
                    let known = catalog::filter_names().join(", ");
                    unknown_builtin(&fields, builtin, &known, refusals);
                    return None;
                };
                if !catalog::filters_in(builtin, followed) {
                    return None;
                }
                let rule = make(&mut args, followed, refusals);
                args.finish(refusals);
                let mut rule = rule?;
                rule.follow_policy_of_devices(of_devices);
                (rule, None, false, None)
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
    let kinds = conditions.as_deref().map(Conditions::kinds).unwrap_or_default();
    let witness = Witness::of_filter(&name, conditions.as_ref(), part);
    Some(Read {
        rule: FilterRule::new(name, conditions, rule).helped_by(helped_by).of_builtin(own),
        counts,
        is_audit,
        witness,
        kinds,
        paths,
    })
}

/// As [`read_filter`].
fn read_score(
    item: &Value,
    place: &str,
    (followed, policies): (Followed, usize),
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
            if !catalog::scores_in(builtin, followed) {
                return None;
            }
            let rule = make(&mut args, followed, refusals);
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
    let kinds = conditions.as_deref().map(Conditions::kinds).unwrap_or_default();
    let witness = Witness::of_score(&name, conditions.as_ref(), part);
    let rule = ScoreRule::new(name, weight?, scale, conditions, rule);
    Some(ReadScore { rule, counts, witness, kinds, paths })
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

fn read_helped_by(fields: &mut Fields<'_>, refusals: &mut Refusals) -> Option<HelpedBy> {
    match fields.text_or("helpedBy", "newNode", refusals)? {
        "newNode" => Some(HelpedBy::NewNode),
        "other" => Some(HelpedBy::Other),
        unknown => {
            let message = format!("a rule cannot be helped by {unknown:?}");
            refusals.add(UNKNOWN, &fields.place_of("helpedBy"), message, "newNode or other");
            None
        }
    }
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
