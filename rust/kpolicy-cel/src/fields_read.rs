//! What an expression looks at of the facts that it reads.

use crate::facts::Read;
use crate::ir::{Expression, Operation};

/// A fact that an expression reads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FieldRead<'a> {
    /// `None`: its arguments are only known while evaluating.
    pub read: Option<&'a Read>,
    /// The field that is looked at of what the fact gives; `None`: all of it is.
    pub field: Option<&'a str>,
}

impl Expression {
    /// All that its value depends on, some of it perhaps more than once.
    pub fn fields_read(&self) -> Vec<FieldRead<'_>> {
        let mut found = Vec::new();
        let mut add = |index: u32, field| {
            let node = self.nodes.get(index as usize);
            if let Some(Operation::Fact { read, .. } | Operation::Present { read, .. }) =
                node.map(|node| &node.operation)
            {
                let read = read.and_then(|read| self.reads.get(read as usize));
                found.push(FieldRead { read, field });
            }
        };
        add(self.root, None);
        for node in &self.nodes {
            let name = match &node.operation {
                Operation::Field(name) | Operation::Has(name) | Operation::OptionalField(name) => {
                    Some(&*name.text)
                }
                _ => None,
            };
            for (place, arg) in node.args.iter().enumerate() {
                add(*arg, name.filter(|_| place == 0));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::ir::Expression;

    #[test]
    fn a_field_of_a_fact_is_told_from_all_of_it() {
        let document = json!({"format": 1, "constants": ["d"], "root": 4, "nodes": [
            {"op": "constant", "type": "string", "constant": 0},
            {"op": "fact", "type": ["map", "string", "dyn"], "fact": "a[]", "args": [0]},
            {"op": "field", "type": "dyn", "name": "model", "args": [1]},
            {"op": "fact", "type": "string", "fact": "b"},
            {"op": "call", "type": "bool", "overload": "equals", "args": [2, 3]}]});
        let expression = Expression::verify(&document).expect("it is valid");
        let read: Vec<(&str, Option<&str>)> = expression
            .fields_read()
            .iter()
            .map(|own| (own.read.map_or("", |read| &*read.fact.text), own.field))
            .collect();
        assert_eq!(read, [("a[]", Some("model")), ("b", None)]);
    }
}
