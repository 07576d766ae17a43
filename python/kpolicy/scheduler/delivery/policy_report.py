"""Reports on the policy: events on its ConfigMap, a status document, and the last good copy.

Only the leader reports, and nothing waits for it. The policy's own ConfigMap is never written.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Literal

from kpolicy.api_times import api_micro_time
from kpolicy.clock import NO_PULSE, Clock, Pulse
from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.writes.event_recorder import EventRecorder, Occurrence, Reference
from kpolicy.diagnostics import Diagnostic, Severity
from kpolicy.policy.tenants.outcome import summary
from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler import limits
from kpolicy.scheduler.delivery.config_maps import OwnConfigMap
from kpolicy.scheduler.delivery.last_good import LastGood, LastGoodStore, restore_newer
from kpolicy.scheduler.loop.reload import InForce, Reloaded, Reloader, one_line

_log = logging.getLogger(__name__)

CONTROLLER = "kpolicy"
ACTION: Final = "Reload"
_KEY = "status.json"


@dataclass(frozen=True, slots=True)
class Reporting:
    """How this replica reports. `leads` is true while this replica is the one that reports."""

    client: ApiClient
    events: EventRecorder
    by: str
    leads: Callable[[], bool]


class PolicyReport:
    """Run it as a task. `about` is the ConfigMap that the events refer to, if there is one."""

    def __init__(
        self,
        reloader: Reloader,
        clock: Clock,
        reporting: Reporting,
        *,
        about: Callable[[], Reference | None],
        status: OwnConfigMap | None,
        stores: Sequence[LastGoodStore],
    ) -> None:
        self._reloader = reloader
        self._clock = clock
        self._events = reporting.events
        self._by = reporting.by
        self._leads = reporting.leads
        self._about = about
        self._status = status
        self._stores = tuple(stores)
        self._since_ns: dict[str, int] = {}
        self._was: dict[str, bool] = {}
        self._news = asyncio.Event()
        self._kept = ""
        self._is_begun = False
        self._complained: set[str] = set()
        reloader.subscribe(self._note)

    def _note(self, last: Reloaded) -> None:
        """Called after every reload. A replica that does not lead records no event."""
        for condition in conditions(last, self._reloader.in_force):
            if self._was.get(condition.type) != condition.is_true:
                self._was[condition.type] = condition.is_true
                self._since_ns[condition.type] = last.at_ns
        if self._is_begun and self._leads():
            self._record_event(last)
            self._news.set()

    def begin(self) -> None:
        """This replica leads from now on, and reports the present state."""
        self._is_begun = True
        self._record_event(self._reloader.last)
        self._news.set()

    async def run(self, pulse: Pulse = NO_PULSE) -> None:
        while True:
            pulse.rest(self._news.is_set)
            await self._news.wait()
            pulse.beat()
            self._news.clear()
            written = await self._keep()
            written = await self._write_status() and written
            if written:
                await self._clock.sleep(limits.STATUS_PERIOD_S)
                continue
            pulse.beat()
            async with self._clock.move_on_after(limits.POLICY_RETRY_S):
                await self._news.wait()
            self._news.set()

    def _record_event(self, last: Reloaded) -> None:
        news, regarding = notice(last, self._reloader.in_force), self._about()
        if news is not None and regarding is not None:
            self._events.record(
                Occurrence(regarding, news.kind, news.reason, ACTION, news.note, CONTROLLER)
            )

    async def _keep(self) -> bool:
        """Returns False if it has to be tried again."""
        if not self._leads():
            return True
        is_read = await restore_newer(self._reloader, self._stores)
        now = self._reloader.in_force
        if now is None or now.is_last_good or now.hash == self._kept:
            return is_read
        kept = LastGood(now.hash, now.sources, now.since_ns)
        problems = [await store.save(kept) for store in self._stores]
        complaints = [str(problem) for problem in problems if problem is not None]
        for text in complaints:
            self._complain(text)
        if not complaints:
            self._kept = now.hash
        return is_read and not complaints

    async def _write_status(self) -> bool:
        if self._status is None or not self._leads():
            return True
        now = self._reloader.in_force
        status = document(self._reloader.last, now, self._since_ns, self._by)
        if self._reloader.tenants:
            status["tenants"] = summary(self._reloader.tenants, limits.TENANTS_LISTED_MAX)
        text = json.dumps(status, indent=2) + "\n"
        failure = await self._status.apply({"data": {_KEY: text}})
        if failure is not None:
            self._complain(f"cannot write the {self._status.name.shown}: {failure}")
        return failure is None

    def _complain(self, text: str) -> None:
        """Logs each text once, because the same text may come with every reload."""
        if text not in self._complained and len(self._complained) < limits.UNREADABLE_NAMES_MAX:
            self._complained.add(text)
            _log.warning("%s", text)


ACCEPTED: Final = "Accepted"
ACTIVE: Final = "Active"

_REASONS: Final = {
    "loaded": "Compiled",
    "unchanged": "Compiled",
    "unreadable": "Unreadable",
    "invalid": "Invalid",
    "refused": "Refused",
}


@dataclass(frozen=True, slots=True)
class Condition:
    type: str
    is_true: bool
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Notice:
    """An event about the policy."""

    kind: Literal["Normal", "Warning"]
    reason: str
    note: str


def conditions(last: Reloaded, now: InForce | None) -> tuple[Condition, ...]:
    """Accepted: the content of the source can be put in force. Active: a policy is in force."""
    reason = _REASONS.get(last.result, "Unknown")
    message = last.problem.message if last.problem is not None else _counted(last.diagnostics)
    accepted = Condition(ACCEPTED, last.in_force, reason, message)
    if now is None:
        return accepted, Condition(ACTIVE, False, "NoPolicy", "no policy is in force")
    is_kept = now.is_last_good or not last.in_force
    kept = "LastGoodKept" if is_kept else "InForce"
    shown = f"generation {now.generation}, {now.hash}"
    return accepted, Condition(ACTIVE, True, kept, f"{shown}{' stays' if is_kept else ''} in force")


def notice(last: Reloaded, now: InForce | None) -> Notice | None:
    """Returns None if the reload changed nothing."""
    if last.problem is None:
        if last.result != "loaded" or now is None:
            return None
        served = ", ".join(sorted(now.profiles))
        note = f"in force for {served}: generation {now.generation}, {now.hash}"
        return Notice("Normal", "PolicyAccepted", note)
    # Place and hint come first, because an event is short.
    worst = [diagnostic for diagnostic in last.diagnostics if diagnostic.severity is Severity.ERROR]
    texts = [
        one_line(diagnostic) + (f" ({diagnostic.hint})" if diagnostic.hint else "")
        for diagnostic in worst[: limits.DIAGNOSTICS_IN_EVENT_MAX]
    ] or [str(last.problem)]
    if (more := len(worst) - len(texts)) > 0:
        texts.append(f"and {more} more")
    stays = "nothing is in force"
    if now is not None:
        what = "the last good policy" if now.is_last_good else "the policy before"
        stays = f"{what}, {now.hash[:19]}, stays in force"
    reason = "PolicyUnreadable" if last.result == "unreadable" else "PolicyRejected"
    if now is not None and now.is_last_good:
        reason = "LastGoodPolicyUsed"
    return Notice("Warning", reason, "; ".join([*texts, stays]))


def document(
    last: Reloaded, now: InForce | None, since_ns: Mapping[str, int], by: str
) -> dict[str, Any]:
    """The document in the status. `since_ns` has the time of each condition's last change."""
    return {
        "observed": {"at": api_micro_time(last.at_ns), "result": last.result, "by": by},
        "active": in_force(now),
        "conditions": [
            {
                "type": condition.type,
                "status": "True" if condition.is_true else "False",
                "reason": condition.reason,
                "message": condition.message,
                "lastTransitionTime": api_micro_time(since_ns.get(condition.type, last.at_ns)),
            }
            for condition in conditions(last, now)
        ],
        "diagnostics": diagnostics(last.diagnostics),
    }


def in_force(now: InForce | None) -> dict[str, Any] | None:
    if now is None:
        return None
    return {
        "hash": now.hash,
        "generation": now.generation,
        "since": api_micro_time(now.since_ns),
        "isLastGood": now.is_last_good,
        "policies": list(now.program.policies),
        "profiles": sorted(now.profiles),
        "sources": [_source(source) for source in now.sources],
    }


def refused(last: Reloaded | None) -> dict[str, Any] | None:
    if last is None or last.problem is None:
        return None
    problem = last.problem
    return {
        "at": api_micro_time(last.at_ns),
        "result": last.result,
        "code": problem.code,
        "message": problem.message,
        "hint": problem.hint,
        "diagnostics": diagnostics(last.diagnostics),
    }


def diagnostics(found: Sequence[Diagnostic]) -> list[dict[str, Any]]:
    return [_diagnostic(diagnostic) for diagnostic in found[: limits.DIAGNOSTICS_TOLD_MAX]]


def _diagnostic(diagnostic: Diagnostic) -> dict[str, Any]:
    place = diagnostic.place
    where = (
        {}
        if place is None
        else {
            "file": place.file,
            "line": place.line,
            "column": place.column,
        }
    )
    shown = {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        **where,
    }
    return shown | {
        k: v for k, v in (("fieldRef", diagnostic.field), ("hint", diagnostic.hint)) if v
    }


def _source(source: Source) -> dict[str, Any]:
    raw = source.encoded
    return {"name": source.name, "bytes": len(raw), "sha256": sha256(raw).hexdigest()}


def _counted(found: Sequence[Diagnostic]) -> str:
    warnings = sum(diagnostic.severity is Severity.WARNING for diagnostic in found)
    if not warnings:
        return "no findings"
    return f"{warnings} warning{'' if warnings == 1 else 's'}, first: {one_line(found[0])}"
