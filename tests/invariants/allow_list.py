"""I12: we write binds, statuses, events and leases, and nothing else.

Owns the list. Pure. Evictions are on it only where preemption is live.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.invariants.history import BINDING, EVENT, LEASE, STATUS, History, Violation

NAME = "I12"

ALLOWED: Final = frozenset(
    {
        ("create", BINDING),
        ("patch", STATUS),
        ("create", EVENT),
        ("patch", EVENT),
        ("create", LEASE),
        ("update", LEASE),
    }
)
EVICTING: Final = frozenset({("delete", "pods"), ("create", "pods/eviction")})


def allow_list(history: History) -> Iterator[Violation]:
    allowed = ALLOWED | EVICTING if history.terms.evicts else ALLOWED
    for write in history.ours():
        if (write.verb, write.what) not in allowed:
            text = f"{write.verb} {write.what} {write.namespace}/{write.name} by {write.user}"
            yield Violation(NAME, write.received_ns, text)
