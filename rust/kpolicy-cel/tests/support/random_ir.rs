//! Random expressions of a wanted type, as IR.

use serde_json::{Value as Json, json};

use super::support::{Chance, NAMES};

pub(crate) struct Maker<'a> {
    pub chance: &'a mut Chance,
    constants: Vec<Json>,
    nodes: Vec<Json>,
    /// Nodes that may be used again: index and type.
    shared: Vec<(usize, &'static str)>,
    slots: usize,
    /// Slots in force: number and type.
    bound: Vec<(usize, &'static str)>,
}

pub(crate) fn expression(chance: &mut Chance, kind: &'static str) -> Json {
    let mut maker = Maker {
        chance,
        constants: Vec::new(),
        nodes: Vec::new(),
        shared: Vec::new(),
        slots: 0,
        bound: Vec::new(),
    };
    let root = maker.node(kind, 5);
    json!({"format": 1, "constants": maker.constants, "nodes": maker.nodes, "root": root})
}

impl Maker<'_> {
    fn push(&mut self, node: Json) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn constant(&mut self, kind: &str, value: Json) -> usize {
        self.constants.push(value);
        let constant = self.constants.len() - 1;
        self.push(json!({"op": "constant", "type": kind, "constant": constant}))
    }

    fn fact(&mut self, op: &str, kind: &str, fact: &str, key: Option<&str>) -> usize {
        let args: Vec<usize> =
            key.into_iter().map(|key| self.constant("string", json!(key))).collect();
        self.push(json!({"op": op, "type": kind, "fact": fact, "args": args}))
    }

    /// `label(node, key)`, mostly with the empty text where there is none.
    fn label(&mut self, key: &str) -> usize {
        let otherwise = *self.chance.pick(&["", "", NAMES[0], NAMES[1]]);
        let args = [
            self.fact("present", "bool", "node.labels[]", Some(key)),
            self.fact("fact", "string", "node.labels[]", Some(key)),
            self.constant("string", json!(otherwise)),
        ];
        self.push(json!({"op": "conditional", "type": "string", "args": args}))
    }

    fn call(
        &mut self,
        kind: &str,
        overload: &str,
        operands: &[&'static str],
        depth: usize,
    ) -> usize {
        let args: Vec<usize> = operands.iter().map(|operand| self.node(operand, depth)).collect();
        self.push(json!({"op": "call", "type": kind, "overload": overload, "args": args}))
    }

    pub(crate) fn node(&mut self, kind: &'static str, depth: usize) -> usize {
        if self.bound.is_empty() && self.chance.below(8) == 0 {
            let known: Vec<usize> =
                self.shared.iter().filter(|(_, other)| *other == kind).map(|(at, _)| *at).collect();
            if !known.is_empty() {
                return *self.chance.pick(&known);
            }
        }
        let in_force: Vec<usize> =
            self.bound.iter().filter(|(_, other)| *other == kind).map(|(slot, _)| *slot).collect();
        if !in_force.is_empty() && self.chance.below(2) == 0 {
            let slot = *self.chance.pick(&in_force);
            return self.push(json!({"op": "slot", "type": kind, "slot": slot}));
        }
        let made = if depth == 0 { self.leaf(kind) } else { self.inner(kind, depth - 1) };
        if self.bound.is_empty() {
            self.shared.push((made, kind));
        }
        made
    }

    fn leaf(&mut self, kind: &'static str) -> usize {
        let choice = self.chance.below(8);
        let key = *self.chance.pick(&["a", "b", "c", "none"]);
        match (kind, choice) {
            ("bool", 0) => self.constant("bool", json!(true)),
            ("bool", 1) => self.constant("bool", json!(false)),
            ("bool", 2) => self.fact("fact", "bool", "node.ready", None),
            ("bool", 3) => self.fact("fact", "bool", "pod.hostNetwork", None),
            ("bool", 4) => self.fact("present", "bool", "pod.labels[]", Some(key)),
            ("bool", 5) => {
                let fact =
                    *self.chance.pick(&["node.taints", "node.said", "node.spare", "pod.names"]);
                self.fact("present", "bool", fact, None)
            }
            ("bool", _) => self.fact("present", "bool", "node.labels[]", Some(key)),
            ("int", 0) => self.fact("fact", "int", "node.used", None),
            ("int", 1) => self.fact("fact", "int", "pod.priority", None),
            ("int", 2) => self.fact("fact", "int", "node.rack", None),
            ("int", 3) => self.fact("fact", "int", "cluster.nodes", None),
            ("int", 4) => self.fact("fact", "int", "node.free", None),
            ("int", 5) => self.fact("fact", "int", "node.spare", None),
            ("int", _) => {
                let value = *self.chance.pick(&[0_i64, 1, 2, 5, 100, 4000, i64::MAX]);
                self.constant("int", json!(value))
            }
            ("double", 0 | 1) => self.fact("fact", "double", "node.load", None),
            ("double", 2) => self.fact("fact", "double", "pod.share", None),
            ("double", _) => {
                let value = *self.chance.pick(&["0.0", "0.5", "1.0", "NaN", "4000.0"]);
                self.constant("double", json!({"double": value}))
            }
            ("list", 0 | 1) => self.fact("fact", "dyn", "node.taints", None),
            ("list", 2) => self.fact("fact", "dyn", "pod.names", None),
            ("list", _) => {
                let count = self.chance.below(4);
                let items: Vec<&str> = (0..count).map(|_| *self.chance.pick(&NAMES)).collect();
                let kind = json!(["list", "string"]);
                self.constants.push(json!(items));
                let constant = self.constants.len() - 1;
                self.push(json!({"op": "constant", "type": kind, "constant": constant}))
            }
            (_, 0) => self.fact("fact", "string", "node.labels[]", Some(key)),
            (_, 1 | 2) => self.label(key),
            (_, 3) => self.fact("fact", "string", "pod.labels[]", Some(key)),
            (_, 4) => self.fact("fact", "string", "node.said", None),
            (_, _) => {
                let name = *self.chance.pick(&NAMES);
                self.constant("string", json!(name))
            }
        }
    }

    fn inner(&mut self, kind: &'static str, depth: usize) -> usize {
        if self.chance.below(7) == 0 {
            let args = [self.node("bool", depth), self.node(kind, depth), self.node(kind, depth)];
            let shown = if kind == "list" { "dyn" } else { kind };
            return self.push(json!({"op": "conditional", "type": shown, "args": args}));
        }
        match kind {
            "bool" => self.test(depth),
            "int" => match self.chance.below(8) {
                0 => self.call("int", "add_int64", &["int", "int"], depth),
                1 => self.call("int", "subtract_int64", &["int", "int"], depth),
                2 => self.call("int", "multiply_int64", &["int", "int"], depth),
                3 => self.call("int", "divide_int64", &["int", "int"], depth),
                4 => self.call("int", "modulo_int64", &["int", "int"], depth),
                5 => self.call("int", "to_int", &["double"], depth),
                6 => self.call("int", "size", &["string"], depth),
                _ => self.leaf("int"),
            },
            "double" => match self.chance.below(6) {
                0 => self.call("double", "add_double", &["double", "double"], depth),
                1 => self.call("double", "divide_double", &["double", "double"], depth),
                2 => self.call("double", "to_double_int64", &["int"], depth),
                3 => self.call("double", "ratio_number", &["int", "double"], depth),
                4 => self.call("double", "ratio_number", &["int", "int"], depth),
                _ => self.leaf("double"),
            },
            "string" => match self.chance.below(3) {
                0 => self.call("string", "add_string", &["string", "string"], depth),
                1 => self.call("string", "to_string_int64", &["int"], depth),
                _ => self.leaf("string"),
            },
            _ => self.leaf("list"),
        }
    }

    fn test(&mut self, depth: usize) -> usize {
        let orders = ["less", "less_equals", "greater", "greater_equals"];
        let order = *self.chance.pick(&orders);
        match self.chance.below(18) {
            14 => self.of_text("is_ip_string", "is_cidr_string", depth),
            15 => self.of_text("is_semver_string", "is_url_string", depth),
            16 => self.versions(depth),
            17 => self.asked_of_the_pod(depth),
            0 | 1 => self.joined("and", depth),
            2 | 3 => self.joined("or", depth),
            4 => self.call("bool", "not_bool", &["bool"], depth),
            5 => self.call("bool", &format!("{order}_int64"), &["int", "int"], depth),
            6 => self.call("bool", &format!("{order}_number"), &["int", "double"], depth),
            7 => self.call("bool", &format!("{order}_string"), &["string", "string"], depth),
            8 => self.call("bool", "equals_any", &["string", "string"], depth),
            9 => self.call("bool", "not_equals_any", &["string", "string"], depth),
            10 => self.call("bool", "in", &["string", "list"], depth),
            11 => self.call("bool", "starts_with_string", &["string", "string"], depth),
            12 => self.looped(depth),
            _ => self.call("bool", "equals_any", &["bool", "bool"], depth),
        }
    }

    fn of_text(&mut self, one: &str, other: &str, depth: usize) -> usize {
        let overload = if self.chance.below(2) == 0 { one } else { other };
        self.call("bool", overload, &["string"], depth)
    }

    /// One version before another, or an address in a range.
    fn versions(&mut self, depth: usize) -> usize {
        let text = self.node("string", depth);
        if self.chance.below(2) == 0 {
            let constant = self.constant("string", json!("10.0.0.0/8"));
            let range = self.made("cidr", "cidr_string", &[constant]);
            return self.made("bool", "contains_ip_string", &[range, text]);
        }
        let is_normalized = self.constant("bool", json!(true));
        let have = self.made("semver", "semver_string_bool", &[text, is_normalized]);
        let constant = self.constant("string", json!("1.20.0"));
        let wanted = self.made("semver", "semver_string", &[constant]);
        self.made("bool", "is_less_than_semver", &[have, wanted])
    }

    /// A fact that all lanes share, with an argument that they may not.
    fn asked_of_the_pod(&mut self, depth: usize) -> usize {
        let name = self.node("string", depth);
        self.push(json!({"op": "fact", "type": "bool", "fact": "pod.bears[]", "args": [name]}))
    }

    fn made(&mut self, kind: &str, overload: &str, args: &[usize]) -> usize {
        self.push(json!({"op": "call", "type": kind, "overload": overload, "args": args}))
    }

    fn joined(&mut self, op: &str, depth: usize) -> usize {
        let count = 2 + self.chance.below(2);
        let args: Vec<usize> = (0..count).map(|_| self.node("bool", depth)).collect();
        self.push(json!({"op": op, "type": "bool", "args": args}))
    }

    fn looped(&mut self, depth: usize) -> usize {
        let range = self.node("list", depth);
        let slot = self.slots;
        self.slots += 1;
        self.bound.push((slot, "string"));
        let body = self.node("bool", depth);
        self.bound.pop();
        let kind = *self.chance.pick(&["all", "exists", "exists_one"]);
        self.push(json!({
            "op": "loop", "type": "bool", "kind": kind, "slots": [slot], "args": [range, body],
        }))
    }
}
