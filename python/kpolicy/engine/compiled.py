"""The compiled engine: gives the answers of `kpolicy._engine` their names.

The only module that imports `kpolicy._engine`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, assert_never

from kpolicy import _engine
from kpolicy._engine import (
    EngineFault as EngineFault,
    PodResources as PodResources,
    RecordedCalls as RecordedCalls,
    arguments_json as arguments_json,
    evaluate_expression as evaluate_expression,
    evaluation_plan as evaluation_plan,
    expression_facts as expression_facts,
)
from kpolicy.engine.device_selectors import compile_selector
from kpolicy.engine.made_calls import (
    Disagreement,
    KeptDifferences,
    MadeCalls,
    OtherBinds,
    WorkloadResults,
)
from kpolicy.engine.named_answers import (
    Applied,
    AwaitedVolume,
    BoundAnnotation,
    CandidateNode,
    Candidates,
    ClaimRelease,
    ClaimWork,
    Decision,
    Filtered,
    HeldPod,
    JudgedNodes,
    Labelled,
    Located,
    NextPods,
    PodChange,
    PreBindWrite,
    QueueFault,
    Refusal,
    RemainingCandidates,
    Scheduled,
    ScheduledUnit,
    Series,
    TimePassed,
    Timings,
    Unreadable,
    Victim,
    VolumeProgress,
    VolumeWork,
    WaitingPod,
    Wake,
)
from kpolicy.engine.opinions import RESULTS, Opinion, Result

# Resources whose objects have selectors of devices.
_WITH_SELECTORS: Final = frozenset({"deviceclasses", "resourceclaims"})


class Engine:
    """The snapshot, the program in force, and the cycle. `seed` decides among equal scores. Without
    `threads`, there are as many as the process may use processors; their number changes no
    answer. `decided`: how many decisions another engine made before, which this one goes on from:
    the choice among equal nodes rests on their number. With `records`, decisions come with the
    bytes that a journal keeps of them."""

    __slots__ = ("_engine", "records", "seed")

    def __init__(self, seed: int = 0, *, threads: int | None = None, decided: int = 0) -> None:
        self._engine = _engine.Engine(seed, threads, decided)
        self.seed = seed
        self.records = False

    def beats(self) -> int:
        """A counter that grows with each piece of work. Another thread may read it during a call,
        and compare two readings to see whether the call works or hangs."""
        return self._engine.beats()

    def load(self, program: bytes) -> list[Refusal]:
        """Puts a program in force, from the next cycle on. If it is refused, the program in force
        stays."""
        return list(map(Refusal._make, self._engine.load(program)))

    def program_hash(self) -> str:
        """The `hash` of the program in force; empty if there is none."""
        return self._engine.program_hash()

    def resources(self) -> list[str]:
        """The resources (`pods`, `nodes`, …) that the program in force reads."""
        return self._engine.resources()

    def keep(self, ir: bytes) -> None:
        """From now on, also keeps the API paths of objects that this expression reads, which is
        passed to `evaluate` and is not in the program. Loading a program ends this."""
        self._engine.keep(ir)

    def stale(self) -> list[str]:
        """The resources that have to be listed again before the next decision, because the program
        in force reads API paths that were not kept of the present objects. Empty if the program was
        loaded before the objects."""
        return self._engine.stale()

    def list_begin(self, resource: str) -> None:
        """Begins a full list. At `list_end`, objects that no page named are removed."""
        self._engine.list_begin(resource)

    def list_page(self, resource: str, body: bytes, now_ns: int) -> Applied:
        """One page of a list, as the API server sent it."""
        return self._settled(resource, _applied(self._engine.list_page(resource, body, now_ns)))

    def list_end(self, resource: str, now_ns: int) -> Applied:
        """Ends a list: objects that no page named are removed."""
        return _applied(self._engine.list_end(resource, now_ns))

    def watch(self, resource: str, lines: bytes, now_ns: int) -> Applied:
        """Complete lines of a watch, as the API server sent them."""
        return self._settled(resource, _applied(self._engine.watch(resource, lines, now_ns)))

    def wrote(self, resource: str, line: bytes) -> Applied:
        """The answer to a write of ours, as a line of a watch. An older state of the object that
        the watch brings later changes nothing."""
        return _applied(_engine.wrote(self._engine, resource, line))

    def load_objects(self, body: bytes, source: str) -> list[Unreadable]:
        """Reads a file of objects in JSON or YAML: one object, several documents, or lists. Kinds
        that no rule reads are left out and counted in one line. Objects that cannot be read are
        named, after `source`."""
        unreadable = list(map(Unreadable._make, self._engine.load_objects(body, source)))
        self._settle_selectors()
        return unreadable

    def _settled(self, resource: str, applied: Applied) -> Applied:
        if resource in _WITH_SELECTORS:
            self._settle_selectors()
        return applied

    def _settle_selectors(self) -> None:
        """Compiles the selectors of devices that new classes and claims brought."""
        wanted = _engine.wanted_selectors(self._engine)
        if wanted:
            _engine.load_selectors(self._engine, [compile_selector(text) for text in wanted])

    def pass_time(self, now_ns: int) -> TimePassed:
        """Time passed: which parked pods this woke since the last call, and when it may wake
        others. Every call that decides takes the time too, so that calling this is needed only for
        wakes."""
        wakes, next_ns = self._engine.pass_time(now_ns)
        return TimePassed(list(map(Wake._make, wakes)), next_ns or None)

    def orders_queue(self) -> bool:
        """Whether the program in force orders the queue or holds pods, so that `next_pods` says
        whose turn it is."""
        return _engine.orders_queue(self._engine)

    def holds_pods(self) -> bool:
        """Whether the program in force holds pods, so that `next_pods` is to know those that rest
        too."""
        return _engine.holds_pods(self._engine)

    def next_pods(
        self,
        entered: Sequence[WaitingPod],
        left: Sequence[str],
        limit: int,
        queue_now_ns: int,
        now_ns: int,
    ) -> NextPods:
        """The pods to try next, at most `limit`, after who came or changed and who left since the
        last call. Each counts as its tenant's until something is decided about it, it is bound, or
        it is said to have left. Loading a program forgets all. `queue_now_ns` is of the clock of
        `entered`."""
        picked, held, is_more, faults = _engine.next_pods(
            self._engine, entered, left, limit, (now_ns, queue_now_ns)
        )
        held_pods, queue_faults = map(HeldPod._make, held), map(QueueFault._make, faults)
        return NextPods(picked, list(held_pods), is_more, list(queue_faults))

    def schedule(self, uids: Sequence[str], now_ns: int) -> Scheduled:
        """Decides and assumes these pods in order. Each sees the pods before it. The last pods may
        be left undecided."""
        recorded = b""
        if self.records:
            answer, recorded = _engine.schedule_recorded(self._engine, uids, now_ns)
        else:
            answer = self._engine.schedule(uids, now_ns)
        program_hash, resource_version, decisions = answer
        return Scheduled(program_hash, resource_version, list(map(_decision, decisions)), recorded)

    def schedule_unit(self, uids: Sequence[str], now_ns: int) -> ScheduledUnit:
        """Decides and assumes these pods together. If one of them cannot be placed, none is, and
        everything is as before. No pod is parked, and no pod preempts."""
        program_hash, resource_version, placements, rejection = self._engine.schedule_unit(
            uids, now_ns
        )
        return ScheduledUnit(
            program_hash,
            resource_version,
            list(map(_decision, placements)),
            None if rejection is None else _decision(rejection),
        )

    def decide_again(self, uids: Sequence[str], now_ns: int) -> list[Decision]:
        """Decides about these pods that are on nodes, each as if it were not there. Nothing comes
        of it: no pod is moved, parked or nominated."""
        return list(map(_decision, _engine.decide_again(self._engine, uids, now_ns)))

    def requested(self, uids: Sequence[str], resources: Sequence[str]) -> list[list[str]]:
        """Which of these extended resources each pod requests, in any container."""
        return self._engine.requested(uids, resources)

    def filter(self, uid: str, now_ns: int) -> Filtered:
        """The nodes that pass every filter, for a caller that asks extenders before it calls
        `choose`. If no node passes, or the pod is not to be tried, `choose` with no kept nodes says
        why."""
        return Filtered(*self._engine.filter(uid, now_ns))

    def choose(self, uid: str, judged: JudgedNodes, now_ns: int) -> Decision:
        """Decides and assumes among the kept nodes, each of which is judged again. `Verdict.STALE`
        means that none of them passes any more and that something changed since `filter`: call
        `filter` again."""
        return _decision(self._engine.choose(uid, *judged, now_ns))

    def candidates(self, uid: str, judged: JudgedNodes, now_ns: int) -> Candidates:
        """The nodes on which room can be made if the pod gets none of the kept nodes, for a
        caller that asks extenders before it calls `preempt`. If there are none, `choose` gives
        the result."""
        token, nodes = self._engine.candidates(uid, *judged, now_ns)
        rooms = [
            CandidateNode(node, list(map(Victim._make, own)), count) for node, own, count in nodes
        ]
        return Candidates(token, rooms)

    def preempt(
        self, uid: str, judged: JudgedNodes, left: RemainingCandidates, now_ns: int
    ) -> Decision:
        """As `choose`, but room is made only on the remaining candidates. `Verdict.STALE` also
        means that none of them can make room any more and that something changed."""
        return _decision(self._engine.preempt(uid, *judged, left, now_ns))

    def located(self, uids: Sequence[str]) -> list[Located]:
        """The node of each of these pods that is on one."""
        return list(map(Located._make, self._engine.located(uids)))

    def labelled(self, uids: Sequence[str]) -> list[Labelled]:
        """Those of these pods that are there, with what tells to which workload each belongs."""
        return list(map(Labelled._make, _engine.labelled(self._engine, uids)))

    def volumes(self, awaited: Sequence[AwaitedVolume]) -> list[VolumeProgress]:
        """The progress of each claim, as the API server last showed it."""
        return list(map(VolumeProgress._make, self._engine.volumes(awaited)))

    def second_opinions(self, acted: Sequence[tuple[str, str]], now_ns: int) -> list[Opinion]:
        """What this program would have decided about pods that another engine decided: the uid and
        the node of each, or no node. This engine then takes over the other's choices. No pod is
        parked or nominated."""
        return [
            Opinion(verdict, uid, node, accepts, RESULTS[result])
            for verdict, uid, node, accepts, result in self._engine.second_opinions(acted, now_ns)
        ]

    def settle(self, outcomes: Sequence[tuple[str, int]], now_ns: int) -> list[Wake]:
        """Reports the results of binds: a uid and an `Outcome` each. Every placed pod is settled
        once."""
        return list(map(Wake._make, self._engine.settle(outcomes, now_ns)))

    def settle_room(
        self, uid: str, evicted: Sequence[str], now_ns: int, *, is_made: bool
    ) -> list[Wake]:
        """Reports the result of a preemption: uids of the evicted victims, for which the pod waits
        from now on, and whether these are all victims. If not, the nomination is removed."""
        return list(map(Wake._make, self._engine.settle_room(uid, evicted, is_made, now_ns)))

    def advise(self, request: bytes, now_ns: int) -> bytes:
        """What would place pods: the nodes nearest to fitting, and the smallest changes of the pod,
        of a node or of the policy, each verified by a decision. Takes `{"pods": ["namespace/name",
        …], "limit": 1}`, or `{"namespace": …, "group": …, "limit": …}` for all pending pods there.
        Returns a JSON line for pods alike, under `pods`; of a namespace or group the first line
        counts its pods. Of a placed pod it says which rules decided. Nothing comes of it."""
        return _engine.advise(self._engine, request, now_ns)

    def explain(self, request: bytes, now_ns: int) -> bytes:
        """Takes `{"pods": ["namespace/name", …]}`, or null for all pending pods. Returns JSON lines
        as `kpolicy explain --output json` prints them. With `"parts": true` each line has `seen`:
        for each rule the results of every part of its expressions, from which the coverage of tests
        is made. Takes `{"uids": [uid, …], "nodes": [name, …]}` too: then each line has only these
        nodes, under `counts` how many nodes there are, fit and are best, and neither victims nor
        what the pod waits for."""
        return self._engine.explain(request, now_ns)

    def evaluate(self, request: bytes, now_ns: int) -> bytes:
        """Takes `{"ir": …, "variables": {…}, "pod": "namespace/name", "node": name, "trace":
        bool}`. Returns the value of this expression, with the facts that rules read:
        docs/internals/expressions.md."""
        return self._engine.evaluate(request, now_ns)

    def message(self, uid: str) -> str:
        """The full text of why a pod is parked, or an empty string."""
        return self._engine.message(uid)

    def pending(self) -> list[PodChange]:
        """All pending pods, in the order of creation and name."""
        return list(map(PodChange._make, self._engine.pending()))

    def holdings(self) -> bytes:
        """The nodes and pods in the snapshot, as JSON lines. The first line has the names of the
        nodes. Then follows for each pod `[uid, "namespace/name", node, assumed, nominated,
        scheduler]`. A pending pod has no node, but may have a nominated node."""
        return self._engine.holdings()

    def pod_resources(self) -> PodResources:
        """The pods of this moment. What they request and may use at most can then be read page by
        page, without waiting for the engine."""
        return self._engine.pod_resources()

    def timings(self) -> Timings:
        """How long stages and rules took, for all programs together."""
        stages, rules = self._engine.timings()
        return Timings(list(map(Series._make, stages)), list(map(Series._make, rules)))

    def statistics(self) -> bytes:
        """Sizes of all tables and caches, as a JSON object."""
        return self._engine.statistics()


def decisions_json(
    program_hash: str, resource_version: str, decisions: Sequence[Decision]
) -> bytes:
    """Decisions as a journal keeps them, without the times that they took: `[program hash,
    resourceVersion, how many, fields]`. For each field a list of its values, or of the one value
    that all have."""
    return _engine.decisions_json(program_hash, resource_version, decisions)


def read_calls(
    engine: Engine, records: bytes, calls: Sequence[_engine._RecordedCall]
) -> list[tuple[RecordedCalls, int]]:
    """Reads calls of a journal, for `make_calls`, in any thread: a replay does so while the engine
    is at what comes before. `calls` name places in `records`. Gives rows of calls, and how many
    each has: between two rows is a call whose arguments or decisions have another form."""
    return _engine.read_calls(engine._engine, records, calls)


def make_calls(
    engine: Engine,
    calls: RecordedCalls,
    limit: int,
    *,
    only_objects: bool = False,
    binds: OtherBinds = OtherBinds.APPLIED,
    kept: KeptDifferences | None = None,
) -> MadeCalls:
    """Makes the next calls, at most `limit`, until one has other decisions than were recorded, or
    there is a bind to be reported. With `only_objects`, calls that are not about objects are passed
    over. `kept`: not all disagreements are kept, but the first differences of policies."""
    made = _engine.make_calls(engine._engine, calls, limit, only_objects, binds, kept)
    return MadeCalls(
        *made[:3],
        None if made[3] is None else Located._make(made[3]),
        made[4],
        _results(made[5]),
        [Disagreement(*each[:5], RESULTS[each[5]], each[6]) for each in made[6]],
        [WorkloadResults(Labelled._make(pod), _results(counts)) for pod, counts in made[7]],
    )


def _results(counts: Sequence[int]) -> Counter[Result]:
    pairs = zip(RESULTS, counts, strict=True)
    return Counter({result: count for result, count in pairs if count})


def built_ins() -> list[tuple[str, bool, bool, bool, int]]:
    """Every built-in in the order of filters: its name, whether it filters, whether it scores,
    whether it is in kube-scheduler's default profile, and its weight there."""
    return _engine.built_ins()


def releases() -> list[tuple[str, str, str, list[str]]]:
    """The releases of Kubernetes that the engine follows, oldest first: name, label of the event
    that a pod was added, and of that its scheduling gates are gone, metrics that not every release
    has."""
    return _engine.releases()


def feature_gates() -> list[tuple[str, list[str], bool]]:
    """kube-scheduler's feature gates: name, what each release makes of it, whether decisions depend
    on it."""
    return _engine.feature_gates()


def object_kinds() -> list[tuple[str, str, str, str, bool, list[str]]]:
    """The kinds of API objects that the engine reads, in the order of its table: (name, plural,
    group, version, whether it is namespaced)."""
    return _engine.object_kinds()


def time_zones() -> list[str]:
    """The time zones that expressions can name, in the order of names."""
    return _engine.time_zones()


def version() -> str:
    """The version of the compiled engine."""
    return _engine.__version__


def _decision(answer: _engine._Decision) -> Decision:
    decision = Decision._make(answer)
    # Empty for most pods.
    if decision.victims:
        decision.victims[:] = map(Victim._make, decision.victims)
    if decision.writes:
        decision.writes[:] = list(map(_write, answer[-2]))
    return decision


def _write(write: _engine._PreBindWrite) -> PreBindWrite:
    match write:
        case ("volume", fields):
            return VolumeWork._make(fields)
        case ("claim", fields):
            return ClaimWork._make(fields)
        case ("annotation", fields):
            return BoundAnnotation._make(fields)
        case ("release", fields):
            return ClaimRelease._make(fields)
        case _:
            assert_never(write)


def _applied(answer: _engine._Applied) -> Applied:
    return Applied(
        *answer[:6],
        list(map(PodChange._make, answer[6])),
        list(map(Wake._make, answer[7])),
        list(map(Unreadable._make, answer[8])),
        answer[9],
    )
