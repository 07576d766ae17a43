"""Pods arrive in an order that follows from the seed, until they ask for the wanted share."""

from __future__ import annotations

from collections import Counter

from kpolicy.offline.fill.recipe import Recipe, arrivals
from kpolicy.offline.fill.trace import Trace, TraceNode, TracePod, names_in_mixed_order

PODS = tuple(TracePod(1000 + index, 1, 1, 500) for index in range(10))


def trace_of(gpus: int) -> Trace:
    return Trace("t", (TraceNode("n", 96_000, 1000, gpus),), PODS)


def test_pods_arrive_again_where_the_trace_asks_for_too_little() -> None:
    found = arrivals(trace_of(10), Recipe(demand_percent=130), 1)
    assert sum(pod.demand_milli for pod in found) == 13_000
    assert set(PODS) <= set(found)


def test_pods_stay_away_where_it_asks_for_too_much() -> None:
    found = arrivals(trace_of(2), Recipe(demand_percent=130), 1)
    assert sum(pod.demand_milli for pod in found) == 2_500
    assert max(Counter(found).values()) == 1


def test_the_order_follows_from_the_seed() -> None:
    orders = [arrivals(trace_of(10), Recipe(), seed) for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
    assert orders[0][: len(PODS)] != list(PODS)


def test_a_trace_without_gpus_arrives_as_it_is() -> None:
    cpu = Trace("t", (TraceNode("n", 96_000, 1000, 0),), (TracePod(1, 1, 0, 0),) * 3)
    assert len(arrivals(cpu, Recipe(), 1)) == 3


def test_names_in_mixed_order_end_with_the_names_of_the_trace() -> None:
    nodes = [TraceNode(f"n-{index:02}", 1, 1, 1) for index in range(20)]
    names = names_in_mixed_order(nodes)
    assert [name.partition("-")[2] for name in names] == [node.name for node in nodes]
    assert sorted(names) != names
    assert names == names_in_mixed_order(nodes)
