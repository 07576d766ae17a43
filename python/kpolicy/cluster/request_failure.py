"""Why a request failed, as a value: `Unreachable`, `TimedOut` or `Status`.

`explain_failure` turns one into a `ConnectionProblem` with a code and a hint, for a person. Pure.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from kpolicy.cluster.auth.connection import Connection
from kpolicy.cluster.connection_problem import ConnectionProblem, one_line, problem
from kpolicy.cluster.limits import RETRY_AFTER_S_MAX


class Cause(StrEnum):
    """Why the server was not reached, or its response not received."""

    REFUSED = "refused"
    NAME = "name"
    TLS = "tls"
    CREDENTIALS = "credentials"
    LOST = "lost"
    OVERSIZED = "oversized"
    CLOSED = "closed"
    FENCED = "fenced"  # the caller might not send it any more


@dataclass(frozen=True, slots=True)
class Unreachable:
    """No response, or only a part of it. `sent` is False only if the server cannot have seen the
    request; then any request may be repeated."""

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
    """A response that is not a success."""

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
    """Read the Status in a response's body; any other body becomes the message."""
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
    """Return the seconds of a Retry-After header. The API server does not use its date form."""
    if header is None or not header.strip().isascii() or not header.strip().isdigit():
        return None
    return min(float(header.strip()[:9]), RETRY_AFTER_S_MAX)


def requested_wait_s(failure: Failure) -> float:
    """Return how long the server asked us to wait (Retry-After); 0 if it did not."""
    return (failure.retry_after_s or 0.0) if isinstance(failure, Status) else 0.0


def explain_failure(connection: Connection, failure: Failure, what: str) -> ConnectionProblem:
    """Explain a failed request to a person; `what` is what was requested."""
    server, user = connection.server, connection.user or "anonymous"
    match failure:
        case TimedOut():
            return problem(
                "KPC206",
                f"cannot {what}: {server} gave {failure}",
                "is the network path open (firewall, VPN, proxy)?",
            )
        case Unreachable():
            return _explain_unreachable(server, failure, what)
        case Status(code=401):
            return problem(
                "KPC204",
                f"cannot {what}: {server} does not accept the credentials of {user!r}"
                f" (401 {failure.message})",
                f"they may have ended; log in again. They came from {connection.source}",
            )
        case Status(code=403):
            return problem(
                "KPC205",
                f"cannot {what}: {user!r} may not (403 {failure.message})",
                "grant get, list and watch on it with RBAC; README lists all that is needed",
            )
        case Status(code=404):
            return problem(
                "KPC209",
                f"cannot {what}: {server} does not serve it (404 {failure.message})",
                "is the API group enabled, and is the address without a wrong path?",
            )
        case Status(code=400) if "HTTP request to an HTTPS server" in failure.message:
            return problem("KPC203", f"{server} speaks TLS", "write https:// in the kubeconfig")
        case Status():
            return problem(
                "KPC208" if failure.transient else "KPC207",
                f"cannot {what}: {server} answered {failure}",
                "look at the API server's health: /readyz?verbose",
            )


# Code, message and hint. The message of missing credentials is itself a problem with code and hint.
_UNREACHABLE: Final = {
    Cause.REFUSED: (
        "KPC201",
        "nothing answers at {server} ({message})",
        "is the API server running, and is the port right?",
    ),
    Cause.NAME: (
        "KPC202",
        "the name in {server} was not resolved ({message})",
        "check the server's name in the kubeconfig, and DNS",
    ),
    Cause.TLS: (
        "KPC203",
        "no TLS with {server} ({message})",
        "check certificate-authority(-data) in the kubeconfig, or tls-server-name",
    ),
    Cause.CREDENTIALS: ("KPC204", "{message}", ""),
}


def _explain_unreachable(server: str, failure: Unreachable, what: str) -> ConnectionProblem:
    otherwise = ("KPC208", "{server}: {message}", "")
    problem_code, text, hint = _UNREACHABLE.get(failure.cause, otherwise)
    why = text.format(server=server, message=failure.message)
    return problem(problem_code, f"cannot {what}: {why}", hint)
