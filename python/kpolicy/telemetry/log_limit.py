"""Limits how often one line of code may write warnings and errors to the log.

What a peer or broken surroundings cause can repeat without end, and a full disk takes other
processes down.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from kpolicy.telemetry import limits

_Place: TypeAlias = tuple[str, str, int]


@dataclass(slots=True)
class _Allowance:
    left: float
    at_s: float
    left_out: int = 0


class RepeatLimit:
    """Asked from any thread. Lines below a warning always pass."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._places: OrderedDict[_Place, _Allowance] = OrderedDict()

    def admit(self, record: logging.LogRecord) -> int | None:
        """Return how many lines of this place were left out before this one; None if this one is
        left out too."""
        if record.levelno < logging.WARNING:
            return 0
        now_s = self._monotonic()
        with self._lock:
            allowance = self._allowance((record.name, record.pathname, record.lineno), now_s)
            gained = (now_s - allowance.at_s) * limits.LOG_REPEATS_PER_S
            allowance.left = min(limits.LOG_REPEATS_MAX, allowance.left + gained)
            allowance.at_s = now_s
            if allowance.left < 1:
                allowance.left_out += 1
                return None
            allowance.left -= 1
            left_out, allowance.left_out = allowance.left_out, 0
            return left_out

    def _allowance(self, place: _Place, now_s: float) -> _Allowance:
        if place not in self._places:
            self._places[place] = _Allowance(limits.LOG_REPEATS_MAX, now_s)
            if len(self._places) > limits.LOG_PLACES_MAX:
                self._places.popitem(last=False)
        self._places.move_to_end(place)
        return self._places[place]
