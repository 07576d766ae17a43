"""Faults that tests inject into requests and watches.

A `FaultPolicy` is asked about each request and each watch event and returns a fault or none; the
API server carries it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeVar

from kpolicy.testing.apiserver.api_calls import Call


class Drop(Enum):
    NEVER = "never"
    BEFORE_COMMIT = "before"  # the request is lost
    AFTER_COMMIT = "after"  # the response is lost


@dataclass(frozen=True, slots=True)
class RequestFault:
    """Waits, then returns an error status or lets the request through; `drop` breaks the
    connection."""

    delay_s: float = 0.0
    status: int | None = None
    retry_after_s: int | None = None  # for 429 and 503; None means one second
    drop: Drop = Drop.NEVER


class WatchFault(Enum):
    NONE = "none"
    CLOSE = "close"  # the watch ends properly, before the event
    BREAK = "break"  # the connection breaks, before the event
    SILENCE = "silence"  # nothing arrives any more; the connection stays open
    DUPLICATE = "duplicate"  # the event is sent twice
    DROP = "drop"  # the event is not sent


Fault = TypeVar("Fault", RequestFault, WatchFault)


class FaultPolicy(Protocol):
    """Asked for every request, and for every event of every watch."""

    def on_request(self, call: Call) -> RequestFault | None: ...

    def on_watch_event(self, call: Call) -> WatchFault: ...


@dataclass(frozen=True, slots=True)
class FaultRule:
    """A fault for matching calls; empty fields match everything.

    The first `skip` matching calls succeed, the next `times` get the fault (None: all of them).
    """

    fault: RequestFault | WatchFault
    verb: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    user: str = ""
    skip: int = 0
    times: int | None = 1

    def fits(self, call: Call) -> bool:
        fields = ("verb", "resource", "subresource", "namespace", "name", "user")
        return all(getattr(self, field) in ("", getattr(call, field)) for field in fields)


class ScriptedFaults:
    """Applies the first rule that matches and is not used up."""

    def __init__(self, rules: Sequence[FaultRule]) -> None:
        self._rules = tuple(rules)
        self._fitted = [0] * len(self._rules)

    def on_request(self, call: Call) -> RequestFault | None:
        return self._first(RequestFault, call)

    def on_watch_event(self, call: Call) -> WatchFault:
        return self._first(WatchFault, call) or WatchFault.NONE

    def _first(self, kind: type[Fault], call: Call) -> Fault | None:
        for at, rule in enumerate(self._rules):
            if isinstance(rule.fault, kind) and rule.fits(call):
                earlier = self._fitted[at] - rule.skip
                self._fitted[at] += 1
                if earlier >= 0 and (rule.times is None or earlier < rule.times):
                    return rule.fault
        return None
