"""What a scheduler reports about itself when there is nothing left to do: its metrics, the queue of
every pod (from the dump that SIGUSR2 writes to the log), and the differences to the API server
(/debug/compare).
"""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from typing import Final

from tests.cluster.client import wait_for
from tests.cluster.connection import Json
from tests.e2e.scheduler_process import SchedulerProcess
from tests.invariants.history import AtRest

WITHIN_S: Final = 90.0
DUMPED_WITHIN_S: Final = 5.0
# In the log's text form: `12:34:56.789 INFO  queued: space/name  pod_uid=…  lane=…  …`.
QUEUED: Final = re.compile(r" queued: \S+ {2}pod_uid=(\S+) {2}lane=(\S+)")
DUMP_ENDS: Final = re.compile(r"the queue holds (\d+) pods")
ATTEMPT: Final = "ATTEMPT"
# As metrics name them, and as the invariants do.
LANES: Final = {
    "active": "ACTIVE",
    "backoff": "BACKOFF",
    "unschedulable": "PARKED",
    "gated": "GATED",
    "attempt": ATTEMPT,
}


def at_rest(scheduler: SchedulerProcess) -> AtRest:
    lanes = queued(scheduler) if scheduler.has_log else None
    differences = compared(scheduler)
    listed = tuple(json.dumps(entry) for entry in differences["listed"])
    assert len(listed) >= min(1, differences["differences"])
    metric = scheduler.metric
    return AtRest(
        at_ns=time.time_ns(),
        pending=int(metric("scheduler_pending_pods")),
        assumed=int(metric("scheduler_cache_size", type="assumed_pods")),
        binds_in_flight=int(metric("kpolicy_reservations_open")),
        attempts_under_way=sum(lane == ATTEMPT for lane in (lanes or {}).values()),
        queued=lanes,
        compared=listed,
    )


def compared(scheduler: SchedulerProcess) -> Json:
    """Asks again while the answer is that it is too soon, or that the comparison has only begun."""
    answers: list[str] = []

    def answered() -> bool:
        status, text = scheduler.status("/debug/compare")
        answers.append(text)
        assert status in (200, 429, 502, 503), (status, text)
        return status == 200

    wait_for(answered, "a comparison", timeout_s=WITHIN_S)
    return dict(json.loads(answers[-1]))


def queued(scheduler: SchedulerProcess) -> dict[str, str]:
    """The queue of each pod, by uid. A scheduler that is not ready yet writes none, so it is asked
    again."""
    deadline = time.monotonic() + WITHIN_S
    while time.monotonic() < deadline:
        before = len(scheduler.log())
        os.kill(scheduler.pid, signal.SIGUSR2)
        asked = time.monotonic()
        while time.monotonic() < asked + DUMPED_WITHIN_S:
            text = scheduler.log()[before:]
            if found := DUMP_ENDS.search(text):
                lanes = dict(_read(text[: found.start()]))
                if len(lanes) == int(found[1]):
                    return lanes
                break
            time.sleep(0.02)
    raise AssertionError(f"no dump of the queue: {scheduler.tail()}")


def _read(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        if line.startswith("{"):
            answer = json.loads(line) if line.endswith("}") else {}
            if answer.get("msg", "").startswith("queued: "):
                yield answer["pod_uid"], LANES[answer["lane"]]
        elif found := QUEUED.search(line):
            yield found[1], LANES[found[2]]
