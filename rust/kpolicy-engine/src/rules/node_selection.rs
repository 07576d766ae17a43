//! Matches a node against a node selector: terms are `ORed`, requirements `ANDed`, on labels and
//! the name. Node affinity, topology spreading and volumes use it.
//!
//! Specification: Kubernetes API `NodeSelector`; a term that cannot be parsed matches nothing.

use crate::model::{Labels, NodeSelector, NodeSelectorTerm, Requirement, SelectorOperator};
use crate::snapshot::pod::NodeAffinity;

/// The only field that a node selector can name.
pub(crate) const NAME_FIELD: &str = "metadata.name";

pub(crate) fn selects(selector: &NodeSelector, labels: &Labels, name: &str) -> bool {
    selector.terms.iter().any(|term| term_selects(term, labels, name))
}

/// `spec.nodeSelector` and the required node affinity of a pod.
pub(crate) fn requires(affinity: &NodeAffinity, labels: &Labels, name: &str) -> bool {
    let has_pairs =
        |pairs: &Labels| pairs.iter().all(|(key, value)| labels.get(key) == Some(value));
    affinity.selector.as_ref().is_none_or(has_pairs)
        && affinity.required.as_ref().is_none_or(|required| selects(required, labels, name))
}

pub(crate) fn term_selects(term: &NodeSelectorTerm, labels: &Labels, name: &str) -> bool {
    let is_empty = term.match_expressions.is_empty() && term.match_fields.is_empty();
    !is_empty
        && can_be_parsed(term)
        && term.match_expressions.iter().all(|requirement| requirement.matches(labels))
        && fields_match(term, name)
}

/// Whether the node's name is what the term's fields ask for.
pub(crate) fn fields_match(term: &NodeSelectorTerm, name: &str) -> bool {
    term.match_fields.iter().all(|field| field_matches(field, name))
}

/// A term that cannot be parsed never matches, whatever the node.
pub(crate) fn can_be_parsed(term: &NodeSelectorTerm) -> bool {
    term.match_expressions.iter().all(is_label_requirement)
        && term.match_fields.iter().all(is_field_requirement)
}

fn is_label_requirement(requirement: &Requirement) -> bool {
    let values = &requirement.values;
    match requirement.operator {
        SelectorOperator::In | SelectorOperator::NotIn => !values.is_empty(),
        SelectorOperator::Exists | SelectorOperator::DoesNotExist => values.is_empty(),
        SelectorOperator::Gt | SelectorOperator::Lt => {
            matches!(values.as_ref(), [bound] if bound.parse::<i64>().is_ok())
        }
        SelectorOperator::Invalid => false,
    }
}

fn is_field_requirement(requirement: &Requirement) -> bool {
    matches!(requirement.operator, SelectorOperator::In | SelectorOperator::NotIn)
        && requirement.values.len() == 1
}

fn field_matches(requirement: &Requirement, name: &str) -> bool {
    let have = if requirement.key.as_ref() == NAME_FIELD { name } else { "" };
    let is_equal = requirement.values.iter().any(|value| value.as_ref() == have);
    is_equal == (requirement.operator == SelectorOperator::In)
}

#[cfg(test)]
mod tests {
    use super::{NAME_FIELD, selects, term_selects};
    use crate::model::{Labels, NodeSelector, NodeSelectorTerm, Requirement, SelectorOperator};

    fn requirement(key: &str, operator: SelectorOperator, values: &[&str]) -> Requirement {
        let values = values.iter().map(|value| (*value).into()).collect();
        Requirement { key: key.into(), operator, values }
    }

    fn matches(operator: SelectorOperator, values: &[&str], label: Option<&str>) -> bool {
        let labels: Labels = label.into_iter().map(|value| ("k", value)).collect();
        let term = NodeSelectorTerm {
            match_expressions: [requirement("k", operator, values)].into(),
            match_fields: [].into(),
        };
        term_selects(&term, &labels, "n")
    }

    #[test]
    fn operators_on_present_and_absent_keys() {
        use SelectorOperator::{DoesNotExist, Exists, Gt, In, Invalid, Lt, NotIn};
        let table = [
            (In, &["a", "b"][..], Some("b"), true),
            (In, &["a"], None, false),
            (In, &[], Some("a"), false),
            (NotIn, &["a"], Some("b"), true),
            (NotIn, &["a"], None, true),
            (NotIn, &[], Some("b"), false),
            (Exists, &[], Some(""), true),
            (Exists, &["x"], Some("x"), false),
            (DoesNotExist, &[], None, true),
            (DoesNotExist, &[], Some("x"), false),
            (Gt, &["5"], Some("6"), true),
            (Gt, &["5"], Some("5"), false),
            (Gt, &["5"], Some("six"), false),
            (Gt, &["five"], Some("6"), false),
            (Lt, &["5"], Some("-1"), true),
            (Lt, &["5"], None, false),
            (Invalid, &["5"], Some("5"), false),
        ];
        for (operator, values, label, want) in table {
            assert_eq!(matches(operator, values, label), want, "{operator:?} {values:?} {label:?}");
        }
    }

    #[test]
    fn the_name_is_a_field_and_nothing_else_is() {
        let by = |key: &str, operator| NodeSelectorTerm {
            match_expressions: [].into(),
            match_fields: [requirement(key, operator, &["n"])].into(),
        };
        let labels = Labels::default();
        assert!(term_selects(&by(NAME_FIELD, SelectorOperator::In), &labels, "n"));
        assert!(!term_selects(&by(NAME_FIELD, SelectorOperator::NotIn), &labels, "n"));
        assert!(!term_selects(&by("spec.x", SelectorOperator::In), &labels, "n"));
        assert!(!term_selects(&by(NAME_FIELD, SelectorOperator::Exists), &labels, "n"));
    }

    #[test]
    fn no_terms_and_empty_terms_match_nothing() {
        let labels = Labels::default();
        assert!(!selects(&NodeSelector::default(), &labels, "n"));
        let empty = NodeSelector { terms: [NodeSelectorTerm::default()].into() };
        assert!(!selects(&empty, &labels, "n"));
    }
}
