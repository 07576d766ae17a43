//! How a timestamp that is a fact of the host enters an expression: by windows alone, or as it is.

use crate::functions::window_of;
use crate::ir::{Expression, Node, Operation};
use crate::value::{Timestamp, Value, Window};

/// What an expression reads of a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Moments {
    /// Nothing.
    #[default]
    None,
    /// Whether windows are open at it.
    Windows(Vec<Window>),
    /// Anything.
    All,
}

impl Moments {
    /// What two expressions read.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, read) | (read, Self::None) => read,
            (Self::Windows(mut windows), Self::Windows(more)) => {
                windows.extend(more);
                Self::Windows(windows)
            }
            (Self::All, _) | (_, Self::All) => Self::All,
        }
    }

    /// Whether what is read may be another at the second moment.
    pub fn differ(&self, first: Timestamp, second: Timestamp) -> bool {
        match self {
            Self::None => false,
            Self::All => first != second,
            Self::Windows(windows) => {
                windows.iter().any(|window| window.is_open(first) != window.is_open(second))
            }
        }
    }

    /// The next whole minute at which what is read may change.
    pub fn changes_after(&self, at: Timestamp) -> Option<Timestamp> {
        match self {
            Self::None => None,
            Self::All => {
                let seconds = at.seconds();
                Timestamp::new(seconds + 60 - seconds.rem_euclid(60), 0)
            }
            Self::Windows(windows) => {
                windows.iter().filter_map(|window| window.changes_after(at)).min()
            }
        }
    }
}

impl Expression {
    /// What is read of the moment that a fact tells. A window counts as one only if it is constant.
    pub fn moments(&self, fact: &str) -> Moments {
        let is_it = |node: &Node| match &node.operation {
            Operation::Fact { fact: name, .. } | Operation::Present { fact: name, .. } => {
                *name.text == *fact
            }
            _ => false,
        };
        let Some(root) = self.node(self.root) else { return Moments::None };
        if is_it(root) {
            return Moments::All;
        }
        let mut read = Moments::None;
        for user in &self.nodes {
            let of_it = user.args.iter().filter(|arg| self.node(**arg).is_some_and(is_it));
            read = match (of_it.count(), self.window(user, is_it)) {
                (0, _) => read,
                (1, Some(window)) => read.with(Moments::Windows(vec![window])),
                _ => Moments::All,
            };
        }
        read
    }

    fn window(&self, user: &Node, is_it: impl Fn(&Node) -> bool) -> Option<Window> {
        let Operation::Call { overload, .. } = &user.operation else { return None };
        let (moment, window) = user.args.split_first()?;
        if overload.family.name != "within" || !self.node(*moment).is_some_and(is_it) {
            return None;
        }
        let constants: Option<Vec<Value>> =
            window.iter().map(|arg| self.constant_at(*arg)).collect();
        window_of(&constants?).ok()
    }

    /// The value of a node that is constant, or the duration of a constant text.
    fn constant_at(&self, index: u32) -> Option<Value> {
        let node = self.node(index)?;
        match &node.operation {
            Operation::Constant(constant) => self.constants.get(*constant as usize).cloned(),
            Operation::Call { overload, .. } if overload.family.name == "to_duration" => {
                match self.constant_at(*node.args.first()?)? {
                    Value::String(text) => crate::Duration::parse(&text).map(Value::Duration),
                    duration @ Value::Duration(_) => Some(duration),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::Moments;
    use crate::{Expression, Timestamp};

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    /// `now.within('0 22 * * *', duration('1h'))`, with another node at the end.
    fn expression(more: &[Json]) -> Expression {
        let mut nodes = vec![
            json!({"op": "fact", "type": "timestamp", "fact": "now", "args": []}),
            json!({"op": "constant", "type": "string", "constant": 0}),
            json!({"op": "constant", "type": "string", "constant": 1}),
            json!({"op": "call", "type": "duration", "overload": "to_duration_string", "args": [2]}),
            json!({"op": "call", "type": "bool", "overload": "within_timestamp_duration",
                   "args": [0, 1, 3]}),
        ];
        nodes.extend_from_slice(more);
        let ir = json!({"format": 1, "constants": ["0 22 * * *", "1h", 3], "nodes": nodes,
                        "root": nodes.len() - 1});
        Expression::verify(&ir).unwrap()
    }

    #[test]
    fn a_window_changes_at_its_edges_only() {
        let moments = expression(&[]).moments("now");
        assert!(matches!(&moments, Moments::Windows(windows) if windows.len() == 1));
        assert_eq!(
            moments.changes_after(at("2026-01-01T10:00:00Z")),
            Some(at("2026-01-01T22:00:00Z"))
        );
        assert_eq!(
            moments.changes_after(at("2026-01-01T22:10:00Z")),
            Some(at("2026-01-01T23:00:00Z"))
        );
        assert!(!moments.differ(at("2026-01-01T10:00:00Z"), at("2026-01-01T21:59:00Z")));
        assert!(moments.differ(at("2026-01-01T10:00:00Z"), at("2026-01-01T22:00:00Z")));
        assert_eq!(expression(&[]).moments("then"), Moments::None);
    }

    #[test]
    fn whoever_reads_more_of_it_may_change_each_minute() {
        let moments = expression(&[
            json!({"op": "call", "type": "int", "overload": "get_hours_timestamp", "args": [0]}),
            json!({"op": "constant", "type": "int", "constant": 2}),
            json!({"op": "call", "type": "bool", "overload": "less_int64", "args": [5, 6]}),
            json!({"op": "and", "type": "bool", "args": [4, 7]}),
        ])
        .moments("now");
        assert_eq!(moments, Moments::All);
        assert_eq!(
            moments.changes_after(at("2026-01-01T10:00:30Z")),
            Some(at("2026-01-01T10:01:00Z"))
        );
    }
}
