//! Label selectors: requirements on a map of labels, all of which must hold. Keys and values were
//! checked where a user wrote them.

use std::fmt::Write as _;
use std::sync::Arc;

/// The most requirements of one selector, and the most values of one requirement.
const REQUIREMENTS_MAX: usize = 64;
const VALUES_MAX: usize = 256;

/// How a requirement compares the label with its values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum Operator {
    /// The label has one of the values.
    In,
    /// The label is missing, or has none of the values.
    NotIn,
    /// The label exists.
    Exists,
    /// The label is missing.
    DoesNotExist,
}

/// What a selector demands of one label.
#[derive(Clone, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct Requirement {
    /// The key of the label.
    pub key: Arc<str>,
    /// How the label is compared.
    pub operator: Operator,
    /// Sorted, without doubles; empty for `Exists` and `DoesNotExist`.
    pub values: Vec<Arc<str>>,
}

/// Requirements in canonical order, so that equal selectors are equal values.
#[derive(Clone, PartialEq, Eq, Debug, Default, Hash)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

impl Selector {
    /// A selector of these requirements, in any order.
    pub fn new(mut requirements: Vec<Requirement>) -> Self {
        for requirement in &mut requirements {
            requirement.values.sort();
            requirement.values.dedup();
        }
        requirements.sort();
        requirements.dedup();
        Self { requirements }
    }

    /// The selector of `matchLabels`.
    pub fn of_labels<'a>(labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let requirement = |(key, value): (&str, &str)| Requirement {
            key: key.into(),
            operator: Operator::In,
            values: vec![value.into()],
        };
        Self::new(labels.into_iter().map(requirement).collect())
    }

    /// The requirements, in canonical order.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// Whether labels, looked up by `label`, satisfy every requirement.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|requirement| {
            let value = label(&requirement.key);
            let listed = |value: &str| requirement.values.iter().any(|allowed| **allowed == *value);
            match requirement.operator {
                Operator::In => value.is_some_and(listed),
                Operator::NotIn => !value.is_some_and(listed),
                Operator::Exists => value.is_some(),
                Operator::DoesNotExist => value.is_none(),
            }
        })
    }

    /// Reads `a=b,c!=d,e in (f,g),h notin (i),j,!k`; empty text selects everything.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut requirements = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let (requirement, tail) = one(rest)?;
            requirements.push(requirement);
            if requirements.len() > REQUIREMENTS_MAX {
                return Err(format!("more than {REQUIREMENTS_MAX} requirements"));
            }
            let tail = tail.trim_start();
            rest = match tail.strip_prefix(',') {
                Some(after) if !after.trim().is_empty() => after.trim_start(),
                Some(_) => return Err("a requirement is missing after the last `,`".into()),
                None if tail.is_empty() => tail,
                None => return Err(format!("`,` expected before `{tail}`")),
            };
        }
        Ok(Self::new(requirements))
    }

    /// The canonical text; [`Selector::parse`] reads it back.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for requirement in &self.requirements {
            if !text.is_empty() {
                text.push(',');
            }
            let values = requirement.values.join(",");
            let key = &requirement.key;
            let _ = match (requirement.operator, requirement.values.as_slice()) {
                (Operator::In, [value]) => write!(text, "{key}={value}"),
                (Operator::In, _) => write!(text, "{key} in ({values})"),
                (Operator::NotIn, _) => write!(text, "{key} notin ({values})"),
                (Operator::Exists, _) => write!(text, "{key}"),
                (Operator::DoesNotExist, _) => write!(text, "!{key}"),
            };
        }
        text
    }
}

fn one(text: &str) -> Result<(Requirement, &str), String> {
    if let Some(rest) = text.strip_prefix('!') {
        let (key, rest) = word(rest.trim_start());
        return Ok((requirement(key, Operator::DoesNotExist, Vec::new())?, rest));
    }
    let (key, rest) = word(text);
    let rest = rest.trim_start();
    for (mark, operator) in [("==", Operator::In), ("!=", Operator::NotIn), ("=", Operator::In)] {
        if let Some(rest) = rest.strip_prefix(mark) {
            let (value, rest) = word(rest.trim_start());
            return Ok((requirement(key, operator, vec![value.into()])?, rest));
        }
    }
    let (name, after) = word(rest);
    let operator = match name {
        "in" => Operator::In,
        "notin" => Operator::NotIn,
        _ => return Ok((requirement(key, Operator::Exists, Vec::new())?, rest)),
    };
    let inside = after.trim_start().strip_prefix('(').ok_or("`(` expected after `in`")?;
    let (inside, rest) = inside.split_once(')').ok_or("`)` is missing")?;
    let values: Vec<Arc<str>> = inside.split(',').map(|value| value.trim().into()).collect();
    if values.len() > VALUES_MAX {
        return Err(format!("more than {VALUES_MAX} values"));
    }
    Ok((requirement(key, operator, values)?, rest))
}

fn requirement(
    key: &str,
    operator: Operator,
    values: Vec<Arc<str>>,
) -> Result<Requirement, String> {
    if key.is_empty() {
        return Err("a label key is missing".into());
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if let Some(value) = values.iter().find(|value| !value.chars().all(plain)) {
        return Err(format!("`{value}` is not a label value"));
    }
    Ok(Requirement { key: key.into(), operator, values })
}

/// The longest run of characters of keys and values.
fn word(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !(c.is_ascii_alphanumeric() || "-_./".contains(c)))
        .unwrap_or(text.len());
    text.split_at(end)
}
