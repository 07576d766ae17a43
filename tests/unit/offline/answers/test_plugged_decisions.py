"""Plugins offline: what `simulate` makes of their answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import pytest

from kpolicy import Snapshot
from kpolicy.offline.answers.plugged_decisions import PluginNotMadeError
from kpolicy.offline.answers.pod_decisions import Simulating
from kpolicy.plugins import Handle, Pod, Refuse, Wait
from kpolicy.testing import node, pod
from tests.unit.offline.worlds import program
from tests.unit.scheduler.world import plugin_of


class Smallest:
    """The smallest pod first; `held` is not queued."""

    def __init__(self, handle: Handle) -> None:
        pass

    async def queue_key(self, pod: Pod) -> float:
        return float(pod.labels["size"])

    async def pre_enqueue(self, pod: Pod) -> Refuse | None:
        return Refuse("it is not its turn") if pod.name == "held" else None


class Pairs:
    """Two pods of the label `pair` are bound together, or none is."""

    reads_bound_pods: ClassVar[bool] = True
    diary: ClassVar[list[str]] = []

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self.diary.clear()

    async def reserve(self, pod: Pod, node: str) -> None:
        self.diary.append(f"reserve {pod.name}")

    async def unreserve(self, pod: Pod, node: str) -> None:
        self.diary.append(f"unreserve {pod.name}")

    async def permit(self, pod: Pod, node: str) -> Refuse | Wait | None:
        pair = pod.labels.get("pair")
        on_nodes = [each.name for each in self._handle.pods_on_nodes()]
        self.diary.append(f"{pod.name} sees {' '.join(sorted(on_nodes))}".strip())
        others = [w for w in self._handle.waiting_pods() if w.pod.labels.get("pair") == pair]
        for waiting in others:
            waiting.allow("Pairs")
        return Wait(60) if pair and not others else None


class Fails:
    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    async def reserve(self, pod: Pod, node: str) -> None:
        answer = await self._handle.request("GET", "/api/v1/namespaces/team")
        raise RuntimeError(f"{answer.status}: {answer.body.decode()}")

    async def unreserve(self, pod: Pod, node: str) -> None: ...


class Unmade:
    def __init__(self, handle: Handle) -> None:
        raise LookupError("no settings")

    async def post_bind(self, pod: Pod, node: str) -> None: ...


def simulated(items: Sequence[object], *plugins: type) -> dict[str, str]:
    """By pod, in the order in which it is certain: its node, or why it has none."""
    kinds = [plugin_of(kind) for kind in plugins]
    work = Simulating(Snapshot.of(items), program(), plugins=kinds)  # type: ignore[arg-type]
    return {each.pod.partition("/")[2]: each.node or each.message for each in work.pods()}


def test_pods_are_tried_in_the_order_of_a_plugin_and_held_ones_not_at_all() -> None:
    sizes = {"a": "3", "b": "1", "held": "0", "c": "2"}
    pods = [pod(name, cpu="1", labels={"size": size}) for name, size in sizes.items()]
    assert simulated([node("n", cpu="2"), *pods], Smallest) == {
        "b": "n",
        "c": "n",
        "a": "0/1 nodes are available: 1 Insufficient cpu.",
        "held": "it is not its turn",
    }


def test_a_pod_that_waits_goes_on_with_another_and_gives_its_place_back_in_the_end() -> None:
    pods = [
        pod("alone", cpu="1", labels={"pair": "z"}),
        pod("first", cpu="1", labels={"pair": "p"}),
        pod("second", cpu="1", labels={"pair": "p"}),
        pod("third", cpu="1"),
    ]
    late = "rejected due to timeout after waiting 1m0s at plugin Pairs"
    assert simulated([node("n", cpu="3"), pod("there", node_name="n"), *pods], Pairs) == {
        "second": "n",
        "first": "n",
        "third": "0/1 nodes are available: 1 Insufficient cpu.",
        "alone": f"0/1 nodes are available: 1 {late}.",
    }
    assert Pairs.diary == [
        "reserve alone",
        "alone sees there",
        "reserve first",
        "first sees there",
        "reserve second",
        "second sees there",
        "unreserve alone",
    ]


def test_what_a_plugin_gives_back_is_free_for_the_next_pod() -> None:
    class Choosy:
        def __init__(self, handle: Handle) -> None:
            pass

        async def permit(self, pod: Pod, node: str) -> Refuse | None:
            return Refuse("not this one") if pod.name == "a" else None

    pods = [pod("a", cpu="1"), pod("b", cpu="1")]
    assert simulated([node("n", cpu="1"), *pods], Choosy) == {
        "a": "0/1 nodes are available: 1 not this one.",
        "b": "n",
    }


def test_a_plugin_that_fails_costs_its_pod_and_there_is_no_server() -> None:
    message = "0: offline, there is no API server"
    found = simulated([node("n"), pod("a")], Fails)
    assert found == {"a": f'running Reserve plugin "Fails": {message}'}


def test_a_plugin_that_cannot_be_made_ends_the_command() -> None:
    with pytest.raises(
        PluginNotMadeError, match=r"KPS208: .*`Unmade` cannot be made: .*no settings"
    ):
        simulated([node("n"), pod("a")], Unmade)
