"""The verdicts of churn and failover, on made-up figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benches.churn import population
from benches.churn.population import Size
from benches.churn.sample import Sample, growth
from benches.churn.verdict import WARM_PODS, WARM_S, Verdict, warm_up
from benches.failover.figure import Figure, table

SAMPLE = Sample(1, WARM_S / 20, 460, 100.0, 350_000, {"podTemplates": 1_024})


def rounds(*mib: float) -> Verdict:
    return Verdict(
        tuple(
            replace(SAMPLE, turn=turn, resident_mib=resident)
            for turn, resident in enumerate(mib, 1)
        )
    )


def test_growth_is_that_of_the_line_over_ten_rounds() -> None:
    assert growth([100.0] * 20) == 0
    assert growth([95.0 + turn for turn in range(11)]) == pytest.approx(0.1)


def test_it_is_warm_when_pods_enough_were_bound_in_time_enough() -> None:
    slow, fast = replace(SAMPLE, seconds=WARM_S), replace(SAMPLE, seconds=1.0)
    rounds_for_pods = -(-WARM_PODS // SAMPLE.bound)
    assert warm_up([slow] * (rounds_for_pods - 1)) is None
    assert warm_up([slow] * 50) == rounds_for_pods
    assert warm_up([fast] * (int(WARM_S) - 1)) is None
    assert warm_up([fast] * int(WARM_S)) == WARM_S


def test_what_warms_up_and_then_stays_is_flat() -> None:
    verdict = rounds(*(100.0 + turn for turn in range(20)), *[120.0, 120.1] * 15)
    assert verdict.warm[0].turn == 21
    assert verdict.failures() == []
    assert "from round 21 on" in verdict.table()[-1]


def test_what_grows_steadily_is_not() -> None:
    verdict = rounds(*(100.0 + turn / 5 for turn in range(50)))
    (failure,) = verdict.failures()
    assert failure.startswith("resident memory grows by 1.8")


def test_no_pod_of_a_round_is_one_of_another() -> None:
    size = Size(nodes=100, pods=400)
    first, second = (list(map(population.pod(turn), range(size.pods))) for turn in (1, 2))
    assert len({str(sample["spec"]) for sample in first}) >= 50
    labels = [{*sample["labels"].items()} for sample in (*first, *second)]
    assert len({frozenset(label) for label in labels}) == 2 * size.pods
    # What one of each app a node is allowed must find as many nodes.
    apps = [sample["labels"]["app"] for sample in first if sample["labels"]["kind"] == "alone"]
    assert max(map(apps.count, apps)) <= size.nodes


def test_a_figure_is_held_when_its_worst_is() -> None:
    held = Figure("until the other binds", (14.1, 17.0), 17.0)
    late = Figure("until the other binds", (14.1, 17.1), 17.0)
    doubled = Figure("pods bound twice", (1.0,), 0, "")
    missing = Figure("pods bound twice", (), 0, "")
    assert [count.held for count in (held, late, doubled, missing)] == [True, False, False, False]
    assert late.failure() == "until the other binds: 17.10 s, 17.00 s allowed"
    assert missing.failure() == "pods bound twice: not measured, 0 allowed"
    assert table([held, doubled])[1].split()[-8:] == [
        "2",
        "14.10",
        "s",
        "17.00",
        "s",
        "17.00",
        "s",
        "yes",
    ]
