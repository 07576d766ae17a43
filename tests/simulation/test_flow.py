"""Many pods for long: each is bound once, no node is overcommitted, and nothing is left."""

from __future__ import annotations

import pytest

from tests.simulation.flow import HOUR_S, PODS_A_NODE, Course, Flow

# Also a small process grows a little; a leak of 100 bytes for each of a million pods would show.
GROWTH_BYTES_MAX = 64 * 2**20


def judge(course: Course, pods: int) -> None:
    assert course.made == course.binds == pods
    assert course.twice == 0
    assert 0 < course.fullest <= PODS_A_NODE
    left = (course.left_in_engine, course.left_reserved, course.left_in_queue)
    assert left == (0, 0, 0)
    assert len(course.bound) == 0
    warm = course.resident_bytes[len(course.resident_bytes) // 4]
    assert course.resident_bytes[-1] - warm < GROWTH_BYTES_MAX


async def test_pods_of_ten_minutes_leave_nothing_behind() -> None:
    judge(await Flow(8_000, HOUR_S // 6).run(), 8_000)


@pytest.mark.full
@pytest.mark.timeout(3000)
async def test_a_million_pods_in_an_hour_leave_nothing_behind() -> None:
    judge(await Flow(1_000_000, HOUR_S).run(), 1_000_000)
