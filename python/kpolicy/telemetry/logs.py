"""Structured logs: one JSON object a line, or text for people on a terminal.

The handler never blocks its caller: a thread writes the lines from a bounded queue; if stderr is
too slow, lines are dropped and counted. Repeated warnings of one line of code are limited
(`log_limit`); the next one that is written counts them as `left_out`. Fields are passed as `extra`;
long values are cut. Policy texts and credentials must not be logged.
"""

from __future__ import annotations

import json
import logging
import queue
import sys
import threading
from contextlib import suppress
from datetime import UTC, datetime
from io import TextIOWrapper
from typing import Any, Final, TextIO

from kpolicy.telemetry import limits
from kpolicy.telemetry.log_limit import RepeatLimit

# the attributes of every log record; all others are fields
_OWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    return {key: _cut(value) for key, value in vars(record).items() if key not in _OWN}


class JsonFormatter(logging.Formatter):
    """Keys in a fixed order: ts, level, logger, msg, then the fields in the order they were
    passed."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "ts": _timestamp(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": _cut(record.getMessage()),
            **fields_of(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


class TextFormatter(logging.Formatter):
    """`12:34:56.789 WARN  message  key=value`. Levels are words, never only colours."""

    def format(self, record: logging.LogRecord) -> str:
        moment = _timestamp(record.created)[11:23]
        level = {"WARNING": "WARN", "CRITICAL": "FATAL"}.get(record.levelname, record.levelname)
        pairs = "".join(f"  {key}={_plain(value)}" for key, value in fields_of(record).items())
        text = f"{moment} {level:<5} {_one_line(_cut(record.getMessage()))}{pairs}"
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        return text


class QueuedHandler(logging.Handler):
    """Formats at once, so that arguments are not kept, and writes in a thread."""

    def __init__(
        self, stream: TextIO, lines_waiting_max: int = limits.LOG_LINES_WAITING_MAX
    ) -> None:
        super().__init__()
        self._stream = stream
        self._lines: queue.Queue[str | None] = queue.Queue(lines_waiting_max)
        self._repeats = RepeatLimit()
        self.dropped = 0
        # a daemon: a stderr that blocks for ever must not keep the process alive
        self._thread = threading.Thread(target=self._write, name="kpolicy-log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        left_out = self._repeats.admit(record)
        if left_out is None:
            return
        if left_out:
            record.left_out = left_out
        try:
            self._lines.put_nowait(self.format(record))
        except queue.Full:
            self.dropped += 1

    def close(self) -> None:
        """Write what waits, but only for a moment."""
        try:
            self._lines.put(None, timeout=limits.LOG_FLUSH_S)
        except queue.Full:
            self._give_up()
        else:
            self._thread.join(limits.LOG_FLUSH_S)
        super().close()

    def _give_up(self) -> None:
        """Give up on a stderr that took nothing; the writer ends if it ever takes something
        again."""
        while True:
            try:
                return self._lines.put_nowait(None)
            except queue.Full:
                with suppress(queue.Empty):
                    self._lines.get_nowait()
                    self.dropped += 1

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            try:
                self._stream.write(line + "\n")
                if self._lines.empty():
                    self._stream.flush()
            except (OSError, ValueError):
                self.dropped += 1


def install(log_format: str, level: str, stream: TextIO = sys.stderr) -> QueuedHandler:
    """Send the logs of the process through one queued handler. `auto` means text on a terminal."""
    text = log_format == "text" or (log_format == "auto" and stream.isatty())
    handler = QueuedHandler(_unbuffered(stream))
    handler.setFormatter(TextFormatter() if text else JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("kpolicy").setLevel(level.upper())
    return handler


def _unbuffered(stream: TextIO) -> TextIO:
    """Writes straight to the file. What cannot be written must not stay in a buffer: Python would
    flush it at the end of the process, wait for that, and exit with 120."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):  # not a file, or closed
        return stream
    raw = open(descriptor, "wb", buffering=0, closefd=False)  # noqa: SIM115
    return TextIOWrapper(
        raw, encoding=stream.encoding, errors="backslashreplace", write_through=True
    )


def uninstall(handler: QueuedHandler) -> None:
    logging.getLogger().removeHandler(handler)
    handler.close()


def _timestamp(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _cut(value: Any) -> Any:
    if isinstance(value, str) and len(value) > limits.LOG_FIELD_CHARACTERS_MAX:
        return value[: limits.LOG_FIELD_CHARACTERS_MAX] + "…"
    return value


def _plain(value: object) -> str:
    text = _one_line(str(value))
    return json.dumps(text, ensure_ascii=False) if " " in text or not text else text


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
