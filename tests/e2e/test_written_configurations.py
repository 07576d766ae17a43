"""kube-scheduler takes the configurations that `kpolicy convert --to kube-scheduler` writes, and
then says of pods what kpolicy says under the policies that were converted.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
import yaml

from kpolicy import compile_policy
from kpolicy.engine import Engine
from kpolicy.policy.format.kube_scheduler import write_configuration
from kpolicy.policy.models.builtins import BUILTINS
from kpolicy.policy.yaml.source import Source
from tests.cluster.client import Client, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import KUBE_SCHEDULER

pytestmark = pytest.mark.cluster

NODES = 3
FILTERS = [name for name, builtin in BUILTINS.items() if builtin.is_default and builtin.filters]
SCORES = [name for name, builtin in BUILTINS.items() if builtin.is_default and builtin.scores]
# Predicates in the order in which they are asked, and weights of priorities, by policy.
POLICIES: Mapping[str, tuple[Sequence[str], Mapping[str, int]]] = {
    "in-order": (FILTERS, {name: BUILTINS[name].weight for name in SCORES}),
    "reversed": (FILTERS[::-1], dict.fromkeys(SCORES, 5)),
    "resources-first": (
        ["NodeResourcesFit", *(name for name in FILTERS if name != "NodeResourcesFit")],
        {"TaintToleration": 3, "NodeAffinity": 50},
    ),
    "few": (["TaintToleration", "NodeName", "NodeResourcesFit"], {"ImageLocality": 1}),
}
# It rejects every node in two ways; which one is named depends on the order.
IMPOSSIBLE = {
    "nodeSelector": {"disk": "none"},
    "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "1000"}}}],
}


def policy(name: str) -> str:
    predicates, priorities = POLICIES[name]
    spec = {
        "profiles": [{"schedulerName": name}],
        "base": "none",
        "predicateOrder": "asWritten",
        "predicates": [{"builtin": each} for each in predicates],
        "priorities": [{"builtin": each, "weight": by} for each, by in priorities.items()],
    }
    head = {"apiVersion": "kpolicy.dev/v1alpha1", "kind": "SchedulingPolicy"}
    return json.dumps({**head, "metadata": {"name": name}, "spec": spec})


@pytest.fixture(scope="module")
def cluster(
    control_plane_binary: object, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    written = write_configuration([Source(f"{name}.yaml", policy(name)) for name in POLICIES])
    assert written.text is not None
    assert [found for found in written.diagnostics if found.code == "KP608"] == []
    with ControlPlane() as control_plane:
        configuration = yaml.safe_load(written.text)
        kubeconfig = str(control_plane.kubeconfig(KUBE_SCHEDULER))
        configuration["clientConnection"] = {"kubeconfig": kubeconfig}
        configuration["leaderElection"] = {"leaderElect": False}
        path = tmp_path_factory.mktemp("configuration") / "scheduler.json"
        path.write_text(json.dumps(configuration))
        control_plane.admin.create_nodes(NODES)
        control_plane.start_scheduler(f"--config={path}")
        yield control_plane


@pytest.mark.parametrize("name", list(POLICIES))
def test_kube_scheduler_says_what_the_converted_policy_says(
    cluster: ControlPlane, name: str
) -> None:
    admin = cluster.admin
    admin.create_pod(f"{name}-fits", scheduler_name=name)
    wait_for(lambda: f"{name}-fits" in admin.placements("default"), "the pod to be bound")
    admin.create_pod(f"{name}-impossible", scheduler_name=name, spec=IMPOSSIBLE)
    assert message_of(admin, f"{name}-impossible") == ours(cluster, name, f"{name}-impossible")


def message_of(admin: Client, pod: str) -> str:
    def message() -> str:
        conditions = admin.pod(pod)["status"].get("conditions", [])
        found = (each for each in conditions if each["type"] == "PodScheduled")
        return next((str(each["message"]) for each in found), "")

    return wait_for(message, f"a condition of {pod}")


def ours(cluster: ControlPlane, name: str, pod: str) -> str:
    admin = cluster.admin
    release = f"1.{cluster.harness.minor}"
    program = compile_policy(policy(name), release=release).program
    assert program is not None
    engine = Engine(seed=1)
    assert engine.load(program.bytes) == []
    items: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": kind, **item}
        for kind, listed in (("Node", admin.list("/api/v1/nodes")), ("Pod", admin.pods()))
        for item in listed
    ]
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    assert not engine.load_objects(json.dumps(listed).encode(), "cluster")
    asked = json.dumps({"pods": [f"default/{pod}"]}).encode()
    (answer,) = engine.explain(asked, time.time_ns()).splitlines()
    message = str(json.loads(answer)["fullMessage"])
    assert message.startswith(f"0/{NODES} nodes are available")
    return message
