"""What can become of a request that did not succeed, as values.

Owns `Unreachable`, `TimedOut`, `Status` and how a Status is read from an answer. Assumes the
conventions of the Kubernetes API (`kind: Status`, Retry-After). Must not know aiohttp.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from kpolicy.cluster.limits import RETRY_AFTER_S_MAX
from kpolicy.cluster.problem import one_line


class Cause(StrEnum):
    """Why a server was not reached, or its answer not had."""

    REFUSED = "refused"
    NAME = "name"
    TLS = "tls"
    CREDENTIALS = "credentials"
    LOST = "lost"
    OVERSIZED = "oversized"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Unreachable:
    """No answer, or not the whole of it. `sent` is false only when the server cannot have seen the
    request: then it may be repeated, whatever it was."""

    cause: Cause
    message: str
    sent: bool

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class TimedOut:
    seconds: float
    sent: bool = True

    def __str__(self) -> str:
        return f"no answer within {self.seconds:g} s"


@dataclass(frozen=True, slots=True)
class Status:
    """An answer that is not a success."""

    code: int
    reason: str
    message: str
    retry_after_s: float | None = None

    def __str__(self) -> str:
        return f"{self.code} {self.reason}: {self.message}"

    @property
    def transient(self) -> bool:
        """Whether the same request may succeed later (429 and 5xx)."""
        return self.code == 429 or self.code >= 500


Failure: TypeAlias = Unreachable | TimedOut | Status


def status_of(code: int, body: bytes, retry_after: str | None) -> Status:
    """The Status in an answer's body; anything else in it is taken as its message."""
    reason, message = "", body[:4096].decode("utf-8", "replace")
    try:
        document = json.loads(body)
        if isinstance(document, dict) and document.get("kind") == "Status":
            reason = str(document.get("reason") or "")
            message = str(document.get("message") or "")
    except (ValueError, RecursionError):
        pass
    return Status(code, one_line(reason), one_line(message), retry_after_seconds(retry_after))


def retry_after_seconds(header: str | None) -> float | None:
    """Seconds, as the API server sends; the HTTP date form is not used by it and is ignored."""
    if header is None or not header.strip().isascii() or not header.strip().isdigit():
        return None
    return min(float(header.strip()[:9]), RETRY_AFTER_S_MAX)
