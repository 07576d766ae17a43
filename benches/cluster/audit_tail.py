"""Reads the audit log during a round to see how many binds and events there are, at little cost.

After the round it returns the times of the binds. The audit policy of `stage` writes only the
creation of bindings and events to the log.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

_CREATED: Final = 201
_BINDING: Final = b'"subresource":"binding"'
_EVENT: Final = b'"resource":"events"'


@dataclass(frozen=True, slots=True)
class Answered:
    """Requests that succeeded: how many binds, seconds from the first to the last, and events."""

    binds: int
    seconds: float
    events: int


class AuditTail:
    """Reads the log from its current end on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._begin = self._end = path.stat().st_size if path.exists() else 0
        self.binds = 0
        self.events = 0

    def look(self) -> None:
        """Counts the requests that were answered since, failed ones too."""
        if not self._path.exists():
            return
        with self._path.open("rb") as log:
            log.seek(self._end)
            text = log.read()
        whole = text[: text.rfind(b"\n") + 1]  # the last line may be half written
        self._end += len(whole)
        self.binds += whole.count(_BINDING)
        self.events += whole.count(_EVENT)

    def answered(self) -> Answered:
        with self._path.open("rb") as log:
            log.seek(self._begin)
            lines = log.read(self._end - self._begin).splitlines()
        requests = [json.loads(line) for line in lines]
        good = [
            request
            for request in requests
            if request.get("responseStatus", {}).get("code") == _CREATED
        ]
        bound = sorted(
            datetime.fromisoformat(line["stageTimestamp"])
            for line in good
            if line["objectRef"].get("subresource") == "binding"
        )
        seconds = (bound[-1] - bound[0]).total_seconds() if bound else 0.0
        return Answered(len(bound), seconds, len(good) - len(bound))
