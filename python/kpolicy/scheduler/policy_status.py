"""What there is to say about the policy: conditions, diagnostics, and an event's words.

Owns the document and the texts. Pure: the reload and what is in force go in. Must not know where
any of it is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Literal

from kpolicy.cluster.writes.conventions import api_micro_time
from kpolicy.diagnostics import Diagnostic, Severity
from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler import limits
from kpolicy.scheduler.reload import InForce, Reloaded, one_line

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
    """An event: what is new about the policy."""

    kind: Literal["Normal", "Warning"]
    reason: str
    note: str


def conditions(last: Reloaded, now: InForce | None) -> tuple[Condition, ...]:
    """Accepted: what the source says now can be put in force. Active: something is in force."""
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
    """None where nothing became of it."""
    if last.problem is None:
        if last.result != "loaded" or now is None:
            return None
        served = ", ".join(sorted(now.profiles))
        note = f"in force for {served}: generation {now.generation}, {now.hash}"
        return Notice("Normal", "PolicyAccepted", note)
    # Place and hint first: an event has room for few.
    worst = [one for one in last.diagnostics if one.severity is Severity.ERROR]
    said = [told(one) for one in worst[: limits.DIAGNOSTICS_IN_EVENT_MAX]] or [str(last.problem)]
    if (more := len(worst) - len(said)) > 0:
        said.append(f"and {more} more")
    stays = "nothing is in force"
    if now is not None:
        what = "the last good policy" if now.is_last_good else "the policy before"
        stays = f"{what}, {now.hash[:19]}, stays in force"
    reason = "PolicyUnreadable" if last.result == "unreadable" else "PolicyRejected"
    if now is not None and now.is_last_good:
        reason = "LastGoodPolicyUsed"
    return Notice("Warning", reason, "; ".join([*said, stays]))


def told(diagnostic: Diagnostic) -> str:
    return one_line(diagnostic) + (f" ({diagnostic.hint})" if diagnostic.hint else "")


def document(
    last: Reloaded, now: InForce | None, since_ns: Mapping[str, int], by: str
) -> dict[str, Any]:
    """As it is written into the status; `since_ns` is when each condition came to be as it is."""
    return {
        "observed": {"at": api_micro_time(last.at_ns), "result": last.result, "by": by},
        "active": in_force(now),
        "conditions": [
            {
                "type": one.type,
                "status": "True" if one.is_true else "False",
                "reason": one.reason,
                "message": one.message,
                "lastTransitionTime": api_micro_time(since_ns.get(one.type, last.at_ns)),
            }
            for one in conditions(last, now)
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


def diagnostics(said: Sequence[Diagnostic]) -> list[dict[str, Any]]:
    return [_diagnostic(one) for one in said[: limits.DIAGNOSTICS_TOLD_MAX]]


def _diagnostic(one: Diagnostic) -> dict[str, Any]:
    place = one.place
    where = (
        {}
        if place is None
        else {
            "file": place.file,
            "line": place.line,
            "column": place.column,
        }
    )
    shown = {"code": one.code, "severity": one.severity.value, "message": one.message, **where}
    return shown | {k: v for k, v in (("fieldRef", one.field), ("hint", one.hint)) if v}


def _source(source: Source) -> dict[str, Any]:
    text = source.text
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    digest = sha256(raw).hexdigest()
    return {"name": source.name, "bytes": len(raw), "sha256": digest}


def _counted(said: Sequence[Diagnostic]) -> str:
    warnings = sum(one.severity is Severity.WARNING for one in said)
    if not warnings:
        return "no findings"
    return f"{warnings} warning{'' if warnings == 1 else 's'}, first: {one_line(said[0])}"
