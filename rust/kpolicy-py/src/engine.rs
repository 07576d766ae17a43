//! The Python class `Engine`: each method takes its arguments apart, lets other threads run, and
//! calls the engine.
//!
//! There is one mutex around the engine. It is taken only while other Python threads may run, so that no thread waits
//! for it while it holds Python's lock.

use std::sync::{Arc, Mutex};

use kpolicy_codec::{Keep, file, list, watch};
use kpolicy_engine::api::Applied;
use kpolicy_engine::model::ApiPaths;
use kpolicy_engine::snapshot::Progress;
use kpolicy_engine::threads::Threads;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use serde_json::Value;

use crate::fault::detached;
use crate::held::Held;
use crate::pod_resources::PodResources;
use crate::stopwatch::Monotonic;
use crate::{arguments, expression, tuples};

/// The snapshot, the program in force, and the cycle. Safe to call from any thread.
#[pyclass(frozen, module = "kpolicy._engine")]
pub struct Engine {
    pub(crate) held: Mutex<Held>,
    pub(crate) threads: Arc<Threads>,
    progress: Arc<Progress>,
    /// What is kept of objects for the program in force. Who reads ahead does not wait for the engine.
    pub(crate) paths: Mutex<Arc<ApiPaths>>,
}

#[pymethods]
impl Engine {
    /// Without `threads`, as many as the process may use processors. `decided`: how many decisions were
    /// made before it.
    #[new]
    #[pyo3(signature = (seed = 0, threads = None, decided = 0))]
    fn new(seed: u64, threads: Option<i64>, decided: u64) -> PyResult<Self> {
        let threads = arguments::threads(threads)?;
        let held = Held::new(seed, decided, Arc::clone(&threads));
        let paths = Mutex::new(held.core.paths());
        Ok(Self { progress: held.core.progress(), held: Mutex::new(held), threads, paths })
    }

    /// Grows while a call works, and can be read meanwhile.
    fn beats(&self) -> u64 {
        self.progress.beats()
    }

    /// Put a program in force from the next cycle on; empty list, or why it was refused.
    fn load<'py>(&self, py: Python<'py>, program: &[u8]) -> PyResult<Bound<'py, PyList>> {
        let refusals = detached(py, || self.put_in_force(program))?;
        tuples::refusals(py, &refusals)
    }

    fn program_hash(&self, py: Python<'_>) -> PyResult<String> {
        self.ask(py, |held| held.core.program_hash().as_ref().to_owned())
    }

    /// The resources (`pods`, `nodes`, …) that the program in force reads.
    fn resources(&self, py: Python<'_>) -> PyResult<Vec<&'static str>> {
        self.ask(py, |held| held.core.resources())
    }

    /// Resources that must be listed anew before the next decision: what is read was not kept.
    fn stale(&self, py: Python<'_>) -> PyResult<Vec<&'static str>> {
        self.ask(py, |held| held.core.stale())
    }

    /// Keep of objects to come also what this expression reads by API path, until the next program.
    fn keep(&self, py: Python<'_>, ir: &[u8]) -> PyResult<()> {
        let read = serde_json::from_slice(ir);
        let ir: Value = read.map_err(|error| PyValueError::new_err(error.to_string()))?;
        self.ask(py, |held| {
            held.core.keep(&ir);
            self.note_paths(held);
        })
    }

    /// A full list begins: what it does not name is gone at `list_end`.
    fn list_begin(&self, py: Python<'_>, resource: &str) -> PyResult<()> {
        let kind = arguments::kind(resource)?;
        self.ask(py, |held| held.list_begin(kind))
    }

    fn list_page<'py>(
        &self,
        py: Python<'py>,
        resource: &str,
        body: &[u8],
        now_ns: i64,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let kind = arguments::kind(resource)?;
        let (feed, applied) = self.feed(py, now_ns, body.len(), |feeder| {
            let paths = feeder.paths();
            list::page(body, kind, Keep(Some(&paths)), &mut |event| feeder.push(event))
        })?;
        self.ask(py, |held| held.page_read(kind, &feed))?;
        tuples::applied(py, &feed, &applied)
    }

    fn list_end<'py>(
        &self,
        py: Python<'py>,
        resource: &str,
        now_ns: i64,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let kind = arguments::kind(resource)?;
        let (feed, applied) = self.ask(py, |held| held.list_end(kind, now_ns))?;
        tuples::applied(py, &feed, &applied)
    }

    /// Whole lines of a watch, each a watch event.
    fn watch<'py>(
        &self,
        py: Python<'py>,
        resource: &str,
        lines: &[u8],
        now_ns: i64,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let kind = arguments::kind(resource)?;
        let (feed, applied) = self.feed(py, now_ns, 0, |feeder| {
            let paths = feeder.paths();
            watch::lines(lines, kind, Keep(Some(&paths)), &mut |event| feeder.push(event))
        })?;
        tuples::applied(py, &feed, &applied)
    }

    /// A file of objects; kinds that no rule reads are left out silently, what cannot be read is
    /// named.
    fn load_objects<'py>(
        &self,
        py: Python<'py>,
        body: &[u8],
        source: &str,
    ) -> PyResult<Bound<'py, PyList>> {
        let (unreadable, _) = self.feed(py, 0, body.len(), |feeder| {
            let paths = feeder.paths();
            file::objects(body, Keep(Some(&paths)), &mut |event| feeder.push(event))
        })?;
        tuples::unreadable(py, &unreadable, source)
    }

    /// Time passed: the pods that this woke since the last call, and when it may wake others (0:
    /// never).
    fn pass_time<'py>(&self, py: Python<'py>, now_ns: i64) -> PyResult<(Bound<'py, PyList>, i64)> {
        let (wakes, next_ns) = self.ask(py, |held| held.core.pass_time(now_ns))?;
        Ok((tuples::wakes(py, &wakes)?, next_ns.unwrap_or(0)))
    }

    /// Decide and assume these pods in order, each seeing the ones before it.
    fn schedule<'py>(
        &self,
        py: Python<'py>,
        uids: Vec<String>,
        now_ns: i64,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let uids: Vec<Arc<str>> = uids.into_iter().map(Into::into).collect();
        let batch =
            self.ask(py, |held| held.core.schedule(&uids, now_ns, &Monotonic::started()))?;
        tuples::batch(py, &batch)
    }

    /// Decide and assume these pods together or not at all.
    fn schedule_unit<'py>(
        &self,
        py: Python<'py>,
        uids: Vec<String>,
        now_ns: i64,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let uids: Vec<Arc<str>> = uids.into_iter().map(Into::into).collect();
        let unit =
            self.ask(py, |held| held.core.schedule_unit(&uids, now_ns, &Monotonic::started()))?;
        tuples::unit(py, &unit)
    }

    /// Which of these extended resources each pod requests.
    fn requested(
        &self,
        py: Python<'_>,
        uids: Vec<String>,
        resources: Vec<String>,
    ) -> PyResult<Vec<Vec<String>>> {
        let uids: Vec<Arc<str>> = uids.into_iter().map(Into::into).collect();
        self.ask(py, |held| held.core.requested(&uids, &resources))
    }

    /// The first step of a decision in two: (token, names of nodes that pass, the others by rule).
    fn filter<'py>(
        &self,
        py: Python<'py>,
        uid: &str,
        now_ns: i64,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let uid: Arc<str> = uid.into();
        let filtered =
            self.ask_at(py, now_ns, |held| held.core.filter(&uid, &Monotonic::started()))?;
        tuples::filtered(py, &filtered)
    }

    /// The second step: kept (node, score × weight summed up) and refused (node, reason, whether
    /// evicting pods cannot help).
    fn choose<'py>(
        &self,
        py: Python<'py>,
        uid: &str,
        token: u64,
        kept: Vec<(String, i64)>,
        refused: Vec<(String, String, bool)>,
        now_ns: i64,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let uid: Arc<str> = uid.into();
        let (kept, refused) = (arguments::kept(kept), arguments::refused(refused));
        let decision = self.ask_at(py, now_ns, |held| {
            held.core.choose(&uid, token, &kept, &refused, &Monotonic::started())
        })?;
        tuples::decision(py, &decision)
    }

    /// Between the steps, for those who ask others about preemption: where room can be made.
    fn candidates<'py>(
        &self,
        py: Python<'py>,
        uid: &str,
        token: u64,
        kept: Vec<(String, i64)>,
        refused: Vec<(String, String, bool)>,
        now_ns: i64,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let uid: Arc<str> = uid.into();
        let (kept, refused) = (arguments::kept(kept), arguments::refused(refused));
        let found =
            self.ask_at(py, now_ns, |held| held.core.candidates(&uid, token, &kept, &refused))?;
        tuples::candidates(py, &found)
    }

    /// The second step where others were asked about preemption: what they left of the candidates.
    #[allow(clippy::too_many_arguments, reason = "flat values cross, and each is one")]
    fn preempt<'py>(
        &self,
        py: Python<'py>,
        uid: &str,
        token: u64,
        kept: Vec<(String, i64)>,
        refused: Vec<(String, String, bool)>,
        left: arguments::CandidatesLeft,
        now_ns: i64,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let uid: Arc<str> = uid.into();
        let (kept, refused, left) =
            (arguments::kept(kept), arguments::refused(refused), arguments::left(left));
        let decision = self.ask_at(py, now_ns, |held| {
            held.core.preempt(&uid, token, &kept, &refused, &left, &Monotonic::started())
        })?;
        tuples::decision(py, &decision)
    }

    /// (uid, namespace, name, node) of those of these pods that are on nodes.
    fn located<'py>(&self, py: Python<'py>, uids: Vec<String>) -> PyResult<Bound<'py, PyList>> {
        let uids: Vec<Arc<str>> = uids.into_iter().map(Arc::from).collect();
        let located = self.ask(py, |held| held.core.located(&uids))?;
        tuples::located(py, &located)
    }

    /// How far claims of placed pods are, of which (uid of the pod, its node, claim, volume or empty,
    /// version that was written or empty) is given.
    fn volumes<'py>(
        &self,
        py: Python<'py>,
        awaited: Vec<(String, String, String, String, String)>,
    ) -> PyResult<Bound<'py, PyList>> {
        let awaited = arguments::awaited(awaited);
        let volumes = self.ask(py, |held| held.core.volumes(&awaited))?;
        tuples::volumes(py, &volumes)
    }

    /// What this program would have decided where another decided (uid, node or empty), whose
    /// choices are taken on: (verdict, uid, node, whether the other's node passes every filter, comparison).
    fn second_opinions<'py>(
        &self,
        py: Python<'py>,
        acted: Vec<(String, String)>,
        now_ns: i64,
    ) -> PyResult<Bound<'py, PyList>> {
        let acted = arguments::acted(acted);
        let opinions = self.ask_at(py, now_ns, |held| held.core.second_opinions(&acted))?;
        tuples::opinions(py, &acted, &opinions)
    }

    /// What became of binds: (uid, outcome); 0 bound, 1 failed, 2 the pod is gone.
    fn settle<'py>(
        &self,
        py: Python<'py>,
        outcomes: Vec<(String, u8)>,
        now_ns: i64,
    ) -> PyResult<Bound<'py, PyList>> {
        let outcomes = arguments::outcomes(outcomes)?;
        let applied = self.ask(py, |held| {
            let mut applied = Applied::default();
            held.core.settle(&outcomes, now_ns, &mut applied);
            applied
        })?;
        tuples::wakes(py, &applied.wakes)
    }

    /// What became of evictions for a pod: the uids of those that were, and whether that was all; if
    /// not, the pod's nomination is void.
    fn settle_room<'py>(
        &self,
        py: Python<'py>,
        uid: &str,
        evicted: Vec<String>,
        is_made: bool,
        now_ns: i64,
    ) -> PyResult<Bound<'py, PyList>> {
        let _ = now_ns;
        let evicted: Vec<Arc<str>> = evicted.into_iter().map(Into::into).collect();
        let applied = self.ask(py, |held| {
            let mut applied = Applied::default();
            held.core.settle_room(uid, &evicted, is_made, &mut applied);
            applied
        })?;
        tuples::wakes(py, &applied.wakes)
    }

    /// `{"pods": ["ns/name", …] or null, "parts": bool}` to JSON lines, or `{"uids", "nodes"}`.
    fn explain<'py>(
        &self,
        py: Python<'py>,
        request: &[u8],
        now_ns: i64,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let asked = arguments::requested(request)?;
        let lines =
            self.ask_at(py, now_ns, |held| match (asked.pods.as_deref(), &asked.nodes) {
                (_, Some(nodes)) => held.core.explain_nodes(asked.uids.as_deref(), nodes),
                (pods, None) if asked.parts => held.core.explain_parts(pods),
                (pods, None) => held.core.explain(pods),
            })?;
        Ok(PyBytes::new(py, &lines))
    }

    /// `{"ir", "variables", "pod", "node", "trace"}` to the value of one expression, as
    /// docs/internals/expressions.md says.
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        request: &[u8],
        now_ns: i64,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let request = detached(py, || expression::read(request))?;
        let answer =
            self.ask_at(py, now_ns, |held| held.core.evaluate(&request.asked()).to_string())?;
        Ok(PyBytes::new(py, answer.as_bytes()))
    }

    /// The full text of why a parked pod is parked, or an empty string.
    fn message(&self, py: Python<'_>, uid: &str) -> PyResult<String> {
        self.ask(py, |held| held.core.message(uid).as_ref().to_owned())
    }

    /// All pending pods, in the order of creation and name.
    fn pending<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let pods = self.ask(py, |held| held.core.pending())?;
        tuples::pod_changes(py, &pods)
    }

    /// Who is in the snapshot, as JSON lines: the nodes in the first, then a pod each.
    fn holdings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let lines = self.ask(py, |held| held.core.holdings())?;
        Ok(PyBytes::new(py, &lines))
    }

    /// What each pod of this moment requests and may use at most.
    fn pod_resources(&self, py: Python<'_>) -> PyResult<PodResources> {
        self.ask(py, |held| PodResources::new(held.core.pod_resources()))
    }

    /// How long stages and rules took since the engine was made, in all programs: two lists of
    /// (profile or rule, extension point, status, counts by bucket, seconds together).
    fn timings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let (stages, rules) = self.ask(py, |held| {
            let timings = held.core.timings();
            (timings.stages(), timings.rules())
        })?;
        tuples::timings(py, &stages, &rules)
    }

    /// Sizes of everything held, as a JSON object.
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let statistics = self.ask(py, |held| held.core.statistics())?;
        let json = serde_json::to_vec(&statistics)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(PyBytes::new(py, &json))
    }
}
