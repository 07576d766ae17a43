"""Faults of single requests and events, from a seed: their kinds, how often each happens, and how
often each has happened.

It only decides; others carry the faults out. The nemesis sets `Mood`: bursts and quiet times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import Final

from kpolicy.testing.apiserver.api_calls import Call, RequestFault, WatchFault


class Kind(Enum):
    """Faults of one request or one event of a watch."""

    NONE = "none"
    LOST = "request lost"  # the connection breaks before the write
    UNHEARD = "request never answered"  # nothing is written, nothing breaks
    ANSWER_LOST = "response lost after commit"
    ANSWER_UNHEARD = "response never came after commit"
    LATE = "request late"
    BUSY = "429 with Retry-After"
    FAILING = "5xx"
    FAILED_AFTER_COMMIT = "504 after commit"
    KILL_BEFORE = "killed before a write"
    KILL_AFTER = "killed after a write"
    STALE_LIST = "stale list"
    NOT_A_LIST = "200 with something else than a list"
    GONE = "410 by HTTP"
    GONE_EVENT = "410 as an event"
    WATCH_CLOSED = "watch closed"
    WATCH_BROKEN = "watch broken"
    WATCH_SILENT = "watch silent"
    DUPLICATE = "event duplicated"


@dataclass(slots=True)
class Mood:
    """Current probabilities of faults; a probability of 1 is a burst."""

    requests: float = 0.0
    events: float = 0.0
    busy: float = 0.0
    failing: float = 0.0
    kills: float = 0.0


@dataclass(frozen=True, slots=True)
class Trouble:
    kind: Kind
    code: int = 0
    seconds: float = 0.0  # delay of a late request, or Retry-After


NO_TROUBLE: Final = Trouble(Kind.NONE)
# Faults of any request of the scheduler, with their weights.
REQUEST_KINDS: Final = {
    Kind.LOST: 3,
    Kind.UNHEARD: 1,
    Kind.ANSWER_LOST: 4,
    Kind.ANSWER_UNHEARD: 2,
    Kind.LATE: 5,
    Kind.BUSY: 2,
    Kind.FAILING: 3,
    Kind.FAILED_AFTER_COMMIT: 2,
}
LIST_KINDS: Final = {**REQUEST_KINDS, Kind.STALE_LIST: 4, Kind.GONE: 3, Kind.NOT_A_LIST: 3}
WATCH_KINDS: Final = {
    Kind.LOST: 2,
    Kind.LATE: 2,
    Kind.BUSY: 2,
    Kind.FAILING: 2,
    Kind.GONE: 3,
    Kind.GONE_EVENT: 3,
}
EVENT_KINDS: Final = {
    Kind.WATCH_CLOSED: 3,
    Kind.WATCH_BROKEN: 3,
    Kind.WATCH_SILENT: 2,
    Kind.DUPLICATE: 3,
}
# Status codes of failing servers and proxies.
FAILING_CODES: Final = (500, 502, 503, 504)
RETRY_AFTER_S: Final = (1, 1, 2, 30)
LATE_S_MAX: Final = 8.0
_WATCH_FAULTS: Final = {
    Kind.WATCH_CLOSED: WatchFault.CLOSE,
    Kind.WATCH_BROKEN: WatchFault.BREAK,
    Kind.WATCH_SILENT: WatchFault.SILENCE,
    Kind.DUPLICATE: WatchFault.DUPLICATE,
}


class Troubles:
    """Chooses faults. It is also a fault policy of `kpolicy.testing`, for the events of watches."""

    def __init__(self, random: Random, hosts: frozenset[str]) -> None:
        self._random = random
        self._hosts = hosts
        self.mood = Mood()
        # The fault that stays when all random faults have ended.
        self.lasting: Callable[[Call, Random], Trouble] = lambda call, chance: NO_TROUBLE
        self.counts: Counter[str] = Counter()

    def of_request(self, call: Call) -> Trouble:
        if call.user not in self._hosts:
            return NO_TROUBLE
        chance, mood = self._random, self.mood
        if (lasting := self.lasting(call, chance)).kind is not Kind.NONE:
            return self.count(lasting)
        lease = call.resource == "leases"
        if call.is_write and mood.kills and chance.random() < mood.kills:
            return self.count(Trouble(chance.choice((Kind.KILL_BEFORE, Kind.KILL_AFTER))))
        if mood.busy and chance.random() < mood.busy and not lease:
            return self.count(Trouble(Kind.BUSY, 429, chance.choice(RETRY_AFTER_S)))
        if mood.failing and chance.random() < mood.failing:
            return self.count(Trouble(Kind.FAILING, chance.choice(FAILING_CODES)))
        if not mood.requests or chance.random() >= mood.requests:
            return NO_TROUBLE
        kinds = REQUEST_KINDS
        if call.verb == "list":
            kinds = LIST_KINDS
        elif call.verb == "watch":
            kinds = WATCH_KINDS
        (kind,) = chance.choices(list(kinds), list(kinds.values()))
        return self.count(
            Trouble(
                kind,
                code=_code(kind, chance),
                seconds=chance.choice(RETRY_AFTER_S)
                if kind is Kind.BUSY
                else chance.random() * LATE_S_MAX,
            )
        )

    def count(self, trouble: Trouble) -> Trouble:
        self.counts[trouble.kind.value] += 1
        return trouble

    def on_request(self, call: Call) -> RequestFault | None:
        """Chooses the fault of a request, before the server's own faults apply."""
        return None

    def on_watch_event(self, call: Call) -> WatchFault:
        mood, chance = self.mood, self._random
        if call.user not in self._hosts or not mood.events or chance.random() >= mood.events:
            return WatchFault.NONE
        (kind,) = chance.choices(list(EVENT_KINDS), list(EVENT_KINDS.values()))
        self.counts[kind.value] += 1
        return _WATCH_FAULTS[kind]


def _code(kind: Kind, chance: Random) -> int:
    if kind is Kind.FAILING:
        return chance.choice(FAILING_CODES)
    return {Kind.BUSY: 429, Kind.GONE: 410, Kind.FAILED_AFTER_COMMIT: 504}.get(kind, 0)
