"""What is seen of `kpolicy run` from outside, on a real API server: who may read it (V-01 to V-04,
with TLS and tokens of the cluster), why a pod waits, that the cache is the cluster's (I4, I6), and
that a dashboard's queries give the numbers that the API server knows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kpolicy.policy.compile import compile_policy
from kpolicy.policy.yaml.source import Source
from kpolicy.telemetry.metrics import exponential
from tests.cluster.client import Client, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.rights import API_GROUP, RBAC
from tests.cluster.users import KUBE_SCHEDULER, NORMAL
from tests.e2e.rights import METRICS_RULES
from tests.e2e.scheduler_process import KPOLICY, SchedulerProcess
from tests.unit.telemetry.exposition import Family, parsed

pytestmark = pytest.mark.cluster

POLICY = Path(__file__).parent / "policies" / "thin.yaml"
PLACED, TOO_LARGE, EVENTS, NODES = 40, 3, 400, 4
READER = KUBE_SCHEDULER  # has a token, and no right to our paths until it is given one


@dataclass(frozen=True)
class Asked:
    """A request over TLS with a user's token."""

    process: SchedulerProcess
    plane: ControlPlane

    def status(self, path: str, token: str = "") -> tuple[int, str]:
        return self.process.status(path, token)

    def until(self, path: str, token: str = "") -> str:
        """Asks again while another request has its turn."""
        answers: list[str] = []

        def answered() -> bool:
            status, text = self.status(path, token)
            answers.append(text)
            assert status in (200, 429), (status, text)
            return status == 200

        wait_for(answered, path, timeout_s=60)
        return answers[-1]


@pytest.fixture(scope="module")
def asked(
    control_plane_binary: object, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Asked]:
    with ControlPlane() as plane:
        plane.grant(NORMAL, METRICS_RULES)
        folder = tmp_path_factory.mktemp("seen")
        with SchedulerProcess(
            plane.kubeconfig(NORMAL), POLICY, folder / "log", ("--auth=delegated",), tls=folder
        ) as process:
            yield Asked(process, plane)


@pytest.fixture(scope="module")
def token(asked: Asked) -> str:
    """Of a user who may read everything that is served."""
    return asked.plane.token("admin")


@contextmanager
def may_get(admin: Client, user: str, path: str) -> Iterator[None]:
    """Grants a non-resource path, as an operator does for a scraper."""
    named = {"metadata": {"name": "reader"}}
    admin.create(
        f"{RBAC}/clusterroles",
        {**named, "rules": [{"nonResourceURLs": [path], "verbs": ["get"]}]},
    )
    admin.create(
        f"{RBAC}/clusterrolebindings",
        {
            **named,
            "roleRef": {"apiGroup": API_GROUP, "kind": "ClusterRole", "name": "reader"},
            "subjects": [{"apiGroup": API_GROUP, "kind": "User", "name": user}],
        },
    )
    yield
    admin.delete(f"{RBAC}/clusterrolebindings/reader")
    admin.delete(f"{RBAC}/clusterroles/reader")


def test_health_is_open_and_other_pages_ask_the_cluster_for_the_user(asked: Asked) -> None:
    for path in ("/healthz", "/livez", "/readyz"):
        assert asked.status(path) == (200, "ok")
    reader = asked.plane.token(READER)
    debug = ("compare", "explain?pod=a/b", "queue", "rule?pod=a/b&node=n&rule=r")
    for path in ("/metrics", "/configz", *(f"/debug/{page}" for page in debug)):
        assert asked.status(path)[0] == 401
        assert asked.status(path, "a-token-that-nobody-has")[0] == 401
        status, text = asked.status(path, reader)
        assert status == 403
        assert f"{READER} may not get {path.partition('?')[0]}" in text
    with may_get(asked.plane.admin, READER, "/metrics"):
        wait_for(lambda: asked.status("/metrics", reader)[0] == 200, "the right", timeout_s=60)
        assert asked.status("/configz", reader)[0] == 403
    wait_for(lambda: asked.status("/metrics", reader)[0] == 403, "its end", timeout_s=60)


def test_no_token_is_kept_or_shown(asked: Asked, token: str) -> None:
    assert asked.status("/configz", token)[0] == 200
    shown = asked.status("/configz", token)[1] + asked.status("/metrics", token)[1]
    for user in ("admin", NORMAL, READER):
        assert asked.plane.token(user) not in shown + asked.process.log()


def family(asked: Asked, token: str, name: str) -> Family:
    status, text = asked.status("/metrics", token)
    assert status == 200
    return parsed(text)[name]


def total(found: Family, **labels: str) -> float:
    return sum(value for key, value in found.samples.items() if labels.items() <= dict(key).items())


@pytest.fixture(scope="module")
def played(asked: Asked, token: str) -> dict[str, Any]:
    """A run whose counts the API server knows."""
    admin = asked.plane.admin
    admin.create_namespace("seen")
    admin.create_nodes(NODES, prefix="node")
    wait_for(
        lambda: total(family(asked, token, "scheduler_cache_size"), type="nodes") == NODES,
        "the nodes to be known",
        timeout_s=60,
    )
    admin.create_pods(PLACED, namespace="seen", scheduler_name="kpolicy")
    for number in range(TOO_LARGE):
        admin.create_pod(f"large-{number}", namespace="seen", scheduler_name="kpolicy", cpu="64")
    admin.create_pod(
        "gated",
        namespace="seen",
        scheduler_name="kpolicy",
        spec={"schedulingGates": [{"name": "example.com/wait"}]},
    )
    wait_for(lambda: len(admin.placements("seen")) == PLACED, "the pods to be bound", timeout_s=60)
    wait_for(
        lambda: (
            total(family(asked, token, "scheduler_pending_pods"), queue="unschedulable")
            == TOO_LARGE
        ),
        "the large ones to be parked",
        timeout_s=60,
    )
    wait_for(
        lambda: total(family(asked, token, "scheduler_cache_size"), type="assumed_pods") == 0,
        "every reservation to end",
        timeout_s=60,
    )
    return {"pods": admin.pods("seen"), "nodes": admin.list("/api/v1/nodes")}


def test_a_dashboards_queries_give_the_api_servers_numbers(
    asked: Asked, token: str, played: dict[str, Any]
) -> None:
    status, text = asked.status("/metrics", token)
    assert status == 200
    found = parsed(text)
    pods = played["pods"]
    bound = [pod for pod in pods if pod["spec"].get("nodeName")]
    assert (len(bound), len(pods)) == (PLACED, PLACED + TOO_LARGE + 1)
    pending = found["scheduler_pending_pods"]
    assert pending.kind == "gauge"
    assert total(pending) == len(pods) - len(bound)
    assert total(pending, queue="gated") == 1
    assert total(pending, queue="unschedulable") == TOO_LARGE
    assert total(pending, queue="active") == 0
    attempts = found["scheduler_schedule_attempts_total"]
    assert attempts.kind == "counter"
    assert total(attempts, result="scheduled", profile="kpolicy") == len(bound)
    tries = total(attempts, result="unschedulable", profile="kpolicy")
    assert tries >= TOO_LARGE
    assert total(attempts, result="error") == 0
    duration = found["scheduler_scheduling_attempt_duration_seconds"]
    assert duration.count(result="scheduled", profile="kpolicy") == len(bound)
    assert duration.count(result="unschedulable", profile="kpolicy") == tries
    assert found["scheduler_scheduling_algorithm_duration_seconds"].count() == len(bound) + tries
    sli = found["scheduler_pod_scheduling_sli_duration_seconds"]
    assert sum(sli.counts.values()) == len(bound)
    assert found["scheduler_pod_scheduling_attempts"].count() == len(bound)
    points = found["scheduler_framework_extension_point_duration_seconds"]

    def cycles(point: str, status: str = "Success") -> float:
        return points.count(extension_point=point, status=status, profile="kpolicy")

    # As in kube-scheduler, filters that reject every node succeed at what they are for.
    assert cycles("PreFilter") == cycles("Filter") == len(bound) + tries
    assert cycles("PreScore") == cycles("Score") == cycles("Bind") == len(bound)
    assert 1 <= cycles("PostFilter", "Unschedulable") <= tries
    named = {dict(labels)["extension_point"] for labels in points.counts}
    assert named == {"PreFilter", "Filter", "PostFilter", "PreScore", "Score", "Bind"}
    assert total(found["scheduler_unschedulable_pods"], profile="kpolicy") >= TOO_LARGE
    incoming = found["scheduler_queue_incoming_pods_total"]
    # 1.37 has another word for it.
    added = "UnschedulablePodAdd" if asked.plane.harness.minor < 37 else "UnscheduledPodAdd"
    assert total(incoming, event=added) == len(pods)
    assert total(incoming, event=added, queue="gated") == 1
    size = found["scheduler_cache_size"]
    assert total(size, type="nodes") == len(played["nodes"])
    assert total(size, type="pods") == len(pods)
    assert found["scheduler_preemption_victims"].count() == 0
    requests = found["rest_client_requests_total"]
    assert total(requests, method="POST", code="201") >= len(bound)


def test_each_plugins_latency_is_reported_by_node(
    asked: Asked, token: str, played: dict[str, Any]
) -> None:
    """What a dashboard divides: seconds by evaluations, of every tenth cycle."""
    found = parsed(asked.status("/metrics", token)[1])
    plugins = found["scheduler_plugin_execution_duration_seconds"]
    assert plugins.kind == "histogram"
    sizes = found["kpolicy_engine_size"]
    decisions = total(sizes, what="decisions")
    assert decisions >= PLACED + TOO_LARGE
    sampled = -(-decisions // 10)
    rules = set(policy_rules())
    named = {dict(labels)["plugin"] for labels in plugins.counts}
    # Every profile has the rule of pod groups, and may make room and bind.
    always = {"GangScheduling", "DefaultPreemption", "DefaultBinder"}
    assert {"NodeResourcesFit", "no-spot", "DefaultBinder"} <= named <= rules | always
    checked = 0
    for labels, count in plugins.counts.items():
        plugin, point = dict(labels)["plugin"], dict(labels)["extension_point"]
        by_node = point in ("Filter", "Score")
        assert 1 <= count <= sampled * (NODES if by_node else 1), labels
        assert 0 <= plugins.sums[labels] < 60, labels
        checked += 1
        assert point in {
            "PreFilter",
            "Filter",
            "PostFilter",
            "PreScore",
            "Score",
            "ScoreExtensionNormalize",
            "Bind",
        }, plugin
        bounds = [bound for bound, _ in plugins.buckets[labels]]
        assert bounds == [*exponential(0.00001, 1.5, 20), float("inf")]
    assert checked > len(rules)
    # The very first decision is one that is looked at, and has nothing to remember.
    fit = plugins.count(plugin="NodeResourcesFit", extension_point="Filter", status="Success")
    assert fit >= NODES
    bound = plugins.count(plugin="DefaultBinder", extension_point="Bind", status="Success")
    assert bound == -(-PLACED // 10)
    per_node_s = (
        plugins.sums[
            frozenset(
                {
                    ("plugin", "NodeResourcesFit"),
                    ("extension_point", "Filter"),
                    ("status", "Success"),
                }
            )
        ]
        / fit
    )
    assert 0 < per_node_s < 0.001


def policy_rules() -> set[str]:
    """The names of all rules of the policy that was given."""
    compiled = compile_policy([Source(str(POLICY), POLICY.read_bytes())])
    assert compiled.program is not None
    profiles = json.loads(compiled.program.bytes)["profiles"]
    return {
        rule["name"] for profile in profiles for rule in (*profile["filters"], *profile["scores"])
    }


def test_explain_says_why_a_pod_waits(asked: Asked, token: str, played: dict[str, Any]) -> None:
    text = asked.until("/debug/explain?pod=seen/large-0", token)
    assert text.startswith("seen/large-0: fits none of 4 nodes")
    assert "Insufficient cpu (NodeResourcesFit)" in text
    assert "tried again when" in text
    assert "is parked since " in text
    shown = json.loads(asked.until("/debug/explain?pod=seen/large-0&output=json", token))
    assert [node["filter"]["plugin"] for node in shown["nodes"]] == ["NodeResourcesFit"] * 4
    assert shown["queue"]["lane"] == "unschedulable"
    assert shown["queue"]["attempts"] >= 1
    assert "not in the queue" in asked.until("/debug/explain?pod=seen/pod-0", token)


def compared(asked: Asked, token: str) -> dict[str, Any]:
    return dict(json.loads(asked.until("/debug/compare", token)))


def test_the_cache_is_the_clusters_after_many_random_events(
    asked: Asked, token: str, played: dict[str, Any]
) -> None:
    admin, random = asked.plane.admin, Random(6)
    names: set[str] = set()
    for number in range(EVENTS):
        name = f"churn-{random.randrange(40)}"
        if name in names:
            admin.delete_pod(name, namespace="seen")
            names.discard(name)
        else:
            profile = random.choice(("kpolicy", "kpolicy", "other"))
            cpu = random.choice(("100m", "4", "48"))
            admin.create_pod(name, namespace="seen", scheduler_name=profile, cpu=cpu)
            names.add(name)
            if profile == "other":
                admin.bind(name, f"node-{random.randrange(4)}", namespace="seen")
        if number % 50 == 25:
            admin.create_node(f"more-{number}")
        elif number % 50 == 49:
            admin.delete(f"/api/v1/nodes/more-{number - 24}")
    result = compared(asked, token)
    pods = admin.pods()
    assert result["pods"] == len(pods)
    assert result["nodes"] == len(admin.list("/api/v1/nodes"))
    assert result["differences"] == 0, result
    differences = family(asked, token, "kpolicy_comparer_differences")
    assert len(differences.samples) == 15
    assert total(differences) == 0
    assert total(family(asked, token, "kpolicy_comparer_runs_total"), result="compared") >= 1


def test_a_signal_compares_and_writes_the_queue_to_the_log(
    asked: Asked, played: dict[str, Any]
) -> None:
    os.kill(asked.process.pid, signal.SIGUSR2)
    wait_for(lambda: "the queue holds " in asked.process.log(), "the dump", timeout_s=60)
    records = [json.loads(line) for line in asked.process.log().splitlines() if line[:1] == "{"]
    queued = {record["msg"]: record for record in records if record["msg"].startswith("queued: ")}
    large = queued["queued: seen/large-0"]
    assert (large["lane"], large["profile"]) == ("unschedulable", "kpolicy")
    assert large["rejected_by"] == ["NodeResourcesFit"]
    assert queued["queued: seen/gated"]["lane"] == "gated"
    assert [record["msg"] for record in records if record.get("code") == "KPS303"] == []
    assert "compared with the API server: 0 differences" in {record["msg"] for record in records}


def test_a_token_over_a_network_without_tls_is_refused_at_start(tmp_path: Path) -> None:
    command = [str(KPOLICY), "run", "--bind-address=0.0.0.0", "--auth=delegated"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert ended.stderr.startswith("kpolicy: KPS207: --auth=delegated on 0.0.0.0 needs TLS")
