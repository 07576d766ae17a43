"""Decides what an informer does next: list, watch or wait. Pure: time and chance are arguments."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from kpolicy.api_times import NANOSECONDS
from kpolicy.cluster.limits import (
    LIST_PAGE_OBJECTS,
    LIST_PAGE_OBJECTS_MAX,
    LIST_PAGE_OBJECTS_MIN,
    REFUSED_RETRY_S,
    REFUSED_SOON_MAX,
    STALE_LISTS_REFUSED_MAX,
    TOO_LARGE_TRIES_MAX,
    WATCH_FAILURES_BEFORE_LIST,
    WATCH_SHORT_S,
    WATCH_SILENCE_S,
)
from kpolicy.cluster.probe import Backoff
from kpolicy.cluster.request_failure import (
    Cause,
    Failure,
    Status,
    Unreachable,
    requested_wait_s,
)
from kpolicy.cluster.watch.listing import Broken, End, Listed, Stale, Watched
from kpolicy.cluster.watch.resource import newer_of

_REFUSED = frozenset({401, 403, 404, 405})
_PAGE_GROWTH = 4


@dataclass(frozen=True, slots=True)
class Plan:
    """The next step of an informer. With `list_latest` it lists the newest state ("") instead of
    any state that is not older than what was seen."""

    list_needed: bool = True
    list_latest: bool = True
    resource_version: str = ""
    page_objects: int = LIST_PAGE_OBJECTS
    wait_s: float = 0.0
    error: str = ""
    failure: Failure | None = None  # the failure that `error` describes, if it was one
    backoff: Backoff = field(default_factory=Backoff)
    watch_failures: int = 0  # consecutive, without a byte received
    too_large: int = 0  # consecutive
    stale_lists: int = 0  # consecutive
    refusals: int = 0  # consecutive

    @property
    def refuse_stale(self) -> bool:
        return self.stale_lists < STALE_LISTS_REFUSED_MAX

    @property
    def list_version(self) -> str:
        return "" if self.list_latest else self.resource_version


def after_list(
    plan: Plan, outcome: Listed | Stale | Broken, monotonic_ns: int, chance: float
) -> Plan:
    match outcome:
        case Listed(resource_version=version):
            return replace(
                plan,
                list_needed=False,
                list_latest=False,
                resource_version=version,
                wait_s=0.0,
                error="",
                failure=None,
                watch_failures=0,
                too_large=0,
                stale_lists=0,
                refusals=0,
            )
        case Stale(resource_version=version):
            text = f"the server listed version {version}, older than {plan.resource_version} seen"
            stale = replace(plan, list_latest=True, stale_lists=plan.stale_lists + 1)
            return _wait(stale, text, monotonic_ns, chance)
        case Broken(failure=failure, paging=paging):
            return _after_broken_list(plan, failure, paging, monotonic_ns, chance)


def _after_broken_list(
    plan: Plan, failure: Failure, paging: bool, monotonic_ns: int, chance: float
) -> Plan:
    if isinstance(failure, Unreachable) and failure.cause is Cause.OVERSIZED:
        if plan.page_objects > LIST_PAGE_OBJECTS_MIN:
            return replace(plan, page_objects=plan.page_objects // 2, wait_s=0.0)
    elif isinstance(failure, Status) and failure.code == 410:
        # Compaction was faster than the list: with larger pages the next list is quicker.
        larger = min(LIST_PAGE_OBJECTS_MAX, plan.page_objects * _PAGE_GROWTH)
        plan = replace(plan, list_latest=True, page_objects=larger if paging else plan.page_objects)
    elif isinstance(failure, Status) and failure.code == 504:
        plan = _too_large(plan)
    return _after_failure(plan, failure, monotonic_ns, chance)


def after_watch(
    plan: Plan, outcome: Watched, lasted_ns: int, monotonic_ns: int, chance: float
) -> Plan:
    """Return the plan after a watch; `plan` is the one in force when it began."""
    version = newer_of(plan.resource_version, outcome.resource_version)
    plan = replace(plan, wait_s=0.0, error="", failure=None, resource_version=version)
    if outcome.bytes_read and outcome.status is None:
        plan = replace(plan, watch_failures=0, too_large=0, refusals=0)
    match outcome.end:
        case End.CLOSED:
            if outcome.bytes_read or lasted_ns >= WATCH_SHORT_S * NANOSECONDS:
                return plan
            return _wait(plan, "the watch ended as soon as it began", monotonic_ns, chance)
        case End.STOPPED:
            return plan
        case End.SILENT:
            return replace(plan, error=f"the watch was silent for {WATCH_SILENCE_S:g} s")
        case End.STATUS if outcome.status is not None:
            failure: Failure = outcome.status
        case _:
            failure = outcome.failure or Unreachable(Cause.LOST, "the watch ended", sent=True)
    return _after_broken_watch(plan, failure, monotonic_ns, chance)


def _after_broken_watch(plan: Plan, failure: Failure, monotonic_ns: int, chance: float) -> Plan:
    if isinstance(failure, Status):
        if failure.code == 410:
            plan = replace(plan, list_needed=True)
            return _after_failure(plan, failure, monotonic_ns, chance)
        if failure.code == 504:
            return _after_failure(_too_large(plan), failure, monotonic_ns, chance)
    # A server that is away or busy does not mean that our version is wrong.
    away = isinstance(failure, Unreachable) and failure.cause is not Cause.OVERSIZED
    busy = isinstance(failure, Status) and failure.code == 429
    if isinstance(failure, Status | Unreachable) and not away and not busy:
        failures = plan.watch_failures + 1
        relist = failures >= WATCH_FAILURES_BEFORE_LIST
        plan = replace(
            plan,
            watch_failures=0 if relist else failures,
            list_needed=relist,
        )
    return _after_failure(plan, failure, monotonic_ns, chance)


def _too_large(plan: Plan) -> Plan:
    """The server says that our version is in its future: it lags, or was restored from a backup."""
    if plan.too_large + 1 < TOO_LARGE_TRIES_MAX:
        return replace(plan, too_large=plan.too_large + 1)
    return replace(plan, too_large=0, list_needed=True, list_latest=True)


def _after_failure(plan: Plan, failure: Failure, monotonic_ns: int, chance: float) -> Plan:
    at_least_s = requested_wait_s(failure)
    if isinstance(failure, Status) and failure.code in _REFUSED:
        plan = replace(plan, refusals=plan.refusals + 1)
        if plan.refusals > REFUSED_SOON_MAX:
            at_least_s = REFUSED_RETRY_S
    return replace(_wait(plan, str(failure), monotonic_ns, chance, at_least_s), failure=failure)


def _wait(
    plan: Plan, error: str, monotonic_ns: int, chance: float, at_least_s: float = 0.0
) -> Plan:
    wait = plan.backoff.failed(monotonic_ns, chance, at_least_s)
    return replace(plan, wait_s=wait.seconds, backoff=wait.backoff, error=error, failure=None)
