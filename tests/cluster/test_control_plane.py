"""The harness against the real thing: what e2e tests rely on, seen to hold."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster import (
    ADMIN,
    KUBE_SCHEDULER,
    NORMAL,
    ApiError,
    ControlPlane,
    ControlPlaneBinary,
    ControlPlaneError,
    Rule,
    binds,
    wait_for,
)
from tests.cluster.readiness import free_ports

pytestmark = pytest.mark.cluster
ROOT = Path(__file__).parents[2]


def processes_that_name(folder: Path) -> set[int]:
    """Every process on this machine with that folder, which its flags name, on its command line."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if os.fsencode(folder) in (entry / "cmdline").read_bytes():
                    found.add(int(entry.name))
            except OSError:
                continue
    return found


def test_it_is_ready_and_says_which_kubernetes_it_is(control_plane: ControlPlane) -> None:
    assert control_plane.admin.request("GET", "/readyz").body == b"ok"
    version = control_plane.admin.get("/version")
    assert version["gitVersion"] == control_plane.harness.kubernetes
    assert int(version["minor"]) == control_plane.harness.minor
    assert control_plane.harness.kubernetes in control_plane.harness.version


def test_a_normal_user_may_do_what_was_granted_and_no_more(
    control_plane: ControlPlane, namespace: str
) -> None:
    normal, pods = control_plane.client(NORMAL), f"/api/v1/namespaces/{namespace}/pods"
    with pytest.raises(ApiError, match="Forbidden") as refused:
        normal.list(pods)
    assert refused.value.status == 403
    granted = control_plane.grant(NORMAL, [Rule(("list",), ("pods",))], namespace=namespace)
    assert normal.list(pods) == []
    assert normal.request("GET", "/api/v1/nodes").status == 403
    control_plane.revoke(granted, namespace=namespace)
    wait_for(lambda: normal.request("GET", pods).status == 403, "the grant's end")


def test_each_user_has_a_kubeconfig_that_works(control_plane: ControlPlane) -> None:
    for user in (ADMIN, NORMAL, KUBE_SCHEDULER):
        assert control_plane.kubeconfig(user).stat().st_mode & 0o077 == 0
    assert control_plane.kubectl("auth", "whoami", "-o=jsonpath={.status.userInfo.username}") == (
        ADMIN
    )
    with pytest.raises(ControlPlaneError, match="Forbidden"):
        control_plane.kubectl("get", "nodes", user=NORMAL)
    with pytest.raises(ControlPlaneError, match="no user 'nobody'"):
        control_plane.kubeconfig("nobody")


def test_a_bind_is_in_the_audit_log(control_plane: ControlPlane, namespace: str) -> None:
    admin = control_plane.admin
    (node,) = admin.create_nodes(1, prefix=namespace, cpu="4", labels={"disk": "ssd"})
    created = admin.get(f"/api/v1/nodes/{node}")
    assert created["status"]["allocatable"]["cpu"] == "4"
    assert created["metadata"]["labels"]["disk"] == "ssd"
    assert not created["spec"].get("taints")
    pod = admin.create_pod("pod", namespace=namespace, scheduler_name="nobody")
    uid = pod["metadata"]["uid"]
    assert admin.bind("pod", node, namespace=namespace, uid="wrong").status == 409
    assert admin.bind("pod", node, namespace=namespace, uid=uid).status == 201
    assert admin.bind("pod", "other", namespace=namespace, uid=uid).status == 409
    assert admin.placements(namespace) == {"pod": node}
    seen = binds(control_plane.audit_events(), namespace)
    assert [(bind.uid, bind.node, bind.user, bind.code) for bind in seen] == [
        ("wrong", node, ADMIN, 409),
        (uid, node, ADMIN, 201),
        (uid, "other", ADMIN, 409),
    ]
    assert [bind.succeeded for bind in seen] == [False, True, False]
    admin.delete(f"/api/v1/nodes/{node}")


def test_writes_of_many_are_all_in_the_audit_log(
    control_plane: ControlPlane, namespace: str
) -> None:
    names = control_plane.admin.create_pods(50, namespace=namespace, labels={"app": "a"})
    assert len(control_plane.admin.pods(namespace, labels="app=a")) == 50
    control_plane.admin.delete_pod("pod-0", namespace=namespace)
    assert len(control_plane.admin.pods(namespace)) == 49
    writes = [
        event
        for event in control_plane.audit_events()
        if event.namespace == namespace and event.what == "pods" and event.writes
    ]
    assert {event.name for event in writes if event.verb == "create"} == set(names)
    assert all(event.request is not None for event in writes if event.verb == "create")
    assert [event.name for event in writes if event.verb == "delete"] == ["pod-0"]


def test_components_can_be_killed_frozen_and_restarted(
    control_plane_binary: ControlPlaneBinary,
) -> None:
    with ControlPlane(control_plane_binary) as plane:
        plane.admin.create_nodes(3)
        plane.restart_api_server()
        plane.restart_etcd()
        plane.restart_api_server(gracefully=True)
        assert len(plane.admin.list("/api/v1/nodes")) == 3
        with plane.api_server.frozen():
            stat = Path(f"/proc/{plane.api_server.pid}/stat").read_text()
            assert stat.rpartition(")")[2].split()[0] == "T"
        assert plane.admin.exists("/api/v1/nodes/node-0")
        plane.api_server.kill()
        with pytest.raises(OSError, match=r"[Cc]onnection"):
            plane.admin.get("/version")
        plane.start_api_server()
        assert plane.admin.exists("/api/v1/nodes/node-2")
        began = [e for e in plane.audit_events() if e.what == "nodes" and e.verb == "create"]
        assert len(began) == 3


def test_kube_scheduler_and_controllers_work_beside_it(
    control_plane_binary: ControlPlaneBinary,
) -> None:
    with ControlPlane(control_plane_binary) as plane:
        plane.admin.create_nodes(2)
        plane.start_controller_manager()
        plane.start_scheduler()
        plane.kubectl("create", "deployment", "web", "--image=none", "--replicas=4")
        placed = wait_for(
            lambda: found if len(found := plane.admin.placements("default")) == 4 else None,
            "four pods of a deployment to be placed",
        )
        assert set(placed.values()) == {"node-0", "node-1"}
        assert {bind.user for bind in binds(plane.audit_events())} == {KUBE_SCHEDULER}


def test_nothing_is_left_after_a_stop(control_plane_binary: ControlPlaneBinary) -> None:
    plane = ControlPlane(control_plane_binary)
    plane.start()
    folder = plane.folder
    scheduler = plane.start_scheduler()
    running = {plane.etcd.pid, plane.api_server.pid, scheduler.pid}
    assert processes_that_name(folder) == running
    plane.stop()
    plane.stop()
    assert not processes_that_name(folder)
    assert not folder.exists()
    with pytest.raises(ControlPlaneError, match="does not run"):
        plane.audit_events()


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.usefixtures("control_plane_binary")
def test_no_component_outlives_the_process_that_started_it(
    tmp_path: Path, ending: signal.Signals
) -> None:
    program = (
        "import signal, threading, time\n"
        # A shell lets background processes ignore SIGINT, and their children inherit that.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from tests.cluster import ControlPlane\n"
        "plane = ControlPlane()\n"
        "starting = threading.Thread(target=plane.start)\n"
        "starting.start(); starting.join()\n"
        "plane.etcd.freeze()\n"
        "print(plane.etcd.pid, plane.api_server.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as owner:
        assert owner.stdout is not None
        children = {int(pid) for pid in owner.stdout.readline().split()}
        assert len(children) == 2
        assert processes_that_name(tmp_path) == children
        owner.send_signal(ending)
    wait_for(
        lambda: not processes_that_name(tmp_path),
        "the components to end with their owner",
        timeout_s=10,
    )


def test_a_component_that_cannot_start_says_why(
    control_plane_binary: ControlPlaneBinary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "tempfile.tempdir", str(tmp_path)
    )  # its logs stay, for the person who reads the message
    plane = ControlPlane(control_plane_binary, api_server_flags=["--no-such-flag"])
    with pytest.raises(ControlPlaneError, match="kube-apiserver ended with exit code 1") as error:
        plane.start()
    assert "unknown flag: --no-such-flag" in str(error.value)
    assert list(tmp_path.glob("*/logs/kube-apiserver.log"))


def test_a_port_that_is_taken_is_not_the_end(control_plane_binary: ControlPlaneBinary) -> None:
    with (
        ControlPlane(control_plane_binary) as control_plane,
        pytest.MonkeyPatch.context() as patch,
    ):
        ports = [int(control_plane.server.rpartition(":")[2])]
        patch.setattr(
            "tests.cluster.control_plane.free_ports",
            lambda count: (*free_ports(count - 1), ports.pop()) if ports else free_ports(count),
        )
        with ControlPlane(control_plane_binary) as two:
            assert ports == []
            assert two.server != control_plane.server
            assert two.admin.get("/version")
