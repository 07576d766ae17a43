//! Evaluates one expression for a pod and a node of the snapshot. Either may be missing; then its
//! facts are unknown. The other facts have the values that rules read.

use kpolicy_cel::{Answer, Budget, Facts, Fault, Read, answer_json};
use serde_json::{Value, json};

use crate::rules::expression::{
    CATALOGUE, ClusterWorld, DomainSums, NodeWorld, PodWorld, evaluation_plan, rests_on_pod,
    verified,
};
use crate::snapshot::{Cluster, NodeView, Pod};

/// Code of the refusal of a pod or node that is not there.
const UNKNOWN_OBJECT: &str = "EV101";

/// What is asked: IR and variables as in `kpolicy_cel`, and whose facts are read.
pub struct Query<'a> {
    /// The expression in the IR of `kpolicy_cel`.
    pub ir: &'a Value,
    /// Values of the variables that the expression names, by name.
    pub variables: &'a Value,
    /// `namespace/name`.
    pub pod: Option<&'a str>,
    /// The node's name.
    pub node: Option<&'a str>,
    /// Whether the answer says what each part of the expression gave.
    pub traced: bool,
}

struct World<'a> {
    cluster: &'a Cluster,
    pod: Option<&'a Pod>,
    node: Option<NodeView<'a>>,
    /// Facts of nodes that rest on no pod are read with any.
    anybody: Pod,
}

impl World<'_> {
    /// Asks the world that rules see.
    fn ask<T>(&self, question: impl FnOnce(&dyn Facts) -> T) -> T {
        let pod = self.pod.unwrap_or(&self.anybody);
        let sums = DomainSums::default();
        let world = ClusterWorld { pod: PodWorld { pod, cluster: self.cluster }, sums: &sums };
        match self.node {
            Some(node) => question(&NodeWorld { world, node }),
            None => question(&world),
        }
    }
}

impl Facts for World<'_> {
    fn read(&self, read: &Read) -> Answer {
        if self.pod.is_none() && rests_on_pod(&read.fact) {
            return Answer::Unknown;
        }
        self.ask(|world| world.read(read))
    }

    fn read_charged(&self, read: &Read, budget: &mut Budget) -> Result<Answer, Fault> {
        if self.pod.is_none() && rests_on_pod(&read.fact) {
            return Ok(Answer::Unknown);
        }
        self.ask(|world| world.read_charged(read, budget))
    }

    fn is_made(&self, read: &Read) -> bool {
        self.ask(|world| world.is_made(read))
    }
}

pub(crate) fn answer(asked: &Query<'_>, cluster: &Cluster) -> Value {
    let pod = match asked.pod {
        Some(key) => {
            let Some(entry) = cluster.pods().named(key) else {
                return unknown(&format!("there is no pod {key}"));
            };
            Some(&*entry.pod)
        }
        None => None,
    };
    let node = match asked.node {
        Some(name) => {
            match cluster.nodes().find(name).and_then(|slot| cluster.nodes().view(slot)) {
                Some(view) => Some(view),
                None => return unknown(&format!("there is no node {name}")),
            }
        }
        None => None,
    };
    let world = World { cluster, pod, node, anybody: Pod::blank() };
    answer_json(asked.ir, asked.variables, (CATALOGUE, &world), asked.traced)
}

/// How an expression is asked of all nodes: `columns`, `classes` or `nodes`, and the facts because of
/// which it is not better.
pub fn evaluation_plan_of(ir: &Value) -> Result<(&'static str, Vec<String>), String> {
    let expression = verified(ir).map_err(|refusal| refusal.to_string())?;
    let (evaluation_plan, because) = evaluation_plan(&expression);
    Ok((evaluation_plan.name(), because))
}

fn unknown(message: &str) -> Value {
    json!({"refused": {"code": UNKNOWN_OBJECT, "message": message, "node": null}})
}
