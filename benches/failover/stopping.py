"""Sends SIGTERM while pods are created and the OTLP collector does not work, and measures how long
the shutdown takes.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

from benches.failover.figure import Figure
from benches.failover.scene import SPACE, WITHIN_S, Scene, leads
from benches.failover.stream import PODS_PER_SECOND, PodStream
from tests.cluster.client import wait_for
from tests.e2e.nemeses.collectors import black_hole, dead, traced_to

# Issue: exit 0 in less than this. A slower process is killed, and the limit counts as its time.
ALLOWED_S: Final = 8.0
_COLLECTORS: Final[tuple[tuple[str, Callable[[], AbstractContextManager[int]]], ...]] = (
    ("dead", dead),
    ("black-holed", black_hole),
)


def measure(scene: Scene, rounds: int) -> list[Figure]:
    figures = []
    for name, collector in _COLLECTORS:
        stops = [_stop(scene, f"{name}-{turn}", collector) for turn in range(rounds)]
        what = f"SIGTERM with a {name} collector: until exit"
        figures.append(Figure(what, tuple(seconds for seconds, _ in stops), ALLOWED_S))
        codes = tuple(float(code) for _, code in stops)
        figures.append(Figure(f"SIGTERM with a {name} collector: exit code", codes, 0, ""))
    scene.clear()
    return figures


def _stop(
    scene: Scene, name: str, collector: Callable[[], AbstractContextManager[int]]
) -> tuple[float, int]:
    """Stops the scheduler while pods are created; returns the seconds and the exit code."""
    with collector() as port, scene.scheduler(f"stopped-{name}", traced_to(port)) as process:
        wait_for(lambda: leads(process), "it to lead", timeout_s=WITHIN_S)
        with PodStream(scene.plane, SPACE, name) as pods:
            scene.until_some_bound(lambda: pods.since(0), PODS_PER_SECOND)
            began = time.monotonic()
            try:
                code = process.terminate()
            except subprocess.TimeoutExpired:
                return 2 * ALLOWED_S, 1
            return time.monotonic() - began, code
