"""`kubectl kpolicy why` on a real API server, found by the real kubectl as its plugin, with the
rights of deploy/rbac and no others."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.build import ControlPlaneBinary
from tests.cluster.control_plane import ControlPlane
from tests.e2e.test_snapshot import ACCOUNT, MANIFEST, kubeconfig

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def cluster(control_plane_binary: object) -> Iterator[ControlPlane]:
    with ControlPlane() as plane:
        admin = plane.admin
        admin.create_nodes(3, each=lambda at: {"labels": {"disk": "ssd" if at else "hdd"}})
        admin.create_namespace("shop")
        admin.create_pod(
            "giant", namespace="shop", cpu="64", spec={"nodeSelector": {"disk": "ssd"}}
        )
        admin.create_pod("cart", namespace="shop")
        assert admin.bind("cart", "node-1", namespace="shop").status == 201
        plane.kubectl("apply", "-f", str(MANIFEST))
        yield plane


@pytest.fixture(scope="module")
def identity(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return kubeconfig(cluster, tmp_path_factory.mktemp("identity"))


def why(
    binary: ControlPlaneBinary, identity: Path, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """By kubectl, which looks for its plugins on PATH."""
    folder = str(Path(sys.executable).parent)
    environment = os.environ | {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "KUBECONFIG": str(identity),
    }
    return subprocess.run(
        [binary.path, "kubectl", "kpolicy", "why", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_pending_and_a_placed_pod(
    cluster: ControlPlane, control_plane_binary: ControlPlaneBinary, identity: Path
) -> None:
    giant = why(control_plane_binary, identity, "giant", "-n", "shop")
    assert giant.returncode == 0, giant.stderr
    assert giant.stdout.startswith("shop/giant is pending: none of 3 nodes takes it\n")
    assert "2  Insufficient cpu (NodeResourcesFit)" in giant.stdout
    assert "(disk=ssd)" in giant.stdout
    assert "judged by kube-scheduler's default profile, here" in giant.stdout
    cart = why(control_plane_binary, identity, "pod/cart", "-n", "shop")
    assert cart.stdout.startswith("shop/cart is on node-1\n")


def test_it_only_lists_and_names_what_is_not_there(
    cluster: ControlPlane, control_plane_binary: ControlPlaneBinary, identity: Path
) -> None:
    wrong = why(control_plane_binary, identity, "gaint", "-n", "shop")
    assert wrong.returncode != 0
    assert "there is no pod gaint in the namespace shop; did you mean `giant`?" in wrong.stderr
    ours = {(event.verb, event.code) for event in cluster.audit_events() if event.user == ACCOUNT}
    # An API server of 1.36 does not serve DeviceTaintRules.
    assert ours <= {("list", 200), ("get", 200), ("list", 404)}
    assert ("list", 200) in ours
