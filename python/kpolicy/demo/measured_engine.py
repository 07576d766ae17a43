"""The engine with a stopwatch, for the demo's figures.

Owns two sums. Assumes that the scheduler calls it from one thread. Decides as the engine does.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from kpolicy.engine import Engine, Scheduled


class MeasuredEngine(Engine):
    __slots__ = ("decision_seconds", "decisions")

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.decisions = 0
        self.decision_seconds = 0.0

    def schedule(self, uids: Sequence[str], now_ns: int) -> Scheduled:
        began = time.perf_counter()
        scheduled = super().schedule(uids, now_ns)
        self.decision_seconds += time.perf_counter() - began
        self.decisions += len(scheduled.decisions)
        return scheduled
