"""The real engine with a log: which objects it had received when it placed each pod.

While a list is being read, its objects can be of the time of its beginning or of its end. The log
changes nothing in the engine's answers, except the time that it took.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kpolicy.engine import (
    Applied,
    Candidates,
    Decision as Decided,
    Engine,
    JudgedNodes,
    RemainingCandidates,
    Scheduled,
    Verdict,
)
from tests.invariants.history import Decision, RoomDecided, Span, Start
from tests.simulation.machine_time import WorldTime


@dataclass(slots=True)
class _Known:
    """`listing`: a list is open, and its objects may be of a version that it has not told yet."""

    version: int = 0
    listed: int = 0
    listing: bool = False

    def span(self) -> Span:
        if not self.listing or not self.listed:
            return Span(self.version, self.version)
        return Span(min(self.version, self.listed), max(self.version, self.listed))


@dataclass(slots=True)
class RunLog:
    """The log: what instances themselves do not record."""

    starts: list[Start] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    rooms: list[RoomDecided] = field(default_factory=list)


class LoggedEngine(Engine):
    __slots__ = ("_instance", "_known", "_offered_at", "_run_log", "_time")

    def __init__(self, seed: int, instance: str, log: RunLog, time: WorldTime) -> None:
        super().__init__(seed)
        self._instance = instance
        self._run_log = log
        self._time = time
        self._known: dict[str, _Known] = {}
        # By pod, what was known when extenders were offered victims.
        self._offered_at: dict[str, dict[str, Span]] = {}

    def known(self, resource: str) -> _Known:
        return self._known.setdefault(resource, _Known())

    def list_begin(self, resource: str) -> None:
        super().list_begin(resource)
        known = self.known(resource)
        known.listing, known.listed = True, 0

    def list_page(self, resource: str, body: bytes, now_ns: int) -> Applied:
        applied = super().list_page(resource, body, now_ns)
        if applied.resource_version:
            self.known(resource).listed = int(applied.resource_version)
        return applied

    def list_end(self, resource: str, now_ns: int) -> Applied:
        applied = super().list_end(resource, now_ns)
        known = self.known(resource)
        known.listing = False
        if not applied.status_code:
            known.version = known.listed
        return applied

    def watch(self, resource: str, lines: bytes, now_ns: int) -> Applied:
        applied = super().watch(resource, lines, now_ns)
        if applied.resource_version:
            known = self.known(resource)
            known.version = max(known.version, int(applied.resource_version))
        return applied

    def schedule(self, uids: Sequence[str], now_ns: int) -> Scheduled:
        scheduled = super().schedule(uids, now_ns)
        for decision in scheduled.decisions:
            self._log(decision, scheduled.program_hash)
        return scheduled._replace(decisions=list(map(_timeless, scheduled.decisions)))

    def choose(self, uid: str, judged: JudgedNodes, now_ns: int) -> Decided:
        return self._chosen(super().choose(uid, judged, now_ns), now_ns)

    def candidates(self, uid: str, judged: JudgedNodes, now_ns: int) -> Candidates:
        resources = ("pods", "nodes", "poddisruptionbudgets")
        self._offered_at[uid] = {name: self.known(name).span() for name in resources}
        return super().candidates(uid, judged, now_ns)

    def preempt(
        self, uid: str, judged: JudgedNodes, left: RemainingCandidates, now_ns: int
    ) -> Decided:
        decided = super().preempt(uid, judged, left, now_ns)
        return self._chosen(decided, now_ns, self._offered_at.pop(uid, {}))

    def _chosen(
        self, decided: Decided, now_ns: int, before: Mapping[str, Span] | None = None
    ) -> Decided:
        """`before`: what was known when the victims were found, where that was earlier."""
        self._log(decided, super().schedule([], now_ns).program_hash, before)
        return _timeless(decided)

    def _span(self, resource: str, before: Mapping[str, Span]) -> Span:
        now = self.known(resource).span()
        then = before.get(resource, now)
        return Span(min(then.low, now.low), max(then.high, now.high))

    def _log(
        self, decided: Decided, policy_hash: str, before: Mapping[str, Span] | None = None
    ) -> None:
        before = before or {}
        if decided.verdict == Verdict.PLACED:
            claims = self.known("persistentvolumeclaims").span()
            volumes = self.known("persistentvolumes").span()
            self._run_log.decisions.append(
                Decision(
                    at_ns=self._time.now_ns,
                    instance=self._instance,
                    uid=decided.uid,
                    node=decided.node,
                    policy_hash=policy_hash,
                    pods=self.known("pods").span(),
                    nodes=self.known("nodes").span(),
                    volumes_low=min(claims.low, volumes.low),
                )
            )
        if decided.victims:
            self._run_log.rooms.append(
                RoomDecided(
                    at_ns=self._time.now_ns,
                    instance=self._instance,
                    uid=decided.uid,
                    node=decided.nominated_node,
                    victims=tuple(victim.uid for victim in decided.victims),
                    pods=self._span("pods", before),
                    nodes=self._span("nodes", before),
                    budgets=self._span("poddisruptionbudgets", before),
                )
            )


def _timeless(decided: Decided) -> Decided:
    """Replaces the duration, which is real time and decides the size of the next batch."""
    return decided._replace(filter_ns=0, score_ns=0, post_filter_ns=0)
