"""What rounds in turns say together, and when that is not what was promised."""

from __future__ import annotations

import pytest

from benches.cluster.command import PROMISED, PROMISED_TRACED
from benches.cluster.comparison import Comparison, Promise, in_turns
from benches.cluster.contenders import Contender
from benches.cluster.round import Round

PODS = 101


def a_round(contender: str, pods_per_second: float, cpu_ms: float, *, bound: int = PODS) -> Round:
    return Round(
        contender, PODS, bound, answered=PODS, seconds=(PODS - 1) / pods_per_second,
        start_s=0, work_s=cpu_ms * PODS / 1000, api_server_s=0, etcd_s=0, events=PODS,
        resident_mib=0,
    )  # fmt: skip


def compared(pods_per_second: float, cpu_ms: float) -> Comparison:
    """Beside one of 100 pods a second with 5 ms each, in the median of its rounds."""
    theirs = (a_round("theirs", 50, 9), a_round("theirs", 100, 5), a_round("theirs", 150, 1))
    return Comparison("theirs", "ours", (*theirs, a_round("ours", pods_per_second, cpu_ms)))


@pytest.mark.parametrize(
    ("pods_per_second", "cpu_ms", "promise", "said"),
    [
        (301, 0.99, PROMISED, []),
        (299, 0.99, PROMISED, ["ours was to bind 3x as many pods a second"]),
        (301, 1.01, PROMISED, ["ours was to take 0.2 of the processor time a pod"]),
        (100, 5.0, PROMISED, ["ours was to bind 3x", "ours was to take 0.2"]),
        (95.1, 9.0, PROMISED_TRACED, []),
        (94.9, 5.0, PROMISED_TRACED, ["ours was to bind 0.95x"]),
    ],
)
def test_a_promise_that_was_not_kept_is_said(
    pods_per_second: float, cpu_ms: float, promise: Promise, said: list[str]
) -> None:
    words = compared(pods_per_second, cpu_ms).broken(promise)
    assert len(words) == len(said)
    assert all(one.startswith(start) for one, start in zip(words, said, strict=True))


def test_a_pod_that_was_not_bound_is_said() -> None:
    lost = Comparison("theirs", "ours", (a_round("ours", 100, 1, bound=PODS - 1),))
    assert lost.failures() == ["ours: 100 bound for 101 pods"]


def test_each_goes_first_as_often_as_the_other() -> None:
    first, second = (Contender(name, name, lambda *_: ()) for name in ("theirs", "ours"))
    rounds = in_turns((first, second), 4, lambda one, _: a_round(one.name, 100, 1)).rounds
    order = [one.contender for one in rounds]
    assert order == ["theirs", "ours", "ours", "theirs"] * 2
