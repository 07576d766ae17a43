//! Why a requirement of a node selector cannot be parsed, word for word as kube-scheduler writes
//! it.
//!
//! All mistakes of one requirement are reported, each with its path, in kube-scheduler's order.
//! Specification: `nodeSelectorRequirementsAsSelector`, `labels.NewRequirement` and the names that
//! the API allows.

use super::scalar::Text;
use super::selector::{
    Dialect, NAME_BYTES_MAX, PREFIX_BYTES_MAX, RequirementWire, is_label_key, is_label_value,
    is_subdomain,
};

const LABEL_OPERATORS: &str = r#""In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt""#;
const FIELD_OPERATORS: &str = r#""In", "NotIn""#;

const NAME_FORM: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start \
     and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex \
     used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE_FORM: &str = "a valid label must be an empty string or consist of alphanumeric \
     characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. \
     'MyValue',  or 'my_value',  or '12345', regex used for validation is \
     '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const SUBDOMAIN_FORM: &str = "a lowercase RFC 1123 subdomain must consist of lower case \
     alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character \
     (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// Adds what is wrong with a requirement, each with its path below it.
pub(crate) fn add(requirement: &RequirementWire<'_>, dialect: Dialect, problems: &mut Vec<String>) {
    let values = &requirement.values.0;
    if dialect == Dialect::NodeField {
        match &*requirement.operator {
            "In" | "NotIn" if values.len() == 1 => {}
            "In" | "NotIn" => problems.push(miscounted(values, "must have one element")),
            _ => problems.push(unsupported(&requirement.operator, FIELD_OPERATORS)),
        }
        return;
    }
    let detail = match (&*requirement.operator, values.len()) {
        ("In" | "NotIn", 0) => "for 'in', 'notin' operators, values set can't be empty",
        ("Exists" | "DoesNotExist", 1..) => {
            "values set must be empty for exists and does not exist"
        }
        ("Gt" | "Lt", 0 | 2..) => "for 'Gt', 'Lt' operators, exactly one value is required",
        ("In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt", _) => "",
        _ => {
            problems.push(unsupported(&requirement.operator, LABEL_OPERATORS));
            return;
        }
    };
    if !is_label_key(&requirement.key) {
        let why = key_problems(&requirement.key).join("; ");
        problems.push(invalid(".key", &requirement.key, &why));
    }
    if !detail.is_empty() {
        problems.push(miscounted(values, detail));
    }
    if matches!(&*requirement.operator, "Gt" | "Lt") {
        for (index, value) in values.iter().enumerate().filter(|(_, value)| !is_integer(value)) {
            let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
            problems.push(invalid(&format!(".values[{index}]"), value, detail));
        }
    }
    for (index, value) in values.iter().enumerate().filter(|(_, value)| !is_label_value(value)) {
        let place = format!(".values[{index}][{}]", &*requirement.key);
        problems.push(invalid(&place, value, &value_problems(value).join("; ")));
    }
}

/// Several in brackets, each once.
pub(crate) fn summary(problems: Vec<String>) -> Option<Box<str>> {
    let mut distinct: Vec<String> = Vec::with_capacity(problems.len());
    for problem in problems {
        if !distinct.contains(&problem) {
            distinct.push(problem);
        }
    }
    match distinct.as_slice() {
        [] => None,
        [only] => Some(only.as_str().into()),
        several => Some(format!("[{}]", several.join(", ")).into()),
    }
}

fn is_integer(value: &Text<'_>) -> bool {
    value.parse::<i64>().is_ok()
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn invalid(place: &str, value: &str, detail: &str) -> String {
    format!("{place}: Invalid value: {}: {detail}", quoted(value))
}

fn miscounted(values: &[Text<'_>], detail: &str) -> String {
    let shown: Vec<String> = values.iter().map(|value| quoted(value)).collect();
    // Go prints an absent list as `null`.
    let shown = if shown.is_empty() { "null".to_owned() } else { format!("[{}]", shown.join(",")) };
    format!(".values: Invalid value: {shown}: {detail}")
}

fn unsupported(operator: &str, known: &str) -> String {
    format!(".operator: Unsupported value: {}: supported values: {known}", quoted(operator))
}

fn too_long(bytes_max: usize) -> String {
    format!("must be no more than {bytes_max} bytes")
}

fn key_problems(key: &str) -> Vec<String> {
    let parts: Vec<&str> = key.split('/').collect();
    let mut problems = Vec::new();
    let name = match parts.as_slice() {
        [name] => *name,
        ["", name] => {
            problems.push("prefix part must be non-empty".to_owned());
            *name
        }
        [prefix, name] => {
            if prefix.len() > PREFIX_BYTES_MAX {
                problems.push(format!("prefix part {}", too_long(PREFIX_BYTES_MAX)));
            }
            // The form itself has no bound.
            if !prefix.split('.').all(is_subdomain) {
                problems.push(format!("prefix part {SUBDOMAIN_FORM}"));
            }
            *name
        }
        _ => {
            let rest = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {NAME_FORM} {rest}")];
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > NAME_BYTES_MAX {
        problems.push(format!("name part {}", too_long(NAME_BYTES_MAX)));
    }
    if !has_form(name) {
        problems.push(format!("name part {NAME_FORM}"));
    }
    problems
}

fn value_problems(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > NAME_BYTES_MAX {
        problems.push(too_long(NAME_BYTES_MAX));
    }
    if !value.is_empty() && !has_form(value) {
        problems.push(VALUE_FORM.to_owned());
    }
    problems
}

/// The form of names, whatever their length.
fn has_form(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    is_end(name.as_bytes().first()) && is_end(name.as_bytes().last()) && name.bytes().all(is_inner)
}

#[cfg(test)]
mod tests {
    use super::super::selector::{Dialect, RequirementWire};
    use super::{add, summary};

    fn problem(json: &str, dialect: Dialect) -> String {
        let wire: RequirementWire<'_> = serde_json::from_str(json).expect(json);
        let mut problems = Vec::new();
        add(&wire, dialect, &mut problems);
        summary(problems).map(String::from).unwrap_or_default()
    }

    #[test]
    fn what_is_wrong_is_told_with_its_path() {
        let of = |json| problem(json, Dialect::NodeLabel);
        assert_eq!(of(r#"{"key":"a","operator":"Gt","values":["5"]}"#), "");
        assert_eq!(
            of(r#"{"key":"a","operator":"Gt","values":["five"]}"#),
            ".values[0]: Invalid value: \"five\": for 'Gt', 'Lt' operators, \
             the value must be an integer"
        );
        assert_eq!(
            of(r#"{"key":"a","operator":"in","values":["x"]}"#),
            ".operator: Unsupported value: \"in\": supported values: \
             \"In\", \"NotIn\", \"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\""
        );
        assert_eq!(
            of(r#"{"key":"a","operator":"In"}"#),
            ".values: Invalid value: null: for 'in', 'notin' operators, \
             values set can't be empty"
        );
        let found = of(r#"{"key":"a b","operator":"Exists","values":["x", "y z"]}"#);
        assert!(found.starts_with("[.key: Invalid value: \"a b\": name part"));
        assert!(found.contains("values: Invalid value: [\"x\",\"y z\"]: values set must be empty"));
        assert!(found.contains("values[1][a b]: Invalid value: \"y z\": a valid label must be"));
        assert_eq!(found.matches("Invalid value").count(), 3);
        // A minus sign begins no label value.
        assert!(of(r#"{"key":"a","operator":"Lt","values":["-1"]}"#).contains("values[0][a]"));
        let field = |json| problem(json, Dialect::NodeField);
        assert_eq!(field(r#"{"key":"metadata.name","operator":"In","values":["n"]}"#), "");
        assert_eq!(
            field(r#"{"key":"metadata.name","operator":"In","values":["n","n"]}"#),
            ".values: Invalid value: [\"n\",\"n\"]: must have one element"
        );
        assert!(field(r#"{"key":"metadata.name","operator":"Gt"}"#).contains("\"In\", \"NotIn\""));
    }

    #[test]
    fn keys_are_told_by_their_parts() {
        let of = |key: &str| super::key_problems(key).join("; ");
        assert_eq!(of("/a"), "prefix part must be non-empty");
        assert!(of("a/b/c").starts_with("a valid label key must consist"));
        assert!(of("A/b").starts_with("prefix part a lowercase RFC 1123"));
        assert!(of("").starts_with("name part must be non-empty; name part must consist"));
        assert_eq!(of(&"a".repeat(64)), "name part must be no more than 63 bytes");
    }
}
