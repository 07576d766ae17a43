"""I1: a pod is bound at most once, by at most one successful request."""

from __future__ import annotations

from collections.abc import Iterator

from tests.invariants.history import BINDING, DELETED, History, Violation

NAME = "I1"


def bound_once(history: History) -> Iterator[Violation]:
    succeeded: dict[str, str] = {}
    for write in history.writes:
        if write.what != BINDING or write.verb != "create" or not write.succeeded:
            continue
        uid, node = write.in_request("metadata", "uid"), write.in_request("target", "name")
        if not uid:
            continue
        if uid in succeeded:
            text = f"pod {uid} was bound to {succeeded[uid]} and then to {node}"
            yield Violation(NAME, write.answered_ns, text)
        succeeded[uid] = node
    nodes: dict[str, str] = {}
    for change in history.changes:
        if change.resource != "pods" or change.type == DELETED:
            continue
        before = nodes.get(change.uid, "")
        now = str(change.object["spec"].get("nodeName") or "")
        if before and now != before:
            text = f"pod {change.uid} moved from {before} to {now or 'nowhere'}"
            yield Violation(NAME, change.at_ns, text)
        nodes[change.uid] = now
