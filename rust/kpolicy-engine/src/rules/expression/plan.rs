//! Plans how an expression is evaluated for all nodes: over columns, class by class, or node by
//! node. Knows which facts have columns, and for which facts nodes with equal answers can be found
//! without asking. Evaluates nothing.

use kpolicy_cel::{Expression, Name};

use super::columns::is_shared;
use super::facts;
use super::lanes::LanesKind;

/// The slowest way in which a part of an expression is asked of all nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EvaluationPlan {
    /// Kernels over columns only.
    Columns,
    /// Some parts once for each class of nodes that read the same.
    Classes,
    /// Some parts once for each node.
    Nodes,
}

impl EvaluationPlan {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Columns => "columns",
            Self::Classes => "classes",
            Self::Nodes => "nodes",
        }
    }
}

fn kind_of(fact: &Name) -> Option<LanesKind> {
    facts::row(fact)?.1.lanes.kind()
}

/// How all nodes are asked, and the facts because of which it is not cheaper, sorted.
pub(crate) fn evaluation_plan(expression: &Expression) -> (EvaluationPlan, Vec<String>) {
    let text = |fact: &Name| fact.text.to_string();
    let plan = expression.columnar_plan(is_shared);
    let lacking = plan.columns.iter().filter(|fact| kind_of(fact).is_none());
    let without_classes = |fact: &&Name| matches!(kind_of(fact), None | Some(LanesKind::Numbers));
    let unclassed = plan.classed.iter().flat_map(|(_, facts)| facts.iter().filter(without_classes));
    let mut blamed: Vec<String> = lacking.chain(unclassed).map(text).collect();
    blamed.extend(plan.by_lane.iter().flat_map(|_| expression.dynamic_facts()).map(text));
    let classes = plan.classed.iter().flat_map(|(_, facts)| facts).map(text);
    let evaluation_plan = if !blamed.is_empty() || !plan.by_lane.is_empty() {
        EvaluationPlan::Nodes
    } else if plan.classed.is_empty() {
        EvaluationPlan::Columns
    } else {
        blamed.extend(classes);
        EvaluationPlan::Classes
    };
    blamed.sort_unstable();
    blamed.dedup();
    (evaluation_plan, blamed)
}
