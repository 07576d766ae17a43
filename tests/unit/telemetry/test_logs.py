"""Logs: the content of a line, and that a blocked stream delays nothing."""

from __future__ import annotations

import io
import json
import logging
import threading
from collections.abc import Iterator

import pytest

from kpolicy.telemetry import limits
from kpolicy.telemetry.logs import (
    JsonFormatter,
    QueuedHandler,
    TextFormatter,
    install,
    uninstall,
)
from tests import threads


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture(autouse=True)
def _root_logger() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("kpolicy")
    handlers, level, our_level = list(root.handlers), root.level, ours.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    ours.setLevel(our_level)


def record(message: str, **fields: object) -> logging.LogRecord:
    made = logging.LogRecord("kpolicy.scheduler", logging.INFO, "", 1, message, None, None)
    made.__dict__.update(fields)
    made.created = 1_700_000_000.25
    return made


def test_json_is_one_object_a_line_with_the_fields_in_place() -> None:
    line = JsonFormatter().format(record("bound\nit", pod="ns/p", score=3, trace_id="ab"))
    assert "\n" not in line
    assert list(json.loads(line).items()) == [
        ("ts", "2023-11-14T22:13:20.250Z"),
        ("level", "info"),
        ("logger", "kpolicy.scheduler"),
        ("msg", "bound\nit"),
        ("pod", "ns/p"),
        ("score", 3),
        ("trace_id", "ab"),
    ]


def test_text_is_one_line_whatever_is_in_it() -> None:
    line = TextFormatter().format(record("bad\n\x1b[31mname", reason="two words", pod="ns/p"))
    assert line == '22:13:20.250 INFO  bad\\x0a\\x1b[31mname  reason="two words"  pod=ns/p'


def test_long_values_are_cut() -> None:
    line = json.loads(JsonFormatter().format(record("m" * 10_000, text="x" * 10_000)))
    assert len(line["msg"]) == len(line["text"]) == limits.LOG_FIELD_CHARACTERS_MAX + 1


def test_a_traceback_goes_with_its_line(stream: io.StringIO) -> None:
    handler = install("json", "info", stream)
    try:
        raise RuntimeError("why")
    except RuntimeError:
        logging.getLogger("kpolicy.test").exception("it died")
    uninstall(handler)
    (line,) = stream.getvalue().splitlines()
    assert "RuntimeError: why" in json.loads(line)["traceback"]


def test_levels_hold_for_us_and_others_only_warn(stream: io.StringIO) -> None:
    handler = install("text", "debug", stream)
    logging.getLogger("kpolicy.x").debug("ours")
    logging.getLogger("elsewhere").info("theirs")
    logging.getLogger("elsewhere").warning("their warning")
    uninstall(handler)
    assert [line[13:].split(maxsplit=1)[1] for line in stream.getvalue().splitlines()] == [
        "ours",
        "their warning",
    ]


def test_auto_is_json_where_nobody_looks(stream: io.StringIO) -> None:
    handler = install("auto", "info", stream)
    logging.getLogger("kpolicy").info("hello")
    uninstall(handler)
    assert json.loads(stream.getvalue())["msg"] == "hello"


class Blocked(io.StringIO):
    """Takes nothing until it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.is_over = threading.Event()

    def write(self, line: str) -> int:
        self.is_over.wait()
        return super().write(line)


def test_a_stream_that_blocks_costs_lines_and_no_time() -> None:
    blocked, before = Blocked(), threads.alive()
    handler = QueuedHandler(blocked, lines_waiting_max=10)
    handler.setFormatter(JsonFormatter())
    for number in range(100):
        handler.emit(record(str(number)))
    assert handler.dropped in {89, 90}  # one may be with the writer already
    handler.close()  # and comes back, though the stream takes nothing
    assert threads.left_since(before, 0) == ["kpolicy-log"]
    blocked.is_over.set()
    assert threads.left_since(before, 10) == [], "the writer ends when it can"
    assert len(blocked.getvalue().splitlines()) == 100 - handler.dropped


def test_a_stream_that_is_gone_raises_nothing(stream: io.StringIO) -> None:
    handler = QueuedHandler(stream)
    handler.setFormatter(JsonFormatter())
    stream.close()
    handler.emit(record("lost"))
    handler.close()
    assert handler.dropped == 1
