"""Logs when the API server goes away and comes back, and when it refuses a resource.

All informers of a client share it: a server that goes away fails every watch at once, and one line
is enough. Each single failure is logged at debug and counted by the informer.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import Final

from kpolicy.api_times import NANOSECONDS
from kpolicy.clock import Clock
from kpolicy.cluster.auth.connection import Connection
from kpolicy.cluster.connection_problem import ConnectionProblem, problem
from kpolicy.cluster.limits import OUTAGE_LOG_PERIOD_S
from kpolicy.cluster.request_failure import (
    Cause,
    Failure,
    Status,
    TimedOut,
    Unreachable,
    explain_failure,
)
from kpolicy.cluster.watch.resource import Resource

_log = logging.getLogger(__name__)


class Outages:
    """Informers report what `failed`, and when requests were `answered` again."""

    def __init__(self, connection: Connection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock
        self._in_a_row: Counter[str] = Counter()  # consecutive failures by resource
        self._refusals: Counter[str] = Counter()  # consecutive refusals by resource
        self._since_ns: int | None = None
        self._logged_ns: int | None = None  # when the last outage was logged
        self._is_logged = False  # whether the outage under way was logged
        self._refused: dict[str, str] = {}  # the message last logged, by resource

    def failed(self, resource: Resource, verb: str, failure: Failure | None, text: str) -> None:
        """Report a failed list or watch (`verb`). Without `failure`, the server answered, but
        wrongly."""
        self._in_a_row[resource.name] += 1
        _log.debug("%s: %s", resource.name, text)
        if failure is None or (isinstance(failure, Status) and failure.code == 410):
            return  # the server is there; a new list mends it
        is_away = _is_away(failure)
        # The server answered, and rejected this request.
        if isinstance(failure, Status) and not failure.transient and not is_away:
            self._refusals[resource.name] += 1
            # A server that is starting may refuse for a moment what it grants later.
            if self._refusals[resource.name] > 1:
                self._refuse(resource, verb, failure)
        elif is_away or self._in_a_row[resource.name] > 1:
            self._away(resource, verb, failure)

    def answered(self, resource: Resource) -> None:
        del self._in_a_row[resource.name], self._refusals[resource.name]
        if self._refused.pop(resource.name, None) is not None:
            _log.info("%s can be read again", resource.name)
        if self._since_ns is not None:
            seconds = self._past_s(self._since_ns)
            if self._is_logged:
                fields = {"seconds": round(seconds, 1)}
                _log.info("the API server is back after %.1f s", seconds, extra=fields)
            self._since_ns, self._is_logged = None, False

    def _away(self, resource: Resource, verb: str, failure: Failure) -> None:
        if self._since_ns is None:
            self._since_ns = self._clock.monotonic_ns()
        # If one of several servers behind one address is gone, log that once in a while.
        is_new = self._logged_ns is None or self._past_s(self._logged_ns) >= OUTAGE_LOG_PERIOD_S
        if not self._is_logged and is_new:
            self._is_logged = True
            self._logged_ns = self._clock.monotonic_ns()
            why = explain_failure(self._connection, failure, f"{verb} {resource.name}")
            _log_problem("the API server is away: %s", why)

    def _refuse(self, resource: Resource, verb: str, failure: Status) -> None:
        why = explain_failure(self._connection, failure, f"{verb} {resource.name}")
        if failure.code == 403 and resource.granted_by:
            hint = f"{resource.granted_by} grants list and watch on it: bind it to this user"
            why = problem(why.code, why.message, hint)
        if self._refused.get(resource.name) != why.message:
            self._refused[resource.name] = why.message
            _log_problem("%s", why)

    def _past_s(self, since_ns: int) -> float:
        return (self._clock.monotonic_ns() - since_ns) / NANOSECONDS


# A connection that was cut can usually be opened again at once; a second failure shows that this
# one cannot.
_MAY_BE_CUT: Final = frozenset({Cause.LOST, Cause.OVERSIZED})


def _is_away(failure: Failure) -> bool:
    """Whether the first failure alone shows that the server is away."""
    match failure:
        case TimedOut():
            return True
        case Unreachable(cause=cause):
            return cause not in _MAY_BE_CUT
        case Status(code=code):
            return code == 401


def _log_problem(text: str, why: ConnectionProblem) -> None:
    _log.warning(text, why.message, extra={"code": why.code, "hint": why.hint})
