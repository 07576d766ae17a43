"""I12, for volumes: a claim is promised to one node and a volume to one claim, and nothing else is
written. Checks the content of these two writes, and what they replace.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tests.invariants.history import CLAIM, VOLUME, History, Object, Violation, Write
from tests.invariants.timeline import Timeline
from tests.invariants.volumes import SELECTED_NODE

NAME = "I12"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
_OF_METADATA: Final = {"uid", "resourceVersion", "annotations"}


def promises(history: History, timeline: Timeline) -> Iterator[Violation]:
    for write in history.ours():
        if write.verb != "patch" or write.what not in (CLAIM, VOLUME):
            continue
        if write.request is None and not write.succeeded:
            continue  # broken off before it was read
        request: Any = write.request or {}
        why = _beyond(write.what, request) or _over(write, request, timeline)
        if why:
            text = f"{write.what} {write.name} by {write.user}: {why}"
            yield Violation(NAME, write.received_ns, text)


def _beyond(what: str, request: Any) -> str:
    metadata = request.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    if not metadata.get("uid") or not metadata.get("resourceVersion"):
        return "the write does not hold for one object as it was read"
    if what == CLAIM:
        is_lawful = set(request) == {"metadata"} and set(annotations) == {SELECTED_NODE}
    else:
        is_lawful = (
            set(request) == {"metadata", "spec"}
            and set(request["spec"]) == {"claimRef"}
            and set(annotations) <= {BOUND_BY_CONTROLLER}
        )
    if not is_lawful or not set(metadata) <= _OF_METADATA:
        return "more is written than a promise"
    return ""


def _over(write: Write, request: Any, timeline: Timeline) -> str:
    """The holder before this write."""
    version = write.in_response("metadata", "resourceVersion")
    if not write.succeeded or not version:
        return ""
    name = write.name if write.what == VOLUME else f"{write.namespace}/{write.name}"
    before = timeline.other(write.what, name, int(version) - 1)
    if before is None:
        return ""
    return _over_claim(before, request) if write.what == CLAIM else _over_volume(before, request)


def _over_claim(before: Object, request: Any) -> str:
    had = (before["metadata"].get("annotations") or {}).get(SELECTED_NODE)
    wanted = request["metadata"]["annotations"][SELECTED_NODE]
    if had not in (None, wanted):
        return f"promised to {wanted}, and was to {had}"
    if before["spec"].get("volumeName"):
        return f"promised to {wanted}, and has a volume"
    return ""


def _over_volume(before: Object, request: Any) -> str:
    had: Any = before["spec"].get("claimRef") or {}
    wanted = request["spec"]["claimRef"]
    is_same = (had.get("namespace"), had.get("name")) == (wanted["namespace"], wanted["name"])
    if had and (not is_same or had.get("uid") not in (None, "", wanted["uid"])):
        return f"promised to {wanted['name']}, and was to {had.get('name')}"
    return ""
