"""The cluster at any version of a history: pods by uid, nodes by name, the pods on a node, and what
a bind was based on. It is built once for a history.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass

from tests.invariants.history import (
    DECISION_ID,
    DELETED,
    POLICY_HASH,
    SECOND_NS,
    SNAPSHOT_VERSION,
    Change,
    Decision,
    History,
    Object,
    Span,
    Write,
)
from tests.invariants.pods_and_nodes import is_terminal, node_of


@dataclass(slots=True)
class _Life:
    """The states of one object; None after its deletion."""

    versions: list[int]
    states: list[Object | None]

    def at(self, version: int) -> Object | None:
        place = bisect_right(self.versions, version)
        return self.states[place - 1] if place else None

    def within(self, span: Span) -> list[Object | None]:
        """The state at the low end, and every change up to the high end."""
        low, high = bisect_right(self.versions, span.low), bisect_right(self.versions, span.high)
        before = self.states[low - 1] if low else None
        return [before, *self.states[low:high]]


@dataclass(frozen=True, slots=True)
class Placed:
    """A pod that was placed on a node."""

    uid: str
    node: str
    version: int
    at_ns: int


class Timeline:
    def __init__(self, history: History) -> None:
        self.terms = history.terms
        self._lives: dict[tuple[str, str], _Life] = {}
        self._others: dict[str, dict[str, _Life]] = defaultdict(dict)
        self._versions: list[int] = []
        self._times: list[int] = []
        self._versions_of: dict[str, set[int]] = defaultdict(set)
        self.placed: dict[str, Placed] = {}
        self._ever_on: dict[str, list[str]] = defaultdict(list)
        self._pod_uids: dict[str, None] = {}
        self._node_names: dict[str, None] = {}
        for change in history.changes:
            self._versions.append(change.version)
            self._versions_of[change.resource].add(change.version)
            self._times.append(change.at_ns)
            if change.resource not in ("pods", "nodes"):
                self._take_other(change)
                continue
            key = change.uid if change.resource == "pods" else change.object["metadata"]["name"]
            life = self._lives.setdefault((change.resource, key), _Life([], []))
            life.versions.append(change.version)
            life.states.append(None if change.type == DELETED else change.object)
            if change.resource == "nodes":
                self._node_names[key] = None
                continue
            self._pod_uids[key] = None
            node = node_of(change.object)
            if node and key not in self.placed and change.type != DELETED:
                self.placed[key] = Placed(key, node, change.version, change.at_ns)
                self._ever_on[node].append(key)
        self._decisions: dict[tuple[str, str], list[Decision]] = defaultdict(list)
        for decision in history.decisions:
            self._decisions[decision.instance, decision.uid].append(decision)
        # The bind that placed each pod, by uid.
        self.bound_by: dict[str, Write] = {
            write.in_request("metadata", "uid"): write
            for write in history.binds()
            if write.succeeded or self._has_landed(write)
        }

    def _has_landed(self, bind: Write) -> bool:
        """Whether the pod carries this decision. For a client that has gone, the API server logs
        504, even if etcd has stored the bind."""
        placed = self.placed.get(bind.in_request("metadata", "uid"))
        pod = self.pod(placed.uid, placed.version) if placed is not None else None
        if pod is None:
            return False
        decided = (pod["metadata"].get("annotations") or {}).get(DECISION_ID)
        return decided is not None and decided == bind.in_request(
            "metadata", "annotations", DECISION_ID
        )

    def _take_other(self, change: Change) -> None:
        metadata = change.object["metadata"]
        name = "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))
        life = self._others[change.resource].setdefault(name, _Life([], []))
        life.versions.append(change.version)
        life.states.append(None if change.type == DELETED else change.object)

    @property
    def last(self) -> int:
        return self._versions[-1] if self._versions else 0

    def pod(self, uid: str, version: int) -> Object | None:
        life = self._lives.get(("pods", uid))
        return life.at(version) if life is not None else None

    def pod_within(self, uid: str, span: Span) -> list[Object]:
        life = self._lives.get(("pods", uid))
        states = life.within(span) if life is not None else []
        return [state for state in states if state is not None]

    def node_within(self, name: str, span: Span) -> list[Object]:
        life = self._lives.get(("nodes", name))
        states = life.within(span) if life is not None else []
        return [state for state in states if state is not None]

    def other(self, resource: str, name: str, version: int) -> Object | None:
        """Objects that are neither pods nor nodes, by namespace and name."""
        life = self._others[resource].get(name)
        return life.at(version) if life is not None else None

    def other_within(self, resource: str, name: str, span: Span) -> list[Object]:
        life = self._others[resource].get(name)
        states = life.within(span) if life is not None else []
        return [state for state in states if state is not None]

    def others_within(self, resource: str, span: Span) -> list[Object]:
        names = self._others[resource]
        return [state for name in names for state in self.other_within(resource, name, span)]

    def states_of(self, uid: str) -> list[Object]:
        life = self._lives.get(("pods", uid))
        return [state for state in life.states if state is not None] if life is not None else []

    def version_at(self, at_ns: int) -> int:
        """The newest version before that time."""
        place = bisect_left(self._times, at_ns)
        return self._versions[place - 1] if place else 0

    def pods(self, version: int) -> list[Object]:
        states = (self.pod(uid, version) for uid in self._pod_uids)
        return [state for state in states if state is not None]

    def pods_within(self, span: Span) -> list[Object]:
        """Every state of every pod in that range."""
        return [pod for uid in self._pod_uids for pod in self.pod_within(uid, span)]

    def nodes(self, version: int) -> list[Object]:
        states = (self._lives["nodes", name].at(version) for name in self._node_names)
        return [state for state in states if state is not None]

    def on_node(self, name: str, version: int) -> list[Object]:
        """The pods that hold resources of the node."""
        states = (self.pod(uid, version) for uid in self._ever_on[name])
        return [
            state
            for state in states
            if state is not None and node_of(state) == name and not is_terminal(state)
        ]

    def time_of(self, version: int) -> int:
        place = bisect_right(self._versions, version)
        return self._times[place - 1] if place else 0

    def versions_between(self, low: int, high: int) -> list[int]:
        first, last = bisect_right(self._versions, low), bisect_right(self._versions, high)
        return self._versions[first:last]

    def decision(self, bind: Write) -> Decision:
        """The decision behind a bind, from the decision log or from the bind's annotations."""
        uid, node = bind.in_request("metadata", "uid"), bind.in_request("target", "name")
        for decision in reversed(self._decisions.get((bind.instance, uid), ())):
            if decision.at_ns <= bind.received_ns and decision.node == node:
                return decision
        version = int(bind.in_request("metadata", "annotations", SNAPSHOT_VERSION) or 0)
        policy = bind.in_request("metadata", "annotations", POLICY_HASH)
        pods, nodes = self._seen("pods", version), self._seen("nodes", version)
        oldest = self._seen("", version).low
        return Decision(bind.received_ns, bind.instance, uid, node, policy, pods, nodes, oldest)

    def _seen(self, resource: str, version: int) -> Span:
        """Of this resource, by a snapshot whose newest object of any kind has that version. A watch
        tells in order: whoever has seen a version has seen all of its resource before it."""
        has_seen_it = version in self._versions_of[resource]
        behind_s = self.terms.lag_s if has_seen_it else max(self.terms.lag_s, self.terms.skew_s)
        if not behind_s:
            return Span(version, version)
        oldest_ns = self.time_of(version) - round(behind_s * SECOND_NS)
        # Times of changes rise with their versions, but for what a recorder's threads do to them.
        place = bisect_right(self._times, oldest_ns)
        low = self._versions[place - 1] if place else 0
        return Span(min(low, version), version)
