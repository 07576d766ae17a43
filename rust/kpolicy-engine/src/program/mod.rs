//! The program: all rules of all profiles, verified and ready to use. Loads the program document
//! (`docs/internals/program.md`).
//!
//! The document is not trusted: anything unknown is refused with its place, and then there is no
//! program.

mod device_rules;
mod limits;
mod preemption;
mod profile;
mod queue;
mod serving;
mod tenant;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use kpolicy_cel::Moments;
use serde_json::Value;

use crate::api::Refusal;
use crate::fields::{CONFLICT, Fields, Refusals, UNKNOWN};
use crate::model::{ApiPaths, Kind};
use crate::release::{self, Followed};
use crate::rules::FilterRule;
use crate::snapshot::Pod;

pub use preemption::{CRITERIA, Criterion, Enough, Preemption};
pub use profile::Profile;
pub(crate) use queue::QueueRules;
pub(crate) use serving::Serving;

/// The version of the document that this engine reads.
const FORMAT: i64 = 1;
/// The profile that serves every pod, for offline verbs.
const ANY_SCHEDULER: &str = "*";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TieBreak {
    /// At random, from the seed and the number of the decision.
    Random,
    /// The first by name.
    Name,
    /// The one with the fewest pods, then the first by name.
    LeastPods,
}

/// A compiled policy, verified and ready to decide.
#[derive(Debug)]
pub struct Program {
    pub(crate) hash: Arc<str>,
    /// The release of Kubernetes whose decisions it makes.
    pub(crate) followed: Followed,
    pub(crate) tie_break: TieBreak,
    /// Each serves the pods of one scheduler name, or of any; of one tenant, or of all.
    pub profiles: Vec<Profile>,
    pub(crate) serving: Serving,
    /// Who is tried next; `None`: the caller knows, and nothing holds pods back.
    pub(crate) queue: Option<QueueRules>,
    /// What its rules read of the moment of the decision.
    pub(crate) moments: Moments,
    /// What its filters do: whom they rejected is to be told.
    pub(crate) waking: Moments,
}

impl Program {
    /// Reads a program document and verifies it; all refusals at once if it is not valid.
    pub fn load(document: &Value) -> Result<Self, Vec<Refusal>> {
        let mut refusals = Refusals::default();
        let program = read(document, &mut refusals);
        match program {
            Some(program) if refusals.is_empty() => Ok(program),
            _ => Err(refusals.into_list()),
        }
    }

    /// The profile that serves a pod.
    pub(crate) fn profile_of(&self, pod: &Pod) -> Option<usize> {
        let named = |name: &str| self.serving.profile_of(name, pod.namespace());
        named(&pod.template.scheduler_name).or_else(|| named(ANY_SCHEDULER))
    }

    /// Whether a rule reads the moment of the decision.
    pub(crate) fn reads_time(&self) -> bool {
        self.moments != Moments::None
    }

    /// What the expressions of all profiles have spent so far, and looking for victims.
    pub fn units_spent(&self) -> u64 {
        let counts = self.profiles.iter().flat_map(|profile| &profile.counts);
        let preemptions = self.profiles.iter().filter_map(|profile| profile.preemption.as_ref());
        let in_searches: u64 = preemptions.map(|own| own.units.load(Ordering::Relaxed)).sum();
        counts.map(|(_, counts)| counts.units()).sum::<u64>().saturating_add(in_searches)
    }

    /// What expressions read by API path, of all profiles.
    pub(crate) fn paths(&self) -> ApiPaths {
        let mut paths = ApiPaths::default();
        self.profiles.iter().for_each(|profile| paths.add_all(&profile.paths));
        let order = self.queue.as_ref().and_then(|queue| queue.order.as_ref());
        order.iter().for_each(|order| paths.add_all(&order.paths()));
        paths
    }

    /// Kinds that must be watched, in order.
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        let mut kinds = vec![Kind::Pod, Kind::Node];
        for profile in &self.profiles {
            profile.filters.iter().for_each(|filter| kinds.extend(filter.kinds()));
            profile.scores.iter().for_each(|score| kinds.extend(score.kinds()));
            for (audit, _) in &profile.audits {
                kinds.extend(audit.kinds());
            }
            kinds.extend(&profile.kinds_of_conditions);
            if profile.preemption.is_some() {
                kinds.push(Kind::PodDisruptionBudget);
            }
        }
        kinds.extend(self.queue.iter().flat_map(QueueRules::kinds));
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }
}

fn read(document: &Value, refusals: &mut Refusals) -> Option<Program> {
    let mut fields = Fields::of(document, "$", refusals)?;
    let format = fields.integer("format", FORMAT..=FORMAT, refusals);
    let hash = fields.text("hash", refusals);
    let policies = fields.texts("policies", refusals);
    let tie_break = fields.text_or("tieBreak", "random", refusals);
    let items = fields.list("profiles", refusals);
    let followed = release::read(&mut fields, refusals)?;
    let tie_break = match tie_break? {
        "random" => TieBreak::Random,
        "name" => TieBreak::Name,
        "leastPods" => TieBreak::LeastPods,
        other => {
            let message = format!("unknown tie-break {other:?}");
            refusals.add(UNKNOWN, "$.tieBreak", message, "random, name or leastPods");
            return None;
        }
    };
    let limits = limits::read(&mut fields, policies?.len(), refusals)?;
    let mut profiles: Vec<Profile> = Vec::new();
    let mut serving = Serving::default();
    for (place, item) in items? {
        if let Some(profile) = profile::read(item, &place, (followed, &limits), refusals) {
            if !serving.add(&profile, profiles.len()) {
                let message = format!("two profiles serve {:?}", profile.scheduler_name);
                refusals.add(CONFLICT, &place, message, "a pod has one profile");
            }
            profiles.push(profile);
        }
    }
    let of_queue = fields.object("queue", refusals);
    let queue = queue::read(of_queue, &profiles, refusals)?;
    fields.finish(refusals);
    format?;
    let filters = profiles.iter().flat_map(|profile| &profile.filters);
    let of_holds = queue.as_ref().map(|queue| queue.reads.moments.clone()).unwrap_or_default();
    let waking = filters.map(FilterRule::moments).fold(of_holds, Moments::with);
    let others = profiles.iter().map(Profile::other_moments).fold(Moments::None, Moments::with);
    let moments = waking.clone().with(others);
    let hash = hash?.into();
    Some(Program { hash, followed, tie_break, profiles, serving, queue, moments, waking })
}
