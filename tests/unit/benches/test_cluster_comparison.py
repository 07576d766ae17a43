"""The ratios of rounds in turns, and the targets that are not reached."""

from __future__ import annotations

import pytest

from benches.cluster.command import PROMISED, PROMISED_TRACED
from benches.cluster.comparison import Comparison, Promise, in_turns
from benches.cluster.contenders import Contender
from benches.cluster.round import Round

PODS = 101


def a_round(
    contender: str, pods_per_second: float, cpu_ms: float, *, bound: int = PODS, speed: float = 1
) -> Round:
    """On a machine of that speed, whose API server takes 2 ms a pod when it is 1."""
    return Round(
        contender,
        PODS,
        bound,
        answered=PODS,
        seconds=(PODS - 1) / pods_per_second / speed,
        start_s=0,
        work_s=cpu_ms * PODS / 1000 / speed,
        api_server_s=2 * PODS / 1000 / speed,
        etcd_s=0,
        events=PODS,
        resident_mib=0,
    )


def compared(pods_per_second: float, cpu_ms: float) -> Comparison:
    """Beside one of 100 pods a second with 5 ms each. In one round the machine was half as fast for
    both, and in another it was so for one of them."""
    speeds = [(1.0, 1.0), (0.5, 0.5), (1.0, 0.5), (1.0, 1.0), (0.5, 0.5)]
    rounds = [
        a_round(name, pods, cpu, speed=speed)
        for theirs, ours in speeds
        for name, pods, cpu, speed in (
            ("theirs", 100, 5, theirs),
            ("ours", pods_per_second, cpu_ms, ours),
        )
    ]
    return Comparison("theirs", "ours", tuple(rounds))


@pytest.mark.parametrize(
    ("pods_per_second", "cpu_ms", "promise", "messages"),
    [
        (301, 0.99, PROMISED, []),
        (299, 0.99, PROMISED, ["ours was to bind 3x as many pods a second"]),
        (301, 1.01, PROMISED, ["ours was to take 0.2 of the processor time a pod"]),
        (100, 5.0, PROMISED, ["ours was to bind 3x", "ours was to take 0.2"]),
        (95.1, 5.24, PROMISED_TRACED, []),
        (94.9, 5.24, PROMISED_TRACED, ["ours was to bind 0.95x"]),
        (95.1, 5.26, PROMISED_TRACED, ["ours was to take 1.05 of the processor time"]),
    ],
)
def test_a_promise_that_was_not_kept_is_reported(
    pods_per_second: float, cpu_ms: float, promise: Promise, messages: list[str]
) -> None:
    words = compared(pods_per_second, cpu_ms).broken(promise)
    assert len(words) == len(messages)
    assert all(word.startswith(start) for word, start in zip(words, messages, strict=True))


def test_a_few_percent_are_seen_on_a_machine_whose_speed_changes_all_the_time() -> None:
    rounds = [
        a_round(name, pods, cpu, speed=speed)
        for theirs, ours in ((1.0, 0.6), (0.9, 0.7), (1.2, 0.8))
        for name, pods, cpu, speed in (("theirs", 100, 5, theirs), ("ours", 98, 5.1, ours))
    ]
    comparison = Comparison("theirs", "ours", tuple(rounds))
    assert comparison.throughput < 0.8
    assert comparison.cpu > 1.2
    assert comparison.steady.throughput == pytest.approx(0.98)
    assert comparison.steady.cpu == pytest.approx(1.02)
    assert comparison.broken(PROMISED_TRACED) == []
    assert comparison.broken(PROMISED) != []


def test_a_pod_that_was_not_bound_is_reported() -> None:
    lost = Comparison("theirs", "ours", (a_round("ours", 100, 1, bound=PODS - 1),))
    assert lost.failures() == ["ours: 100 bound for 101 pods"]


def test_each_goes_first_as_often_as_the_other() -> None:
    first, second = (Contender(name, name, name, lambda *_: ()) for name in ("theirs", "ours"))
    rounds = in_turns(
        (first, second), 4, lambda round_index, _: a_round(round_index.name, 100, 1)
    ).rounds
    order = [round_.contender for round_ in rounds]
    assert order == ["theirs", "ours", "ours", "theirs"] * 2
