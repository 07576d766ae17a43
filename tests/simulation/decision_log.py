"""The real engine, and a log of what it had been told when it placed each pod.

Owns the spans of versions: between the begin and the end of a list its objects are of either time.
Must not change what the engine answers, but for
the time that it took.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kpolicy.engine import Applied, Engine, Scheduled, Verdict
from tests.invariants.history import Decision, Span
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


class LoggedEngine(Engine):
    __slots__ = ("_decisions", "_instance", "_known", "_time")

    def __init__(
        self, seed: int, instance: str, decisions: list[Decision], time: WorldTime
    ) -> None:
        super().__init__(seed)
        self._instance = instance
        self._decisions = decisions
        self._time = time
        self._known: dict[str, _Known] = {}

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
        pods, nodes = self.known("pods").span(), self.known("nodes").span()
        for decision in scheduled.decisions:
            if decision.verdict == Verdict.PLACED:
                decided = Decision(
                    at_ns=self._time.now_ns,
                    instance=self._instance,
                    uid=decision.uid,
                    node=decision.node,
                    policy_hash=scheduled.program_hash,
                    pods=pods,
                    nodes=nodes,
                )
                self._decisions.append(decided)
        # How long it took is real time, and sets the size of the next batch.
        timeless = [
            one._replace(filter_ns=0, score_ns=0, post_filter_ns=0) for one in scheduled.decisions
        ]
        return scheduled._replace(decisions=timeless)
