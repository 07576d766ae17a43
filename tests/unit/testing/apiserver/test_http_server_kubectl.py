"""The real kubectl against the embedded control plane, and `python -m kpolicy.testing`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.build import ControlPlaneBinary
from tests.unit.testing.client import Client

POD = """
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  schedulerName: kpolicy
  containers:
  - name: main
    image: nginx
    ports: [{containerPort: 80}]
    resources: {requests: {cpu: 100m}}
"""
BINDING = '{"metadata":{"name":"web"},"target":{"name":"node-2"}}'


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "kubeconfig"
    words = ["--nodes", "2", "--kubeconfig", str(path)]
    process = subprocess.Popen(
        [sys.executable, "-m", "kpolicy.testing", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert Client(url).get("/api/v1/nodes").names == ["node-1", "node-2"]
        assert process.stderr is not None
        assert str(path) in process.stderr.readline()
        yield path
    finally:
        process.send_signal(signal.SIGTERM)
        _, output = process.communicate(timeout=10)
    assert (process.returncode, output) == (0, "")


@pytest.fixture
def kubectl(control_plane_binary: ControlPlaneBinary, kubeconfig: Path) -> Kubectl:
    return Kubectl(control_plane_binary.path, kubeconfig)


class Kubectl:
    def __init__(self, binary: Path, kubeconfig: Path) -> None:
        self._binary = binary
        self._environment = {
            **os.environ,
            "KUBECONFIG": str(kubeconfig),
            "HOME": str(kubeconfig.parent),
        }

    def __call__(self, *words: str, stdin: str = "") -> str:
        done = subprocess.run(
            [str(self._binary), "kubectl", *words],
            check=False,
            input=stdin,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    def table(self, *words: str) -> list[list[str]]:
        return [line.split() for line in self(*words).splitlines()]


def test_it_runs_alone_and_ends_when_told(kubeconfig: Path) -> None:
    assert kubeconfig.read_text().startswith("apiVersion: v1")


@pytest.mark.parametrize("words", [["--port", "x"], ["--nodes", "-1"], ["--nodes", "100001"]])
def test_flags_that_cannot_be(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kpolicy.testing", *words],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert words[0] in done.stderr


@pytest.mark.cluster
def test_a_pods_life_as_kubectl_tells_it(kubectl: Kubectl) -> None:
    assert kubectl("create", "-f", "-", stdin=POD) == "pod/web created\n"
    header, waiting = kubectl.table("get", "pods", "-o", "wide")
    assert header[:5] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert (waiting[:4], waiting[6]) == (["web", "0/1", "Pending", "0"], "<none>")
    bindings = "/api/v1/namespaces/default/pods/web/binding"
    assert "Success" in kubectl("create", "--raw", bindings, "-f", "-", stdin=BINDING)
    kubectl("wait", "pod/web", "--for=condition=Ready", "--timeout=20s")
    _, running = kubectl.table("get", "pods", "-o", "wide")
    assert (running[:3], running[6]) == (["web", "1/1", "Running"], "node-2")
    described = kubectl("describe", "pod", "web")
    assert "Node:         node-2/" in described
    assert "node.kubernetes.io/not-ready:NoExecute op=Exists for 300s" in described
    assert kubectl("label", "pod", "web", "tier=front") == "pod/web labeled\n"
    assert kubectl("get", "pods", "-l", "tier=front", "-o", "name") == "pod/web\n"
    assert "deleted" in kubectl("delete", "pod", "web")
    assert kubectl("get", "pods", "-o", "name") == ""


@pytest.mark.cluster
def test_apply_twice_and_replace(kubectl: Kubectl) -> None:
    assert kubectl("apply", "-f", "-", stdin=POD) == "pod/web created\n"
    assert kubectl("apply", "-f", "-", stdin=POD) == "pod/web unchanged\n"
    newer = POD.replace("image: nginx", "image: nginx:2")
    assert kubectl("apply", "-f", "-", stdin=newer) == "pod/web configured\n"
    assert kubectl("get", "pod", "web", "-o", "jsonpath={.spec.containers[0].image}") == "nginx:2"
    served = kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=newer)
    assert served == "pod/web serverside-applied\n"
    assert kubectl("replace", "-f", "-", stdin=newer) == "pod/web replaced\n"


@pytest.mark.cluster
def test_nodes_events_and_policies(kubectl: Kubectl) -> None:
    assert kubectl("cordon", "node-1") == "node/node-1 cordoned\n"
    assert kubectl("taint", "node", "node-2", "a=b:NoSchedule") == "node/node-2 tainted\n"
    rows = kubectl.table("get", "nodes")
    assert [row[:2] for row in rows[1:]] == [
        ["node-1", "Ready,SchedulingDisabled"],
        ["node-2", "Ready"],
    ]
    assert "Taints:             a=b:NoSchedule" in kubectl("describe", "node", "node-2")
    assert kubectl("create", "namespace", "team") == "namespace/team created\n"
    made = kubectl("create", "configmap", "policy", "-n", "team", "--from-literal=a.yaml=kind: X")
    assert made == "configmap/policy created\n"
    data = kubectl("get", "configmap", "policy", "-n", "team", "-o", "jsonpath={.data.a\\.yaml}")
    assert data == "kind: X"
    kubectl("create", "priorityclass", "high", "--value=1000")
    high = POD.replace("schedulerName", "priorityClassName: high\n  schedulerName")
    kubectl("create", "-f", "-", stdin=high)
    assert kubectl("get", "pod", "web", "-o", "jsonpath={.spec.priority}") == "1000"
    assert "deleted" in kubectl("delete", "namespace", "team")
    names = kubectl("api-resources", "-o", "name").split()
    assert len(names) == 26
    assert "poddisruptionbudgets.policy" in names
