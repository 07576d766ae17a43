"""Days in virtual time: who waits and how long, preemption, changes of nodes, order and holds."""

from __future__ import annotations

from typing import Any

from kpolicy.api_times import NANOSECONDS
from kpolicy.offline.days.figures import DaysResult
from tests.unit.offline.days.scenarios import NODE, POD, policy, run

MINUTE = 60 * NANOSECONDS
# Four pods that each need the whole node for 30 minutes, one each 15 minutes.
FOUR = [{"pods": "p", "perHour": 4, "process": "even", "until": "1h1m"}]


def minutes(result: DaysResult) -> list[float]:
    return [wait / MINUTE for wait in result.waits_ns]


def test_pods_wait_until_those_before_them_have_ended() -> None:
    result = run(arrivals=FOUR)
    assert minutes(result) == [0, 15, 30, 45]
    assert (result.counts.arrived, result.counts.placed, result.counts.ended) == (4, 4, 4)
    assert result.pending == 0
    at = {sample.at_ns: sample for sample in result.samples}
    after_an_hour = at[result.begins_ns + 62 * MINUTE]
    assert (after_an_hour.running, after_an_hour.pending) == (1, 2)
    assert after_an_hour.resources["cpu"].allocation == 1.0


def test_the_same_seed_gives_the_same_and_another_one_does_not() -> None:
    busy: dict[str, Any] = {
        "nodes": [{**NODE, "count": 3}],
        "pods": [{**POD, "lifetime": {"exponential": "30m"}}],
        "arrivals": [{"pods": "p", "perHour": 8}],
    }
    first, same, other = run(seed=1, **busy), run(seed=1, **busy), run(seed=2, **busy)
    assert first == same
    assert first.waits_ns != other.waits_ns


def test_nothing_is_lost_and_no_node_is_too_full() -> None:
    result = run(
        duration="2d",
        nodes=[{"name": "n", "count": 5, "allocatable": {"cpu": 4, "memory": "8Gi"}}],
        pods=[
            {**POD, "lifetime": {"uniform": ["5m", "3h"]}},
            {"name": "big", "requests": {"cpu": 3}, "priority": 5, "lifetime": "1h"},
        ],
        arrivals=[{"pods": "p", "perHour": 9}, {"pods": "big", "perHour": 2}],
        changes=[{"at": "10h", "drain": "n-1"}, {"at": "20h", "fail": ["n-2", "n-3"]}],
        seed=3,
    )
    counts = result.counts
    assert counts.preempted > 0
    assert counts.displaced > 0
    came = counts.arrived + counts.preempted + counts.displaced
    # A pod that is evicted and not placed again is pending, as its successor.
    assert counts.placed == came - result.pending
    running = result.samples[-1].running
    assert counts.placed - counts.ended - counts.preempted - counts.displaced == running
    assert all(sample.resources["cpu"].allocation <= 1.0 for sample in result.samples)
    assert result.samples[-1].nodes == 3


def test_a_victim_holds_its_room_for_its_grace_period_and_comes_again() -> None:
    pods = [{**POD, "lifetime": "3h"}, {**POD, "name": "high", "priority": 10, "lifetime": "10m"}]
    arrivals = [
        {"pods": "p", "perHour": 60, "process": "even", "until": "1m1s"},
        {"pods": "high", "perHour": 6, "process": "even", "until": "10m1s"},
    ]
    result = run(pods=pods, arrivals=arrivals, gracePeriod="90s")
    # The victim comes again at once, and has the node when the other pod ends.
    assert minutes(result) == [0, 1.5, 11.5]
    assert (result.counts.preempted, result.counts.arrived) == (1, 2)
    gone = run(pods=pods, arrivals=arrivals, evicted="gone")
    assert minutes(gone) == [0, 0.5]
    assert gone.counts.preempted == 1


def test_a_drained_node_takes_no_pods_until_it_is_uncordoned() -> None:
    changes = [{"at": "20m", "drain": "n"}, {"at": "50m", "uncordon": "n"}]
    result = run(arrivals=[{**FOUR[0], "until": "16m"}], changes=changes)
    assert minutes(result) == [0, 30]
    assert result.counts.displaced == 1


def test_the_pods_of_a_node_that_fails_are_placed_on_one_that_comes() -> None:
    changes = [{"at": "20m", "fail": "n-1"}, {"at": "40m", "add": "n"}]
    tiny = {"name": "tiny", "allocatable": {"cpu": "100m", "memory": "1Gi"}}
    result = run(nodes=[NODE, tiny], arrivals=[{**FOUR[0], "until": "16m"}], changes=changes)
    assert minutes(result) == [0, 20]
    assert [sample.nodes for sample in result.samples[:90:30]] == [2, 1, 2]


def test_a_policy_orders_the_queue() -> None:
    pods = [
        {**POD, "requests": {"cpu": 1}},
        {**POD, "name": "small", "requests": {"cpu": "500m"}, "lifetime": "20m"},
    ]
    arrivals = [
        {"pods": "p", "perHour": 60, "process": "even", "until": "3m1s"},
        {"pods": "small", "perHour": 15, "process": "even", "until": "4m1s"},
    ]
    ordered = policy(queue={"order": {"expression": "double(pod.request('cpu'))"}})
    # Three pods wait when the first one ends: with the order, the small one is next.
    assert sorted(minutes(run(ordered, pods=pods, arrivals=arrivals))) == [0, 27, 49, 78]
    plain = policy()
    assert sorted(minutes(run(plain, pods=pods, arrivals=arrivals))) == [0, 29, 58, 87]


def test_a_hold_keeps_pods_until_its_time_is_over() -> None:
    held = policy(
        queue={"holds": [{"name": "night", "when": "now.getHours() < 2", "message": "not yet"}]}
    )
    result = run(held, arrivals=[{**FOUR[0], "until": "16m"}])
    assert minutes(result) == [105]


def test_a_rule_that_reads_the_time_lets_a_parked_pod_through() -> None:
    late = policy(
        predicates=[{"name": "late", "expression": "now.getHours() >= 2", "message": "not yet"}]
    )
    result = run(late, arrivals=[{**FOUR[0], "until": "16m"}])
    assert minutes(result) == [105]


def test_pods_of_other_schedulers_are_counted_and_left() -> None:
    pods = [{**POD, "schedulerName": "other"}]
    result = run(policy(), pods=pods, arrivals=FOUR)
    assert (result.not_served, result.counts.placed, result.pending) == (4, 0, 4)
