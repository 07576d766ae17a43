"""The control plane that the compared schedulers share, with the nodes and the namespace of each
round.

The audit policy records names and times only, so that the API server is not busy with its own log.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.cluster.client import wait_for
from tests.cluster.connection import ApiError
from tests.cluster.control_plane import ControlPlane
from tests.cluster.rights import Rule
from tests.cluster.users import KUBE_SCHEDULER, NORMAL
from tests.e2e.rights import RULES

ZONES: Final = 10
_REMOVED_WITHIN_S: Final = 600
# The tests' own audit policy records bodies. Here a line has only who did what and when.
_BINDS_AND_EVENTS: Final = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [
        {
            "level": "Metadata",
            "verbs": ["create"],
            "resources": [
                {"group": "", "resources": ["pods/binding"]},
                {"group": "events.k8s.io", "resources": ["events"]},
            ],
        },
        {"level": "None"},
    ],
}


# Everything that a scheduler writes.
WRITES: Final = {
    **_BINDS_AND_EVENTS,
    "rules": [
        {
            "level": "Metadata",
            "users": [NORMAL, KUBE_SCHEDULER],
            "verbs": ["create", "patch", "update", "delete"],
        },
        {"level": "None"},
    ],
}


@contextmanager
def control_plane(
    folder: Path,
    rules: Sequence[Rule] = RULES,
    audited: Mapping[str, object] = _BINDS_AND_EVENTS,
) -> Iterator[ControlPlane]:
    """The control plane; `rules` are the scheduler's rights, `audited` is the audit policy."""
    policy = folder / "audit-policy.json"
    policy.write_text(json.dumps(audited))
    flags = (f"--audit-policy-file={policy}", "--delete-collection-workers=8")
    with ControlPlane(api_server_flags=flags) as plane:
        plane.grant(NORMAL, rules)
        yield plane


def make_nodes(plane: ControlPlane, count: int) -> None:
    """Creates nodes as in the other benchmarks: 32 cpu, 128 Gi, 110 pods, ten zones."""
    plane.admin.create_nodes(
        count,
        each=lambda index: {"labels": {"topology.kubernetes.io/zone": f"zone-{index % ZONES}"}},
    )


@contextmanager
def waiting_pods(
    plane: ControlPlane, namespace: str, count: int, scheduler_name: str
) -> Iterator[None]:
    """Creates pods of 100m and 256Mi in a namespace of their own, and deletes them afterwards."""
    plane.admin.create_namespace(namespace)
    plane.admin.create_pods(count, namespace=namespace, scheduler_name=scheduler_name)
    try:
        yield
    finally:
        wait_for(
            lambda: _removed(plane, namespace),
            "the pods of a round to be gone",
            timeout_s=_REMOVED_WITHIN_S,
            every_s=1,
        )


def _removed(plane: ControlPlane, namespace: str) -> bool:
    """Deletes until nothing is left; a deletion may go on after its client gave up."""
    path = f"/api/v1/namespaces/{namespace}/pods"
    try:
        plane.admin.delete(path)
    except (ApiError, OSError):
        return False
    return not plane.admin.get(path, limit="1")["items"]


def scheduled_events(plane: ControlPlane, namespace: str) -> int:
    """The number of pods with a Scheduled event."""
    events = plane.admin.list(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events")
    return len({event["regarding"]["uid"] for event in events if event["reason"] == "Scheduled"})
