"""Asks a running scheduler for pages, and makes the figures of one moment of them: the queue, rates
since the moment before, and the longest waits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kpolicy.clock import Clock
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.request_failure import Failure, Status
from kpolicy.top.exposition import Metrics

QUEUES: Final = ("active", "backoff", "unschedulable", "gated")
_ATTEMPTS: Final = "scheduler_schedule_attempts_total"
_REJECTIONS: Final = "kpolicy_rule_rejections_total"
# `sha256:` and enough of the rest to tell policies apart.
_HASH_SHOWN: Final = 19
_BUSY: Final = 429
_TRIES_MAX: Final = 5
_WAIT_S: Final = 1.0


async def page(
    client: ApiClient, clock: Clock, path: str, query: Mapping[str, str] | None = None
) -> Response | Failure:
    """The answer of a page, asked again while it is another's turn."""
    for _ in range(_TRIES_MAX):
        answer = await client.request("GET", path, query)
        if not (isinstance(answer, Status) and answer.code == _BUSY):
            break
        await clock.sleep(answer.retry_after_s or _WAIT_S)
    return answer


@dataclass(frozen=True, slots=True)
class Pending:
    pod: str
    queue: str
    seconds: float
    attempts: int
    rejected_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scrape:
    """What the scheduler served, and when, on a clock that only goes forward."""

    metrics: Metrics
    pods: tuple[Pending, ...]
    at_s: float


@dataclass(frozen=True, slots=True)
class Frame:
    """`decisions`: a second, by result. `rules`: by name, the pods that each keeps pending now, and
    the attempts a second that it made fail."""

    queue: Mapping[str, int]
    decisions: Mapping[str, float]
    rules: Sequence[tuple[str, int, float]]
    pods: tuple[Pending, ...] = ()
    cluster: Mapping[str, int] = field(default_factory=dict)
    policy: str = ""


def scrape(metrics: str, queue_page: Mapping[str, Any], at_s: float) -> Scrape:
    pods = tuple(
        Pending(
            str(each["pod"]),
            str(each["queue"]),
            float(each["pendingSeconds"]),
            int(each["attempts"]),
            tuple(each["rejectedBy"]),
        )
        for each in queue_page["pods"]
    )
    return Scrape(Metrics(metrics), pods, at_s)


def frame_of(before: Scrape, now: Scrape) -> Frame:
    waiting = now.metrics.by("scheduler_pending_pods", "queue")
    kept = now.metrics.by("scheduler_unschedulable_pods", "plugin")
    failed = _rates(before, now, _REJECTIONS, "rule")
    rules = [
        (name, int(kept.get(name, 0)), failed.get(name, 0.0))
        for name in {*kept, *failed}
        if kept.get(name) or failed.get(name)
    ]
    info = next(iter(now.metrics.labels("kpolicy_policy_info")), {})
    sizes = now.metrics.by("scheduler_cache_size", "type")
    return Frame(
        {name: int(waiting.get(name, 0)) for name in QUEUES},
        _rates(before, now, _ATTEMPTS, "result"),
        sorted(rules, key=lambda rule: (-rule[1], -rule[2], rule[0])),
        now.pods,
        {name: int(sizes.get(name, 0)) for name in ("nodes", "pods", "assumed_pods")},
        f"{info['hash'][:_HASH_SHOWN]}, generation {info['generation']}" if info else "",
    )


def _rates(before: Scrape, now: Scrape, name: str, label: str) -> dict[str, float]:
    """A second. A counter that went back began again, with the process."""
    seconds = now.at_s - before.at_s
    was, is_now = before.metrics.by(name, label), now.metrics.by(name, label)
    if seconds <= 0:
        return dict.fromkeys(is_now, 0.0)
    return {
        key: (value - (was.get(key, 0.0) if value >= was.get(key, 0.0) else 0.0)) / seconds
        for key, value in is_now.items()
    }
