"""Policies of tenants on a real API server: each in the ConfigMap of its namespace, with the rights
that deploy/kustomize grants.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from tests.cluster.client import Client, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.rights import TENANT_RULES
from tests.e2e.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.cluster

MAP, LABEL = "kpolicy-tenant", "example.com/team"
# Two namespaces of one tenant, one of another, and one of none.
TEAMS = {"red": "red", "red-too": "red", "blue": "blue", "free": ""}
_pods = count(1)


def wants(pool: str) -> str:
    return f"""\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {{name: ours}}
spec:
  predicates: [{{name: pool, expression: "label(node, 'pool') == '{pool}'"}}]
"""


@pytest.fixture(scope="module")
def cluster(control_plane_binary: object) -> Iterator[ControlPlane]:
    with ControlPlane() as plane:
        plane.grant(NORMAL, TENANT_RULES)
        for pool in ("red", "blue"):
            plane.admin.create_nodes(2, prefix=pool, labels={"pool": pool})
        for space, team in TEAMS.items():
            labels = {LABEL: team} if team else {}
            metadata = {"name": space, "labels": labels}
            plane.admin.create("/api/v1/namespaces", {"metadata": metadata})
        yield plane


@pytest.fixture(scope="module")
def scheduler(
    cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SchedulerProcess]:
    log = tmp_path_factory.mktemp("tenants") / "kpolicy.log"
    policy = tmp_path_factory.mktemp("policy") / "policy.yaml"
    policy.write_text(
        "apiVersion: kpolicy.dev/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: operator}\n"
        "spec: {profiles: [{schedulerName: kpolicy}]}\n",
        "utf-8",
    )
    tenants = (f"--tenant-configmap={MAP}", f"--tenant-label={LABEL}")
    flags = ("--log-format=json", "--no-leader-elect", *tenants)
    with SchedulerProcess(cluster.kubeconfig(NORMAL), policy, log, flags) as process:
        yield process


def write(admin: Client, space: str, text: str) -> None:
    home = f"/api/v1/namespaces/{space}/configmaps"
    body = {"metadata": {"name": MAP, "namespace": space}, "data": {"policy.yaml": text}}
    if admin.exists(f"{home}/{MAP}"):
        admin.replace(f"{home}/{MAP}", body)
    else:
        admin.create(home, body)


def states(scheduler: SchedulerProcess) -> dict[str, str]:
    tenants: dict[str, Any] = json.loads(scheduler.get("/configz"))["tenants"]
    return {each["name"]: each["state"] for each in tenants["first"]}


def until(scheduler: SchedulerProcess, wanted: dict[str, str]) -> None:
    wait_for(lambda: states(scheduler) == wanted, f"{wanted}; {scheduler.tail()}", timeout_s=90)


def pools(admin: Client, space: str, pods: int = 4) -> set[str]:
    """The pools to which new pods of a namespace go."""
    names = [f"p{next(_pods)}" for _ in range(pods)]
    for name in names:
        admin.create_pod(name, namespace=space, scheduler_name="kpolicy")
    wait_for(lambda: set(names) <= admin.placements(space).keys(), f"pods of {space} to be bound")
    return {admin.placements(space)[name].rpartition("-")[0] for name in names}


def test_each_tenant_narrows_its_own_pods_and_a_bad_one_changes_nothing(
    cluster: ControlPlane, scheduler: SchedulerProcess
) -> None:
    admin = cluster.admin
    write(admin, "red", wants("red"))
    write(admin, "blue", wants("blue"))
    write(admin, "free", wants("red"))  # a namespace of no tenant
    until(scheduler, {"red": "in_force", "blue": "in_force"})
    assert pools(admin, "red") == pools(admin, "red-too") == {"red"}
    assert pools(admin, "blue") == {"blue"}
    assert pools(admin, "free", 8) == {"red", "blue"}
    # A tenant cannot widen: it is told so on its own ConfigMap, and its last good policy stays.
    write(admin, "red", wants("blue") + "  base: none\n")
    until(scheduler, {"red": "last_good", "blue": "in_force"})
    assert pools(admin, "red") == {"red"}
    assert pools(admin, "blue") == {"blue"}
    events = "/apis/events.k8s.io/v1/namespaces/red/events"

    def refused() -> list[str]:
        found = [event for event in admin.list(events) if event["reason"] == "PolicyRejected"]
        return [event["note"] for event in found if event["regarding"]["name"] == MAP]

    (note, *_) = wait_for(refused, "an event on the tenant's ConfigMap")
    assert "KP135" in note
    assert "the last good policy stays in force" in note
    # A tenant that is gone leaves no rule behind.
    admin.delete(f"/api/v1/namespaces/blue/configmaps/{MAP}")
    until(scheduler, {"red": "last_good"})
    assert pools(admin, "blue", 8) == {"red", "blue"}
