"""`kpolicy snapshot record` on a real API server, with the rights of deploy/rbac and no others."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import kpolicy
from kpolicy import Snapshot
from kpolicy.offline.snapshots.json_objects import READ
from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL

pytestmark = pytest.mark.cluster

MANIFEST = Path(__file__).parents[2] / "deploy" / "rbac" / "snapshot-recorder.yaml"
ACCOUNT = "system:serviceaccount:kube-system:kpolicy-snapshot-recorder"
PODS, NODES = 1_300, 12
STORAGE = "/apis/storage.k8s.io/v1"
Json = dict[str, Any]


def not_served(cluster: ControlPlane) -> dict[str, str]:
    """This kind comes with 1.37."""
    return {"DeviceTaintRule": "not served"} if cluster.harness.minor < 37 else {}


@pytest.fixture(scope="module")
def cluster(control_plane_binary: object) -> Iterator[ControlPlane]:
    """A control plane of this module's own: its audit log holds this module's requests only."""
    with ControlPlane() as plane:
        admin = plane.admin
        zone = "topology.kubernetes.io/zone"
        admin.create_nodes(NODES, each=lambda at: {"labels": {zone: f"z{at % 3}"}})
        admin.create_namespace("load")
        admin.create_pods(PODS, namespace="load", labels={"app": "web"})
        admin.create_pod("giant", namespace="load", cpu="64")
        for at in range(NODES):
            assert admin.bind(f"pod-{at}", f"node-{at}", namespace="load").status == 201
        secret = {"env": [{"name": "PASSWORD", "value": "hunter2"}]}
        container = {"name": "main", "image": "none", **secret}
        admin.create_pod("talker", namespace="load", spec={"containers": [container]})
        admin.create("/api/v1/namespaces/load/secrets", {"metadata": {"name": "s"}})
        admin.create(
            f"{STORAGE}/storageclasses", {"metadata": {"name": "fast"}, "provisioner": "x.csi"}
        )
        plane.kubectl("apply", "-f", str(MANIFEST))
        yield plane


def kubeconfig(cluster: ControlPlane, folder: Path) -> Path:
    """Of the ServiceAccount, with a token that the API server issued."""
    token = cluster.kubectl("create", "token", ACCOUNT.rpartition(":")[2], "-n", "kube-system")
    document = yaml.safe_load(cluster.kubeconfig(NORMAL).read_text())
    document["users"][0]["user"] = {"token": token.strip()}
    target = folder / "kubeconfig.json"
    target.write_text(json.dumps(document))
    return target


def record(kubeconfig: Path, target: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "kpolicy",
            "snapshot",
            "record",
            "--kubeconfig",
            str(kubeconfig),
            "-o",
            str(target),
            *flags,
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=dict(os.environ),
    )


@pytest.fixture(scope="module")
def recorded(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    target = folder / "cluster.kpsnap"
    done = record(kubeconfig(cluster, folder), target)
    assert done.returncode == 0, done.stderr
    # What only newer servers have is not missed.
    [recording] = done.stderr.splitlines()
    assert recording.startswith("recorded 1,")
    return target


def test_it_explains_as_the_live_cluster_does(cluster: ControlPlane, recorded: Path) -> None:
    admin = cluster.admin
    kinds = {"Pod": "/api/v1/pods", "Node": "/api/v1/nodes", "Namespace": "/api/v1/namespaces"}
    objects = Snapshot.of(
        {"apiVersion": "v1", "kind": kind, **item}
        for kind, path in kinds.items()
        for item in admin.list(path)
    )
    live = Snapshot(objects.texts, cluster_version=str(admin.get("/version")["gitVersion"]))
    asked = ["load/giant", "load/pod-0", *(f"load/pod-{at}" for at in range(500, 520))]
    want, got = (kpolicy.explain(each, pods=asked) for each in (live, Snapshot.load(recorded)))
    assert got.explanations == want.explanations
    assert (len(got.explanations), got.not_explained) == (len(asked), [])
    assert "Insufficient cpu" in got.explanations[0]["message"]


def test_every_kind_is_there_at_one_version_and_nothing_secret(
    cluster: ControlPlane, recorded: Path
) -> None:
    snapshot = Snapshot.load(recorded)
    [recording] = snapshot.recordings
    origin, counts = recording.header.origin, recording.header.content.counts
    assert len(set(origin.resource_versions.values())) == 1
    missing = not_served(cluster)
    assert set(origin.resource_versions) == frozenset[str]().union(*READ.values()) - missing.keys()
    assert origin.left_out == missing
    assert origin.cluster_version == cluster.admin.get("/version")["gitVersion"]
    assert (counts["Pod"], counts["Node"], counts["StorageClass"]) == (PODS + 2, NODES, 1)
    assert snapshot.problems == ()
    [text] = snapshot.texts
    assert b"hunter2" not in text.body
    assert b"managedFields" not in text.body
    assert stat.S_IMODE(recorded.stat().st_mode) == 0o600


def test_it_only_listed(cluster: ControlPlane, recorded: Path) -> None:
    ours = [event for event in cluster.audit_events() if event.user == ACCOUNT]
    done = Counter((event.verb, event.code) for event in ours)
    assert set(done) <= {("list", 200), ("get", 200), ("list", 404)}
    missing = {f"{kind.lower()}s" for kind in not_served(cluster)}
    assert {event.resource for event in ours if event.code == 404} == missing
    assert {event.what for event in ours} & {"secrets", "configmaps"} == set()
    assert done["list", 200] > 2 * 15


def test_a_user_without_rights_is_reported_which_are_missing(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    target = tmp_path / "none.kpsnap"
    done = record(cluster.kubeconfig(NORMAL), target, "--skip-forbidden")
    assert done.returncode == 2
    assert "KPC205" in done.stderr
    assert "may not list pods, nodes, namespaces" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_right_that_is_missing_can_be_done_without(
    cluster: ControlPlane, recorded: Path, tmp_path: Path
) -> None:
    """Last: it takes a right away."""
    admin = cluster.admin
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/kpolicy-snapshot-recorder"
    role = admin.get(path)
    role["rules"] = [rule for rule in role["rules"] if rule["apiGroups"] != ["policy"]]
    admin.replace(path, role)
    identity, target = kubeconfig(cluster, tmp_path), tmp_path / "less.kpsnap"

    def refused() -> bool:
        return record(identity, target).returncode == 2

    wait_for(refused, "the right to be gone")
    assert not target.exists()
    done = record(identity, target, "--skip-forbidden")
    assert done.returncode == 0, done.stderr
    assert "PodDisruptionBudget (forbidden)" in done.stderr
    [recording] = Snapshot.load(target).recordings
    left_out = {"PodDisruptionBudget": "forbidden", **not_served(cluster)}
    assert recording.header.origin.left_out == left_out
