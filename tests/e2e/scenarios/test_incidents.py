"""Q: what once went wrong in kube-scheduler, and must not here."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest

from tests.cluster.client import wait_for
from tests.e2e.nemeses.faults import Answer, Delay, Hold, Late, bind_of, is_bind
from tests.e2e.nemeses.proxy import Proxy
from tests.e2e.scenarios.test_filters import affinity, pod_terms, spread, with_app
from tests.e2e.stage import Stage

pytestmark = pytest.mark.cluster


def test_q01_a_pod_deleted_while_it_is_bound_leaves_no_phantom(
    proxied: Stage, proxy: Proxy
) -> None:
    proxied.node("only", cpu="1")
    hold = Hold()
    proxy.script(bind_of("phantom"), hold)
    proxied.pod("phantom", cpu="1")
    assert hold.met.wait(90)
    proxied.delete_pod("phantom")
    hold.released.set()
    proxied.pod("next", cpu="1")
    proxied.bound("next", "only")
    proxied.settled()
    assert proxied.scheduler.metric("scheduler_cache_size", type="pods") == 1


def test_q02_an_update_and_a_delete_seen_together_neither_stick_nor_leak(stage: Stage) -> None:
    stage.node("only", cpu="1")
    stage.pod("bound", cpu="600m")
    stage.bound("bound", "only")
    stage.pod("parked", cpu="600m")
    stage.parked("parked")
    with stage.scheduler.frozen():
        for name in ("bound", "parked"):
            stage.patch_pod(name, {"metadata": {"labels": {"changed": "yes"}}})
            stage.delete_pod(name)
        stage.pod("brief", cpu="600m")
        stage.patch_pod("brief", {"metadata": {"labels": {"changed": "yes"}}})
        stage.delete_pod("brief")
        stage.pod("next", cpu="1")
    stage.bound("next", "only")
    stage.settled()
    assert stage.scheduler.metric("scheduler_pending_pods") == 0
    assert stage.scheduler.metric("scheduler_cache_size", type="pods") == 1


def test_q03_every_popped_pod_is_done_on_every_path(proxied: Stage, proxy: Proxy) -> None:
    """Placed, parked, deleted while it is bound, refused by the API server, gated: afterwards
    nothing is being tried, and each that should be is bound."""
    proxied.node("only", cpu="2")
    gone = Hold()
    proxy.script(bind_of("gone"), gone)
    proxy.script(bind_of("refused"), Answer(403))
    proxy.script(bind_of("broken"), Answer(500))
    names = ("placed", "gone", "refused", "broken")
    for name in names:
        proxied.pod(name)
    proxied.pod("parked", cpu="8")
    proxied.pod("gated", spec={"schedulingGates": [{"name": "example.com/wait"}]})
    assert gone.met.wait(90)
    proxied.delete_pod("gone")
    gone.released.set()
    assert set(proxied.all_bound(3)) == {"placed", "refused", "broken"}
    proxied.parked("parked", "1 Insufficient cpu")
    proxied.settled()
    waiting = proxied.scheduler.counts("scheduler_pending_pods", "queue")
    assert +waiting == {("unschedulable",): 1, ("gated",): 1}


EVENTS, EVENTS_FULL = 1_500, 10_000


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "count",
    [EVENTS, pytest.param(EVENTS_FULL, marks=[pytest.mark.full, pytest.mark.timeout(3600)])],
)
def test_q04_after_many_random_events_the_cache_is_the_clusters(stage: Stage, count: int) -> None:
    """Compared from outside, by what can be placed: on each node exactly as much as is free."""
    assert churn(stage, Random(4), count) == count
    stage.settled()
    compare(stage)


def churn(stage: Stage, random: Random, count: int) -> int:
    """Pods come and go, bound by us or by others, nodes come, go and change; how many events."""
    nodes, pods = [f"n{number}" for number in range(6)], [f"p{number}" for number in range(40)]
    there: set[str] = set()
    done = 0

    def flip_node(name: str) -> None:
        if name in there and random.random() < 0.3:
            stage.delete_node(name)
            there.discard(name)
        elif name in there:
            cpu = str(random.randint(1, 8))
            stage.patch_node(name, {"status": {"allocatable": {"cpu": cpu}}}, status=True)
        else:
            stage.node(name, cpu=str(random.randint(1, 8)), labels={"zone": random.choice("ab")})
            there.add(name)

    def flip_pod(name: str) -> None:
        if stage.admin.exists(stage.path(name)):
            if random.random() < 0.6:
                stage.delete_pod(name)
            else:
                labels = {"color": random.choice(("red", "blue"))}
                stage.patch_pod(name, {"metadata": {"labels": labels}})
            return
        ours = random.random() < 0.8
        scheduler = {} if ours else {"scheduler_name": "other"}
        stage.pod(name, cpu=f"{random.randint(1, 20) * 100}m", **scheduler)
        if not ours and there:
            stage.admin.bind(name, random.choice(sorted(there)), namespace=stage.namespace)

    while done < count:
        if done % 10 == 0:
            flip_node(random.choice(nodes))
        else:
            flip_pod(random.choice(pods))
        done += 1
    return done


def compare(stage: Stage) -> None:
    """The scheduler's counts equal the API server's, and so do the free resources of each node."""
    admin, scheduler = stage.admin, stage.scheduler
    stage.prove_seen()
    nodes = {node["metadata"]["name"]: node for node in admin.list("/api/v1/nodes")}
    pods = admin.pods()
    compared = stage.compared()
    assert (compared["nodes"], compared["pods"]) == (len(nodes), len(pods))
    assert compared["differences"] == 0, compared

    def counted() -> bool:
        assigned = [pod for pod in admin.pods() if pod["spec"].get("nodeName")]
        on_nodes = scheduler.metric("scheduler_cache_size", type="pods")
        pending = scheduler.metric("scheduler_pending_pods")
        ours = [pod for pod in admin.pods() if pod["spec"]["schedulerName"] == "kpolicy"]
        waiting = [pod for pod in ours if not pod["spec"].get("nodeName")]
        return (pending, scheduler.metric("scheduler_cache_size", type="nodes")) == (
            len(waiting),
            len(nodes),
        ) and on_nodes in (len(assigned), len(pods))

    wait_for(counted, "the scheduler to count what the API server has")
    for number, (name, free) in enumerate(sorted(room(nodes, pods).items())):
        if free <= 0:
            continue
        here = affinity("metadata.name", "In", name, fields=True)
        stage.pod(f"more-{number}", cpu=f"{free + 1}m", memory=None, spec=here)
        stage.parked(f"more-{number}")
        stage.delete_pod(f"more-{number}")
        stage.pod(f"just-{number}", cpu=f"{free}m", memory=None, spec=here)
        stage.bound(f"just-{number}", name)


def room(nodes: dict[str, Any], pods: Any) -> dict[str, int]:
    """Free milli-cpu of each node without a plug's taint, by the API server."""
    free = {
        name: milli(node["status"]["allocatable"]["cpu"])
        for name, node in nodes.items()
        if not node["spec"].get("taints")
    }
    for pod in pods:
        node = pod["spec"].get("nodeName")
        if node in free:
            for container in pod["spec"]["containers"]:
                requests = container.get("resources", {}).get("requests", {})
                free[node] -= milli(requests.get("cpu", "0"))
    return free


def milli(quantity: str) -> int:
    return int(quantity[:-1]) if quantity.endswith("m") else 1000 * int(quantity)


def test_q05_slow_binds_and_a_slow_watch_never_overcommit(proxied: Stage, proxy: Proxy) -> None:
    """A bind's answer takes longer than its timeout, and the watch of pods stands still."""
    proxied.node("only", cpu="2")
    proxied.prove_seen()
    proxy.script(is_bind, Delay(7), times=4)
    proxy.silence_watches()
    for number in range(8):
        proxied.pod(f"p{number}", cpu="500m")
    # Of pods made in the silence nothing is known until the watches break.
    proxy.reset_watches()
    proxied.all_bound(4)
    proxied.prove_seen()
    proxied.settled(timeout_s=60)
    placed = [name for name in proxied.placements() if name.startswith("p") and "-" not in name]
    assert len(placed) == 4


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seconds", [20, pytest.param(60, marks=pytest.mark.full)])
def test_q05_binds_and_news_that_come_late_never_overcommit(
    proxied: Stage, proxy: Proxy, seconds: float
) -> None:
    """Every bind comes to the API server when nobody waits for it any more, and of each the watch
    tells as much later: what was given up in between would have been promised twice."""
    proxied.node("only", cpu="2")
    proxied.prove_seen()
    proxy.script(is_bind, Late(seconds), times=1000)
    proxy.lag_watches(seconds)
    for number in range(8):
        proxied.pod(f"p{number}", cpu="500m")
    proxied.all_bound(4, timeout_s=90 + 3 * seconds)
    assert proxied.scheduler.metric("kpolicy_binds_in_doubt") > 0
    wait_for(
        lambda: proxied.scheduler.metric("kpolicy_binds_in_doubt") == 0,
        "every bind to be settled",
        timeout_s=60 + seconds,
    )
    proxy.heal()
    proxied.prove_seen()
    proxied.settled(timeout_s=60)
    placed = [name for name in proxied.placements() if name.startswith("p") and "-" not in name]
    assert len(placed) == 4
    assert len({call.path for call in proxy.calls(is_bind)}) >= 4


def test_q06_no_pod_spec_stops_the_others(stage: Stage) -> None:
    stage.node("only", labels={"zone": "one"})
    poison: list[dict[str, Any]] = [
        affinity("metadata.name", "In", "never-was", fields=True),
        affinity("cores", "Gt", "9223372036854775807"),
        {"nodeSelector": {f"key-{number}": "v" * 63 for number in range(200)}},
        pod_terms("podAffinity", *[with_app(f"app-{number}") for number in range(50)]),
        pod_terms("podAntiAffinity", with_app("x" * 63, "no/such-topology")),
        spread(maxSkew=2147483647, minDomains=2147483647),
        {"tolerations": [{"key": f"k{n}", "operator": "Exists"} for n in range(500)]},
        {"overhead": None, "nodeName": ""},
        {"topologySpreadConstraints": [], "affinity": {}},
        {"containers": [container(cpu="9223372036854775807")]},
        {"containers": [container(cpu="1n")]},
        {"containers": [container(**{"example.com/none": "1"})]},
        {"containers": [{**container(), "name": f"c{number}"} for number in range(100)]},
    ]
    accepted = 0
    for number, spec in enumerate(poison):
        body = {
            "metadata": {"name": f"poison-{number}"},
            "spec": {"schedulerName": "kpolicy", "containers": [container()], **spec},
        }
        path = f"/api/v1/namespaces/{stage.namespace}/pods"
        accepted += stage.admin.request("POST", path, body).status == 201
    assert accepted >= 11, "the API server lets most of them in"
    for number in range(5):
        stage.pod(f"healthy-{number}")
        stage.bound(f"healthy-{number}", "only")
    stage.prove_seen()
    assert stage.scheduler.alive


def container(**requests: str) -> dict[str, Any]:
    resources = {"requests": requests, "limits": requests} if requests else {}
    return {"name": "main", "image": "none", "resources": resources}


def test_q07_a_recreated_pod_of_the_same_name_is_another_pod(proxied: Stage, proxy: Proxy) -> None:
    """As a StatefulSet does, while the old one's bind is under way."""
    proxied.node("only", cpu="1")
    hold = Hold()
    proxy.script(bind_of("web-0"), hold)
    first = proxied.pod("web-0", cpu="1")["metadata"]["uid"]
    assert hold.met.wait(90)
    proxied.delete_pod("web-0")
    second = proxied.pod("web-0", cpu="1")["metadata"]["uid"]
    hold.released.set()
    proxied.bound("web-0", "only")
    assert proxied.get("web-0")["metadata"]["uid"] == second != first
    sent = [json.loads(call.body)["metadata"]["uid"] for call in proxy.calls(bind_of("web-0"))]
    assert sent[0] == first
    assert sent[-1] == second
    proxied.settled()
    assert proxied.scheduler.metric("scheduler_cache_size", type="pods") == 1


def test_q08_one_slow_bind_holds_up_no_other_pod(proxied: Stage, proxy: Proxy) -> None:
    proxied.node("only")
    hold = Hold()
    proxy.script(bind_of("slow"), hold)
    proxied.pod("slow")
    assert hold.met.wait(90)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(proxied.pod, [f"quick-{number}" for number in range(20)]))
    proxied.all_bound(20)
    assert "slow" not in proxied.placements()
    hold.released.set()
    proxied.bound("slow", "only")
