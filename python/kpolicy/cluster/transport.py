"""What aiohttp raises, as `failure` values.

Owns the only place that knows its exceptions. Pure.
"""

from __future__ import annotations

import os

import aiohttp

from kpolicy.cluster.failure import Cause, Failure, TimedOut, Unreachable
from kpolicy.cluster.limits import CONNECT_TIMEOUT_S
from kpolicy.cluster.problem import one_line


def transport_failure(error: Exception, timeout_s: float) -> Failure:
    """What aiohttp raised, as a value. What cannot be told counts as sent."""
    match error:
        case aiohttp.ConnectionTimeoutError():
            return TimedOut(min(timeout_s, CONNECT_TIMEOUT_S), sent=False)
        case TimeoutError():
            return TimedOut(timeout_s)
        case aiohttp.ClientConnectorDNSError():
            return Unreachable(Cause.NAME, error_text(error, "no such name"), sent=False)
        case aiohttp.ClientSSLError() | aiohttp.ServerFingerprintMismatch():
            return Unreachable(Cause.TLS, error_text(error, "the TLS handshake failed"), sent=False)
        case aiohttp.ClientConnectorError(host=host, port=port, os_error=cause):
            why = os.strerror(cause.errno).lower() if cause.errno else "connection refused"
            return Unreachable(Cause.REFUSED, one_line(f"{host}:{port}: {why}"), sent=False)
        case aiohttp.InvalidURL():
            return Unreachable(Cause.NAME, f"not a URL: {error}", sent=False)
        case _:
            return Unreachable(Cause.LOST, error_text(error, "the connection was lost"), sent=True)


def error_text(error: Exception, otherwise: str) -> str:
    """In words for people; aiohttp's own where they say more."""
    if isinstance(error, aiohttp.ClientPayloadError):
        return "the connection broke in the middle of an answer"
    return one_line(str(error)) or otherwise
