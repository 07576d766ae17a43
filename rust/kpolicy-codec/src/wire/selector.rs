//! Label selectors and requirements. A requirement that cannot be parsed has the operator
//! `Invalid`.
//!
//! Specification: `LabelSelectorAsSelector` and `labels.NewRequirement` of apimachinery.

use kpolicy_engine::model::{Labels, Requirement, Selector, SelectorOperator};

use super::map::TextMap;
use super::scalar::Text;
use super::sequence::List;
use super::wire;

wire! {
    pub(crate) struct SelectorWire<'a> {
        "matchLabels" => labels: TextMap,
        "matchExpressions" => expressions: List<RequirementWire<'a>>,
    }
}

wire! {
    pub(crate) struct RequirementWire<'a> {
        "key" => key: Text<'a>,
        "operator" => operator: Text<'a>,
        "values" => values: List<Text<'a>>,
    }
}

/// Which requirements a selector may hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `metav1.LabelSelector`.
    Label,
    /// `matchExpressions` of a node selector term: `Gt` and `Lt` besides.
    NodeLabel,
    /// `matchFields` of a node selector term; which fields exist is for the rule to say.
    NodeField,
}

impl SelectorWire<'_> {
    /// Requirements in the order of their keys, so that equal selectors are equal.
    pub(crate) fn into_model(self) -> Selector {
        let mut requirements: Vec<Requirement> = equalities(&self.labels.0);
        requirements
            .extend(self.expressions.0.into_iter().map(|each| each.into_model(Dialect::Label)));
        requirements.sort_by(|left, right| left.key.cmp(&right.key));
        Selector { requirements: requirements.into_boxed_slice() }
    }
}

/// A map selector, as services and replication controllers have it.
pub(crate) fn of_labels(labels: &Labels) -> Selector {
    Selector { requirements: equalities(labels).into_boxed_slice() }
}

fn equalities(labels: &Labels) -> Vec<Requirement> {
    let requirement = |(key, value): (&str, &str)| {
        let parses = is_label_key(key) && is_label_value(value);
        Requirement {
            key: key.into(),
            operator: if parses { SelectorOperator::In } else { SelectorOperator::Invalid },
            values: Box::new([value.into()]),
        }
    };
    labels.iter().map(requirement).collect()
}

impl RequirementWire<'_> {
    pub(crate) fn into_model(self, dialect: Dialect) -> Requirement {
        let written = operator(&self.operator, dialect);
        let listed = &self.values.0;
        let counts = match written {
            SelectorOperator::In | SelectorOperator::NotIn => !listed.is_empty(),
            SelectorOperator::Exists | SelectorOperator::DoesNotExist => listed.is_empty(),
            SelectorOperator::Gt | SelectorOperator::Lt => {
                matches!(listed.as_slice(), [bound] if bound.parse::<i64>().is_ok())
            }
            SelectorOperator::Invalid => true,
        };
        let parses = dialect == Dialect::NodeField
            || counts
                && is_label_key(&self.key)
                && listed.iter().all(|value| is_label_value(value));
        let operator = if parses { written } else { SelectorOperator::Invalid };
        let values = self.values.texts_sorted_unique();
        Requirement { key: self.key.boxed(), operator, values }
    }
}

fn operator(written: &str, dialect: Dialect) -> SelectorOperator {
    match written {
        "In" => SelectorOperator::In,
        "NotIn" => SelectorOperator::NotIn,
        "Exists" => SelectorOperator::Exists,
        "DoesNotExist" => SelectorOperator::DoesNotExist,
        "Gt" if dialect != Dialect::Label => SelectorOperator::Gt,
        "Lt" if dialect != Dialect::Label => SelectorOperator::Lt,
        _ => SelectorOperator::Invalid,
    }
}

pub(super) const NAME_BYTES_MAX: usize = 63;
pub(super) const PREFIX_BYTES_MAX: usize = 253;

/// A qualified name: letters, digits and `-_.` between alphanumerics, with an optional DNS prefix.
pub(super) fn is_label_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && is_name(name),
        None => is_name(key),
    }
}

pub(super) fn is_label_value(value: &str) -> bool {
    value.is_empty() || is_name(value)
}

fn is_name(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    name.len() <= NAME_BYTES_MAX
        && name.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric)
        && name.as_bytes().last().is_some_and(u8::is_ascii_alphanumeric)
        && name.bytes().all(is_inner)
}

pub(super) fn is_subdomain(prefix: &str) -> bool {
    let is_end = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_part = |part: &str| {
        part.as_bytes().first().is_some_and(is_end)
            && part.as_bytes().last().is_some_and(is_end)
            && part.bytes().all(|byte| is_end(&byte) || byte == b'-')
    };
    prefix.len() <= PREFIX_BYTES_MAX && prefix.split('.').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::{Dialect, RequirementWire, SelectorWire, is_label_key, is_label_value};
    use kpolicy_engine::model::{Labels, SelectorOperator};

    fn operator(json: &str, dialect: Dialect) -> SelectorOperator {
        let wire: RequirementWire<'_> = serde_json::from_str(json).expect(json);
        wire.into_model(dialect).operator
    }

    #[test]
    fn requirements_that_cannot_be_parsed_are_invalid() {
        use SelectorOperator::{DoesNotExist, Exists, Gt, In, Invalid, NotIn};
        let cases = [
            (r#"{"key":"a","operator":"In","values":["x"]}"#, Dialect::Label, In),
            (r#"{"key":"a","operator":"In","values":[]}"#, Dialect::Label, Invalid),
            (r#"{"key":"a","operator":"NotIn","values":["x",""]}"#, Dialect::Label, NotIn),
            (r#"{"key":"a","operator":"Exists"}"#, Dialect::Label, Exists),
            (r#"{"key":"a","operator":"Exists","values":["x"]}"#, Dialect::Label, Invalid),
            (
                r#"{"key":"a","operator":"DoesNotExist","values":null}"#,
                Dialect::Label,
                DoesNotExist,
            ),
            (r#"{"key":"a","operator":"Gt","values":["1"]}"#, Dialect::Label, Invalid),
            (r#"{"key":"a","operator":"Gt","values":["1"]}"#, Dialect::NodeLabel, Gt),
            // A bound must also be a valid label value, which cannot begin with a minus sign.
            (r#"{"key":"a","operator":"Gt","values":["-1"]}"#, Dialect::NodeLabel, Invalid),
            (r#"{"key":"a","operator":"Gt","values":["x"]}"#, Dialect::NodeLabel, Invalid),
            (r#"{"key":"a","operator":"Lt","values":["1","2"]}"#, Dialect::NodeLabel, Invalid),
            (r#"{"key":"a","operator":"in","values":["x"]}"#, Dialect::NodeLabel, Invalid),
            (r#"{"key":"a b","operator":"In","values":["x"]}"#, Dialect::NodeLabel, Invalid),
            (r#"{"key":"a","operator":"In","values":["x y"]}"#, Dialect::NodeLabel, Invalid),
            (r#"{"key":"metadata.name","operator":"In","values":[]}"#, Dialect::NodeField, In),
        ];
        for (json, dialect, want) in cases {
            assert_eq!(operator(json, dialect), want, "{json}");
        }
    }

    #[test]
    fn equal_selectors_are_equal_however_they_are_written() {
        let read = |json: &str| -> kpolicy_engine::model::Selector {
            serde_json::from_str::<SelectorWire<'_>>(json).expect(json).into_model()
        };
        let map = read(r#"{"matchLabels":{"b":"2","a":"1"}}"#);
        let list = read(
            r#"{"matchExpressions":[{"key":"b","operator":"In","values":["2"]},
                                    {"key":"a","operator":"In","values":["1","1"]}]}"#,
        );
        assert_eq!(map, list);
        let labels: Labels = [("a", "1"), ("b", "2"), ("c", "3")].into_iter().collect();
        assert!(map.matches(&labels));
        assert!(read("{}").is_everything());
    }

    #[test]
    fn names_follow_the_api() {
        for key in ["a", "a/b", "example.com/A_b.c-d", "0", &"a".repeat(63)] {
            assert!(is_label_key(key), "{key}");
        }
        for key in ["", "/a", "a/", "A.com/b", "a/b/c", "-a", "a-", "a..b/c", &"a".repeat(64)] {
            assert!(!is_label_key(key), "{key}");
        }
        assert!(is_label_value(""));
        assert!(!is_label_value("a "));
    }
}
