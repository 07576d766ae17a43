"""X and R-06, R-07: the stages of one attempt, in their order, and what follows a failure in each.

kube-scheduler's plugin contract, mapped on our pipeline: gates (PreEnqueue), filter, score, assume
(Reserve), bind, settle (PostBind, or Unreserve when it failed).
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.cluster.client import wait_for
from tests.e2e.nemeses.faults import Answer, Delay, Drop, Failing, Hold, LoseAnswer, bind_of
from tests.e2e.nemeses.proxy import Proxy
from tests.e2e.stage import Stage

pytestmark = pytest.mark.cluster

# Where a bind can fail, and the message in the pod's condition; None if the pod is bound anyway.
FAILURES: dict[str, tuple[Failing, int, bool]] = {
    "refused": (Answer(403), 1, False),
    "invalid": (Answer(422), 1, False),
    "conflict": (Answer(409), 1, False),
    "error": (Answer(500), 1, False),
    "unavailable": (Answer(503, retry_after_s=1), 1, False),
    "unavailable-thrice": (Answer(503), 3, False),
    "gateway": (Answer(504), 1, False),
    "throttled": (Answer(429, retry_after_s=1), 1, False),
    "throttled-for-long": (Answer(429, retry_after_s=30), 1, False),
    "request-lost": (Drop(), 1, False),
    "answer-lost": (LoseAnswer(), 1, True),
    "slow": (Delay(6), 1, True),
}


@pytest.mark.parametrize("name", FAILURES)
def test_r06_a_bind_that_fails_is_tried_again_without_any_event(
    proxied: Stage, proxy: Proxy, name: str
) -> None:
    fault, times, written = FAILURES[name]
    proxied.node("only", cpu="1")
    proxied.prove_seen()
    proxy.script(bind_of("pod"), fault, times=times)
    proxied.pod("pod", cpu="1")
    proxied.bound("pod", "only", timeout_s=90)
    proxied.settled(timeout_s=90)
    assert proxy.pending() == 0, "the fault was met"
    assert len(proxy.calls(bind_of("pod"))) >= (1 if written else times + 1)
    assert proxied.scheduler.metric("scheduler_cache_size", type="pods") == 2, (
        "expected the pod and the plug"
    )


def test_r07_a_rejected_bind_backs_off_and_says_so(proxied: Stage, proxy: Proxy) -> None:
    proxied.node("only")
    proxied.prove_seen()
    failures = proxied.moves()["ScheduleAttemptFailure"]
    proxy.script(bind_of("pod"), Answer(409))
    proxied.pod("pod")
    wait_for(
        lambda: proxied.condition("pod").get("reason") == "SchedulerError",
        "the condition to tell of our own failure",
        every_s=0.01,
    )
    proxied.bound("pod", "only")
    assert proxied.moves()["ScheduleAttemptFailure"] == failures + 1
    assert "binding to only failed" in proxied.events("pod", "FailedScheduling")[0]["note"]


def test_x01_what_is_assumed_is_seen_by_the_next_of_the_batch(stage: Stage) -> None:
    """Reserve: of ten equal pods decided at once, three fit."""
    with stage.scheduler.frozen():
        stage.node("only", cpu="3")
        for number in range(10):
            stage.pod(f"p{number}", cpu="1")
    stage.all_bound(3)
    stage.prove_seen()
    stage.settled()
    assert len([name for name in stage.placements() if name.startswith("p")]) == 3 + PLUGS
    assert stage.scheduler.counts("scheduler_pending_pods", "queue")["unschedulable",] == 7


PLUGS = 1


# A request that nobody answered may be written yet: its room is kept until none can be under way.
IN_DOUBT_S = 330
IN_DOUBT = "request-lost"


@pytest.mark.parametrize(
    ("name", "within_s"),
    [
        pytest.param(IN_DOUBT, IN_DOUBT_S, marks=[pytest.mark.full, pytest.mark.timeout(900)])
        if name == IN_DOUBT
        else (name, 90)
        for name, (_, _, written) in FAILURES.items()
        if not written
    ],
)
def test_x02_room_is_given_back_wherever_a_bind_fails(
    proxied: Stage, proxy: Proxy, name: str, within_s: float
) -> None:
    """Unreserve: while the failed pod backs off, another takes its place."""
    fault, times, _ = FAILURES[name]
    proxied.node("only", cpu="1")
    proxied.prove_seen()
    hold = Hold(then=fault)
    proxy.script(bind_of("first"), hold)
    proxy.script(bind_of("first"), fault if times == 1 else Answer(503), times=50)
    proxied.pod("first", cpu="1")
    assert hold.met.wait(90)
    proxied.pod("second", cpu="1")
    proxied.parked("second", "1 Insufficient cpu")
    hold.released.set()
    proxied.bound("second", "only", timeout_s=within_s)


def test_x03_a_gated_pod_is_looked_at_once_and_never_tried(stage: Stage) -> None:
    """PreEnqueue: however often it changes, it enters the lane of the gated once."""
    stage.node("only")
    before = stage.scheduler.counts("scheduler_queue_incoming_pods_total", "queue")
    stage.pod("gated", spec={"schedulingGates": [{"name": "example.com/wait"}]})
    with stage.left_alone():
        for number in range(5):
            stage.patch_pod("gated", {"metadata": {"labels": {"changed": str(number)}}})
    entered = stage.scheduler.counts("scheduler_queue_incoming_pods_total", "queue") - before
    assert entered["gated",] == 1


def test_x04_what_no_node_passes_is_not_scored(stage: Stage) -> None:
    def points() -> Counter[tuple[str, ...]]:
        name = "scheduler_framework_extension_point_duration_seconds_count"
        return stage.scheduler.counts(name, "extension_point")

    stage.node("only", cpu="1")
    stage.node("other", cpu="1")
    stage.prove_seen()
    before = points()
    stage.pod("giant", cpu="8")
    stage.parked("giant", "2 Insufficient cpu")
    after = points()
    assert after["Filter",] == before["Filter",] + 1
    assert after["Score",] == before["Score",]
    stage.pod("small")
    stage.bound("small")
    stage.settled()
    assert points()["Filter",] == after["Filter",] + 1
    assert points()["Score",] == after["Score",] + 1


def test_x05_resources_of_a_failed_bind_wake_waiting_pods(proxied: Stage, proxy: Proxy) -> None:
    """As if the assumed pod had been deleted: nothing of it was ever written."""
    proxied.node("only", cpu="1")
    proxied.prove_seen()
    hold = Hold(then=Answer(403))
    proxy.script(bind_of("first"), hold)
    proxy.script(bind_of("first"), Answer(403), times=50)
    proxied.pod("first", cpu="1")
    assert hold.met.wait(90)
    proxied.pod("second", cpu="1")
    proxied.parked("second", "1 Insufficient cpu")
    with proxied.tried_again("AssignedPodDelete"):
        hold.released.set()
    proxied.bound("second", "only")


def test_x06_a_bound_pod_gets_one_event(stage: Stage) -> None:
    """PostBind: one event a pod, and only after the bind."""
    stage.node("only")
    stage.prove_seen()
    for number in range(10):
        stage.pod(f"p{number}")
    stage.all_bound(11)
    for number in range(10):
        event = stage.the_event(f"p{number}", "Scheduled")
        assert event.get("series") is None
        assert event["note"].endswith(" to only")
