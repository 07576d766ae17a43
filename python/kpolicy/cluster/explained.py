"""What a failed request means, and what to do about it, in the words of a connection problem.

Owns those words. Pure. Assumes that a person reads them. Must not know when they are told.
"""

from __future__ import annotations

from kpolicy.cluster import problem as code
from kpolicy.cluster.connection import Connection
from kpolicy.cluster.failure import Cause, Failure, Status, TimedOut, Unreachable
from kpolicy.cluster.problem import ConnectionProblem, problem


def explain_failure(connection: Connection, failure: Failure, what: str) -> ConnectionProblem:
    """A failed request in the words of a connection problem; `what` is what was asked."""
    server, user = connection.server, connection.user or "anonymous"
    match failure:
        case TimedOut():
            return problem(
                code.TIMED_OUT,
                f"cannot {what}: {server} gave {failure}",
                "is the network path open (firewall, VPN, proxy)?",
            )
        case Unreachable():
            return _explain_unreachable(server, failure, what)
        case Status(code=401):
            return problem(
                code.UNAUTHORIZED,
                f"cannot {what}: {server} does not accept the credentials of {user!r}"
                f" (401 {failure.message})",
                f"they may have ended; log in again. They came from {connection.source}",
            )
        case Status(code=403):
            return problem(
                code.FORBIDDEN,
                f"cannot {what}: {user!r} may not (403 {failure.message})",
                "grant get, list and watch on it with RBAC; README lists all that is needed",
            )
        case Status(code=404):
            return problem(
                code.NOT_SERVED,
                f"cannot {what}: {server} does not serve it (404 {failure.message})",
                "is the API group enabled, and is the address without a wrong path?",
            )
        case Status(code=400) if "HTTP request to an HTTPS server" in failure.message:
            return problem(
                code.TLS_FAILED, f"{server} speaks TLS", "write https:// in the kubeconfig"
            )
        case Status():
            return problem(
                code.UNREACHABLE if failure.transient else code.NOT_AN_API_SERVER,
                f"cannot {what}: {server} answered {failure}",
                "look at the API server's health: /readyz?verbose",
            )


def _explain_unreachable(server: str, failure: Unreachable, what: str) -> ConnectionProblem:
    match failure.cause:
        case Cause.REFUSED:
            return problem(
                code.REFUSED,
                f"cannot {what}: nothing answers at {server} ({failure.message})",
                "is the API server running, and is the port right?",
            )
        case Cause.NAME:
            return problem(
                code.NAME_NOT_RESOLVED,
                f"cannot {what}: the name in {server} was not resolved ({failure.message})",
                "check the server's name in the kubeconfig, and DNS",
            )
        case Cause.TLS:
            return problem(
                code.TLS_FAILED,
                f"cannot {what}: no TLS with {server} ({failure.message})",
                "check certificate-authority(-data) in the kubeconfig, or tls-server-name",
            )
        case Cause.CREDENTIALS:
            # The message is a problem of its own, with code and hint.
            return problem(code.UNAUTHORIZED, f"cannot {what}: {failure.message}")
        case _:
            return problem(code.UNREACHABLE, f"cannot {what}: {server}: {failure.message}")
