"""Extenders that have a say in who is evicted, beside kube-scheduler with the same configuration.

The same pods stand on the same two nodes for either scheduler, one after the other.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.cluster.client import Client, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import KUBE_SCHEDULER, NORMAL
from tests.e2e.extender_server import Answer, ExtenderServer, keep_all
from tests.e2e.fenced import OF_DEVICES, fenced
from tests.e2e.judged import Judged, judged_run
from tests.e2e.preemption_stage import create_priorities
from tests.e2e.rights import VOLUME_RULES, WRITES_ALLOWED_EVICTING
from tests.e2e.scheduler_process import SchedulerProcess
from tests.invariants.recording import Recording

pytestmark = pytest.mark.cluster

Json = dict[str, Any]
_witnesses = itertools.count(1)
NODES = ("room-0", "room-1")
OURS, THEIRS = "kpolicy", "default-scheduler"


def extenders(url: str) -> list[Json]:
    def extender(name: str, **fields: Any) -> Json:
        managed = [{"name": f"example.com/{name}", "ignoredByScheduler": True}]
        return {
            "urlPrefix": f"{url}/{name}",
            "filterVerb": "filter",
            "preemptVerb": "preempt",
            "nodeCacheCapable": True,
            "managedResources": managed,
            **fields,
        }

    return [extender("knows"), extender("whole", nodeCacheCapable=False)]


def configuration(extended: list[Json], scheduler: str, kubeconfig: str = "") -> str:
    return json.dumps(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": kubeconfig},
            "leaderElection": {"leaderElect": False},
            "profiles": [{"schedulerName": scheduler}],
            "extenders": extended,
        }
    )


@pytest.fixture(scope="module")
def server() -> Iterator[ExtenderServer]:
    with ExtenderServer() as running:
        yield running


@pytest.fixture(scope="module")
def cluster(control_plane_binary: object) -> Iterator[ControlPlane]:
    with ControlPlane() as control_plane:
        control_plane.grant(NORMAL, VOLUME_RULES)
        create_priorities(control_plane)
        for name in NODES:
            control_plane.admin.create_node(name, cpu="500m")
        control_plane.admin.create_namespace("load")
        with fenced(control_plane, NORMAL, (OURS,), without=OF_DEVICES):
            yield control_plane


@pytest.fixture(scope="module")
def scheduler(
    cluster: ControlPlane, server: ExtenderServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SchedulerProcess]:
    """Ours; theirs runs beside it."""
    folder = tmp_path_factory.mktemp("schedulers")
    extended = extenders(server.url)
    ours, theirs = folder / "ours.yaml", folder / "theirs.yaml"
    ours.write_text(configuration(extended, OURS))
    theirs.write_text(configuration(extended, THEIRS, str(cluster.kubeconfig(KUBE_SCHEDULER))))
    cluster.start_scheduler(f"--config={theirs}")
    with SchedulerProcess(cluster.kubeconfig(NORMAL), ours, folder / "kpolicy.log") as process:
        yield process


@pytest.fixture(autouse=True)
def recorded(cluster: ControlPlane, scheduler: SchedulerProcess) -> Iterator[Recording]:
    """Every test of this file is judged by the invariants; what extenders say the reference does
    not know."""
    how = Judged(
        frozenset({OURS}), evicts=True, unjudged=frozenset({OURS}), ignored=("example.com/",)
    )
    with judged_run(cluster, scheduler, how) as running:
        yield running
        if scheduler.alive:  # the last test ends it
            witness(cluster.admin)


def witness(admin: Client) -> None:
    """One bind, so that a test in which nobody goes is judged by one too."""
    name = f"witness-{next(_witnesses)}"
    create_pod(admin, name, "1m", "low", by=OURS)
    wait_for(lambda: name in admin.placements("load"), f"{name} to be bound")
    admin.delete_pod(name, namespace="load")


def create_pod(
    admin: Client, name: str, cpu: str, priority: str, *, by: str, on: str = "", asks: str = ""
) -> str:
    amounts = {"cpu": cpu, **{f"example.com/{ask}": "1" for ask in asks.split(",") if ask}}
    limits = {key: value for key, value in amounts.items() if key != "cpu"}
    resources = {"requests": amounts, "limits": limits}
    spec: Json = {
        "containers": [{"name": "main", "image": "none", "resources": resources}],
        "priorityClassName": priority,
        "terminationGracePeriodSeconds": 0,
    }
    if on:
        spec["nodeName"] = on
    created = admin.create_pod(name, namespace="load", scheduler_name=by, spec=spec)
    return str(created["metadata"]["uid"])


class Crowd:
    """On each node one pod that matters less and one that matters more; both fit once."""

    def __init__(self, admin: Client, by: str) -> None:
        self.by = by
        self.uids = {
            f"{priority}-{node}": create_pod(
                admin, f"{priority}-{node}", "200m", priority, by=by, on=node
            )
            for node in NODES
            for priority in ("low", "medium")
        }

    def plain(self, body: bytes, uid: str) -> Json:
        """What was sent, without what differs from run to run."""
        text = body.decode().replace(uid, "PREEMPTOR").replace(f'"{self.by}"', '"SCHEDULER"')
        for name, victim in self.uids.items():
            text = text.replace(victim, name)
        args: Json = json.loads(text)
        pods = [args["Pod"]]
        for victims in (args["NodeNameToVictims"] or {}).values():
            pods += victims["Pods"]
        for pod in pods:
            del pod["metadata"]["resourceVersion"], pod["metadata"]["creationTimestamp"]
        return args


def saying(answer: object) -> Callable[[Json], object]:
    """Whatever is asked."""
    return lambda _: answer


def left(admin: Client) -> set[str]:
    return {pod["metadata"]["name"] for pod in admin.pods("load")}


def clear(admin: Client) -> None:
    admin.delete("/api/v1/namespaces/load/pods")
    wait_for(lambda: not admin.pods("load"), "the pods to be gone")


@pytest.mark.parametrize("kind", ["knows", "whole"])
def test_e09_the_victims_that_an_extender_leaves_go(
    cluster: ControlPlane, scheduler: SchedulerProcess, server: ExtenderServer, kind: str
) -> None:
    admin, sent = cluster.admin, {}
    server.answers[f"/{kind}/filter"] = keep_all
    for by in (OURS, THEIRS):
        crowd = Crowd(admin, by)
        # Not the node that either would take for sure, nor the victim that was offered there.
        wanted = {"Pods": [{"UID": crowd.uids["medium-room-1"]}], "NumPDBViolations": 0}
        server.answers[f"/{kind}/preempt"] = saying({"NodeNameToMetaVictims": {"room-1": wanted}})
        before = len(server.asked)
        wait_for(lambda: scheduler.metric("scheduler_cache_size", type="pods") == 4, "the crowd")
        uid = create_pod(admin, "preemptor", "300m", "high", by=by, asks=kind)
        bound = wait_for(lambda: admin.placements("load").get("preemptor", ""), "it to be bound")
        assert bound == "room-1"
        assert left(admin) == {"preemptor", "low-room-0", "medium-room-0", "low-room-1"}
        (asked,) = [
            request for request in server.asked[before:] if request.path == f"/{kind}/preempt"
        ]
        sent[by] = crowd.plain(asked.body, uid)
        clear(admin)
    assert sent[OURS] == sent[THEIRS]
    field = "NodeNameToMetaVictims" if kind == "knows" else "NodeNameToVictims"
    assert sorted(sent[OURS][field]) == list(NODES)


@pytest.mark.parametrize(
    ("case", "answer", "ending"),
    [
        ("none", {"NodeNameToMetaVictims": {}}, "no candidate node for preemption"),
        (
            "empty",
            {"NodeNameToMetaVictims": {"room-0": {"Pods": []}}},
            'expected at least one victim pod on node "room-0"',
        ),
        ("down", Answer(b"", status=500), "code 500"),
        (
            "unknown",
            {"NodeNameToMetaVictims": {"room-0": {"Pods": [{"UID": "nobody"}]}}},
            "but the pod is not found on that node",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_e09_no_pod_is_evicted_if_an_extender_leaves_no_candidate(
    cluster: ControlPlane,
    scheduler: SchedulerProcess,
    server: ExtenderServer,
    *,
    case: str,
    answer: Any,
    ending: str,
) -> None:
    admin, messages = cluster.admin, {}
    server.answers["/knows/filter"] = keep_all
    server.answers["/knows/preempt"] = saying(answer)
    for by in (OURS, THEIRS):
        Crowd(admin, by)
        wait_for(lambda: scheduler.metric("scheduler_cache_size", type="pods") == 4, "the crowd")
        create_pod(admin, "preemptor", "300m", "high", by=by, asks="knows")

        def message() -> str:
            for found in admin.pod("preemptor", namespace="load")["status"].get("conditions", []):
                if found["type"] == "PodScheduled" and found.get("reason") == "Unschedulable":
                    return str(found["message"])
            return ""

        messages[by] = wait_for(message, f"{case} to be told")
        assert len(left(admin)) == 5
        clear(admin)
    assert messages[OURS] == messages[THEIRS]
    assert messages[OURS].endswith(ending)


def test_e09_a_victim_that_goes_while_extenders_are_asked_does_not_fail_the_attempt(
    cluster: ControlPlane, scheduler: SchedulerProcess, server: ExtenderServer
) -> None:
    """The first extender hears of it; it goes before the second is shown the pods as they are."""
    admin = cluster.admin
    crowd = Crowd(admin, OURS)
    wait_for(lambda: scheduler.metric("scheduler_cache_size", type="pods") == 4, "the crowd")
    gone = "low-room-0"

    def all_of(args: Json, field: str, uid_of: Callable[[Json], str]) -> Json:
        return {
            "NodeNameToMetaVictims": {
                node: {
                    "Pods": [{"UID": uid_of(pod)} for pod in victims["Pods"]],
                    "NumPDBViolations": victims["NumPDBViolations"],
                }
                for node, victims in args[field].items()
            }
        }

    def knows(args: Json) -> Json:
        admin.delete_pod(gone, namespace="load")
        return all_of(args, "NodeNameToMetaVictims", lambda pod: str(pod["UID"]))

    for kind in ("knows", "whole"):
        server.answers[f"/{kind}/filter"] = keep_all
    server.answers["/knows/preempt"] = knows
    server.answers["/whole/preempt"] = lambda args: all_of(
        args, "NodeNameToVictims", lambda pod: str(pod["metadata"]["uid"])
    )
    before = len(server.asked)
    uid = create_pod(admin, "preemptor", "300m", "high", by=OURS, asks="knows,whole")
    bound = wait_for(lambda: admin.placements("load").get("preemptor", ""), "it to be bound")
    whole = [request for request in server.asked[before:] if request.path == "/whole/preempt"]
    assert crowd.uids[gone] not in "".join(victim.body.decode() for victim in whole)
    assert bound in NODES
    messages = [
        condition["reason"]
        for event in cluster.audit_events()
        if event.what == "pods/status" and event.user == NORMAL and event.writes
        if event.request is not None and event.request["metadata"]["uid"] == uid
        for condition in event.request["status"].get("conditions") or ()
    ]
    assert set(messages) <= {"Unschedulable"}
    clear(admin)


def test_e09_what_was_written_was_granted(
    cluster: ControlPlane, scheduler: SchedulerProcess
) -> None:
    assert scheduler.metric("kpolicy_extender_calls_total", verb="preempt", result="success") >= 5
    assert scheduler.terminate() == 0, scheduler.tail()
    ours = [event for event in cluster.audit_events() if event.user == NORMAL and event.writes]
    assert {(event.verb, event.what) for event in ours} <= WRITES_ALLOWED_EVICTING
