"""Typical pods are the most frequent kinds, and what they cannot use is a fragment."""

from __future__ import annotations

import pytest

from kpolicy.offline.fill.trace import TracePod
from kpolicy.offline.fill.typical_pods import fragment, typical_pods

HALF = TracePod(4_000, 1, 1, 500)
WHOLE = TracePod(8_000, 1, 1, 1000)
RARE = TracePod(1_000, 1, 8, 1000, ("A",))


def test_the_most_frequent_kinds_make_up_the_wanted_part() -> None:
    pods = [*[HALF] * 6, *[WHOLE] * 3, RARE]
    kinds = typical_pods(pods, popularity_percent=85)
    assert [(kind.cpu_milli, kind.gpu_milli, kind.weight) for kind in kinds] == [
        (4_000, 500, 6),
        (8_000, 1000, 3),
    ]
    assert [kind.frequency for kind in kinds] == pytest.approx([6 / 9, 3 / 9])
    assert len(typical_pods(pods, popularity_percent=95)) == 3
    assert typical_pods([]) == ()


def test_memory_makes_no_kind_of_its_own() -> None:
    more = TracePod(4_000, 2, 1, 500)
    assert [kind.weight for kind in typical_pods([HALF, more])] == [2]


@pytest.mark.parametrize(
    ("cpu_milli", "free", "model", "expected"),
    [
        (8_000, [1000, 400], "A", 400.0),  # the share can use the first GPU alone, and so can whole
        (2_000, [1000, 400], "A", 1400.0),
        (4_000, [1000, 400], "A", 0.5 * 400 + 0.5 * 1400),  # too little CPU for the whole
        (8_000, [500, 500], "A", 0.5 * 0 + 0.5 * 1000),
        (8_000, [], "A", 0.0),
    ],
)
def test_the_fragment_of_a_node(
    cpu_milli: int, free: list[int], model: str, expected: float
) -> None:
    typical = typical_pods([HALF, WHOLE])
    assert fragment(cpu_milli, free, model, typical) == pytest.approx(expected)


def test_a_gpu_of_another_model_is_a_fragment() -> None:
    typical = typical_pods([TracePod(1_000, 1, 1, 1000, ("A", "B"))])
    assert fragment(8_000, [1000], "B", typical) == 0.0
    assert fragment(8_000, [1000], "C", typical) == 1000.0
