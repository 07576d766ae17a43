"""I12: the scheduler writes only binds, statuses, events and leases, and what volumes, devices,
policy and victims need.

Lists the allowed verbs and resources. `evictions` and `promises` check the content of deletions and
of writes to volumes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.invariants.history import (
    BINDING,
    CLAIM,
    CONFIG_MAP,
    DEVICE_CLAIM,
    EVENT,
    LEASE,
    STATUS,
    VOLUME,
    History,
    Violation,
    Write,
)
from tests.invariants.timeline import Timeline

NAME = "I12"
DELETION: Final = ("delete", "pods")

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
OF_VOLUMES: Final = frozenset({("patch", VOLUME), ("patch", CLAIM)})
_DEVICE_CLAIMS: Final = f"{DEVICE_CLAIM}.resource.k8s.io"
OF_DEVICES: Final = frozenset(
    {
        ("create", _DEVICE_CLAIMS),
        ("patch", _DEVICE_CLAIMS),
        ("patch", f"{_DEVICE_CLAIMS}/status"),
        ("delete", _DEVICE_CLAIMS),
    }
)


def allow_list(history: History, timeline: Timeline) -> Iterator[Violation]:
    del timeline
    terms = history.terms
    allowed = ALLOWED | OF_VOLUMES if terms.binds_volumes else ALLOWED
    if terms.allocates_devices:
        allowed |= OF_DEVICES
    if terms.evicts:
        allowed |= {DELETION}
    for write in history.ours():
        if (write.verb, write.what) not in allowed and not _is_own_map(write, terms.kept_in):
            text = f"{write.verb} {write.what} {write.namespace}/{write.name} by {write.user}"
            yield Violation(NAME, write.received_ns, text)


def _is_own_map(write: Write, kept_in: str) -> bool:
    """Whether it is the ConfigMap with the status, beside the policy's; the policy's own is not
    allowed."""
    is_patch = (write.verb, write.what) == ("patch", CONFIG_MAP)
    return is_patch and f"{write.namespace}/{write.name}" == kept_in
