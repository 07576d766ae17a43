"""The admission policies of deploy/kustomize ("fences") on a real API server: in force for the
scheduler's own account, or installed for a user of the tests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import yaml

from tests.cluster.client import Client, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e import devices, volumes
from tests.e2e.rendered import ACCOUNT, DEPLOY, NAMESPACE, Manifest

Json = dict[str, Any]

FENCES: Final = DEPLOY / "components/admission-fences"
LOAD: Final = "load"
STRATEGIC: Final = "strategic"
# Rights that only schedulers have that bind volumes or allocate devices; without them RBAC refuses
# first.
OF_VOLUMES: Final = frozenset({"volume-fence", "claim-fence"})
OF_DEVICES: Final = frozenset({"device-fence"})
_DENIED: Final = re.compile(r"ValidatingAdmissionPolicy '[\w.-]*?kpolicy-([a-z]+-fence)'")
_SENTINEL: Final = "sentinel"
_DRY_RUN: Final = {"dryRun": "All"}


@dataclass(frozen=True, slots=True)
class Write:
    """A write that a fence lets through or refuses."""

    method: str
    path: str
    body: Json
    kind: str = ""  # of a patch


def asked(client: Client, write: Write, query: Mapping[str, str] | None = None) -> int | str:
    """The name of the fence that refused, else the status of the response."""
    response = client.request(write.method, write.path, write.body, query=query, kind=write.kind)
    return refusing_fence(str(response.json().get("message", ""))) or response.status


def refusing_fence(message: str) -> str:
    found = _DENIED.search(message)
    return found[1] if found else ""


def patched(client: Client, path: str, patch: Json, kind: str = "merge") -> int | str:
    return asked(client, Write("PATCH", path, patch, kind))


def patch_status(client: Client, pod: str, patch: Json, namespace: str = LOAD) -> int | str:
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}/status"
    return patched(client, path, patch, STRATEGIC)


def event(name: str, namespace: str, **fields: Any) -> Json:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.1", "namespace": namespace},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "kpolicy",
        "reportingInstance": "kpolicy-0",
        "action": "Binding",
        "reason": "Scheduled",
        "regarding": {"kind": "Pod", "namespace": namespace, "name": name},
        "note": "a note",
        "type": "Normal",
        **fields,
    }


def binding(name: str, **metadata: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, **metadata},
        "target": {"kind": "Node", "name": "node-0"},
    }


@contextmanager
def account_of_scheduler(cluster: ControlPlane) -> Iterator[Client]:
    """kpolicy's ServiceAccount, by a token of the API server; its fences are in force."""
    token = cluster.kubectl("create", "token", "kpolicy", "-n", NAMESPACE).strip()
    with Client(cluster.server, cluster.ca_file, token) as client:
        wait_in_force(cluster.admin, client, lease_namespace=NAMESPACE)
        yield client


def kubeconfig_of_account(cluster: ControlPlane, folder: Path) -> Path:
    token = cluster.kubectl("create", "token", "kpolicy", "-n", NAMESPACE).strip()
    document = yaml.safe_load(cluster.kubeconfig(NORMAL).read_text())
    document["users"][0]["user"] = {"token": token}
    target = folder / "kubeconfig.json"
    target.write_text(json.dumps(document))
    return target


@contextmanager
def fenced(
    plane: ControlPlane,
    user: str,
    scheduler_names: Sequence[str],
    *,
    without: frozenset[str] = frozenset(),
) -> Iterator[None]:
    """Installs the fences for this user, who serves these names and has its rights already. At the
    end, no fence has refused a write of the user. `without`: fences for which it has no rights."""
    for manifest in fences(user, scheduler_names):
        plane.admin.create(manifest.collection, manifest.document)
    wait_in_force(plane.admin, plane.client(user), without=without)
    yield
    refused = refusals(plane, user)
    assert refused == [], refused


def fences(user: str, scheduler_names: Sequence[str]) -> list[Manifest]:
    """The fences with another account and other names, as an overlay would patch them."""
    served = f"in {sorted({*scheduler_names, 'kpolicy'})}"
    found = []
    for path in sorted(FENCES.glob("*-fence.yaml")):
        text = path.read_text("utf-8").replace(f"'{ACCOUNT}'", f"'{user}'")
        for field in ("schedulerName", "reportingController.orValue('')"):
            text = text.replace(f"{field} in ['kpolicy']", f"{field} {served}")
        found += [Manifest(document) for document in yaml.safe_load_all(text)]
    assert len(found) >= 14
    return found


def wait_in_force(
    admin: Client,
    client: Client,
    *,
    lease_namespace: str = "kube-system",
    without: frozenset[str] = frozenset(),
) -> None:
    """Waits until every fence refuses: the API server takes up one after the other. All attempts
    are dry runs, so that none leaves anything behind."""
    with sentinels(admin):
        attempts = probes(lease_namespace)
        assert attempts.keys() == {path.stem for path in FENCES.glob("*-fence.yaml")}
        for fence in sorted(attempts.keys() - without):
            wait_for(partial(_refuses, client, fence, attempts[fence]), f"the {fence}")


def _refuses(client: Client, fence: str, write: Write) -> bool:
    return asked(client, write, _DRY_RUN) == fence


@contextmanager
def sentinels(admin: Client) -> Iterator[None]:
    """Objects that the probes are about, which no scheduler and no controller takes up."""
    admin.create_pod(_SENTINEL, scheduler_name=_SENTINEL)
    volumes.create_volume(admin, _SENTINEL, "nowhere", storage_class=_SENTINEL)
    volumes.create_claim(admin, "default", _SENTINEL, _SENTINEL)
    devices.create_claim(admin, "default", _SENTINEL)
    try:
        yield
    finally:
        admin.delete_pod(_SENTINEL)
        for kind in (volumes.VOLUMES, volumes.claims("default"), devices.claims("default")):
            path = f"{kind}/{_SENTINEL}"
            admin.patch(path, {"metadata": {"finalizers": None}})
            admin.delete(path)


def probes(lease_namespace: str) -> dict[str, Write]:
    """For each fence a write that nothing but the fence refuses."""
    pod = f"/api/v1/namespaces/default/pods/{_SENTINEL}"
    labels = {"metadata": {"labels": {"a": "b"}}}
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"]}
    foreign = event(_SENTINEL, "default", reportingController="kubelet")
    return {
        "binding-fence": Write("POST", f"{pod}/binding", binding(_SENTINEL)),
        "claim-fence": Write("PATCH", f"{volumes.claims('default')}/{_SENTINEL}", labels, "merge"),
        "device-fence": Write("PATCH", f"{devices.claims('default')}/{_SENTINEL}", labels, "merge"),
        "event-fence": Write("POST", events("default"), foreign),
        "eviction-fence": Write("DELETE", pod, options),
        "lease-fence": Write("POST", leases(lease_namespace), lease(_SENTINEL, lease_namespace)),
        "status-fence": Write("PATCH", f"{pod}/status", labels, STRATEGIC),
        "volume-fence": Write("PATCH", f"{volumes.VOLUMES}/{_SENTINEL}", labels, "merge"),
    }


def events(namespace: str) -> str:
    return f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"


def leases(namespace: str) -> str:
    return f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"


def lease(name: str, namespace: str) -> Json:
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {}}


def refusals(plane: ControlPlane, user: str) -> list[str]:
    """Writes of this user that a fence refused."""
    return [
        f"{event.verb} {event.uri}: {event.message} {json.dumps(event.request)}"
        for event in plane.audit_events()
        if event.user == user and event.writes and refusing_fence(event.message)
    ]
