//! Loops over lists and maps: the standard macros, the two-variable ones, `optMap`, `sortBy`.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::budget::{Budget, halvings};
use crate::error::{ErrorKind, EvaluationError, Fault};
use crate::ir::{LoopKind, Node};
use crate::prices::ELEMENT;
use crate::scalar::{Machine, duplicate};
use crate::value::{Evaluated, Key, Map, Value, order};

/// What a loop runs over.
enum Range {
    List(Arc<Vec<Value>>),
    Map(Arc<Map>),
}

impl Range {
    fn len(&self) -> usize {
        match self {
            Self::List(items) => items.len(),
            Self::Map(map) => map.iter().count(),
        }
    }

    /// The values of the first and the second variable, of each element in turn. With one variable
    /// a list gives its items and a map its keys; with two, a list gives its indices first.
    fn elements(&self, two: bool) -> Vec<(Value, Value)> {
        match self {
            Self::List(items) => {
                let number = |index: usize| Value::Int(i64::try_from(index).unwrap_or(i64::MAX));
                let indexed = items.iter().enumerate();
                indexed
                    .map(|(index, item)| {
                        let first = if two { number(index) } else { item.clone() };
                        (first, if two { item.clone() } else { Value::Null })
                    })
                    .collect()
            }
            Self::Map(map) => {
                let second = |value: &Value| if two { value.clone() } else { Value::Null };
                map.iter().map(|(key, value)| (key.value(), second(value))).collect()
            }
        }
    }
}

impl Machine<'_> {
    pub(crate) fn looped(
        &mut self,
        node: &Node,
        kind: LoopKind,
        first: u8,
        second: Option<u8>,
    ) -> Evaluated {
        let place = |fault: Fault| fault.at(node.origin);
        let range = match (self.operand(node, 0)?, kind) {
            (Value::Optional(inner), LoopKind::OptionalMap | LoopKind::OptionalFlatMap) => {
                return self.over_optional(node, kind, first, inner);
            }
            (Value::List(items), _) => Range::List(items),
            (Value::Map(map), _) => Range::Map(map),
            _ => return Err(place(Fault::no_such_overload())),
        };
        // Before a list of them is made: that takes as long as they are many.
        self.budget.charge(ELEMENT * range.len() as u64).map_err(place)?;
        let elements = range.elements(second.is_some());
        let mut pass = Pass { node, first, second, elements };
        match kind {
            LoopKind::All => self.decided(&mut pass, false),
            LoopKind::Exists => self.decided(&mut pass, true),
            LoopKind::ExistsOne => self.exists_one(&mut pass),
            LoopKind::Filter => self.filtered(&mut pass),
            LoopKind::Map => self.mapped(&mut pass),
            LoopKind::TransformMap => self.transformed(&mut pass, &range),
            LoopKind::TransformMapEntry => self.entries(&mut pass),
            LoopKind::SortBy => self.sorted(&mut pass),
            LoopKind::OptionalMap | LoopKind::OptionalFlatMap => {
                Err(place(Fault::no_such_overload()))
            }
        }
    }

    fn over_optional(
        &mut self,
        node: &Node,
        kind: LoopKind,
        slot: u8,
        inner: Option<Arc<Value>>,
    ) -> Evaluated {
        let Some(inner) = inner else {
            return Ok(Value::NONE);
        };
        self.set(slot, Ok((*inner).clone()));
        match (self.operand(node, 1)?, kind) {
            (value, LoopKind::OptionalMap) => Ok(Value::some(value)),
            (value @ Value::Optional(_), _) => Ok(value),
            _ => Err(Fault::no_such_overload().at(node.origin)),
        }
    }

    fn enter(&mut self, pass: &Pass<'_>, element: (Value, Value)) {
        self.set(pass.first, Ok(element.0));
        if let Some(second) = pass.second {
            self.set(second, Ok(element.1));
        }
    }

    /// The body, which must be a bool.
    fn test(&mut self, pass: &Pass<'_>, position: usize) -> Result<bool, EvaluationError> {
        match self.operand(pass.node, position)? {
            Value::Bool(value) => Ok(value),
            _ => Err(pass.wrong()),
        }
    }

    /// `all` and `exists`: an element that decides wins over errors of others.
    fn decided(&mut self, pass: &mut Pass<'_>, decides: bool) -> Evaluated {
        let mut error = None;
        for element in pass.take() {
            self.enter(pass, element);
            match self.test(pass, 1) {
                Ok(value) if value == decides => return Ok(Value::Bool(decides)),
                Ok(_) => {}
                Err(cost) if cost.kind == ErrorKind::CostExceeded => return Err(cost),
                Err(other) => {
                    error.get_or_insert(other);
                }
            }
        }
        error.map_or(Ok(Value::Bool(!decides)), Err)
    }

    fn exists_one(&mut self, pass: &mut Pass<'_>) -> Evaluated {
        let mut found = 0;
        for element in pass.take() {
            self.enter(pass, element);
            if self.test(pass, 1)? {
                found += 1;
            }
        }
        Ok(Value::Bool(found == 1))
    }

    fn filtered(&mut self, pass: &mut Pass<'_>) -> Evaluated {
        let mut kept = Vec::new();
        for element in pass.take() {
            let item = element.0.clone();
            self.enter(pass, element);
            if self.test(pass, 1)? {
                kept.push(item);
            }
        }
        Ok(Value::list(kept))
    }

    /// Whether the element passes the middle operand, if there is one.
    fn selected(&mut self, pass: &Pass<'_>) -> Result<bool, EvaluationError> {
        if pass.node.args.len() == 3 { self.test(pass, 1) } else { Ok(true) }
    }

    fn body(&mut self, pass: &Pass<'_>) -> Evaluated {
        self.operand(pass.node, pass.node.args.len() - 1)
    }

    fn mapped(&mut self, pass: &mut Pass<'_>) -> Evaluated {
        let mut results = Vec::new();
        for element in pass.take() {
            self.enter(pass, element);
            if self.selected(pass)? {
                results.push(self.body(pass)?);
            }
        }
        Ok(Value::list(results))
    }

    fn transformed(&mut self, pass: &mut Pass<'_>, range: &Range) -> Evaluated {
        let keyed = matches!(range, Range::Map(_)) || pass.second.is_some();
        let mut entries = Vec::new();
        for element in pass.take() {
            let key = Key::of(&element.0).filter(|_| keyed).ok_or_else(|| pass.wrong())?;
            self.enter(pass, element);
            if self.selected(pass)? {
                entries.push((key, self.body(pass)?));
            }
        }
        pass.map(entries, self.budget)
    }

    fn entries(&mut self, pass: &mut Pass<'_>) -> Evaluated {
        let mut entries = Vec::new();
        for element in pass.take() {
            self.enter(pass, element);
            if self.selected(pass)? {
                let Value::Map(made) = self.body(pass)? else {
                    return Err(pass.wrong());
                };
                let copied = made.len() as u64;
                self.budget.charge(copied).map_err(|fault| fault.at(pass.node.origin))?;
                entries.extend(made.iter().map(|(key, value)| (key.clone(), value.clone())));
            }
        }
        pass.map(entries, self.budget)
    }

    fn sorted(&mut self, pass: &mut Pass<'_>) -> Evaluated {
        let mut keyed = Vec::new();
        for element in pass.take() {
            let item = element.0.clone();
            self.enter(pass, element);
            keyed.push((self.body(pass)?, item));
        }
        let comparable = keyed.windows(2).all(
            |pair| matches!(pair, [a, b] if order(&a.0, &b.0).is_some() && same_type(&a.0, &b.0)),
        );
        if !comparable {
            return Err(pass.wrong());
        }
        let unordered = keyed
            .windows(2)
            .any(|pair| matches!(pair, [a, b] if order(&a.0, &b.0).flatten().is_none()));
        if unordered {
            return Err(Fault::not_a_number().at(pass.node.origin));
        }
        let sorting = keyed.len() as u64 * halvings(keyed.len());
        self.budget.charge(sorting).map_err(|fault| fault.at(pass.node.origin))?;
        keyed.sort_by(|a, b| order(&a.0, &b.0).flatten().unwrap_or(Ordering::Equal));
        Ok(Value::list(keyed.into_iter().map(|(_, item)| item).collect()))
    }
}

fn same_type(a: &Value, b: &Value) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b)
}

/// One run of a loop.
struct Pass<'n> {
    node: &'n Node,
    first: u8,
    second: Option<u8>,
    elements: Vec<(Value, Value)>,
}

impl Pass<'_> {
    fn take(&mut self) -> Vec<(Value, Value)> {
        std::mem::take(&mut self.elements)
    }

    fn wrong(&self) -> EvaluationError {
        Fault::no_such_overload().at(self.node.origin)
    }

    fn map(&self, entries: Vec<(Key, Value)>, budget: &mut Budget) -> Evaluated {
        let sorting = entries.len() as u64 * (1 + halvings(entries.len()));
        budget.charge(sorting).map_err(|fault| fault.at(self.node.origin))?;
        let map = Map::new(entries);
        map.map(Value::map).map_err(|key| duplicate(&key).at(self.node.origin))
    }
}
