"""What all writes share: paths, times, pods in answers, and how long a write stays in doubt.

The API server honours `?timeout=` of every request that is not a watch, counted from when it read
the request's head. When that deadline passes, it cancels its own request to etcd, which may already
be under way. It also cancels when it notices that we closed the connection. Neither limits how long
a request may lie in a proxy, or in the buffer of a stopped process: hence the long limit for
requests that were never answered.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from kpolicy.api_times import NANOSECONDS
from kpolicy.cluster.limits import (
    ANSWERED_IN_DOUBT_S,
    SERVER_TIMEOUT_SHARE,
    UNANSWERED_IN_DOUBT_S,
)
from kpolicy.cluster.request_failure import Failure, Status


def server_timeout(timeout_s: float) -> str:
    """Return the deadline to request from the API server, as the value of `timeout`."""
    return f"{timeout_s * SERVER_TIMEOUT_SHARE:g}s"


def in_doubt_until_ns(failure: Failure, now_ns: int) -> int:
    """Return until when a failed write may still take effect; 0: it will not."""
    seconds = UNANSWERED_IN_DOUBT_S
    if isinstance(failure, Status):
        # Rejected, or put off: the API server did not start it.
        is_put_off = failure.code == 503 and failure.retry_after_s is not None
        if not failure.transient or failure.code == 429 or is_put_off:
            return 0
        if (
            failure.reason
        ):  # with a reason the response is the API server's own, not that of a proxy before it
            seconds = ANSWERED_IN_DOUBT_S
    elif not failure.sent:
        return 0
    return now_ns + int(seconds * NANOSECONDS)


_SAFE_NAME: Final = re.compile(r"[a-z0-9.-]+\Z")


def pod_path(namespace: str, name: str) -> str:
    # Valid names are safe in a path. A name that is not valid must not become another path.
    if not (_SAFE_NAME.match(namespace) and _SAFE_NAME.match(name)):
        namespace, name = quote(namespace, safe=""), quote(name, safe="")
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def observed_generation(generation: int) -> str:
    """Return how a condition goes on: which spec of the pod it is about, if that is known."""
    return f',"observedGeneration":{generation}' if generation else ""


@dataclass(frozen=True, slots=True)
class PodRead:
    """A pod in an answer."""

    uid: str
    node: str
    is_ending: bool


def read_pod(body: bytes) -> PodRead | None:
    """Read a pod; None if the body is something else."""
    try:
        document = json.loads(body)
        metadata, spec = document["metadata"], document.get("spec", {})
        return PodRead(
            uid=str(metadata["uid"]),
            node=str(spec.get("nodeName") or ""),
            is_ending=bool(metadata.get("deletionTimestamp")),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
