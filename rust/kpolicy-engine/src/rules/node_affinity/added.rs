//! The `addedAffinity` argument: the API's `NodeAffinity`, read strictly.

use std::sync::Arc;

use serde_json::Value;

use crate::fields::{Fields, Refusals};
use crate::model::{NodeSelector, NodeSelectorTerm, Requirement, SelectorOperator};

use super::{AddedAffinity, NodeAffinity};

/// From the plugin's arguments; the same for filter and score.
pub(crate) fn from_args(args: &mut Fields<'_>, refusals: &mut Refusals) -> Option<NodeAffinity> {
    let Some(mut fields) = args.object("addedAffinity", refusals) else {
        return Some(NodeAffinity::default());
    };
    let required = match fields.object("requiredDuringSchedulingIgnoredDuringExecution", refusals) {
        Some(mut selector) => {
            let terms = terms(&mut selector, refusals)?;
            selector.finish(refusals);
            Some(NodeSelector { terms })
        }
        None => None,
    };
    let mut preferred = Vec::new();
    for (place, item) in fields.list("preferredDuringSchedulingIgnoredDuringExecution", refusals)? {
        preferred.extend(preference(item, place, refusals));
    }
    fields.finish(refusals);
    let added = AddedAffinity { required, preferred: preferred.into() };
    Some(NodeAffinity { added: Arc::new(added) })
}

fn terms(selector: &mut Fields<'_>, refusals: &mut Refusals) -> Option<Box<[NodeSelectorTerm]>> {
    let mut terms = Vec::new();
    for (place, item) in selector.list("nodeSelectorTerms", refusals)? {
        let mut fields = Fields::of(item, place, refusals)?;
        terms.extend(term(&mut fields, refusals));
        fields.finish(refusals);
    }
    Some(terms.into())
}

/// One preferred term. kube-scheduler ignores a weight of 0 and an empty preference.
fn preference(
    item: &Value,
    place: String,
    refusals: &mut Refusals,
) -> Option<(i32, NodeSelectorTerm)> {
    let mut fields = Fields::of(item, place, refusals)?;
    let weight = fields.integer("weight", 0..=100, refusals);
    let preference = fields.object("preference", refusals).and_then(|mut inner| {
        let term = term(&mut inner, refusals);
        inner.finish(refusals);
        term
    });
    fields.finish(refusals);
    Some((i32::try_from(weight?).ok()?, preference?))
}

fn term(fields: &mut Fields<'_>, refusals: &mut Refusals) -> Option<NodeSelectorTerm> {
    Some(NodeSelectorTerm {
        match_expressions: requirements(fields, "matchExpressions", refusals)?,
        match_fields: requirements(fields, "matchFields", refusals)?,
    })
}

fn requirements(
    fields: &mut Fields<'_>,
    name: &'static str,
    refusals: &mut Refusals,
) -> Option<Box<[Requirement]>> {
    let mut requirements = Vec::new();
    for (place, item) in fields.list(name, refusals)? {
        let mut fields = Fields::of(item, place, refusals)?;
        let key = fields.text("key", refusals);
        let operator = fields.text("operator", refusals);
        let mut values: Vec<Box<str>> = Vec::new();
        for (_, value) in fields.list("values", refusals)? {
            values.extend(value.as_str().map(Into::into));
        }
        fields.finish(refusals);
        let operator = operator_named(operator?);
        if !matches!(operator, SelectorOperator::Gt | SelectorOperator::Lt) {
            values.sort_unstable();
            values.dedup();
        }
        requirements.push(Requirement { key: key?.into(), operator, values: values.into() });
    }
    Some(requirements.into())
}

fn operator_named(name: &str) -> SelectorOperator {
    match name {
        "In" => SelectorOperator::In,
        "NotIn" => SelectorOperator::NotIn,
        "Exists" => SelectorOperator::Exists,
        "DoesNotExist" => SelectorOperator::DoesNotExist,
        "Gt" => SelectorOperator::Gt,
        "Lt" => SelectorOperator::Lt,
        _ => SelectorOperator::Invalid,
    }
}
