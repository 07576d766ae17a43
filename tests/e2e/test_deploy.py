"""deploy/kustomize on a real API server: accepted without a warning, and the fences hold.

Every overlay is sent as a dry run with strict validation; the Deployment goes into a namespace that
warns of anything beyond the restricted pod security standard.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.build import ControlPlaneBinary
from tests.cluster.client import Client
from tests.cluster.connection import ApiError
from tests.cluster.control_plane import ControlPlane
from tests.e2e.dry_run import dry_run
from tests.e2e.fenced import (
    FENCES,
    LOAD,
    Json,
    Write,
    account_of_scheduler,
    asked,
    binding,
    patch_status,
)
from tests.e2e.rendered import ACCOUNT, OVERLAYS, Manifest, apply, of_kind, rendered

pytestmark = pytest.mark.cluster

CREATED = 201
# Of a pod's status, by release.
FIELDS_SINCE = {37: {"volumeHealth"}}


@pytest.fixture(scope="module")
def cluster(control_plane_binary: ControlPlaneBinary) -> Iterator[ControlPlane]:
    """With kpolicy's namespace, account, rights and fences, as `kubectl apply -k` leaves them."""
    with ControlPlane() as plane:
        apply(plane, "second-scheduler")
        plane.admin.create_node("node-0")
        plane.admin.create_namespace(LOAD)
        yield plane


@pytest.fixture(scope="module")
def account(cluster: ControlPlane) -> Iterator[Client]:
    with account_of_scheduler(cluster) as client:
        yield client


def bind(client: Client, pod: Json, **metadata: Any) -> int | str:
    name = pod["metadata"]["name"]
    body = binding(name, **{"uid": pod["metadata"]["uid"], **metadata})
    return asked(client, Write("POST", f"/api/v1/namespaces/{LOAD}/pods/{name}/binding", body))


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_overlay_is_accepted_without_a_warning(
    cluster: ControlPlane, control_plane_binary: ControlPlaneBinary, overlay: str
) -> None:
    manifests = rendered(control_plane_binary.path, overlay)
    assert len(manifests) == OVERLAYS[overlay]
    for manifest in manifests:
        assert dry_run(cluster, manifest) == [], f"{manifest.kind} {manifest.name}"


def test_a_warning_would_be_seen(
    cluster: ControlPlane, control_plane_binary: ControlPlaneBinary
) -> None:
    (deployment,) = of_kind(rendered(control_plane_binary.path, "otel"), "Deployment")
    spoilt = copy.deepcopy(deployment.document)
    container = spoilt["spec"]["template"]["spec"]["containers"][0]
    container["securityContext"]["allowPrivilegeEscalation"] = True
    (warning,) = dry_run(cluster, Manifest(spoilt))
    assert "restricted" in warning
    container["imagePullPolice"] = "Always"
    with pytest.raises(ApiError, match="unknown field"):
        dry_run(cluster, Manifest(spoilt))


def test_the_pods_are_restricted_and_beyond(control_plane_binary: ControlPlaneBinary) -> None:
    for overlay in OVERLAYS:
        (deployment,) = of_kind(rendered(control_plane_binary.path, overlay), "Deployment")
        spec = deployment.document["spec"]["template"]["spec"]
        (container,) = spec["containers"]
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert spec["securityContext"]["runAsUser"] > 0
        assert spec["schedulerName"] == "default-scheduler", "kpolicy cannot schedule its own pod"
        assert deployment.document["spec"]["replicas"] == 2
        probes = ("startupProbe", "livenessProbe", "readinessProbe")
        assert [container[probe]["httpGet"]["path"] for probe in probes] == [
            "/livez",
            "/livez",
            "/readyz",
        ]


def test_rights_are_what_the_roles_say_and_no_more(cluster: ControlPlane, account: Client) -> None:
    admin = cluster.admin
    granted = [
        ("list", "", "pods", ""),
        ("watch", "", "nodes", ""),
        ("create", "", "pods", "binding"),
        ("patch", "", "pods", "status"),
        ("delete", "", "pods", ""),
    ]
    denied = [
        ("patch", "", "pods", ""),
        ("update", "", "pods", ""),
        ("list", "", "secrets", ""),
        ("get", "", "secrets", ""),
        ("update", "", "pods", "status"),
        ("patch", "", "nodes", ""),
        ("create", "", "pods", ""),
        ("list", "", "configmaps", ""),
        ("create", "", "bindings", ""),
        ("deletecollection", "", "pods", ""),
        ("create", "", "pods", "exec"),
        ("escalate", "rbac.authorization.k8s.io", "clusterroles", ""),
        ("impersonate", "", "users", ""),
        ("delete", "", "nodes", ""),
    ]
    wrong = [asked for asked in granted if not allowed(admin, *asked)]
    wrong += [asked for asked in denied if allowed(admin, *asked)]
    assert not wrong, f"of {len(granted) + len(denied)} asked"


def allowed(admin: Client, verb: str, group: str, resource: str, subresource: str) -> bool:
    asked = {"verb": verb, "group": group, "resource": resource, "subresource": subresource}
    review = admin.create(
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        {"spec": {"user": ACCOUNT, "resourceAttributes": {**asked, "namespace": LOAD}}},
    )
    return bool(review["status"].get("allowed"))


def test_the_status_fence(cluster: ControlPlane, account: Client) -> None:
    admin = cluster.admin
    admin.create_pod("served", namespace=LOAD, scheduler_name="kpolicy", labels={"app": "web"})
    admin.create_pod("foreign", namespace=LOAD, scheduler_name="someone-else")

    def condition(kind: str, status: str = "False", reason: str = "Testing") -> Json:
        return {"status": {"conditions": [{"type": kind, "status": status, "reason": reason}]}}

    preempted = condition("DisruptionTarget", "True", "PreemptionByScheduler")

    legitimate: list[tuple[str, Json]] = [
        ("served", condition("PodScheduled")),
        ("served", {"status": {"nominatedNodeName": "node-0"}}),
        ("foreign", preempted),
        ("foreign", {"status": {"nominatedNodeName": ""}}),
    ]
    attacks: list[tuple[str, Json]] = [
        ("served", {"metadata": {"labels": {"app": "evil"}}}),
        ("served", {"metadata": {"annotations": {"x": "y"}}}),
        ("served", {"metadata": {"finalizers": ["example.com/hold"]}}),
        ("served", {"status": {"phase": "Succeeded"}}),
        ("served", {"status": {"podIP": "10.0.0.9", "podIPs": [{"ip": "10.0.0.9"}]}}),
        ("served", {"status": {"reason": "Evicted"}}),
        ("served", {"status": {"message": "a lie"}}),
        ("served", {"status": {"startTime": "2026-01-01T00:00:00Z"}}),
        ("served", {"status": {"hostIPs": [{"ip": "10.0.0.9"}], "hostIP": "10.0.0.9"}}),
        ("served", {"status": {"containerStatuses": [{"name": "main", "image": "evil"}]}}),
        ("served", condition("Ready")),
        ("foreign", condition("PodScheduled")),
        ("foreign", {"status": {"nominatedNodeName": "node-0"}}),
        ("foreign", {"metadata": {"labels": {"app": "evil"}}}),
    ]
    assert [patch_status(account, *patch) for patch in legitimate] == [200] * len(legitimate)
    answers = [patch_status(account, *attack) for attack in attacks]
    assert answers == ["status-fence"] * len(attacks)
    # The fence is ours alone: others patch as before.
    assert patch_status(admin, "foreign", condition("Ready")) == 200


def test_the_status_fence_knows_every_field_of_a_pods_status(cluster: ControlPlane) -> None:
    """What Kubernetes adds to it has to be compared, or said to be ours."""
    found = cluster.admin.get("/openapi/v3/api/v1")["components"]["schemas"]
    known = set(found["io.k8s.api.core.v1.PodStatus"]["properties"])
    assert len(known) >= 20
    ours = {"conditions", "nominatedNodeName", "extendedResourceClaimStatus"}
    fence = (FENCES / "status-fence.yaml").read_text()
    compared = set(re.findall(r"object\.status\.\?(\w+) ==\s+oldObject\.status\.\?\1\b", fence))
    # The API server drops them where it does not know them.
    minor = cluster.harness.minor
    later = set[str]().union(*(new for since, new in FIELDS_SINCE.items() if since > minor))
    assert compared - ours == (known | later) - ours


def test_the_binding_fence(cluster: ControlPlane, account: Client) -> None:
    admin = cluster.admin
    pod = admin.create_pod("bound", namespace=LOAD, scheduler_name="kpolicy")
    attacks: list[Json] = [
        {"labels": {"app": "evil"}},
        {"annotations": {"example.com/x": "y"}},
        {"uid": None},
    ]
    answers = [bind(account, pod, **attack) for attack in attacks]
    assert answers == ["binding-fence"] * len(attacks)
    assert admin.placements(LOAD).get("bound") is None
    assert bind(account, pod, annotations={"kpolicy.dev/policy-hash": "abc"}) == CREATED
    after = admin.pod("bound", namespace=LOAD)
    assert after["spec"]["nodeName"] == "node-0"
    assert after["metadata"]["annotations"] == {"kpolicy.dev/policy-hash": "abc"}
