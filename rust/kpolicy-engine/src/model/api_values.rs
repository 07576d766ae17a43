//! Values at API paths: the parts of objects that expressions read.
//!
//! [`ApiPaths`] says what is kept, by kind; [`ApiValues`] holds what was kept of one object. A path
//! that was not requested when the object was read is missing, which differs from a path without a
//! value.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

pub use kpolicy_cel::{Map, Timestamp, Value};

use super::Kind;

/// API paths (`status.nodeInfo.kernelVersion`) by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiPaths(BTreeMap<Kind, BTreeSet<Box<str>>>);

impl ApiPaths {
    /// Asks for a path of objects of a kind.
    pub fn add(&mut self, kind: Kind, path: &str) {
        self.0.entry(kind).or_default().insert(path.into());
    }

    /// Asks for all paths of another set too.
    pub fn add_all(&mut self, other: &Self) {
        for (kind, path) in other.iter() {
            self.add(kind, path);
        }
    }

    /// In order.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = &str> {
        self.0.get(&kind).into_iter().flatten().map(AsRef::as_ref)
    }

    /// Kinds and paths, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Kind, &str)> {
        self.0.iter().flat_map(|(kind, paths)| paths.iter().map(|path| (*kind, path.as_ref())))
    }

    /// Whether no path is asked for.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// One value as it was read, and as text.
#[derive(Debug, Clone)]
pub struct ApiValue {
    path: Box<str>,
    /// `None`: the object has none there.
    pub value: Option<Value>,
    /// Equal exactly where the values are; empty where there is none.
    pub text: Box<str>,
}

/// What was kept of an object, in the order of paths.
#[derive(Debug, Clone, Default)]
pub struct ApiValues(Box<[ApiValue]>);

impl ApiValues {
    /// Of values in the order of their paths.
    pub fn of(values: impl IntoIterator<Item = (Box<str>, Option<Value>)>) -> Self {
        let kept = |(path, value): (Box<str>, Option<Value>)| {
            let text = value.as_ref().map_or_else(Box::default, |value| {
                kpolicy_cel::to_json(value).to_string().into_boxed_str()
            });
            ApiValue { path, value, text }
        };
        Self(values.into_iter().map(kept).collect())
    }

    /// `None`: the path was not asked for when the object was read.
    pub fn get(&self, path: &str) -> Option<&ApiValue> {
        let position = self.0.binary_search_by(|kept| (*kept.path).cmp(path)).ok()?;
        self.0.get(position)
    }
}

impl PartialEq for ApiValues {
    fn eq(&self, other: &Self) -> bool {
        let is_same = |(a, b): (&ApiValue, &ApiValue)| a.path == b.path && a.text == b.text;
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(is_same)
    }
}

impl Eq for ApiValues {}

impl Hash for ApiValues {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for kept in &self.0 {
            kept.path.hash(state);
            kept.text.hash(state);
        }
    }
}
