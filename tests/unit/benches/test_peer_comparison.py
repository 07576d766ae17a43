"""Rates, ratios and the order of runs, on made-up timings."""

from __future__ import annotations

import pytest

from benches.peer.comparison import ALL, OURS, SAMPLED, THEIRS, Contender, in_turns, ratio_of
from benches.peer.table import HEADINGS, table
from benches.peer.timing import Timing
from kpolicy.offline.bench.generated_cluster import Size

SIZE = Size(1_000, 500, 4)
MICROSECOND = 1_000


def timing(*cycles_us: int, cpu_us: int = 0) -> Timing:
    return Timing(len(cycles_us), tuple(us * MICROSECOND for us in cycles_us), cpu_us * MICROSECOND)


def test_rates_and_quantiles_are_of_the_cycles() -> None:
    run = timing(10, 20, 30, 40, cpu_us=80)
    assert run.pods_per_second == pytest.approx(40_000)
    assert (run.quantile_us(50), run.quantile_us(99)) == (20, 40)
    assert run.cpu_us_a_pod == 20


def test_a_ratio_is_over_the_pods_that_both_decided() -> None:
    # The slow start of kpolicy counts in full where the other decided only two pods.
    ours, theirs = timing(30, 10, 1, 1, 1, 1), timing(100, 300)
    assert ratio_of(ours, theirs) == pytest.approx(10)
    assert ratio_of(theirs, ours) == pytest.approx(0.1)


class TestInTurns:
    def test_contenders_alternate_and_medians_are_of_their_own_runs(self) -> None:
        order: list[str] = []

        def contender(name: str, scored: str, *runs: Timing) -> Contender:
            left = iter(runs)

            def run() -> Timing:
                order.append(scored if name == THEIRS else name)
                return next(left)

            return Contender(name, scored, run)

        rows = in_turns(
            "basic",
            SIZE,
            [
                contender(OURS, ALL, timing(10, 10), timing(20, 20), timing(40, 40)),
                contender(THEIRS, SAMPLED, timing(100, 100), timing(100), timing(100, 100)),
                contender(THEIRS, ALL, timing(1_000), timing(1_000), timing(2_000)),
            ],
            turns=3,
        )
        assert order == [OURS, SAMPLED, ALL] * 3
        ours, sampled, everything = rows
        assert [ours.pods_per_second, ours.best] == pytest.approx([50_000, 100_000])
        assert ours.ratio == 0
        # 10, 5 and 2.5 times: a turn is compared with itself.
        assert sampled.ratio == pytest.approx(5)
        assert everything.ratio == pytest.approx(50)
        assert (sampled.pods, everything.pods) == (2, 1)
        assert "ratio" not in ours.line()
        assert sampled.line()["ratio"] == 5

    def test_the_table_says_whose_figures_they_are_and_how_many_pods(self) -> None:
        rows = in_turns(
            "basic",
            SIZE,
            [
                Contender(OURS, ALL, lambda: timing(10, 10, 10, 10)),
                Contender(THEIRS, SAMPLED, lambda: timing(1_000, 1_000)),
            ],
            turns=2,
        )
        lines = table(rows)
        assert [heading for heading in HEADINGS if heading not in lines[0]] == []
        assert lines[1].split()[:6] == ["basic", "1,000", OURS, ALL, "4", "4"]
        assert "100,000" in lines[1]
        assert lines[2].split()[:4] == [THEIRS, SAMPLED, "2", "2"]
        assert lines[2].endswith(" 100x")
        assert len(lines) == 3
