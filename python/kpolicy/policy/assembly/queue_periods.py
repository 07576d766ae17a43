"""How long pods wait in the queue, where policies say so: of a policy and its bases the nearest
counts, and two policies must not differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Final

from kpolicy.diagnostics import Diagnostic
from kpolicy.policy.assembly.read_policy import Policy
from kpolicy.policy.assembly.resolve import Served
from kpolicy.quick_dataclass import dataclass

# By field of `spec.queue`, as the settings of the process are called too.
FIELDS: Final = {
    "pod_initial_backoff": "podInitialBackoff",
    "pod_max_backoff": "podMaxBackoff",
    "flush_after": "flushAfter",
    "flush_period": "flushPeriod",
}


@dataclass(frozen=True, slots=True)
class WrittenPeriods:
    """In seconds; None is what the process says."""

    pod_initial_backoff: float | None = None
    pod_max_backoff: float | None = None
    flush_after: float | None = None
    flush_period: float | None = None

    def fields(self) -> dict[str, float]:
        """Those that are written."""
        values = {key: getattr(self, field) for field, key in FIELDS.items()}
        return {key: value for key, value in values.items() if value is not None}


NOTHING_WRITTEN: Final = WrittenPeriods()


def written_periods(
    profiles: Sequence[Sequence[Served]], findings: list[Diagnostic]
) -> WrittenPeriods:
    chosen: dict[str, tuple[float, Policy]] = {}
    for served in chain.from_iterable(profiles):
        for field, key in FIELDS.items():
            found = _nearest(served, field)
            if found is None:
                continue
            seconds, policy = found
            before = chosen.setdefault(field, found)
            if before[0] != seconds:
                message = f"`{before[1].name}` says {before[0]:g}, and there is one queue"
                findings.append(policy.remark("KP116", message, ("spec", "queue", key)))
    return WrittenPeriods(**{field: seconds for field, (seconds, _) in chosen.items()})


def _nearest(served: Served, field: str) -> tuple[float, Policy] | None:
    for policy in served.effective.lineage:
        queue = policy.model.spec.queue
        seconds = getattr(queue, field) if queue is not None else None
        if seconds is not None and not policy.model.spec.shadow:
            return seconds, policy
    return None
