//! A world: programs, and steps one after the other. Each step stands by itself, so that any of them
//! can be left out and the others still mean something.

use std::fmt::Write;

use kpolicy_engine::api::{BindOutcome, Kind};
use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    Apply(Value),
    /// Namespace, name and uid.
    Remove(Kind, String, String, String),
    /// A full list that names all there is of a kind but this one (a name, or a pod's uid).
    Relist(Kind, String),
    Try(String),
    Batch(Vec<String>),
    /// Filter, then choose among all but every n-th node, with scores on top; in between, maybe,
    /// this node goes.
    TwoSteps(String, usize, Option<String>),
    Settle(String, BindOutcome),
    /// The watch shows an assumed pod on its node.
    Confirm(String),
    /// The victims of a pod end: marked as being evicted first, or gone at once.
    Evict(String, bool),
    /// Puts one of the world's programs in force.
    Load(usize),
    /// So many changes of a namespace that caches fall behind the log.
    Flood(usize),
    /// So many seconds pass, of which a call hears; then so many more, and who was woken is asked for.
    Pass(i64, i64),
}

/// A fault that is planted, to see that it is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// One of the two engines does not hear of changes of nodes that it knows.
    MissesNodes,
    /// Wakes because of updates of nodes are not reported.
    LosesWakes,
}

#[derive(Debug, Clone)]
pub(crate) struct World {
    pub seed: u64,
    pub programs: Vec<Value>,
    pub steps: Vec<Step>,
}

fn outcome_name(outcome: BindOutcome) -> &'static str {
    match outcome {
        BindOutcome::Bound => "bound",
        BindOutcome::Failed => "failed",
        BindOutcome::Gone => "gone",
    }
}

impl Step {
    fn json(&self) -> Value {
        match self {
            Self::Apply(object) => json!({"apply": object}),
            Self::Remove(kind, namespace, name, uid) => {
                json!({"remove": [kind.resource(), namespace, name, uid]})
            }
            Self::Relist(kind, missing) => json!({"relist": [kind.resource(), missing]}),
            Self::Try(uid) => json!({"try": uid}),
            Self::Batch(uids) => json!({"batch": uids}),
            Self::TwoSteps(uid, nth, gone) => json!({"twoSteps": [uid, nth, gone]}),
            Self::Settle(uid, outcome) => json!({"settle": [uid, outcome_name(*outcome)]}),
            Self::Confirm(uid) => json!({"confirm": uid}),
            Self::Evict(uid, at_once) => json!({"evict": [uid, at_once]}),
            Self::Load(program) => json!({"load": program}),
            Self::Flood(changes) => json!({"flood": changes}),
            Self::Pass(first, more) => json!({"pass": [first, more]}),
        }
    }

    fn of_json(value: &Value) -> Option<Self> {
        let (name, value) = value.as_object()?.iter().next()?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let number = |value: &Value| usize::try_from(value.as_u64()?).ok();
        let kind = |value: &Value| Kind::of_resource(value.as_str()?);
        Some(match name.as_str() {
            "apply" => Self::Apply(value.clone()),
            "remove" => {
                Self::Remove(kind(&value[0])?, text(&value[1])?, text(&value[2])?, text(&value[3])?)
            }
            "relist" => Self::Relist(kind(&value[0])?, text(&value[1])?),
            "try" => Self::Try(text(value)?),
            "batch" => Self::Batch(value.as_array()?.iter().filter_map(text).collect()),
            "twoSteps" => Self::TwoSteps(text(&value[0])?, number(&value[1])?, text(&value[2])),
            "settle" => {
                let all = [BindOutcome::Bound, BindOutcome::Failed, BindOutcome::Gone];
                let named = |outcome: &BindOutcome| value[1] == outcome_name(*outcome);
                Self::Settle(text(&value[0])?, all.into_iter().find(named)?)
            }
            "confirm" => Self::Confirm(text(value)?),
            "evict" => Self::Evict(text(&value[0])?, value[1].as_bool()?),
            "load" => Self::Load(number(value)?),
            "flood" => Self::Flood(number(value)?),
            "pass" => Self::Pass(value[0].as_i64()?, value[1].as_i64()?),
            _ => return None,
        })
    }
}

impl World {
    /// A line for the seed, one for each program, one for each step.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{}\n", json!({"seed": self.seed}));
        for program in &self.programs {
            let _ = writeln!(text, "{}", json!({"program": program}));
        }
        for step in &self.steps {
            let _ = writeln!(text, "{}", step.json());
        }
        text
    }

    pub(crate) fn read(text: &str) -> Self {
        let mut world = Self { seed: 0, programs: Vec::new(), steps: Vec::new() };
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let value: Value = serde_json::from_str(line).expect("a line is JSON");
            if let Some(seed) = value["seed"].as_u64() {
                world.seed = seed;
            } else if !value["program"].is_null() {
                world.programs.push(value["program"].clone());
            } else {
                world.steps.push(Step::of_json(&value).expect("a line is a step"));
            }
        }
        world
    }
}
