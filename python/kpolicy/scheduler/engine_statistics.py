"""What the engine says of itself, kept for scrapes: sizes, what its rules came to, and how long.

Owns the reading of `Engine.statistics` and `timings`: two calls a scrape, however many rules and
nodes there are. The engine counts rules of the program in force, from
nothing with each program; counters of ours only go up, so that what it counted last is taken before
another program is loaded. Assumes that nothing is decided between the two.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kpolicy.engine import Timings
from kpolicy.scheduler.engine_port import EngineThread
from kpolicy.telemetry.metrics import Buckets, Labels
from kpolicy.telemetry.scheduler_metrics import SchedulerMetrics


class EngineStatistics:
    """As they were when last asked for."""

    def __init__(self, thread: EngineThread, metrics: SchedulerMetrics) -> None:
        self._thread = thread
        self._metrics = metrics
        self._told: Mapping[str, Any] = {}
        self._timings = Timings([], [])
        # By rule of the program in force: what of it is in our counters.
        self._counted: Mapping[str, Mapping[str, int]] = {}

    async def refresh(self) -> None:
        self._told = json.loads(await self._thread.call(self._thread.engine.statistics))
        rules: Mapping[str, Mapping[str, int]] = self._told.get("rules", {})
        for key, counts in rules.items():
            profile, _, rule = key.rpartition("/")
            before = self._counted.get(key, {})
            for counter, name in (
                (self._metrics.rule_errors, "errors"),
                (self._metrics.rule_cost_exceeded, "costExceeded"),
                (self._metrics.rule_clamped, "clamped"),
                (self._metrics.rule_audited, "audited"),
            ):
                counter.add((profile, rule), counts[name] - before.get(name, 0))
        self._counted = rules
        self._timings = await self._thread.call(self._thread.engine.timings)

    def begin_program(self) -> None:
        """The engine counts from nothing."""
        self._counted = {}

    def stages(self) -> dict[Labels, Buckets]:
        """By extension point, status and profile."""
        series = self._timings.stages
        return {(one.point, one.status, one.name): (one.counts, one.seconds) for one in series}

    def plugins(self) -> dict[Labels, Buckets]:
        """By plugin, extension point and status."""
        series = self._timings.rules
        return {(one.name, one.point, one.status): (one.counts, one.seconds) for one in series}

    def cache(self) -> dict[Labels, float]:
        names = (("nodes", "nodes"), ("pods", "pods"), ("podsAssumed", "assumed_pods"))
        return {(label,): self._told.get(name, 0) for name, label in names}

    def sizes(self) -> dict[Labels, float]:
        return {
            (name,): value for name, value in self._told.items() if isinstance(value, int | float)
        }
