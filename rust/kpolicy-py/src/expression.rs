//! Questions about one expression, read before the engine is asked: its value, or how it would be
//! evaluated.

use kpolicy_engine::evaluate::{Query, evaluation_plan_of};
use pyo3::PyResult;
use pyo3::exceptions::PyValueError;
use serde_json::Value;

pub(crate) struct Request {
    document: Value,
}

pub(crate) fn evaluation_plan(ir: &[u8]) -> PyResult<(&'static str, Vec<String>)> {
    let ir: Value = serde_json::from_slice(ir)
        .map_err(|error| PyValueError::new_err(format!("the IR cannot be read: {error}")))?;
    evaluation_plan_of(&ir).map_err(PyValueError::new_err)
}

pub(crate) fn read(request: &[u8]) -> PyResult<Request> {
    let refuse = |why: String| PyValueError::new_err(format!("the request cannot be read: {why}"));
    let document: Value =
        serde_json::from_slice(request).map_err(|error| refuse(error.to_string()))?;
    if document.is_object() { Ok(Request { document }) } else { Err(refuse("an object".into())) }
}

impl Request {
    pub(crate) fn asked(&self) -> Query<'_> {
        let text = |name: &str| self.document.get(name).and_then(Value::as_str);
        Query {
            ir: self.document.get("ir").unwrap_or(&Value::Null),
            variables: self.document.get("variables").unwrap_or(&Value::Null),
            pod: text("pod"),
            node: text("node"),
            traced: self.document.get("trace").and_then(Value::as_bool).unwrap_or(false),
        }
    }
}
