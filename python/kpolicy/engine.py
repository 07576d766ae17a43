"""The engine for Python: the answers of `kpolicy._engine`, whose flat tuples get names here.

An `Engine` holds one cluster's snapshot and one program. Feed it lists and watches (or files), load
a program, ask it to `schedule` pods, and `settle` what became of each bind. Every method may be
called from any thread; long ones let other threads run. What a user can get wrong comes back as a
value; a resource that the engine does not read and an unknown outcome are `ValueError`s, and
`EngineFault` is a bug of ours, after which that engine cannot be used again.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from kpolicy import _engine
from kpolicy._engine import (
    EngineFault,
    evaluate_expression,
    expression_facts,
    manner_of_expression,
)

__all__ = [
    "Applied",
    "AwaitedVolume",
    "Decision",
    "Engine",
    "EngineFault",
    "Filtered",
    "KeptNode",
    "Opinion",
    "Outcome",
    "PodChange",
    "PodState",
    "Refusal",
    "RefusedNode",
    "RejectedNodes",
    "Scheduled",
    "Unreadable",
    "Verdict",
    "Victim",
    "VolumeProgress",
    "VolumeState",
    "VolumeWork",
    "Wake",
    "built_ins",
    "evaluate_expression",
    "expression_facts",
    "manner_of_expression",
    "version",
]


class PodState(IntEnum):
    """`PodChange.change`."""

    GONE = 0
    PENDING = 1
    ON_NODE = 2


class Verdict(IntEnum):
    """`Decision.verdict`."""

    PLACED = 0
    PARKED = 1
    FAILED = 2
    GONE = 3
    GATED = 4
    STALE = 5
    SET_ASIDE = 6  # judging the pod takes more work than one decision may


class Outcome(IntEnum):
    """The outcome of a bind, for `Engine.settle`."""

    BOUND = 0
    FAILED = 1
    GONE = 2


class VolumeState(IntEnum):
    """`VolumeProgress.state`."""

    WAITING = 0
    BOUND = 1
    FAILED = 2
    GONE = 3  # the pod is not there any more, or elsewhere


class Refusal(NamedTuple):
    """Why a program was refused; `place` is a JSON path of it."""

    code: str
    place: str
    message: str
    hint: str


class PodChange(NamedTuple):
    """The change of one pod; `change` is a `PodState`."""

    change: int
    uid: str
    namespace: str
    name: str
    priority: int
    scheduler_name: str
    gated: bool
    node: str
    nominated_node: str
    created_ns: int


class Wake(NamedTuple):
    """A parked pod to try again, and the event that says so, as in kube-scheduler's metrics."""

    uid: str
    event: str


class Unreadable(NamedTuple):
    """An object that could not be read. It costs that object only.

    Codes: `NotJson` (the text from here on), `BadField`, `NoName`, `TooLarge`, `BadEvent`, and
    `More` for those after the first thousand."""

    code: str
    object: str
    message: str


class Applied(NamedTuple):
    """The changes of a page or of some lines. `deleted_nodes`: names of nodes that were held and
    then deleted, also of those that came back since.

    `status_code` is 0, or the code of a Status that came instead of a list or as an event (410:
    list again). A page that breaks off or lists another kind has 500 with the reason `NotJson` or
    `BadField`; the list it belongs to then removes nothing at `list_end`, which repeats the status.
    """

    resource_version: str
    continue_token: str
    remaining_item_count: int
    status_code: int
    status_reason: str
    status_message: str
    pods: list[PodChange]
    wakes: list[Wake]
    unreadable: list[Unreadable]
    deleted_nodes: list[str]


class Victim(NamedTuple):
    """A pod to evict. One that is terminating goes already: it need only be waited for."""

    uid: str
    namespace: str
    name: str
    is_terminating: bool = False

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


class VolumeWork(NamedTuple):
    """A claim of a placed pod, in its namespace, and what is to be done before a bind.

    `volume` is to name the claim (`to_mark`: and to say that a controller bound it); where it is
    empty, the claim is to name the pod's node. `to_write`: the API server does not say so yet."""

    claim: str
    claim_uid: str
    claim_version: str
    volume: str
    volume_uid: str
    volume_version: str
    to_write: bool
    to_mark: bool
    seconds_max: int


class AwaitedVolume(NamedTuple):
    """A claim whose binding is waited for; `version`: of what was written for it, if anything."""

    uid: str
    node: str
    claim: str
    volume: str
    version: str


class VolumeProgress(NamedTuple):
    """How far a claim is; `state` is a `VolumeState`, `message` says why it failed."""

    state: int
    message: str


class Decision(NamedTuple):
    """The decision for one pod; `verdict` is a `Verdict`.

    `message` is empty if placed; `victims` are in order of importance, to evict from
    `nominated_node`; `rejected_by` names the rules that rejected nodes."""

    verdict: int
    uid: str
    namespace: str
    name: str
    node: str
    message: str
    score: int
    nodes_total: int
    nodes_feasible: int
    filter_ns: int
    score_ns: int
    # Looking for room, where no node will do.
    post_filter_ns: int
    nominated_node: str
    victims: list[Victim]
    rejected_by: list[str]
    # Uids of pods of lower priority that lost their nomination to `nominated_node`.
    displaced: list[str]
    volumes: list[VolumeWork]

    @property
    def took_ns(self) -> int:
        return self.filter_ns + self.score_ns + self.post_filter_ns


class Opinion(NamedTuple):
    """The decision of this engine about a pod that another engine decided. `node` is the other's
    node if that is among the best; `accepts`: the other's node passes every filter."""

    verdict: int
    uid: str
    node: str
    accepts: bool


class RejectedNodes(NamedTuple):
    """Nodes that one rule rejects for the same reasons; `code` is kube-scheduler's."""

    rule: str
    code: str
    reasons: list[str]
    nodes: list[str]


class Filtered(NamedTuple):
    """The first step of a decision in two. `token` goes into the second."""

    token: int
    feasible: list[str]
    rejected: list[RejectedNodes]


class KeptNode(NamedTuple):
    """A node that extenders kept; `score`: what each gave, 0 to 10, times its weight, summed up."""

    node: str
    score: int = 0


class RefusedNode(NamedTuple):
    """A node that an extender refused."""

    node: str
    reason: str
    is_unresolvable: bool = False


class RoomNode(NamedTuple):
    """A node on which room can be made; `violations`: victims beyond a disruption budget."""

    node: str
    victims: list[Victim]
    violations: int = 0


class Candidates(NamedTuple):
    """The candidates for preemption. `token` goes into `LeftRoom`."""

    token: int
    nodes: list[RoomNode]


class LeftNode(NamedTuple):
    """A node that extenders left, with the uids of those who are to go."""

    node: str
    victims: list[str]
    violations: int = 0


class LeftRoom(NamedTuple):
    """The candidates that extenders left. `failure`: an extender that must not fail did; `nodes` is
    None where there were no candidates."""

    token: int
    failure: str
    nodes: Sequence[LeftNode] | None


class Located(NamedTuple):
    """A pod on a node."""

    uid: str
    namespace: str
    name: str
    node: str


class Scheduled(NamedTuple):
    """Decisions of one call, the program they follow and the newest object they rest on.

    A call ends after a bounded amount of work: pods after the last decision are undecided, and
    belong first in the next call."""

    program_hash: str
    resource_version: str
    decisions: list[Decision]


class Series(NamedTuple):
    """How long a stage of cycles took (`name`: the profile) or a rule; `counts` by bucket."""

    name: str
    point: str
    status: str
    counts: list[int]
    seconds: float


class Timings(NamedTuple):
    """Since the engine was made. An observation of a stage is one cycle; of a rule's `Filter` and
    `Score` one node, otherwise one pod, of every tenth decision."""

    stages: list[Series]
    rules: list[Series]


class Engine:
    """The snapshot, the program in force, and the cycle; `seed` breaks ties."""

    __slots__ = ("_engine",)

    def __init__(self, seed: int = 0) -> None:
        self._engine = _engine.Engine(seed)

    def load(self, program: bytes) -> list[Refusal]:
        """Put a program in force from the next cycle on. Refused: the one in force stays."""
        return list(map(Refusal._make, self._engine.load(program)))

    def program_hash(self) -> str:
        """The `hash` of the program in force, empty where there is none."""
        return self._engine.program_hash()

    def resources(self) -> list[str]:
        """The resources (`pods`, `nodes`, …) that the program in force reads."""
        return self._engine.resources()

    def keep(self, ir: bytes) -> None:
        """Keep of objects to come also what this expression reads by API path: one to `evaluate`
        that is no part of the program. Until the next program."""
        self._engine.keep(ir)

    def stale(self) -> list[str]:
        """Resources to list anew before the next decision: the program in force reads, by API path,
        what was not kept of objects that are held. Empty where the program was loaded first."""
        return self._engine.stale()

    def list_begin(self, resource: str) -> None:
        """A full list begins: what its pages do not name is gone at `list_end`."""
        self._engine.list_begin(resource)

    def list_page(self, resource: str, body: bytes, now_ns: int) -> Applied:
        """One page of a list, as the API server sent it."""
        return _applied(self._engine.list_page(resource, body, now_ns))

    def list_end(self, resource: str, now_ns: int) -> Applied:
        """The last page was read: what no page named is gone."""
        return _applied(self._engine.list_end(resource, now_ns))

    def watch(self, resource: str, lines: bytes, now_ns: int) -> Applied:
        """Whole lines of a watch, as the API server sent them."""
        return _applied(self._engine.watch(resource, lines, now_ns))

    def load_objects(self, body: bytes, source: str) -> list[Unreadable]:
        """A file of objects in JSON or YAML: one, several documents, or lists. Kinds that no rule
        reads are left out and counted in one line; what cannot be read is named with `source` in
        front."""
        return list(map(Unreadable._make, self._engine.load_objects(body, source)))

    def schedule(self, uids: Sequence[str], now_ns: int) -> Scheduled:
        """Decide and assume these pods in order, each seeing the ones before it; the last ones may
        be left undecided."""
        program_hash, resource_version, decisions = self._engine.schedule(uids, now_ns)
        return Scheduled(program_hash, resource_version, list(map(_decision, decisions)))

    def requested(self, uids: Sequence[str], resources: Sequence[str]) -> list[list[str]]:
        """The extended resources among these that each pod requests, in any container."""
        return self._engine.requested(uids, resources)

    def filter(self, uid: str, now_ns: int) -> Filtered:
        """Which nodes pass every filter, for those who ask others before they `choose`. Where none
        passes, or the pod is not to be tried, `choose` with nothing kept says why."""
        token, feasible, rejected = self._engine.filter(uid, now_ns)
        return Filtered(token, feasible, list(map(RejectedNodes._make, rejected)))

    def choose(
        self,
        uid: str,
        token: int,
        kept: Sequence[KeptNode],
        refused: Sequence[RefusedNode],
        now_ns: int,
    ) -> Decision:
        """Decide and assume among the kept nodes, each judged again. `Verdict.STALE`: none of them
        passes any more and something changed since `filter`, so filter again."""
        return _decision(self._engine.choose(uid, token, kept, refused, now_ns))

    def candidates(
        self,
        uid: str,
        token: int,
        kept: Sequence[KeptNode],
        refused: Sequence[RefusedNode],
        now_ns: int,
    ) -> Candidates:
        """Where room can be made for a pod that none of the kept nodes will have, for those who ask
        others before they `preempt`. Where there are none, `choose` says what comes of it."""
        token, nodes = self._engine.candidates(uid, token, kept, refused, now_ns)
        rooms = [RoomNode(node, list(map(Victim._make, own)), count) for node, own, count in nodes]
        return Candidates(token, rooms)

    def preempt(
        self,
        uid: str,
        token: int,
        kept: Sequence[KeptNode],
        refused: Sequence[RefusedNode],
        now_ns: int,
        *,
        left: LeftRoom,
    ) -> Decision:
        """As `choose`, but room is made only on nodes that are left of the candidates.
        `Verdict.STALE`: also where none of them makes room any more and something changed."""
        return _decision(self._engine.preempt(uid, token, kept, refused, left, now_ns))

    def located(self, uids: Sequence[str]) -> list[Located]:
        """Those of these pods that are on nodes, and on which."""
        return list(map(Located._make, self._engine.located(uids)))

    def volumes(self, awaited: Sequence[AwaitedVolume]) -> list[VolumeProgress]:
        """The progress of each claim, as the API server showed it last."""
        return list(map(VolumeProgress._make, self._engine.volumes(awaited)))

    def second_opinions(self, acted: Sequence[tuple[str, str]]) -> list[Opinion]:
        """What this program would have decided about pods that another engine decided: a uid and a
        node each, or no node. The other's choices are taken on; nothing is parked or nominated."""
        return list(map(Opinion._make, self._engine.second_opinions(acted)))

    def settle(self, outcomes: Sequence[tuple[str, int]], now_ns: int) -> list[Wake]:
        """Reports binds: a uid and an `Outcome` each. Every placed pod is settled once."""
        return list(map(Wake._make, self._engine.settle(outcomes, now_ns)))

    def settle_room(
        self, uid: str, evicted: Sequence[str], now_ns: int, *, is_made: bool
    ) -> list[Wake]:
        """What became of making room for a pod: uids of the victims that were evicted, which are
        waited for from now on, and whether that was all. Otherwise its nomination is void."""
        return list(map(Wake._make, self._engine.settle_room(uid, evicted, is_made, now_ns)))

    def explain(self, request: bytes, now_ns: int) -> bytes:
        """`{"pods": ["namespace/name", …]}`, or null for all that are pending, to JSON lines as
        `kpolicy explain --output json` prints them. With `"parts": true` each line has `seen`: by
        rule, what every part of its expressions gave, which coverage of tests is made of."""
        return self._engine.explain(request, now_ns)

    def evaluate(self, request: bytes) -> bytes:
        """`{"ir": …, "variables": {…}, "pod": "namespace/name", "node": name, "trace": bool}` to
        the value of one expression, by the facts that rules read: docs/internals/expressions.md."""
        return self._engine.evaluate(request)

    def message(self, uid: str) -> str:
        """The full text of why a parked pod is parked, or an empty string."""
        return self._engine.message(uid)

    def pending(self) -> list[PodChange]:
        """All pending pods, in the order of creation and name."""
        return list(map(PodChange._make, self._engine.pending()))

    def holdings(self) -> bytes:
        """Who is in the snapshot, as JSON lines: the nodes' names in the first, then for each pod
        `[uid, "namespace/name", node, assumed, nominated, scheduler]`; a pending pod has no node
        but may have one nominated, where room is kept for it."""
        return self._engine.holdings()

    def timings(self) -> Timings:
        """How long stages and rules took, whichever program was in force."""
        stages, rules = self._engine.timings()
        return Timings(list(map(Series._make, stages)), list(map(Series._make, rules)))

    def statistics(self) -> bytes:
        """Sizes of everything held, as a JSON object."""
        return self._engine.statistics()


def built_ins() -> list[tuple[str, bool, bool, bool, int]]:
    """Every built-in, in the order of filters: name, whether it filters, whether it scores, whether
    kube-scheduler's default profile has it, its weight there."""
    return _engine.built_ins()


def version() -> str:
    """The version of the compiled engine."""
    return _engine.__version__


def _decision(answer: _engine._Decision) -> Decision:
    decision = Decision._make(answer)
    # Empty for most pods.
    if decision.victims:
        decision.victims[:] = map(Victim._make, decision.victims)
    if decision.volumes:
        decision.volumes[:] = map(VolumeWork._make, decision.volumes)
    return decision


def _applied(answer: _engine._Applied) -> Applied:
    return Applied(
        *answer[:6],
        list(map(PodChange._make, answer[6])),
        list(map(Wake._make, answer[7])),
        list(map(Unreadable._make, answer[8])),
        answer[9],
    )
