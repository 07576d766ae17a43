"""Plugins in Python on a real API server, as kube-scheduler's integration tests ask of plugins at
these points: `test/integration/scheduler/plugins` has tests of the same names.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.client import Client, wait_for
from tests.cluster.connection import Json
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.rights import RULES
from tests.e2e.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.cluster

POLICY = Path(__file__).parent / "policies" / "thin.yaml"
NAMESPACE = "plugged"
# What a plugin does with a pod, the label `permit` and `pre-bind` of the pod say. `opener` lets the
# pods go on that wait, and `closer` rejects them.
PLUGINS = """
import os
from kpolicy.plugins import Refuse, Wait

class Noting:
    def __init__(self, handle):
        self.handle = handle

    def note(self, what, pod):
        with open(os.environ["DIARY"], "a") as diary:
            diary.write(f"{self.name}.{what} {pod.name}\\n")

class First(Noting):
    name = "first"

    async def reserve(self, pod, node):
        self.note("reserve", pod)

    async def unreserve(self, pod, node):
        self.note("unreserve", pod)

    async def permit(self, pod, node):
        for waiting in self.handle.waiting_pods():
            if pod.name == "opener":
                waiting.allow("first")
                waiting.allow("second")
            if pod.name == "closer":
                waiting.reject("first", "closed by hand")
        wanted = pod.labels.get("permit")
        if wanted == "refuse":
            return Refuse("the gate is closed")
        return {"wait": Wait(600), "timeout": Wait(1)}.get(wanted)

    async def pre_bind(self, pod, node):
        self.note("pre_bind", pod)
        if pod.labels.get("pre-bind") == "fails":
            raise RuntimeError("the disk is not there")

    async def post_bind(self, pod, node):
        self.note("post_bind", pod)

class Second(Noting):
    name = "second"

    async def reserve(self, pod, node):
        self.note("reserve", pod)

    async def unreserve(self, pod, node):
        self.note("unreserve", pod)

    async def permit(self, pod, node):
        return Wait(600) if pod.labels.get("permit") == "wait" else None

    async def queue_key(self, pod):
        return -float(pod.labels.get("weight", "0"))
"""


@pytest.fixture(scope="module")
def cluster(control_plane_binary: object) -> Iterator[ControlPlane]:
    with ControlPlane() as control_plane:
        control_plane.grant(NORMAL, RULES)
        control_plane.admin.create_nodes(2)
        control_plane.admin.create_namespace(NAMESPACE)
        yield control_plane


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plugins")


@pytest.fixture(scope="module")
def scheduler(cluster: ControlPlane, folder: Path) -> Iterator[SchedulerProcess]:
    (folder / "noting_plugins.py").write_text(PLUGINS)
    flags = ("--plugin=noting_plugins:First", "--plugin=noting_plugins:Second")
    environment = {"DIARY": str(folder / "diary"), "PYTHONPATH": _python_path(folder)}
    process = SchedulerProcess(
        cluster.kubeconfig(NORMAL), POLICY, folder / "log", flags, environment=environment
    )
    with process:
        yield process
        assert process.terminate() == 0


def _python_path(folder: Path) -> str:
    before = os.environ.get("PYTHONPATH", "")
    return f"{folder}{os.pathsep}{before}" if before else str(folder)


@pytest.fixture
def admin(cluster: ControlPlane, scheduler: SchedulerProcess) -> Client:
    assert scheduler.alive
    return cluster.admin


def create(
    admin: Client, name: str, *, cpu: str = "100m", spec: Json | None = None, **labels: str
) -> None:
    admin.create_pod(
        name,
        namespace=NAMESPACE,
        scheduler_name="kpolicy",
        cpu=cpu,
        labels={key.replace("_", "-"): value for key, value in labels.items()},
        spec=spec,
    )


def only_on(size: str, **more: str) -> Json:
    return {"nodeSelector": {"size": size}, **more}


def placed(admin: Client, name: str) -> bool:
    return name in admin.placements(NAMESPACE)


def condition(admin: Client, name: str) -> tuple[str, str]:
    conditions: list[dict[str, Any]] = admin.pod(name, namespace=NAMESPACE)["status"].get(
        "conditions", []
    )
    for found in conditions:
        if found["type"] == "PodScheduled" and found["status"] == "False":
            return found["reason"], found["message"]
    return "", ""


def waiting(scheduler: SchedulerProcess) -> list[str]:
    document = json.loads(scheduler.get("/debug/waiting"))
    return [pod["pod"].partition("/")[2] for pod in document["pods"]]


def diary(folder: Path, name: str) -> list[str]:
    lines = (folder / "diary").read_text().splitlines()
    return [line.partition(" ")[0] for line in lines if line.endswith(f" {name}")]


def test_permit_plugin_allows(admin: Client, folder: Path) -> None:
    create(admin, "allowed")
    wait_for(lambda: placed(admin, "allowed"), "the pod to be bound")
    wait_for(lambda: "first.post_bind" in diary(folder, "allowed"), "PostBind to be reached")
    assert diary(folder, "allowed") == [
        "first.reserve",
        "second.reserve",
        "first.pre_bind",
        "first.post_bind",
    ]


def test_permit_plugin_rejects_and_unreserves_in_reverse(admin: Client, folder: Path) -> None:
    create(admin, "refused", permit="refuse")
    wait_for(lambda: bool(condition(admin, "refused")[0]), "the condition to be written")
    message = "0/1 nodes are available: 1 the gate is closed."
    assert condition(admin, "refused") == ("Unschedulable", message)
    assert diary(folder, "refused")[:4] == [
        "first.reserve",
        "second.reserve",
        "second.unreserve",
        "first.unreserve",
    ]
    admin.delete_pod("refused", namespace=NAMESPACE)


def test_several_permit_plugins_wait_and_another_pod_allows(
    admin: Client, scheduler: SchedulerProcess
) -> None:
    create(admin, "waits", permit="wait")
    wait_for(lambda: waiting(scheduler) == ["waits"], "the pod to wait")
    assert not placed(admin, "waits")
    create(admin, "opener")
    wait_for(lambda: placed(admin, "waits"), "the pod to be bound")
    assert waiting(scheduler) == []


def test_a_waiting_pod_is_rejected_by_another(admin: Client, scheduler: SchedulerProcess) -> None:
    create(admin, "turned-away", permit="wait")
    wait_for(lambda: waiting(scheduler) == ["turned-away"], "the pod to wait")
    create(admin, "closer")
    wait_for(lambda: bool(condition(admin, "turned-away")[0]), "the condition to be written")
    message = "0/1 nodes are available: 1 closed by hand."
    assert condition(admin, "turned-away") == ("Unschedulable", message)
    admin.delete_pod("turned-away", namespace=NAMESPACE)
    wait_for(lambda: waiting(scheduler) == [], "no pod to wait")


def test_permit_plugin_times_out(admin: Client) -> None:
    create(admin, "late", permit="timeout")
    wait_for(lambda: bool(condition(admin, "late")[0]), "the condition to be written")
    why = "rejected due to timeout after waiting 1s at plugin first"
    assert condition(admin, "late") == ("Unschedulable", f"0/1 nodes are available: 1 {why}.")
    admin.delete_pod("late", namespace=NAMESPACE)


def test_a_waiting_pod_is_deleted(admin: Client, scheduler: SchedulerProcess, folder: Path) -> None:
    create(admin, "gone", permit="wait")
    wait_for(lambda: waiting(scheduler) == ["gone"], "the pod to wait")
    admin.delete_pod("gone", namespace=NAMESPACE)
    undone = ["second.unreserve", "first.unreserve"]
    wait_for(lambda: diary(folder, "gone")[-2:] == undone, "the pod to be undone")
    wait_for(lambda: waiting(scheduler) == [], "no pod to wait")


def test_pre_bind_plugin_fails_and_unreserves(admin: Client, folder: Path) -> None:
    create(admin, "without-disk", pre_bind="fails")
    wait_for(lambda: bool(condition(admin, "without-disk")[0]), "the condition to be written")
    message = 'running PreBind plugin "first": the disk is not there'
    assert condition(admin, "without-disk") == ("SchedulerError", message)
    assert diary(folder, "without-disk")[:5] == [
        "first.reserve",
        "second.reserve",
        "first.pre_bind",
        "second.unreserve",
        "first.unreserve",
    ]
    admin.delete_pod("without-disk", namespace=NAMESPACE)


def test_preempt_with_permit_plugin(
    admin: Client, scheduler: SchedulerProcess, folder: Path
) -> None:
    """A pod that waits is not bound yet: it loses its place, and is not deleted."""
    body = {"metadata": {"name": "important"}, "value": 1000}
    admin.create("/apis/scheduling.k8s.io/v1/priorityclasses", body)
    admin.create_node("narrow", cpu="1", labels={"size": "narrow"})
    create(admin, "lesser", cpu="1", spec=only_on("narrow"), permit="wait")
    wait_for(lambda: waiting(scheduler) == ["lesser"], "the pod to wait")
    create(admin, "greater", cpu="1", spec=only_on("narrow", priorityClassName="important"))
    wait_for(lambda: placed(admin, "greater"), "the greater pod to be bound")
    undone = ["second.unreserve", "first.unreserve"]
    wait_for(lambda: diary(folder, "lesser")[-2:] == undone, "the lesser pod to be undone")
    assert not placed(admin, "lesser"), "and it is still there"
    for name in ("lesser", "greater"):
        admin.delete_pod(name, namespace=NAMESPACE)
    wait_for(lambda: waiting(scheduler) == [], "no pod to wait")


def test_queue_sort_plugin(admin: Client) -> None:
    """The pod with the largest weight gets the only place, although it came last."""
    admin.create_node("single", cpu="1", labels={"size": "single"}, unschedulable=True)
    names = {"light": "1", "heavy": "9"}
    for name, weight in names.items():
        create(admin, name, cpu="1", spec=only_on("single"), weight=weight)
        wait_for(lambda: bool(condition(admin, name)[0]), "the condition to be written")  # noqa: B023
    admin.patch("/api/v1/nodes/single", {"spec": {"unschedulable": None}})
    wait_for(lambda: any(placed(admin, name) for name in names), "a pod to be bound")
    assert placed(admin, "heavy")
    for name in names:
        admin.delete_pod(name, namespace=NAMESPACE)


def test_pods_that_wait_outlive_the_scheduler(
    admin: Client, scheduler: SchedulerProcess, folder: Path
) -> None:
    """A stop gives their places back, a kill does not; each time the next process asks anew."""
    names = ["outlives-1", "outlives-2"]
    for name in names:
        create(admin, name, permit="wait")
    wait_for(lambda: sorted(waiting(scheduler)) == names, "the pods to wait")
    assert scheduler.terminate() == 0
    undone = ["second.unreserve", "first.unreserve"]
    assert [diary(folder, name)[-2:] for name in names] == [undone, undone]
    scheduler.start()
    wait_for(lambda: sorted(waiting(scheduler)) == names, "the pods to wait again")
    scheduler.kill()  # and its lease must expire
    scheduler.start()
    wait_for(
        lambda: sorted(waiting(scheduler)) == names, "the pods to wait once more", timeout_s=90
    )
    assert not any(placed(admin, name) for name in names)
    # It is there from a test before, if that has run.
    admin.delete_pod("opener", namespace=NAMESPACE)
    create(admin, "opener")
    wait_for(lambda: all(placed(admin, name) for name in names), "the pods to be bound")
    assert waiting(scheduler) == []
    assert [diary(folder, name).count("first.pre_bind") for name in names] == [1, 1]
