"""Repeated warnings are left out and counted; nothing else is."""

from __future__ import annotations

import io
import json
import logging

from kpolicy.telemetry import limits
from kpolicy.telemetry.log_limit import RepeatLimit
from kpolicy.telemetry.logs import JsonFormatter, QueuedHandler


def record(line: int = 1, level: int = logging.WARNING) -> logging.LogRecord:
    return logging.LogRecord("kpolicy.part", level, "part.py", line, "no room", None, None)


def test_a_place_writes_so_many_lines_and_then_so_many_a_second() -> None:
    now_s = 0.0
    limit = RepeatLimit(lambda: now_s)
    burst = [limit.admit(record()) for _ in range(limits.LOG_REPEATS_MAX + 5)]
    assert burst == [0] * limits.LOG_REPEATS_MAX + [None] * 5
    assert limit.admit(record(line=2)) == 0, "another place has its own"
    now_s = 1 / limits.LOG_REPEATS_PER_S
    assert limit.admit(record()) == 5
    assert limit.admit(record()) is None
    now_s *= 3
    assert limit.admit(record()) == 1


def test_lines_below_a_warning_always_pass() -> None:
    limit = RepeatLimit(lambda: 0.0)
    passed = [limit.admit(record(level=logging.INFO)) for _ in range(2 * limits.LOG_REPEATS_MAX)]
    assert set(passed) == {0}


def test_places_are_forgotten_beyond_a_number() -> None:
    limit = RepeatLimit(lambda: 0.0)
    for _ in range(limits.LOG_REPEATS_MAX + 1):
        limit.admit(record(line=0))
    assert limit.admit(record(line=0)) is None
    for line in range(1, limits.LOG_PLACES_MAX + 1):
        limit.admit(record(line=line))
    assert limit.admit(record(line=0)) == 0


def test_the_log_of_a_repeated_error_is_bounded() -> None:
    stream = io.StringIO()
    handler = QueuedHandler(stream)
    handler.setFormatter(JsonFormatter())
    for _ in range(10 * limits.LOG_REPEATS_MAX):
        handler.handle(record(level=logging.ERROR))
    handler.close()
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert limits.LOG_REPEATS_MAX <= len(lines) <= limits.LOG_REPEATS_MAX + 10
