"""What one policy decides about the pods of a snapshot: each by itself (`explain`), or all pending
pods one after the other (`simulate`).

The answers of `explain` are the engine's, line by line (design §7 binds their shape). Both use the
calls that decide online, and evict nothing: a pod that preemption would make room for says where.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from kpolicy.engine import Decision, Engine, HeldPod, PodChange, Verdict, WaitingPod
from kpolicy.offline.answers.advice import advice_in, request_on
from kpolicy.offline.limits import BATCH_PODS, EXPLAINED_NODES_MAX
from kpolicy.offline.reports.columns import largest_first
from kpolicy.offline.snapshots.cluster_snapshot import (
    NotExplained,
    Progress,
    Snapshot,
    default_program,
    full_key,
    has_ended,
    key_of_pod,
    pods_by_key,
    pods_of,
    queue_order,
    scheduler_of,
    unknown_pod,
    unplaced,
)
from kpolicy.offline.snapshots.json_objects import Json
from kpolicy.offline.snapshots.survey import Utilisation, utilisation
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.compile import EVERY_POD
from kpolicy.quick_dataclass import dataclass

if TYPE_CHECKING:
    from kpolicy.plugins.loading import PluginClass

# The time as of which rules decide where none is known.
NO_TIME_NS: Final = 0


class PolicyOnSnapshot:
    """Without a policy, what kube-scheduler does. Raises `PolicyRefusedError`."""

    def __init__(self, snapshot: Snapshot, policy: Program | None = None, *, seed: int = 0) -> None:
        program = self.program = policy or default_program(snapshot.cluster_version)
        self.snapshot = snapshot
        # A recorded cluster stands still.
        self.now_ns = NO_TIME_NS if snapshot.now_ns is None else snapshot.now_ns
        self.engine: Engine = snapshot.engine(program, seed=seed)
        self.served = frozenset(program.scheduler_names)

    @property
    def statistics(self) -> bytes:
        """The objects that the engine holds."""
        return self.engine.statistics()

    @property
    def node_count(self) -> int:
        return int(json.loads(self.statistics)["nodes"])

    def serves(self, scheduler_name: str) -> bool:
        return EVERY_POD in self.served or scheduler_name in self.served

    def pending(self) -> list[PodChange]:
        """Pending pods that a profile serves, in queue order."""
        return queue_order(pod for pod in self.engine.pending() if self.serves(pod.scheduler_name))

    def asked(self, keys: Sequence[str]) -> bytes:
        """A line of JSON for each pod that the engine can explain."""
        return self.engine.explain(json.dumps({"pods": keys}).encode(), self.now_ns)

    def explained(self, keys: Sequence[str]) -> list[bytes]:
        """As `asked`, the lines one by one."""
        return self.asked(keys).splitlines()

    def advised(self, line: bytes) -> bytes:
        """A line of an explanation, with what would place the pod."""
        explained: dict[str, Any] = json.loads(line)
        answer = self.engine.advise(request_on(explained["pod"]), self.now_ns)
        return json.dumps(explained | {"advice": advice_in(answer)}).encode()

    def brief(self, uids: Sequence[str], nodes: Sequence[str] = ()) -> list[bytes]:
        """As `explained`, with the lines of these nodes alone and counts of all."""
        request = json.dumps({"uids": uids, "nodes": nodes}).encode()
        return self.engine.explain(request, self.now_ns).splitlines()

    def decided_again(self, uids: Sequence[str]) -> list[Decision]:
        """About pods on nodes, each as if it were not there; nothing comes of it."""
        return self.engine.decide_again(uids, self.now_ns)


def decide(
    engine: Engine,
    pods: Iterable[PodChange],
    progress: Progress | None = None,
    *,
    now_ns: int,
) -> Iterator[Decision]:
    """Decides one pod after the other; each sees those placed before it."""
    uids = [pod.uid for pod in pods]
    done = 0
    while done < len(uids):
        decisions = engine.schedule(uids[done : done + BATCH_PODS], now_ns).decisions
        yield from decisions
        done += len(decisions)
        if progress is not None:
            progress(done, len(uids))


@dataclass(frozen=True, slots=True)
class Explained:
    """`explanations` are what `kpolicy explain --output json` prints."""

    explanations: list[dict[str, Any]]
    not_explained: list[NotExplained] = field(default_factory=list)


def explain(
    snapshot: Snapshot,
    policy: Program | None = None,
    pods: Sequence[str] | None = None,
    *,
    seed: int = 0,
) -> Explained:
    """Explain these pods (`namespace/name`), or all that are pending and served.

    Without a policy, what kube-scheduler does. Raises `PolicyRefusedError`."""
    work = Explaining(snapshot, policy, seed=seed)
    lines: Iterable[bytes | memoryview] = work.lines() if pods is None else work.lines_of(pods)
    return Explained([json.loads(bytes(line)) for line in lines], work.not_explained)


_Line = TypeVar("_Line", bytes, memoryview)


def _lines_in(text: bytes) -> Iterator[memoryview]:
    view, start = memoryview(text), 0
    while (end := text.find(b"\n", start)) >= 0:
        yield view[start:end]
        start = end + 1


class Explaining(PolicyOnSnapshot):
    """Explanations as lines, one after the other. `not_explained` is complete after the last.

    `namespace`: which pending pods are meant; empty means all."""

    def __init__(
        self,
        snapshot: Snapshot,
        policy: Program | None = None,
        *,
        seed: int = 0,
        namespace: str = "",
    ) -> None:
        super().__init__(snapshot, policy, seed=seed)
        self.not_explained: list[NotExplained] = []
        self._namespace = namespace

    def pending(self) -> list[PodChange]:
        return [pod for pod in super().pending() if self._is_meant(pod)]

    def not_served(self) -> list[PodChange]:
        waiting = self.engine.pending()
        return [p for p in waiting if self._is_meant(p) and not self.serves(p.scheduler_name)]

    def _is_meant(self, pod: PodChange) -> bool:
        return self._namespace in ("", pod.namespace)

    def lines(self, progress: Progress | None = None) -> Iterator[memoryview]:
        """Not copied: those of a large cluster have megabytes each."""
        pods = max(1, EXPLAINED_NODES_MAX // max(1, self.node_count))
        return self._in_calls(
            lambda part: _lines_in(self.asked([key_of_pod(pod) for pod in part])), pods, progress
        )

    def brief_lines(self, progress: Progress | None = None) -> Iterator[bytes]:
        """Of the same pods, without what each node has to say."""
        return self._in_calls(
            lambda part: self.brief([pod.uid for pod in part]), BATCH_PODS, progress
        )

    def _in_calls(
        self,
        ask: Callable[[Sequence[PodChange]], Iterable[_Line]],
        size: int,
        progress: Progress | None,
    ) -> Iterator[_Line]:
        pods = self.pending()
        for start in range(0, len(pods), size):
            yield from ask(pods[start : start + size])
            if progress is not None:
                progress(min(start + size, len(pods)), len(pods))

    def lines_of(self, written: Sequence[str]) -> Iterator[bytes]:
        """In the order of the arguments."""
        keys = list(dict.fromkeys(map(full_key, written)))
        pending = {key_of_pod(pod): pod for pod in self.engine.pending()}
        placed = pods_by_key(self.snapshot, [key for key in keys if key not in pending])
        for key in keys:
            if key in pending:
                yield from self._lines(key, pending[key].scheduler_name)
            elif key in placed:
                yield from self._lines(key, scheduler_of(placed[key]), placed[key])
            else:
                self.not_explained.append(unknown_pod(self.snapshot, key))

    def _lines(self, key: str, scheduler_name: str, placed: Json | None = None) -> list[bytes]:
        if placed is not None and has_ended(placed):
            with unplaced(self.engine, placed):
                lines = self.explained([key])
        else:
            is_asked = placed is not None or self.serves(scheduler_name)
            lines = self.explained([key]) if is_asked else []
        if not lines and self.serves(scheduler_name):
            self.not_explained.append(NotExplained(key, "it could not be read"))
        elif not lines:
            message = f"its scheduler is `{scheduler_name}`"
            hint = f"the policy serves {', '.join(sorted(self.served))}"
            self.not_explained.append(NotExplained(key, message, hint))
        return lines


@dataclass(frozen=True, slots=True)
class SimulatedPod:
    """`node` if it is placed, with the `annotations` that its bind would write, else `message` why
    not; `victims` as `namespace/name`."""

    pod: str
    uid: str
    node: str
    message: str
    rejected_by: tuple[str, ...] = ()
    nominated_node: str = ""
    victims: tuple[str, ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()

    def line(self) -> dict[str, Any]:
        """The JSON of `kpolicy simulate --output json`; fields that do not apply are absent."""
        if self.node:
            own = {"annotations": dict(self.annotations)} if self.annotations else {}
            return {"pod": self.pod, "node": self.node, **own}
        line: dict[str, Any] = {"pod": self.pod, "message": self.message}
        if self.nominated_node:
            line |= {"nominatedNode": self.nominated_node, "victims": list(self.victims)}
        return line


@dataclass(slots=True)
class Summary:
    """`by_reason` counts messages, `by_rule` the pods that each rule keeps from some node."""

    placed: int = 0
    pending: int = 0
    not_served: int = 0
    nodes: int = 0
    by_reason: Counter[str] = field(default_factory=Counter)
    by_rule: Counter[str] = field(default_factory=Counter)
    utilisation: dict[str, Utilisation] = field(default_factory=dict)

    def line(self) -> dict[str, Any]:
        summary = {
            "pods": self.placed + self.pending,
            "placed": self.placed,
            "pending": self.pending,
            "notServed": self.not_served,
            "nodes": self.nodes,
            "byReason": dict(largest_first(self.by_reason)),
            "byRule": dict(largest_first(self.by_rule)),
            "utilisation": {name: used.line() for name, used in self.utilisation.items()},
        }
        return {"summary": summary}


@dataclass(frozen=True, slots=True)
class Simulation:
    pods: list[SimulatedPod]
    summary: Summary


def simulate(
    snapshot: Snapshot,
    policy: Program | None = None,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> Simulation:
    """Place all pending pods that the policy serves, in the order of priority, creation and name.

    Without a policy, what kube-scheduler does. Raises `PolicyRefusedError`."""
    work = Simulating(snapshot, policy, seed=seed)
    return Simulation(list(work.pods(progress)), work.summary())


# Decides these pods one after the other.
Decide: TypeAlias = Callable[[Sequence[PodChange], Progress | None], Iterator[Decision]]


class Simulating(PolicyOnSnapshot):
    """A simulation pod by pod. `summary` counts the pods so far. `plugins`: asked about each
    pod; `PluginNotMadeError` if one cannot be made."""

    def __init__(
        self,
        snapshot: Snapshot,
        policy: Program | None = None,
        *,
        seed: int = 0,
        plugins: Sequence[PluginClass] = (),
    ) -> None:
        super().__init__(snapshot, policy, seed=seed)
        self._plugins = plugins
        self._queue = self.pending()
        self._not_served = len(self.engine.pending()) - len(self._queue)
        self._simulated: list[SimulatedPod] = []

    def pods(self, progress: Progress | None = None) -> Iterator[SimulatedPod]:
        for pod in self._in_turn(progress):
            self._simulated.append(pod)
            yield pod

    def _in_turn(self, progress: Progress | None) -> Iterator[SimulatedPod]:
        with self.deciding() as decide_all:
            if self.engine.orders_queue():
                yield from self._by_policy(decide_all, progress)
            else:
                yield from map(_simulated, decide_all(self._queue, progress))

    def _by_policy(self, decide_all: Decide, progress: Progress | None) -> Iterator[SimulatedPod]:
        """As the policy orders the queue; those that it holds come last."""
        pods = {pod.uid: pod for pod in self._queue}
        held: dict[str, HeldPod] = {}
        # All have waited for as long; those that the policy does not tell apart keep this order.
        waiting = [WaitingPod(uid, at, at, 0, is_set_aside=False) for at, uid in enumerate(pods)]
        done = 0
        while True:
            following = self.engine.next_pods(waiting, [], BATCH_PODS, len(pods), self.now_ns)
            waiting = []
            held |= {each.uid: each for each in following.held}
            picked = [pods.pop(uid) for uid in following.picked]
            yield from map(_simulated, decide_all(picked, None))
            done += len(picked)
            if progress is not None:
                progress(done, len(self._queue))
            if not picked and not following.is_more:
                break
        for uid, pod in pods.items():
            key = key_of_pod(pod)
            why = held[uid]
            yield SimulatedPod(key, uid, "", why.message, rejected_by=(why.hold,))

    @contextmanager
    def deciding(self) -> Iterator[Decide]:
        """Inside, what decides about pods in their turn."""
        if not self._plugins:
            yield partial(decide, self.engine, now_ns=self.now_ns)
            return
        # Few commands have plugins.
        from kpolicy.offline.answers.plugged_decisions import plugged_decisions  # noqa: PLC0415

        with plugged_decisions(
            self.engine,
            self.program,
            self._plugins,
            pods_of(self.snapshot),
            now_ns=self.now_ns,
        ) as plugged:
            yield plugged.decide

    def summary(self) -> Summary:
        placed = {pod.uid for pod in self._simulated if pod.node}
        unplaced = [pod for pod in self._simulated if not pod.node]
        return Summary(
            placed=len(placed),
            pending=len(unplaced),
            not_served=self._not_served,
            nodes=self.node_count,
            by_reason=Counter(pod.message for pod in unplaced),
            by_rule=Counter(rule for pod in unplaced for rule in pod.rejected_by),
            utilisation=utilisation(self.snapshot.inventory, placed),
        )


def _simulated(decision: Decision) -> SimulatedPod:
    is_gone = decision.verdict == Verdict.GONE
    return SimulatedPod(
        pod=f"{decision.namespace}/{decision.name}",
        uid=decision.uid,
        node=decision.node,
        message="the pod is being deleted" if is_gone else decision.message,
        rejected_by=tuple(decision.rejected_by),
        nominated_node=decision.nominated_node,
        victims=tuple(victim.key for victim in decision.victims),
        annotations=tuple(decision.annotations.items()),
    )
