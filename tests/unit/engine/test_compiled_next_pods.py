"""The order of the queue and the holds of a policy, as the engine tells them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from kpolicy import Source, compile_policy
from kpolicy.engine import Engine, Outcome, QueueFault, WaitingPod
from kpolicy.testing import node, pod
from tests.unit.engine.queue_model import Model, ModelPod, Number

SECOND = 1_000_000_000
CPUS = 256
LABEL = "example.com/team"


def program(queue: dict[str, Any], **spec: Any) -> bytes:
    document = {
        "apiVersion": "kpolicy.dev/v1alpha1",
        "kind": "SchedulingPolicy",
        "metadata": {"name": "p"},
        "spec": {"profiles": [{"schedulerName": "kpolicy"}], "queue": queue, **spec},
    }
    compiled = compile_policy([Source("policy.yaml", json.dumps(document))])
    assert compiled.program is not None, compiled.diagnostics
    return compiled.program.bytes


class Cluster:
    """An engine, and pods that come and go. `is_told_of`: whether the last change was told."""

    def __init__(self, queue: dict[str, Any], cpus: int = CPUS, **spec: Any) -> None:
        self.engine = Engine(threads=1)
        assert self.engine.load(program(queue, **spec)) == []
        self.now_s = 0
        self.entered: list[WaitingPod] = []
        self.left: list[str] = []
        self.held: dict[str, str] = {}
        self.faults: list[QueueFault] = []
        self.is_told_of = False
        self.watch("nodes", "ADDED", node("n", cpu=str(cpus), pods=1_000))

    def watch(self, resource: str, change: str, item: dict[str, Any]) -> None:
        line = json.dumps({"type": change, "object": item}).encode() + b"\n"
        applied = self.engine.watch(resource, line, self.now_s * SECOND)
        assert not applied.unreadable
        self.is_told_of = bool(applied.pods or applied.wakes)

    def pass_a_minute(self) -> None:
        self.now_s += 60
        self.is_told_of = bool(self.engine.pass_time(self.now_s * SECOND).wakes)

    def come(self, name: str, namespace: str = "a", cpu: int = 1, **more: Any) -> None:
        self.watch("pods", "ADDED", made(name, namespace, cpu, **more))
        self.wait(name)

    def wait(
        self,
        name: str,
        first_s: int | None = None,
        attempts: int = 0,
        *,
        is_resting: bool = False,
    ) -> None:
        first_s = self.now_s if first_s is None else first_s
        times = (self.now_s * SECOND, first_s * SECOND)
        waiting = WaitingPod(name, *times, attempts, is_set_aside=False, is_resting=is_resting)
        self.entered.append(waiting)

    def leave(self, name: str) -> None:
        """Who left did not come: the queue says only one of the two."""
        self.entered = [waiting for waiting in self.entered if waiting.uid != name]
        self.left.append(name)

    def next(self, limit: int) -> list[str]:
        picked: list[str] = []
        while True:
            now_ns = self.now_s * SECOND
            following = self.engine.next_pods(
                self.entered, self.left, limit - len(picked), now_ns, now_ns
            )
            self.entered, self.left = [], []
            picked += following.picked
            self.held |= {held.uid: held.hold for held in following.held}
            self.faults += following.faults
            if not following.is_more or len(picked) == limit:
                return picked

    def place(self, uids: list[str]) -> list[str]:
        """Those that were placed."""
        decisions = self.engine.schedule(uids, self.now_s * SECOND).decisions
        assert [decision.uid for decision in decisions] == uids
        return [decision.uid for decision in decisions if decision.node]

    def settle(self, uid: str, outcome: Outcome) -> None:
        self.is_told_of = bool(self.engine.settle([(uid, outcome)], self.now_s * SECOND))

    def bind(self, name: str, namespace: str, cpu: int, **more: Any) -> None:
        self.watch("pods", "MODIFIED", made(name, namespace, cpu, **more, node_name="n"))

    def gone(self, name: str, namespace: str = "a", cpu: int = 1) -> None:
        self.watch("pods", "DELETED", made(name, namespace, cpu))


def made(name: str, namespace: str, cpu: int, **more: Any) -> dict[str, Any]:
    item = pod(name, namespace, str(cpu), **more)
    item["metadata"]["uid"] = name
    return item


def test_without_a_word_about_the_queue_the_engine_orders_nothing() -> None:
    engine = Engine(threads=1)
    assert engine.load(program({})) == []
    assert not engine.orders_queue()
    assert engine.load(program({"order": {"expression": "pod.priority"}})) == []
    assert engine.orders_queue()


def test_shares_are_even_inside_a_batch() -> None:
    cluster = Cluster({"order": {"expression": "tenant.share"}})
    for number in range(4):
        cluster.come(f"a{number}", "a", 2)
    for number in range(6):
        cluster.come(f"b{number}", "b", 1)
    assert cluster.next(7) == ["a0", "b0", "b1", "a1", "b2", "b3", "a2"]
    assert cluster.next(10) == ["b4", "b5", "a3"]


def test_what_fails_is_told_once_for_pods_that_are_alike_and_they_come_last() -> None:
    order = "pod.labels[?'a'].hasValue() ? double(pod.request('cpu')) : 0.0 / double(pod.priority)"
    hold = {"name": "class", "when": "pod.labels['class'] == 'late'"}
    cluster = Cluster({"order": {"expression": order}, "holds": [hold]})
    for name in ("no-number", "like-it"):
        cluster.come(name, labels={"class": ""})
    cluster.come("number", cpu=2, labels={"a": "", "class": ""})
    cluster.come("no-class", labels={"a": ""})
    assert cluster.next(9) == ["number", "no-number", "like-it"]
    failed = [(fault.uid, fault.rule, fault.code) for fault in cluster.faults]
    assert failed == [("no-number", "queue.order", "KR111"), ("no-class", "class", "KR102")]
    assert cluster.faults[0].message == "it gave NaN, which is no number"
    cluster.faults = []
    cluster.now_s = 60
    assert cluster.next(9) == []
    assert cluster.faults == []


def test_pods_with_equal_numbers_come_in_the_order_of_kube_scheduler() -> None:
    cluster = Cluster({"order": {"expression": "pod.labels[?'late'].hasValue() ? 1 : 0"}})
    cluster.come("late", labels={"late": ""}, priority=9)
    cluster.come("first")
    cluster.now_s = 5
    cluster.come("second")
    cluster.come("important", priority=3)
    assert cluster.next(9) == ["important", "first", "second", "late"]


def test_a_pod_that_was_overtaken_too_often_is_next() -> None:
    order = {"expression": "pod.request('cpu')", "maxOvertakes": 3}
    cluster = Cluster({"order": order})
    cluster.come("large", cpu=9)
    cluster.come("larger", cpu=10)
    tried: list[str] = []
    for number in range(12):
        cluster.come(f"small-{number}", cpu=1)
        tried += cluster.next(1)
    # Three came later and went first; a fourth would have been too many.
    assert tried.index("large") == 3
    assert tried.index("larger") == 4


@pytest.mark.parametrize(
    "expression",
    ["int(0.0 / double(pod.priority))", "1 / pod.priority", "int(pod.labels['absent'])"],
)
def test_a_pod_without_a_number_comes_last_and_is_counted(expression: str) -> None:
    cluster = Cluster({"order": {"expression": f"pod.name == 'x' ? {expression} : 5"}})
    cluster.come("x")
    cluster.come("y")
    assert cluster.next(9) == ["y", "x"]
    rules = json.loads(cluster.engine.statistics())["rules"]
    assert rules["kpolicy/queue.order"]["errors"] == 1


CAP = "tenant.used('cpu') + pod.request('cpu') > 4000"


def test_what_is_no_number_is_no_order() -> None:
    cluster = Cluster({"order": {"expression": "0.0 / double(pod.priority)"}})
    cluster.come("first")
    cluster.come("second", priority=1)
    assert cluster.next(9) == ["second", "first"]


def test_a_held_pod_is_told_once_and_handed_out_when_there_is_room() -> None:
    cluster = Cluster({"holds": [{"name": "cap", "when": CAP, "message": "too much"}]})
    for name in ("p", "q", "r"):
        cluster.come(name, cpu=2)
    cluster.come("s", "b", 4)
    assert cluster.next(9) == ["p", "q", "s"]
    assert cluster.held == {"r": "cap"}
    assert cluster.engine.message("r") == "too much"
    assert cluster.place(["p", "q", "s"]) == ["p", "q", "s"]
    cluster.held.clear()
    assert cluster.next(9) == []
    assert cluster.held == {}
    cluster.bind("p", "a", 2)
    cluster.gone("p", cpu=2)
    assert cluster.is_told_of
    assert cluster.next(9) == ["r"]


def test_what_was_handed_out_counts_until_it_is_known_what_became_of_it() -> None:
    cluster = Cluster({"holds": [{"name": "cap", "when": CAP}]})
    cluster.come("p", cpu=4)
    cluster.come("q", cpu=4)
    assert cluster.next(1) == ["p"]
    assert cluster.next(9) == [], "it may still be placed"
    # An extender failed: the pod backs off, and nothing was decided about it.
    cluster.left.append("p")
    assert cluster.next(9) == ["q"]
    assert cluster.place(["q"]) == ["q"]
    cluster.settle("q", Outcome.FAILED)
    assert not cluster.is_told_of, "nobody is held: `p` has not come back yet"
    cluster.wait("p")
    assert cluster.next(9) == ["p"]


def test_a_pod_that_is_being_tried_or_has_a_node_is_explained_as_when_it_waited() -> None:
    cluster = Cluster({"holds": [{"name": "cap", "when": CAP, "message": "too much"}]})
    cluster.come("p", cpu=4)
    before = explained(cluster, "p")
    assert cluster.next(1) == ["p"]
    assert explained(cluster, "p") == before
    cluster.come("q", cpu=4)
    assert explained(cluster, "q") == ["cap"], "what the other is being tried with counts"
    assert cluster.place(["p"]) == ["p"]
    assert explained(cluster, "p") == before == []
    advice = json.loads(cluster.engine.advise(b'{"pods": ["a/p"], "limit": 1}', 0).splitlines()[0])
    assert "too much" not in json.dumps(advice)


def explained(cluster: Cluster, name: str) -> list[str]:
    """The rules that do not let the pod be tried."""
    request = json.dumps({"pods": [f"a/{name}"]}).encode()
    line = json.loads(cluster.engine.explain(request, 0))
    found = line.get("preEnqueue")
    return [] if found is None else [found["plugin"]]


def parked(*names: str, cpu: int = 300) -> Cluster:
    """A cluster in which these pods of the namespace `a` fit nowhere, and may have 4 cpus."""
    cap = {"name": "cap", "when": "tenant.used('cpu') >= 4000", "message": "has its 4 cpus"}
    cluster = Cluster({"holds": [cap]})
    for name in names:
        cluster.come(name, cpu=cpu)
        assert cluster.next(9) == [name]
        assert cluster.place([name]) == []
        cluster.wait(name, is_resting=True)
    assert cluster.next(9) == []
    assert cluster.held == {}
    return cluster


def test_a_parked_pod_is_held_from_the_moment_that_a_hold_begins() -> None:
    cluster = parked("p", "q")
    assert "Insufficient cpu" in cluster.engine.message("p")
    cluster.bind("of-others", "b", 9)
    assert cluster.next(9) == []
    assert cluster.held == {}
    cluster.bind("running", "a", 4)
    assert cluster.is_told_of
    assert cluster.next(9) == []
    assert cluster.held == {"p": "cap", "q": "cap"}
    assert cluster.engine.message("p") == "has its 4 cpus"
    cluster.gone("running", cpu=4)
    assert cluster.is_told_of
    assert cluster.next(1) == ["p"]
    assert cluster.place(["p"]) == []
    cluster.wait("p", is_resting=True)
    assert cluster.next(9) == ["q"]


def test_pods_that_are_being_tried_do_not_hold_parked_ones() -> None:
    cluster = parked("p", "q")
    cluster.wait("p")
    for _ in range(3):
        assert cluster.next(9) == ["p"]
        assert cluster.next(9) == []
        assert cluster.place(["p"]) == []
        cluster.wait("p", is_resting=True)
        assert cluster.next(9) == []
        assert cluster.held == {}
        cluster.wait("p")


def test_holds_begin_by_time_by_nodes_and_by_namespaces_also_for_parked_pods() -> None:
    cases: list[tuple[str, Callable[[Cluster], None]]] = [
        ("now.within('1 0 * * *', duration('1h'))", Cluster.pass_a_minute),
        ("cluster.nodeCount > 1", lambda c: c.watch("nodes", "ADDED", node("m", cpu="1"))),
        (
            "'stop' in namespaceObject.labels",
            lambda c: c.watch("namespaces", "MODIFIED", namespace("a", {"stop": ""})),
        ),
        ("tenant.share > 0.4", lambda c: c.watch("nodes", "MODIFIED", node("n", cpu="2"))),
    ]
    for when, change in cases:
        cluster = Cluster({"holds": [{"name": "h", "when": when}]})
        cluster.watch("namespaces", "ADDED", namespace("a", {}))
        cluster.bind("running", "a", 1)
        cluster.come("p", cpu=300)
        assert cluster.next(9) == ["p"], when
        assert cluster.place(["p"]) == []
        cluster.wait("p", is_resting=True)
        assert cluster.next(9) == []
        change(cluster)
        assert cluster.is_told_of, when
        assert cluster.next(9) == [], when
        assert cluster.held == {"p": "h"}, when


def test_parked_pods_of_any_number_are_asked_about_in_calls_of_bounded_work() -> None:
    cluster = parked("p")
    lines = [
        json.dumps({"type": "ADDED", "object": made(f"p{number}", "a", 300, priority=number)})
        for number in range(12_000)
    ]
    cluster.engine.watch("pods", "\n".join(lines).encode() + b"\n", 0)
    for number in range(12_000):
        cluster.wait(f"p{number}", attempts=number, is_resting=True)
    cluster.bind("running", "a", 4)
    following = cluster.engine.next_pods(cluster.entered, [], 9, 0, 0)
    assert following.picked == []
    assert following.is_more
    assert 0 < len(following.held) < 12_000
    cluster.entered = []
    assert cluster.next(9) == []
    assert len(cluster.held) + len(following.held) == 12_001


def test_a_hold_that_errs_holds() -> None:
    hold = {"name": "odd", "when": "int(pod.labels['n']) > 3"}
    cluster = Cluster({"holds": [hold]})
    cluster.come("p")
    cluster.come("q", labels={"n": "2"})
    assert cluster.next(9) == ["q"]
    assert cluster.held == {"p": "odd"}
    assert "could not be evaluated" in cluster.engine.message("p")


def test_holds_end_by_time_by_nodes_and_by_namespaces() -> None:
    cases: list[tuple[str, Callable[[Cluster], None]]] = [
        ("!now.within('1 0 * * *', duration('1h'))", Cluster.pass_a_minute),
        ("cluster.nodeCount < 2", lambda c: c.watch("nodes", "ADDED", node("m"))),
        (
            "!('go' in namespaceObject.labels)",
            lambda c: c.watch("namespaces", "MODIFIED", namespace("a", {"go": ""})),
        ),
        ("tenant.share * 2.0 < 1.0", lambda c: c.watch("nodes", "MODIFIED", node("n", cpu="2"))),
    ]
    for when, change in cases:
        cluster = Cluster({"holds": [{"name": "h", "when": when}]})
        cluster.watch("namespaces", "ADDED", namespace("a", {}))
        cluster.bind("running", "a", 1)
        cluster.come("p")
        assert cluster.next(9) == [], when
        change(cluster)
        assert cluster.is_told_of, when
        assert cluster.next(9) == ["p"], when


def namespace(name: str, labels: dict[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "uid": name, "labels": labels},
    }


@dataclass(frozen=True, slots=True)
class Case:
    """An order and a hold, and what they mean."""

    expression: str
    number: Callable[[Model, ModelPod], Number]
    when: str = "pod.name == ''"
    holds: Callable[[Model, ModelPod], bool] = lambda _model, _pod: False
    overtakes_max: int = 1_000


def share(model: Model, pod: ModelPod) -> float:
    return model.used(model.tenant_of[pod.namespace]) / model.capacity


def fits_quota(model: Model, pod: ModelPod) -> bool:
    return model.used(model.tenant_of[pod.namespace]) + pod.cpu <= 6


def others(model: Model, pod: ModelPod) -> int:
    mine = model.tenant_of[pod.namespace]
    return sum(model.used(tenant) for tenant in set(model.tenant_of.values()) - {mine})


CASES = [
    Case("tenant.share", share, overtakes_max=5),
    Case("pod.request('cpu')", lambda _, pod: pod.cpu, overtakes_max=2),
    Case(
        "double(pod.request('cpu')) / 1000.0 - double(queue.age) / 7.0",
        lambda model, pod: pod.cpu - (model.now_s - pod.first_s) / 7.0,
    ),
    Case(
        "tenant.share",
        share,
        "tenant.used('cpu') + pod.request('cpu') > 6000",
        lambda model, pod: not fits_quota(model, pod),
    ),
    Case(
        "pod.priority == 1 ? 1 / (pod.priority - 1) : pod.priority",
        lambda _, pod: None if pod.priority == 1 else pod.priority,
        "tenant.othersUsed('cpu') + tenant.used('cpu') + pod.request('cpu') > 9000",
        lambda model, pod: others(model, pod) + share(model, pod) * CPUS + pod.cpu > 9,
    ),
]


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_it_is_what_a_naive_queue_does(case: Case, *, labelled: bool) -> None:
    for seed in range(12):
        compared(case, Random(seed), labelled=labelled)


def compared(case: Case, random: Random, *, labelled: bool) -> None:
    queue: dict[str, Any] = {
        "order": {"expression": case.expression, "maxOvertakes": case.overtakes_max},
        "holds": [{"name": "h", "when": case.when}],
    }
    tenants = {name: name for name in "abc"}
    if labelled:
        queue["tenantLabel"] = LABEL
        tenants = {"a": "x", "b": "x", "c": ""}
    cluster = Cluster(queue)
    for name, tenant in tenants.items():
        labels = {LABEL: tenant} if labelled and tenant else {}
        cluster.watch("namespaces", "ADDED", namespace(name, labels))
    model = Model(case.number, case.holds, dict(tenants), CPUS, case.overtakes_max)
    numbers = iter(range(1_000))
    for _ in range(60):
        act(cluster, model, random, f"p{next(numbers)}", labelled=labelled)
        limit = random.choice((0, 1, 2, 5))
        model.hold_resting()
        picked = cluster.next(limit)
        wanted = [found.uid for found in (model.next() for _ in range(limit)) if found]
        assert picked == wanted
        follow(cluster, model, random, picked)


def act(cluster: Cluster, model: Model, random: Random, name: str, *, labelled: bool) -> None:
    running = [each for each in model.pods.values() if each.state == "running"]
    waiting = model.waits()
    resting = [each for each in model.pods.values() if each.state == "resting"]
    match random.randrange(9):
        case 0 | 1 | 2:
            new = ModelPod(
                name,
                random.choice("abc"),
                random.randint(1, 3),
                random.randint(0, 2),
                cluster.now_s,
                cluster.now_s,
            )
            model.come(new)
            cluster.come(name, new.namespace, new.cpu, priority=new.priority)
        case 3 | 4 if running:
            ended = random.choice(running)
            del model.pods[ended.uid]
            cluster.gone(ended.uid, ended.namespace, ended.cpu)
            assert cluster.is_told_of
        case 5 if waiting:
            gone = random.choice(waiting)
            del model.pods[gone.uid]
            cluster.gone(gone.uid, gone.namespace, gone.cpu)
            cluster.leave(gone.uid)
        case 6 if labelled:
            moved, tenant = random.choice("abc"), random.choice(("x", "y", ""))
            held = [each for each in waiting if model.holds(model, each)]
            model.tenant_of[moved] = tenant
            is_freed = any(not model.holds(model, each) for each in held)
            cluster.watch(
                "namespaces", "MODIFIED", namespace(moved, {LABEL: tenant} if tenant else {})
            )
            assert cluster.is_told_of or not is_freed or not cluster.held
        case 7 if resting:
            woken = random.choice(resting)
            woken.since_s = cluster.now_s
            cluster.wait(woken.uid, woken.first_s)
            model.come(woken)
        case _:
            cluster.now_s += random.randint(1, 9)
            model.now_s = cluster.now_s


def follow(cluster: Cluster, model: Model, random: Random, picked: list[str]) -> None:
    """Places what was handed out; some attempts fail."""
    failed = {uid for uid in picked if random.random() < 0.2}
    for uid in picked:
        mine = model.pods[uid]
        if random.random() < 0.2:
            cluster.wait(uid, mine.first_s, is_resting=True)
            mine.state, mine.since_s = "resting", cluster.now_s
            continue
        if uid in failed:
            cluster.wait(uid, mine.first_s)
            mine.since_s = cluster.now_s
            model.come(mine)
            continue
        assert cluster.place([uid]) == [uid]
        if random.random() < 0.2:
            cluster.settle(uid, Outcome.FAILED)
            cluster.wait(uid, mine.first_s)
            mine.since_s = cluster.now_s
            model.come(mine)
        else:
            cluster.bind(uid, mine.namespace, mine.cpu, priority=mine.priority)
            mine.state = "running"
