"""The compiled engine: types of `kpolicy._engine`, compared with the built module by stubtest.

Only `kpolicy.engine` imports it. Bytes, ints, strings and flat tuples cross, nothing else; every
call that does work releases the GIL; nothing calls back into Python.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias, final

__all__ = [
    "THREADS_MAX",
    "Engine",
    "EngineFault",
    "PodResources",
    "RecordedCalls",
    "__version__",
    "advise",
    "arguments_json",
    "built_ins",
    "decide_again",
    "decisions_json",
    "evaluate_expression",
    "evaluation_plan",
    "expression_facts",
    "feature_gates",
    "holds_pods",
    "labelled",
    "load_selectors",
    "make_calls",
    "next_pods",
    "object_kinds",
    "orders_queue",
    "read_calls",
    "releases",
    "schedule_recorded",
    "time_zones",
    "wanted_selectors",
    "wrote",
]

__version__: str
# The most threads of an engine.
THREADS_MAX: int

# (code, place, message, hint): why something was refused. `place` is a JSON path in the program, or
# the file and object of an input.
_Refusal: TypeAlias = tuple[str, str, str, str]

# What became of one pod: (change, uid, namespace, name, priority, scheduler_name, gated, node,
# nominated_node, created_ns, generation). change: 0 gone, 1 pending (new or changed), 2 on a node.
_PodChange: TypeAlias = tuple[int, str, str, str, int, str, bool, str, str, int, int]

# A parked pod that should be tried again: (uid, event), event as in kube-scheduler's metrics label,
# for example `NodeUpdateNodeTaint`. Without a uid: a hold may begin or end.
_Wake: TypeAlias = tuple[str, str]

# A call of a journal: ("watch", resource, start and end of the lines, now_ns, when it was
# answered), ("schedule", uids, now_ns, start and end of the answer), ("settle", (uid, outcome),
# now_ns), ("pass_time", now_ns), or ("decided", whether extenders had a say, when it was answered,
# start and end of the answer), of which an opinion is asked.
_RecordedCall: TypeAlias = (
    tuple[Literal["watch"], str, int, int, int, int]
    | tuple[Literal["schedule"], int, int, int, int]
    | tuple[Literal["settle"], int, int]
    | tuple[Literal["pass_time"], int]
    | tuple[Literal["decided"], bool, int, int, int]
)

# A decision of another opinion: (position of its call, time of its answer, namespace/name, node or
# empty, whether extenders had a say, result as in `_Opinion`, node of the opinion or empty).
_Disagreement: TypeAlias = tuple[int, int, str, str, bool, int, str]

# (code, object, message): an object that could not be read. All others are read.
_Unreadable: TypeAlias = tuple[str, str, str]

# (resource_version, continue_token, remaining_item_count, status_code, status_reason,
#  status_message, pods, wakes, unreadable, deleted_nodes). status_* are those of an ERROR
# event, or of a body that is a Status; status_code 0 means none. deleted_nodes: names of nodes that
# were deleted, also of those that have come back since.
_Applied: TypeAlias = tuple[
    str,
    str,
    int,
    int,
    str,
    str,
    list[_PodChange],
    list[_Wake],
    list[_Unreadable],
    list[str],
]

# A pod to evict: (uid, namespace, name, whether it is terminating already, generation).
_Victim: TypeAlias = tuple[str, str, str, bool, int]
# A claim of a placed pod, in its namespace: (claim, claim_uid, claim_version, volume, volume_uid,
# volume_version, to_write, to_mark, seconds_max). volume: the volume that has to name the claim; if
# empty, the claim has to name the pod's node. to_write: the API server does not have this yet.
# to_mark: the volume also has to say that a controller bound it. seconds_max: how long to wait
# until the claim is bound.
_VolumeWork: TypeAlias = tuple[str, str, str, str, str, str, bool, bool, int]
# A claim on devices of a placed pod, in its namespace: (claim, claim_uid, allocation, requests,
# mappings, to_write, to_wait, seconds_max). claim: empty if it has to be made for extended
# resources. allocation: JSON of `status.allocation` to be written; empty if the claim is allocated.
# requests and mappings: JSON of those of a claim that has to be made. to_write: the API server does
# not have this yet. to_wait: some device has conditions that must be true before the bind.
# seconds_max: how long to wait for them.
_ClaimWork: TypeAlias = tuple[str, str, str, str, str, bool, bool, int]
# An annotation of a placed pod that the bind itself writes: (key, value).
_BoundAnnotation: TypeAlias = tuple[str, str]
# A claim on devices to be given up for a parked pod, in its namespace: (claim, claim_uid,
# to_delete). to_delete: it was made for extended resources; otherwise it loses its allocation.
_ClaimRelease: TypeAlias = tuple[str, str, bool]
# A write that a placed pod waits for, or that a parked pod calls for: its kind, and the fields that
# writes of this kind have.
_PreBindWrite: TypeAlias = (
    tuple[Literal["volume"], _VolumeWork]
    | tuple[Literal["claim"], _ClaimWork]
    | tuple[Literal["annotation"], _BoundAnnotation]
    | tuple[Literal["release"], _ClaimRelease]
)

# About a decision of another engine: (verdict, uid, node: the other's node if it is among the best,
# whether the other's node passes every filter, result). result: 0 same, 1 different_node,
# 2 would_reject, 3 would_place, 4 failed, 5 not_judged.
_Opinion: TypeAlias = tuple[int, str, str, bool, int]

# One decision: (verdict, uid, namespace, name, node, message, score, nodes_total, nodes_feasible,
# filter_ns, score_ns, post_filter_ns, nominated_node, victims, rejected_by, displaced, writes).
# verdict: 0 placed and assumed on `node`, 1 parked, 2 failed (a bug of kpolicy, or a rule that
# cannot be evaluated; back off), 3 gone (deleted, bound by someone else, or unknown: drop it), 4
# gated, 5 stale (only of `choose`: filter again), 6 set aside (to judge it takes more work than one
# decision may: try it last, and less and less often), 7 not ready (its claims on devices are waited
# for). post_filter_ns: the search for victims, if no node fits. rejected_by: names of rules.
# displaced: uids of pods that lost their nomination. writes: what has to be written before the pod
# may be bound, or what has to be given up for a parked pod; nothing for most pods.
_Decision: TypeAlias = tuple[
    int,
    str,
    str,
    str,
    str,
    str,
    int,
    int,
    int,
    int,
    int,
    int,
    str,
    list[_Victim],
    list[str],
    list[str],
    list[_PreBindWrite],
    bool,
]

# How long a stage of cycles, or a rule, took: (profile or rule, extension point, status, counts by
# bucket and the last one without a bound, seconds together); labels as in kube-scheduler's metrics.
_Series: TypeAlias = tuple[str, str, str, list[int], float]

class EngineFault(RuntimeError):  # noqa: N818  a fault is ours, an error might be a user's
    """A bug of kpolicy: the engine stopped and cannot be used again."""

@final
class PodResources:
    """Samples of kube-scheduler's /metrics/resources of the pods of one moment. Reading them waits
    for no call of the engine."""

    def requests(self, page: int) -> bytes | None:
        """The samples of a page of pods; None after the last page."""

    def limits(self, page: int) -> bytes | None: ...

@final
class RecordedCalls:
    """Calls of a journal that were read, and are not made yet."""

    def made(self) -> int:
        """How many were made since they were read."""

@final
class Engine:
    """The snapshot, the program in force, and the cycle. Safe to call from any thread."""

    def __new__(cls, seed: int = 0, threads: int | None = None, decided: int = 0) -> Engine:
        """Without `threads`, as many as the process may use processors. `ValueError` below 1 and
        above `THREADS_MAX`. `decided`: how many decisions were made before, by another engine."""
    def beats(self) -> int:
        """A counter that grows while a call works. Reading it waits for no call."""

    def load(self, program: bytes) -> list[_Refusal]:
        """Put a program in force from the next cycle on; empty list, or why it was refused."""

    def program_hash(self) -> str: ...
    def resources(self) -> list[str]:
        """The resources (`pods`, `nodes`, …) that the program in force reads."""

    def stale(self) -> list[str]:
        """Resources that have to be listed again before the next decision, because the program in
        force reads what was not kept of the present objects."""

    def keep(self, ir: bytes) -> None:
        """From now on, also keep the API paths of objects that this expression reads. Loading a
        program ends this."""

    def list_begin(self, resource: str) -> None:
        """Begins a full list. Objects that it does not name are removed at `list_end`."""

    def list_page(self, resource: str, body: bytes, now_ns: int) -> _Applied: ...
    def list_end(self, resource: str, now_ns: int) -> _Applied:
        """If a page had a status, nothing is removed and the status is repeated."""

    def watch(self, resource: str, lines: bytes, now_ns: int) -> _Applied:
        """Complete lines of a watch. Each line is a watch event."""

    def load_objects(self, body: bytes, source: str) -> list[_Unreadable]:
        """Reads a file of objects in JSON or YAML: one object, several documents, or lists. Kinds
        that no rule reads are left out and counted in one line. Objects that cannot be read are
        named, after `source`."""

    def pass_time(self, now_ns: int) -> tuple[list[_Wake], int]:
        """Time passed. Gives the parked pods that this woke since the last call, and when it may
        wake others, in nanoseconds since the epoch (0: never). Rules see whole minutes."""

    def schedule(self, uids: Sequence[str], now_ns: int) -> tuple[str, str, list[_Decision]]:
        """Decide and assume these pods in order, each seeing the ones before it.

        A call ends after a bounded amount of work: decisions are those of the first pods, at least
        of one. Gives (program hash, newest resourceVersion applied, decisions)."""

    def schedule_unit(
        self, uids: Sequence[str], now_ns: int
    ) -> tuple[str, str, list[_Decision], _Decision | None]:
        """Decide and assume these pods together or not at all: (program hash, newest
        resourceVersion applied, placements of all pods or of none, the decision about the first pod
        that cannot be placed or None)."""

    def requested(self, uids: Sequence[str], resources: Sequence[str]) -> list[list[str]]:
        """The extended resources among these that each pod requests, in any container."""

    def filter(self, uid: str, now_ns: int) -> tuple[int, list[str]]:
        """The first step of a decision in two steps: (token, names of nodes that pass every
        filter). Nothing is assumed and nothing parked."""

    def choose(
        self,
        uid: str,
        token: int,
        kept: Sequence[tuple[str, int]],
        refused: Sequence[tuple[str, str, bool]],
        now_ns: int,
    ) -> _Decision:
        """The second step: decide and assume, among the kept nodes that still pass. kept: (node,
        sum of score times weight, scores from 0 to 10); refused: (node, reason, whether evicting
        pods cannot help)."""

    def candidates(
        self,
        uid: str,
        token: int,
        kept: Sequence[tuple[str, int]],
        refused: Sequence[tuple[str, str, bool]],
        now_ns: int,
    ) -> tuple[int, list[tuple[str, list[_Victim], int]]]:
        """Between the two steps, for a caller that asks extenders about preemption: (token, nodes
        on which room can be made as (node, victims, how many of them a disruption budget does not
        allow)). If there are none, `choose` says why. Nothing changes."""

    def preempt(
        self,
        uid: str,
        token: int,
        kept: Sequence[tuple[str, int]],
        refused: Sequence[tuple[str, str, bool]],
        left: tuple[int, str, Sequence[tuple[str, Sequence[str], int]] | None],
        now_ns: int,
    ) -> _Decision:
        """As `choose`, but room is made only on the remaining candidates. left: (their token, why
        extenders gave no answer or empty, nodes as (node, uids of victims, violations), or None if
        there were no candidates)."""

    def located(self, uids: Sequence[str]) -> list[tuple[str, str, str, str]]:
        """Those of these pods that are on nodes: (uid, namespace, name, node)."""

    def volumes(self, awaited: Sequence[tuple[str, str, str, str, str]]) -> list[tuple[int, str]]:
        """The state of claims of placed pods. Each argument is (uid of the pod, its node, claim,
        volume or empty, version that was written or empty), each answer (state, message). state:
        0 not bound yet, 1 bound, 2 failed (message says why), 3 the pod is gone or on another
        node."""

    def second_opinions(self, acted: Sequence[tuple[str, str]], now_ns: int) -> list[_Opinion]:
        """What this program would have decided about pods that another engine decided (uid, node or
        empty). This engine takes over the other's choices. Nothing is parked or nominated."""

    def settle(self, outcomes: Sequence[tuple[str, int]], now_ns: int) -> list[_Wake]:
        """Reports the results of binds: (uid, outcome). 0 bound (the watch will confirm it), 1
        failed: end the reservation, 2 the pod is gone."""

    def settle_room(
        self, uid: str, evicted: Sequence[str], is_made: bool, now_ns: int
    ) -> list[_Wake]:
        """Reports the result of a preemption: uids of the evicted victims, and whether these are
        all. If not, the pod's nomination is removed."""

    def explain(self, request: bytes, now_ns: int) -> bytes:
        """`{"pods": ["ns/name", …] or null}` to JSON lines as `kpolicy explain --output json`; with
        `"parts": true` also, under `seen`, what each part of a rule's expressions gave;
        `{"uids": [uid, …] or null, "nodes": [name, …]}` gives the lines of these nodes alone,
        counts of all and no victims."""

    def evaluate(self, request: bytes, now_ns: int) -> bytes:
        """`{"ir", "variables", "pod", "node", "trace"}` to the value of one expression: see
        docs/internals/expressions.md."""

    def message(self, uid: str) -> str:
        """The full text of why a parked pod is parked, or an empty string."""

    def pending(self) -> list[_PodChange]:
        """All pending pods, in the order of creation and name."""

    def holdings(self) -> bytes:
        """The nodes and pods in the snapshot, as JSON lines: the nodes in the first line, then one
        pod on each line."""

    def pod_resources(self) -> PodResources:
        """The pods of this moment, with what they request and may use at most."""

    def timings(self) -> tuple[list[_Series], list[_Series]]:
        """How long stages took, by profile, and rules, measured in every tenth decision, since the
        engine was made and for all programs together."""

    def statistics(self) -> bytes:
        """Sizes of everything held, as a JSON object: nodes, pods, assumed, parked, …"""

def advise(engine: Engine, request: bytes, now_ns: int) -> bytes:
    """What would place pods, as JSON lines. Nothing comes of it."""

def decide_again(engine: Engine, uids: Sequence[str], now_ns: int) -> list[_Decision]:
    """Decide about pods on nodes, each as if it were not there. Nothing comes of it."""

def orders_queue(engine: Engine) -> bool:
    """Whether the program in force orders the queue or holds pods."""

def holds_pods(engine: Engine) -> bool:
    """Whether the program in force holds pods."""

def next_pods(
    engine: Engine,
    entered: Sequence[tuple[str, int, int, int, bool, bool]],
    left: Sequence[str],
    limit: int,
    times: tuple[int, int],
) -> tuple[list[str], list[tuple[str, str, str, str]], bool, list[tuple[str, str, str, str]]]:
    """The pods to try next: (uids in order, held pods as (uid, hold, reason, message), whether to
    ask again at once, expressions that failed as (uid, rule, code, message)). entered: pods that
    came or changed (uid, since when it waits, when it could first be tried, attempts, whether it
    comes last, whether it rests); left: uids. times: now, and now by the clock of `entered`."""

def wrote(engine: Engine, resource: str, line: bytes) -> _Applied:
    """The answer to a write of ours, as a line of a watch: an older state that still comes changes
    nothing."""

def decisions_json(
    program_hash: str, resource_version: str, decisions: Sequence[tuple[object, ...]]
) -> bytes:
    """Decisions as a journal keeps them: `[program_hash, resource_version, how many, fields]`. For
    each field a list of its values, or of the one value that all have. Without the times."""

def arguments_json(arguments: tuple[object, ...]) -> bytes:
    """Texts, integers, truths, and lists or tuples of these."""

def read_calls(
    engine: Engine, records: bytes, calls: Sequence[_RecordedCall]
) -> list[tuple[RecordedCalls, int]]:
    """Reads calls for the program in force now, in any thread: rows of them, and how many each has.
    Between two rows is a call whose arguments or decisions have another form. Positions are those
    of lines, arguments and answers in `records`."""

def schedule_recorded(
    engine: Engine, uids: Sequence[str], now_ns: int
) -> tuple[tuple[str, str, list[_Decision]], bytes]:
    """As `Engine.schedule`, and the decisions as `decisions_json` writes them."""

def make_calls(
    engine: Engine,
    calls: RecordedCalls,
    limit: int,
    only_objects: bool,
    binds: int,
    kept: tuple[int, Sequence[str]] | None,
) -> tuple[
    int,
    int,
    bytes | None,
    tuple[str, str, str, str] | None,
    int,
    list[int],
    list[_Disagreement],
    list[tuple[tuple[str, str, str, str, list[tuple[str, str]]], list[int]]],
]:
    """Makes the next calls, at most `limit`; if `only_objects`, all but `watch` are passed over.
    binds: pods that are pending here and that a watch shows on a node are 0 applied, 1 judged, 2
    reported before that event. Gives (how many calls, how many decisions, the decisions of the last
    call if they are not what was recorded, after which it ends, the pod that is reported (uid,
    namespace, name, node), how many binds were judged, how many decisions have each result, those
    of another opinion, for each workload one pod as in `labelled` and how many have each result).
    kept: at most so many differences (results 1 to 4), and the labels that name a workload if no
    controller does; without it, all opinions that are not the same, and no workloads."""

def labelled(
    engine: Engine, uids: Sequence[str]
) -> list[tuple[str, str, str, str, list[tuple[str, str]]]]:
    """Those of these pods that are there: (uid, namespace, name, name of the controller or empty,
    labels)."""

def wanted_selectors(engine: Engine) -> list[str]:
    """Texts of selectors of devices that are to be compiled before the next decision."""

def load_selectors(engine: Engine, compiled: Sequence[tuple[str, bytes, str]]) -> None:
    """What these texts compile to: (text, IR or empty, why there is none)."""

def evaluate_expression(ir: bytes, variables: bytes) -> bytes:
    """Evaluate one lowered expression with JSON-coded variables: see
    docs/internals/expressions.md."""

def evaluation_plan(ir: bytes) -> tuple[str, list[str]]:
    """How one lowered expression is evaluated for all nodes (`columns`, `classes` or `nodes`), and
    the facts that prevent a faster way."""

def expression_facts() -> list[tuple[str, list[str], str, str, list[str], int]]:
    """The facts that expressions may read: (name, types of the arguments, type of the result, type
    of the column or empty, what wakes a pod that was rejected by it, the units that reading it
    takes where its arguments are constant). An argument that may be left out has `?` behind
    its type."""

def built_ins() -> list[tuple[str, bool, bool, bool, int]]:
    """Every built-in, in the order of filters: (name, whether it filters, whether it scores,
    whether kube-scheduler's default profile has it, its weight there)."""

def releases() -> list[tuple[str, str, str, list[str]]]:
    """The releases of Kubernetes that the engine follows, oldest first: (name, label of the event
    that a pod was added, and of that its scheduling gates are gone, metrics that not every release
    has)."""

def feature_gates() -> list[tuple[str, list[str], bool]]:
    """The feature gates of kube-scheduler, in the order of names: (name, what each release makes of
    it, whether decisions depend on it)."""

def object_kinds() -> list[tuple[str, str, str, str, bool, list[str]]]:
    """The kinds of API objects that the engine reads, in the order of its table: (name, plural,
    group, version, whether it is namespaced)."""

def time_zones() -> list[str]:
    """The time zones that expressions can name, in the order of names."""
