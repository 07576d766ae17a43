"""The audit log: every write that was asked for, and what became of it.

Owns `AuditEntry` and a bounded log of them, oldest dropped first. Must not know HTTP.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from kpolicy.testing import limits
from kpolicy.testing.calls import Call


@dataclass(frozen=True, slots=True)
class AuditEntry:
    user: str
    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str  # as on the path: empty for creations and collections
    code: int
    time_ns: int


class AuditLog:
    def __init__(self, entries_max: int = limits.AUDIT_ENTRIES_MAX) -> None:
        self._entries: deque[AuditEntry] = deque(maxlen=entries_max)

    def add(self, call: Call, code: int, time_ns: int) -> None:
        target = call.target
        self._entries.append(
            AuditEntry(
                call.user,
                call.verb,
                target.resource.plural,
                target.subresource,
                target.namespace,
                target.name,
                code,
                time_ns,
            )
        )

    def entries(self) -> tuple[AuditEntry, ...]:
        return tuple(self._entries)
