//! `kpolicy._engine`: the engine for Python. Converts bytes, ints, strings and flat tuples, as
//! `python/kpolicy/_engine.pyi` says.
//!
//! Only `kpolicy.engine` imports it. It keeps no Python object but the bytes that calls of a journal stand
//! in, calls nothing back, and lets other threads run during every call that does work.

#![warn(missing_docs)]

mod advice;
mod again;
mod arguments;
mod asking;
mod decided;
mod devices;
mod engine;
mod expression;
mod fault;
mod feeding;
mod held;
mod judged_pods;
mod pod_resources;
mod program;
mod recorded_calls;
mod stopwatch;
mod tuples;
mod waiting;

use kpolicy_engine::api::Kind;
use kpolicy_engine::release::{FEATURE_GATES, FeatureGate, Release, Stage};
use kpolicy_engine::rules::BUILT_INS;
use kpolicy_engine::rules::catalog::BuiltIn;
use kpolicy_engine::rules::expression::{FactRow, facts};
use kpolicy_engine::threads::THREADS_MAX;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Objects are decoded in one thread and freed in another. The C library's allocator lets the two wait for
/// each other then.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[pymodule(gil_used = false)]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("THREADS_MAX", THREADS_MAX)?;
    module.add("EngineFault", module.py().get_type::<fault::EngineFault>())?;
    module.add_class::<engine::Engine>()?;
    module.add_class::<pod_resources::PodResources>()?;
    module.add_function(wrap_pyfunction!(advice::advise, module)?)?;
    module.add_class::<recorded_calls::RecordedCalls>()?;
    module.add_function(wrap_pyfunction!(recorded_calls::read_calls, module)?)?;
    module.add_function(wrap_pyfunction!(recorded_calls::make_calls, module)?)?;
    module.add_function(wrap_pyfunction!(recorded_calls::labelled, module)?)?;
    module.add_function(wrap_pyfunction!(decided::decisions_json, module)?)?;
    module.add_function(wrap_pyfunction!(decided::schedule_recorded, module)?)?;
    module.add_function(wrap_pyfunction!(decided::arguments_json, module)?)?;
    module.add_function(wrap_pyfunction!(again::decide_again, module)?)?;
    module.add_function(wrap_pyfunction!(waiting::next_pods, module)?)?;
    module.add_function(wrap_pyfunction!(waiting::orders_queue, module)?)?;
    module.add_function(wrap_pyfunction!(waiting::holds_pods, module)?)?;
    module.add_function(wrap_pyfunction!(devices::wanted_selectors, module)?)?;
    module.add_function(wrap_pyfunction!(devices::wrote, module)?)?;
    module.add_function(wrap_pyfunction!(devices::load_selectors, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate_expression, module)?)?;
    module.add_function(wrap_pyfunction!(evaluation_plan, module)?)?;
    module.add_function(wrap_pyfunction!(expression_facts, module)?)?;
    module.add_function(wrap_pyfunction!(built_ins, module)?)?;
    module.add_function(wrap_pyfunction!(releases, module)?)?;
    module.add_function(wrap_pyfunction!(feature_gates, module)?)?;
    module.add_function(wrap_pyfunction!(object_kinds, module)?)?;
    module.add_function(wrap_pyfunction!(time_zones, module)?)
}

/// Evaluate one lowered expression with JSON-coded variables.
#[pyfunction]
fn evaluate_expression<'py>(
    py: Python<'py>,
    ir: &[u8],
    variables: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let answer = fault::detached(py, || Ok(kpolicy_cel::evaluate_json(ir, variables)))?;
    Ok(PyBytes::new(py, &answer))
}

/// How one lowered expression is asked of all nodes, and the facts because of which.
#[pyfunction]
fn evaluation_plan(py: Python<'_>, ir: &[u8]) -> PyResult<(&'static str, Vec<String>)> {
    fault::detached(py, || expression::evaluation_plan(ir))
}

/// The facts that expressions may read.
#[pyfunction]
fn expression_facts() -> Vec<FactRow> {
    facts()
}

/// Every built-in: (name, whether it filters, whether it scores, whether kube-scheduler's default
/// profile has it, its weight there).
#[pyfunction]
fn built_ins() -> Vec<(&'static str, bool, bool, bool, i64)> {
    let row = |built_in: &BuiltIn| {
        let (filters, scores) = (built_in.filters(), built_in.scores());
        (built_in.name, filters, scores, built_in.is_default, built_in.weight)
    };
    BUILT_INS.iter().map(row).collect()
}

/// Name of a release, its labels of the events that a pod was added and that its gates are gone, and
/// the metrics that not every release has.
type ReleaseRow = (&'static str, &'static str, &'static str, Vec<&'static str>);

/// The releases of Kubernetes that are followed, oldest first.
#[pyfunction]
fn releases() -> Vec<ReleaseRow> {
    let row = |release: Release| {
        (release.name(), release.pod_added(), release.gates_gone(), release.metrics().to_vec())
    };
    Release::ALL.into_iter().map(row).collect()
}

/// Name of a feature gate, what each release makes of it, and whether decisions depend on it.
type GateRow = (&'static str, Vec<&'static str>, bool);

/// The feature gates of kube-scheduler, in the order of names.
#[pyfunction]
fn feature_gates() -> Vec<GateRow> {
    let row = |gate: &FeatureGate| {
        (gate.name, gate.stages.into_iter().map(Stage::name).collect(), gate.read.is_some())
    };
    FEATURE_GATES.iter().map(row).collect()
}

/// Name, plural, group and version of a kind, whether it is namespaced, and older versions of it.
type KindRow = (&'static str, &'static str, &'static str, &'static str, bool, Vec<&'static str>);

/// The kinds of API objects that are read.
#[pyfunction]
fn object_kinds() -> Vec<KindRow> {
    let row = |kind: Kind| {
        let older = kind.older_versions().to_vec();
        let (group, version) = (kind.group(), kind.version());
        (kind.name(), kind.resource(), group, version, kind.is_namespaced(), older)
    };
    Kind::ALL.into_iter().map(row).collect()
}

/// The time zones that expressions can name, in the order of names.
#[pyfunction]
fn time_zones() -> Vec<&'static str> {
    kpolicy_cel::time_zones()
}
