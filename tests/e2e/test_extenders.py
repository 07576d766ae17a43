"""Extenders that are really asked, beside kube-scheduler with the same configuration (E-01).

Each scenario is a managed resource: a pod that requests it is asked about at that path.
"""

from __future__ import annotations

import base64
import json
import ssl
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.audit import binds
from tests.cluster.client import Client, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.readiness import free_ports
from tests.cluster.users import KUBE_SCHEDULER, NORMAL
from tests.e2e.extender_server import Answer, ExtenderServer, keep_all
from tests.e2e.judged import Judged, judged_run
from tests.e2e.rights import VOLUME_RULES, WRITES_ALLOWED
from tests.e2e.scheduler_process import SchedulerProcess
from tests.invariants.recording import Recording
from tests.unit.cluster import certificates

pytestmark = pytest.mark.cluster

Json = dict[str, Any]
NODES = ("node-0", "node-1", "node-2", "node-3")
OURS, THEIRS = "kpolicy", "default-scheduler"
DEEP = b"[" * 200_000
HUGE = b'{"Error":"' + b"x" * (65 * 1024 * 1024) + b'"}'


def managed(name: str) -> list[Json]:
    return [{"name": f"example.com/{name}", "ignoredByScheduler": True}]


def extenders(url: str, secure_url: str, closed_port: int) -> list[Json]:
    """One for each scenario; no pod is asked about by two, but for `twice`."""

    def extender(name: str, **fields: Any) -> Json:
        return {
            "urlPrefix": f"{url}/{name}",
            "filterVerb": "filter",
            "nodeCacheCapable": True,
            "managedResources": managed(name),
            **fields,
        }

    closed = f"http://127.0.0.1:{closed_port}/"
    tls = {
        "caData": base64.b64encode(certificates.AUTHORITY).decode(),
        "certData": base64.b64encode(certificates.ALICE).decode(),
        "keyData": base64.b64encode(certificates.ALICE_KEY).decode(),
    }
    return [
        extender("all", prioritizeVerb="prioritize", weight=5, bindVerb="bind"),
        extender("whole", nodeCacheCapable=False, prioritizeVerb="prioritize", weight=1),
        extender("refuses"),
        extender("hostile", httpTimeout="1s"),
        extender("down", urlPrefix=closed),
        extender("optional", urlPrefix=closed, ignorable=True),
        extender("secure", urlPrefix=f"{secure_url}/secure", enableHTTPS=True, tlsConfig=tls),
        extender("slow"),
    ]


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
def secure_server() -> Iterator[ExtenderServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        chain, key = Path(folder, "chain"), Path(folder, "key")
        chain.write_bytes(certificates.SERVER)
        key.write_bytes(certificates.SERVER_KEY)
        context.load_cert_chain(chain, key)
    context.load_verify_locations(cadata=certificates.AUTHORITY.decode())
    context.verify_mode = ssl.CERT_REQUIRED
    with ExtenderServer(context) as running:
        yield running


@pytest.fixture(scope="module")
def cluster(control_plane_binary: object) -> Iterator[ControlPlane]:
    with ControlPlane() as control_plane:
        control_plane.grant(NORMAL, VOLUME_RULES)
        control_plane.admin.create_nodes(len(NODES))
        control_plane.admin.create_namespace("load")
        yield control_plane


@pytest.fixture(scope="module")
def scheduler(
    cluster: ControlPlane,
    server: ExtenderServer,
    secure_server: ExtenderServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[SchedulerProcess]:
    """Ours; theirs runs beside it."""
    folder = tmp_path_factory.mktemp("schedulers")
    (port,) = free_ports(1)
    extended = extenders(server.url, secure_server.url, port)
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
    how = Judged(frozenset({OURS}), unjudged=frozenset({OURS}), ignored=("example.com/",))
    with judged_run(cluster, scheduler, how) as running:
        yield running


@pytest.fixture
def admin(cluster: ControlPlane, scheduler: SchedulerProcess) -> Client:
    return cluster.admin


def create_pod(admin: Client, name: str, resource: str, scheduler: str = OURS) -> str:
    amounts = {f"example.com/{resource}": "1"}
    container = {
        "name": "main",
        "image": "none",
        "resources": {"requests": amounts, "limits": amounts},
    }
    created = admin.create_pod(
        name, namespace="load", scheduler_name=scheduler, spec={"containers": [container]}
    )
    return str(created["metadata"]["uid"])


def node_of(admin: Client, pod: str) -> str:
    return wait_for(lambda: admin.placements("load").get(pod, ""), f"{pod} to be bound")


def event_message(admin: Client, pod: str, reason: str) -> str:
    def message() -> str:
        for found in admin.pod(pod, namespace="load")["status"].get("conditions", []):
            if found["type"] == "PodScheduled" and found.get("reason") == reason:
                return str(found["message"])
        return ""

    return wait_for(message, f"{pod} to be told {reason}")


def test_e01_an_extender_filters_scores_and_binds(
    cluster: ControlPlane, admin: Client, server: ExtenderServer
) -> None:
    def bind(args: Json) -> Json:
        answer = admin.bind(
            args["PodName"], args["Node"], namespace=args["PodNamespace"], uid=args["PodUID"]
        )
        return {"Error": "" if answer.status == 201 else "not bound"}

    server.answers["/all/filter"] = lambda args: {
        "NodeNames": [name for name in args["NodeNames"] if name != "node-0"],
        "FailedNodes": {"node-0": "no licence"},
    }
    server.answers["/all/prioritize"] = lambda args: [
        {"Host": name, "Score": 10 if name == "node-2" else 0} for name in args["NodeNames"]
    ]
    server.answers["/all/bind"] = bind
    uid = create_pod(admin, "whole-way", "all")
    assert node_of(admin, "whole-way") == "node-2"
    asked = [(request.path, request.content_type) for request in server.of("whole-way")]
    paths = ("/all/filter", "/all/prioritize", "/all/bind")
    assert asked == [(path, "application/json") for path in paths]
    (sent,) = server.of("whole-way", "bind")
    assert sent.args == {
        "PodName": "whole-way",
        "PodNamespace": "load",
        "PodUID": uid,
        "Node": "node-2",
    }
    (prioritized,) = server.of("whole-way", "prioritize")
    assert prioritized.args["NodeNames"] == ["node-1", "node-2", "node-3"]

    def bound_by() -> list[tuple[str, int]]:
        found = [bind for bind in binds(cluster.audit_events()) if bind.pod == "whole-way"]
        return [(bind.user, bind.code) for bind in found]

    # The log is written after the answer.
    assert wait_for(bound_by, "the bind in the audit log") == [("admin", 201)]


def test_e01_a_bind_that_an_extender_only_claims_is_not_believed(
    admin: Client, scheduler: SchedulerProcess, server: ExtenderServer
) -> None:
    server.answers["/all/filter"] = keep_all
    server.answers["/all/prioritize"] = lambda args: []
    server.answers["/all/bind"] = lambda args: {"Error": ""}
    create_pod(admin, "claimed", "all")
    message = event_message(admin, "claimed", "SchedulerError")
    assert message.endswith("says it bound the pod; the API server does not")
    server.answers["/all/bind"] = lambda args: {"Error": "the device is gone"}
    wait_for(
        lambda: event_message(admin, "claimed", "SchedulerError") == "the device is gone",
        "the extender's own words",
    )
    admin.delete_pod("claimed", namespace="load")
    wait_for(lambda: scheduler.metric("kpolicy_reservations_open") == 0, "its reservation to end")


def test_e02_pods_that_no_extender_cares_for_take_the_short_way(
    admin: Client, scheduler: SchedulerProcess, server: ExtenderServer
) -> None:
    """Also while an extender takes its time about others."""
    release = threading.Event()
    server.answers["/slow/filter"] = lambda args: Answer(
        json.dumps(keep_all(args)).encode(), wait=release
    )
    slow = [f"slow-{number}" for number in range(12)]
    for name in slow:
        create_pod(admin, name, "slow")
    wait_for(
        lambda: len([request for request in server.asked if "/slow" in request.path]) == 8,
        "8 at once",
    )
    wait_for(
        lambda: scheduler.metric("kpolicy_pods_at_extenders") == len(slow), "the others to wait"
    )
    plain = admin.create_pods(100, namespace="load", prefix="plain", scheduler_name=OURS)
    wait_for(lambda: set(plain) <= set(admin.placements("load")), "the others to be bound")
    assert not set(slow) & set(admin.placements("load"))
    assert not [request for request in server.asked if request.pod.startswith("plain")]
    release.set()
    wait_for(lambda: set(slow) <= set(admin.placements("load")), "those asked about to be bound")
    counts = Counter(request.pod for request in server.asked if "/slow" in request.path)
    assert set(counts) == set(slow)


def test_e03_what_is_sent_is_what_kube_scheduler_sends(
    admin: Client, server: ExtenderServer
) -> None:
    def scores(args: Json) -> list[Json]:
        return [
            {"Host": node["metadata"]["name"], "Score": int(node["metadata"]["name"] == "node-3")}
            for node in args["Nodes"]["items"]
        ]

    server.answers["/whole/filter"] = keep_all
    server.answers["/whole/prioritize"] = scores
    sent: dict[str, list[Json]] = {}
    for name, by in (("whole-ours", OURS), ("whole-theirs", THEIRS)):
        uid = create_pod(admin, name, "whole", by)
        node_of(admin, name)
        asked = server.of(name)
        assert [request.path for request in asked] == ["/whole/filter", "/whole/prioritize"]
        text = [
            request.body.decode().replace(name, "NAME").replace(uid, "UID") for request in asked
        ]
        text = [line.replace(f'"{by}"', '"SCHEDULER"') for line in text]
        sent[by] = [json.loads(line) for line in text]
        for args in sent[by]:
            metadata = args["Pod"]["metadata"]
            del metadata["resourceVersion"], metadata["creationTimestamp"]
            args["Nodes"]["items"].sort(key=lambda node: node["metadata"]["name"])
            for node in args["Nodes"]["items"]:
                # Theirs keeps who wrote which field of a node, and drops it of a pod.
                assert (node["metadata"].pop("managedFields", None) is None) == (by == OURS)
    assert sent[OURS] == sent[THEIRS]
    assert len(sent[OURS][0]["Nodes"]["items"]) == len(NODES)
    assert sent[OURS][0]["NodeNames"] is None


def test_e03_names_are_sent_as_kube_scheduler_sends_them(
    admin: Client, server: ExtenderServer
) -> None:
    server.answers["/refuses/filter"] = lambda args: {"NodeNames": args["NodeNames"][:1]}
    shapes = {}
    for name, by in (("names-ours", OURS), ("names-theirs", THEIRS)):
        create_pod(admin, name, "refuses", by)
        node_of(admin, name)
        (asked,) = server.of(name)
        assert sorted(asked.args["NodeNames"]) == list(NODES)
        shapes[by] = (sorted(asked.args), asked.args["Nodes"], asked.content_type)
    assert shapes[OURS] == shapes[THEIRS]


@pytest.mark.parametrize(
    ("case", "answer"),
    [
        ("failed", {"NodeNames": [], "FailedNodes": dict.fromkeys(NODES, "no licence")}),
        (
            "unresolvable",
            {
                "nodenames": [],
                "FailedNodes": dict.fromkeys(NODES, "no licence"),
                "FAILEDANDUNRESOLVABLENODES": {"node-1": "wrong rack"},
            },
        ),
    ],
)
def test_e04_refused_nodes_are_reported_as_by_kube_scheduler(
    admin: Client, server: ExtenderServer, case: str, answer: Json
) -> None:
    server.answers["/refuses/filter"] = lambda args: answer
    messages = {}
    for whose, by in (("ours", OURS), ("theirs", THEIRS)):
        name = f"{case}-{whose}"
        create_pod(admin, name, "refuses", by)
        messages[whose] = event_message(admin, name, "Unschedulable")
    assert messages["ours"] == messages["theirs"]
    assert "no licence" in messages["ours"]
    # What an extender thinks now is not known: any event has it asked again.
    server.answers["/refuses/filter"] = keep_all
    admin.patch("/api/v1/nodes/node-0", {"metadata": {"labels": {"case": case}}})
    node_of(admin, f"{case}-ours")
    node_of(admin, f"{case}-theirs")


def test_e05_an_extender_that_is_down_costs_its_own_pods_only(admin: Client) -> None:
    messages = {}
    for name, by in (("down-ours", OURS), ("down-theirs", THEIRS)):
        create_pod(admin, name, "down", by)
        messages[by] = event_message(admin, name, "SchedulerError")
    assert messages[OURS] == messages[THEIRS]
    assert messages[OURS].endswith("connect: connection refused")
    create_pod(admin, "optional", "optional")
    assert node_of(admin, "optional") in NODES
    for name in ("down-ours", "down-theirs"):
        admin.delete_pod(name, namespace="load")


@pytest.mark.parametrize(
    ("case", "answer", "as_kube_scheduler"),
    [
        ("code", Answer(b"{}", status=503), True),
        ("error", Answer(b'{"Error":"out of licences"}'), True),
        ("unknown", Answer(b'{"NodeNames":["node-0","nowhere"]}'), True),
        ("text", Answer(b"licences are out"), False),
        ("list", Answer(b"[1,2]"), False),
        ("types", Answer(b'{"NodeNames":[1],"FailedNodes":[]}'), False),
        ("deep", Answer(DEEP), False),
        ("huge", Answer(HUGE), False),
        ("late", Answer(wait=threading.Event()), True),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_e06_answers_that_are_none_cost_their_own_pods_only(
    admin: Client,
    scheduler: SchedulerProcess,
    server: ExtenderServer,
    *,
    case: str,
    answer: Answer,
    as_kube_scheduler: bool,
) -> None:
    server.answers["/hostile/filter"] = lambda args: answer
    name = f"hostile-{case}"
    create_pod(admin, name, "hostile")
    message = event_message(admin, name, "SchedulerError")
    assert message
    if as_kube_scheduler:
        create_pod(admin, f"{name}-theirs", "hostile", THEIRS)
        assert message == event_message(admin, f"{name}-theirs", "SchedulerError")
        admin.delete_pod(f"{name}-theirs", namespace="load")
    if answer.wait is not None:
        answer.wait.set()
    server.answers["/hostile/filter"] = keep_all
    assert node_of(admin, name) in NODES
    assert "ok" in scheduler.get("/healthz")


def test_e07_an_extender_is_asked_over_tls_with_our_certificate(
    admin: Client, secure_server: ExtenderServer
) -> None:
    secure_server.answers["/secure/filter"] = lambda args: {"NodeNames": ["node-3"]}
    create_pod(admin, "secure", "secure")
    assert node_of(admin, "secure") == "node-3"
    assert len(secure_server.of("secure")) == 1


def test_e08_what_was_asked_is_counted_and_nothing_is_left(
    cluster: ControlPlane, admin: Client, scheduler: SchedulerProcess
) -> None:
    def calls(**labels: str) -> float:
        return scheduler.metric("kpolicy_extender_calls_total", **labels)

    assert calls(verb="filter", result="success") > 10
    assert calls(verb="filter", result="error") >= 4
    assert calls(verb="bind", result="success") >= 2
    wait_for(
        lambda: scheduler.metric("scheduler_cache_size", type="assumed_pods") == 0,
        "every reservation to end",
    )
    assert scheduler.metric("kpolicy_pods_at_extenders") == 0
    assert scheduler.terminate() == 0, scheduler.tail()
    ours = [event for event in cluster.audit_events() if event.user == NORMAL and event.writes]
    assert {(event.verb, event.what) for event in ours} <= WRITES_ALLOWED
