"""Requests, one after the other, and what the API server answers: code, reason, message.

The embedded control plane must give these answers, and a real API server gives them (both are
tested). Uids and revisions read `<uid>` and `<revision>`. The namespace `default` is empty at the
start.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tests.unit.testing.client import Client, Reply

Seen = Mapping[str, Any]  # objects that earlier steps kept, by name
Body = object | Callable[[Seen], object]


_UID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_REVISION: Final = re.compile(
    r"(?<=meta: )\d+|(?<=version: )\d+|(?<=current: )\d+|(?<=precondition: )\d+"
)


@dataclass(frozen=True)
class Step:
    """A message that ends in an ellipsis is only the beginning: beyond it the two differ."""

    what: str
    method: str
    path: str
    body: Body = None
    kind: str = "application/json"
    query: Mapping[str, str] = field(default_factory=dict)
    keep: str = ""  # the name under which later steps find the object answered
    code: int = 200
    reason: str = ""
    message: str = ""
    message_since_37: str = ""  # where it is another one


def play(client: Client, namespace: str, step: Step, seen: dict[str, Any]) -> Reply:
    """One step, in a namespace that stands in for `default`."""
    body = step.body(seen) if callable(step.body) else step.body
    reply = client.send(
        step.method,
        step.path.replace("/default/", f"/{namespace}/"),
        _placed(body, namespace),
        query=dict(step.query),
        content_type=step.kind,
    )
    if step.keep and reply.code < 300:
        seen[step.keep] = reply.json
    return reply


def refusal(reply: Reply, namespace: str) -> tuple[int, str, str]:
    """Code, reason and message, without what differs from run to run."""
    if reply.code < 400:
        return reply.code, "", ""
    try:
        status = reply.json
    except ValueError:
        status = {"message": reply.body.decode()}
    message = status.get("message", "").replace(f"/{namespace}/", "/default/")
    message = _REVISION.sub("<revision>", _UID.sub("<uid>", message))
    return reply.code, status.get("reason", ""), message


def expected(step: Step, answered: tuple[int, str, str], minor: int) -> tuple[int, str, str]:
    """What the answer of this release must equal."""
    message = (minor >= 37 and step.message_since_37) or step.message
    if message.endswith("…") and answered[2].startswith(message[:-1]):
        message = answered[2]
    return step.code, step.reason, message


def _placed(body: object, namespace: str) -> object:
    if isinstance(body, dict):
        return {key: _placed(value, namespace) for key, value in body.items()}
    return namespace if body == "default" else body
