"""Figures of two scrapes: rates, also of a process that began again, and rules that keep pods."""

from __future__ import annotations

from typing import Any

from kpolicy.top.frames import Frame, frame_of, scrape
from kpolicy.top.screens import duration, overview

METRICS = """\
# HELP scheduler_pending_pods Pending pods.
# TYPE scheduler_pending_pods gauge
scheduler_pending_pods{{queue="active"}} 3
scheduler_pending_pods{{queue="unschedulable"}} 2
scheduler_schedule_attempts_total{{result="scheduled",profile="kpolicy"}} {scheduled}
scheduler_schedule_attempts_total{{result="scheduled",profile="batch"}} 10
scheduler_unschedulable_pods{{plugin="a \\"b\\\\",profile="kpolicy"}} 2
kpolicy_rule_rejections_total{{profile="kpolicy",rule="other"}} {scheduled}
kpolicy_policy_info{{hash="sha256:1",generation="4"}} 1
scheduler_cache_size{{type="nodes"}} 7
"""
POD = {
    "pod": "default/a",
    "queue": "unschedulable",
    "pendingSeconds": 130.0,
    "attempts": 4,
    "rejectedBy": ["x", "y"],
}


def frame(before: float, now: float, seconds: float = 2.0) -> Frame:
    page: dict[str, Any] = {"pods": [POD]}
    first, second = (METRICS.format(scheduled=value) for value in (before, now))
    return frame_of(scrape(first, page, 10.0), scrape(second, page, 10.0 + seconds))


def test_rates_are_a_second_and_begin_again_with_the_process() -> None:
    found = frame(100, 150)
    assert found.decisions == {"scheduled": 25.0}
    assert found.queue == {"active": 3, "backoff": 0, "unschedulable": 2, "gated": 0}
    assert found.rules == [('a "b\\', 2, 0.0), ("other", 0, 25.0)]
    assert (found.cluster["nodes"], found.policy) == (7, "sha256:1, generation 4")
    assert frame(100, 40).decisions == {"scheduled": 25.0}
    assert frame(100, 150, 0.0).decisions == {"scheduled": 0.0}


def test_the_overview_leads_to_the_pods() -> None:
    screen = overview(frame(0, 2), "here")
    assert [screen.lines[at].leads_to for at in screen.choices] == ["default/a"]
    assert screen.lines[-1].text == "default/a         2m  unschedulable      4  x, y"


def test_durations_are_written_as_ages() -> None:
    texts = [duration(seconds) for seconds in (0, 119, 120, 7_199, 7_200, 200_000)]
    assert texts == ["0s", "119s", "2m", "119m", "2h", "2d"]
