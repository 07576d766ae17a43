"""The queue by what it gives when: order, back-off, lanes, flush and bounds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from kpolicy.engine import PodChange
from kpolicy.release_table import RELEASE_NAMES, RELEASES
from kpolicy.scheduler.loop.lanes import BACKOFF_COMPLETE, POPPED_EARLY
from kpolicy.scheduler.loop.queue import ATTEMPT_FAILED, PARKED_TIMEOUT, Queue
from kpolicy.scheduler.loop.queued_pod import QueuePeriods
from tests.unit.scheduler.pods import SECOND, pending

NODE_ADDED = "NodeAdd"
NAMES = RELEASE_NAMES[RELEASES[-1]]


def popped(queue: Queue, at_s: float = 0.0, limit: int = 100) -> list[str]:
    return [pod.uid for pod in queue.pop_batch(limit, round(at_s * SECOND))]


def filled(*pods: PodChange, at_s: float = 0.0) -> Queue:
    queue = Queue()
    for pod in pods:
        assert queue.changed(pod, round(at_s * SECOND))
    return queue


def lanes(queue: Queue) -> tuple[int, int, int, int]:
    now = queue.statistics()
    return now.active, now.backoff, now.parked, now.gated


# --- order ---------------------------------------------------------------------------------------


def test_higher_priority_first_then_who_waits_longer_then_who_is_older() -> None:
    queue = Queue()
    for pod, at_s in (
        (pending("late", priority=5), 3),
        (pending("early", priority=5), 1),
        (pending("low", priority=-1), 0),
        (pending("older", priority=5, created_ns=1), 2),
        (pending("newer", priority=5, created_ns=2), 2),
        (pending("high", priority=9), 9),
    ):
        queue.changed(pod, at_s * SECOND)
    assert popped(queue, 10) == ["high", "early", "older", "newer", "late", "low"]


def test_a_batch_is_at_most_as_large_as_asked_and_the_rest_follows() -> None:
    queue = filled(*(pending(str(number), created_ns=number) for number in range(7)))
    assert popped(queue, limit=3) == ["0", "1", "2"]
    assert popped(queue, limit=3) == ["3", "4", "5"]
    assert popped(queue, limit=3) == ["6"]
    assert popped(queue, limit=3) == []


def test_a_pod_that_returns_waits_behind_those_that_came_before_its_return() -> None:
    queue = filled(pending("first"))
    assert popped(queue, 1) == ["first"]
    queue.parked("first", ["Fit"], 2 * SECOND)
    queue.changed(pending("second"), 3 * SECOND)
    queue.changed(pending("third"), 1 * SECOND)
    queue.wake("first", NODE_ADDED, 60 * SECOND)
    assert popped(queue, 60) == ["third", "first", "second"]


def test_a_changed_priority_counts_at_once() -> None:
    queue = filled(pending("a", priority=1), pending("b", priority=2))
    queue.changed(pending("a", priority=3), 0)
    assert popped(queue) == ["a", "b"]
    assert lanes(queue) == (0, 0, 0, 0)


def test_an_unschedulable_pod_of_high_priority_blocks_nobody() -> None:
    queue = filled(pending("stuck", priority=1000), *(pending(f"p{n}") for n in range(3)))
    order = []
    for second in range(1, 9):
        for uid in popped(queue, second, limit=1):
            order.append(uid)
            if uid == "stuck":
                queue.parked(uid, ["Fit"], second * SECOND)
                queue.wake(uid, NODE_ADDED, second * SECOND)
    assert order.count("stuck") >= 2
    assert {"p0", "p1", "p2"} <= set(order)


# --- back-off ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["errors", "rejections"])
def test_backoff_doubles_from_one_second_to_ten(kind: str) -> None:
    queue = filled(pending("a"))
    now_s = 0.0
    waits = []
    for _ in range(7):
        pod = queue.get("a")
        assert popped(queue, now_s) == ["a"]
        if kind == "errors":
            queue.failed("a", round(now_s * SECOND))
        else:
            queue.parked("a", ["Fit"], round(now_s * SECOND))
            queue.wake("a", NODE_ADDED, round(now_s * SECOND))
        assert pod is not None
        waits.append((pod.backoff_ends_ns(queue.periods) - round(now_s * SECOND)) / SECOND)
        assert lanes(queue) == (0, 1, 0, 0)
        now_s += waits[-1]
    assert waits == [1, 2, 4, 8, 10, 10, 10]


def test_periods_are_settings() -> None:
    periods = QueuePeriods(3 * SECOND, 4 * SECOND, 60 * SECOND)
    queue = Queue(periods=periods)
    queue.changed(pending("a"), 0)
    for at_s, ends_s in ((0, 3), (3, 7), (7, 11)):
        assert popped(queue, at_s) == ["a"]
        queue.failed("a", at_s * SECOND)
        assert popped(queue, ends_s - 0.001) == []
    assert popped(queue, 11) == ["a"]
    queue.parked("a", ["Fit"], 11 * SECOND)
    assert not queue.flush(10, 71 * SECOND - 1)
    assert queue.flush(10, 71 * SECOND)


def test_a_failed_pod_comes_back_when_its_backoff_ends_and_not_before() -> None:
    queue = filled(pending("a"))
    popped(queue)
    queue.failed("a", 0)
    assert queue.next_ready_ns() == SECOND
    assert popped(queue, 0.999) == []
    assert popped(queue, 1) == ["a"]
    assert queue.statistics().incoming["active", BACKOFF_COMPLETE] == 1
    assert queue.next_ready_ns() is None


def test_a_rejected_pod_is_popped_early_when_nobody_else_waits() -> None:
    queue = filled(pending("a"), pending("b"))
    assert popped(queue) == ["a", "b"]
    queue.parked("a", ["Fit"], 0)
    queue.wake("a", NODE_ADDED, 1)
    queue.failed("b", 0)
    queue.changed(pending("c"), 2)
    assert popped(queue, 0.1, limit=1) == ["c"]
    assert popped(queue, 0.1) == ["a"], "only rejected pods, never those that failed by an error"
    assert queue.statistics().incoming["active", POPPED_EARLY] == 1


def test_a_pod_that_is_set_aside_backs_off_for_up_to_five_minutes_and_comes_last() -> None:
    queue = filled(pending("large", priority=9), pending("small"))
    assert popped(queue) == ["large", "small"]
    queue.failed("small", 0)
    for _ in range(10):
        queue.set_aside("large", 0)
        popped(queue, 300)
    queue.set_aside("large", 0)
    queue.failed("small", 0)
    assert popped(queue, 299) == ["small"]
    queue.failed("small", 299 * SECOND)
    assert popped(queue, 310) == ["small", "large"], "last in its batch, whatever its priority"
    queue.parked("large", ["Fit"], 310 * SECOND)
    queue.wake("large", NODE_ADDED, 311 * SECOND)
    queue.changed(pending("other"), 330 * SECOND)
    assert popped(queue, 330) == ["large", "other"], "judged at last, it has its priority again"


def test_a_pod_left_undecided_is_the_first_of_the_next_batch_and_was_not_tried() -> None:
    queue = filled(pending("first"), pending("second"), pending("third"))
    assert popped(queue) == ["first", "second", "third"]
    queue.changed(pending("later"), 1)
    queue.parked("first", ["Fit"], 1)
    queue.undecided("second")
    queue.undecided("third")
    assert popped(queue) == ["second", "third", "later"]
    second = queue.get("second")
    assert second is not None
    assert second.attempts == 1


def test_errors_and_rejections_are_counted_apart() -> None:
    queue = filled(pending("a"))
    for _ in range(3):
        popped(queue, 0)
        queue.parked("a", ["Fit"], 0)
        queue.wake("a", NODE_ADDED, 0)
    popped(queue, 0)
    queue.failed("a", 0)
    pod = queue.get("a")
    assert pod is not None
    assert (pod.rejections, pod.errors) == (3, 1)
    assert pod.backoff_ends_ns(queue.periods) == 1 * SECOND, (
        "the first error, whatever was rejected before"
    )
    assert popped(queue, 1) == ["a"]
    queue.parked("a", ["Fit"], 2 * SECOND)
    assert (pod.rejections, pod.errors) == (4, 0)
    assert pod.backoff_ends_ns(queue.periods) == 10 * SECOND, "the fourth rejection waits 8 s"


def test_a_pod_rejected_by_no_rule_backs_off_as_after_an_error() -> None:
    queue = filled(pending("a"))
    popped(queue)
    queue.parked("a", [], 0)
    assert lanes(queue) == (0, 1, 0, 0)
    assert popped(queue, 0.5) == []
    assert popped(queue, 1) == ["a"]


# --- parked, woken, flushed ----------------------------------------------------------------------


def test_a_parked_pod_stays_until_it_is_woken() -> None:
    queue = filled(pending("a"))
    popped(queue)
    queue.parked("a", ["Fit", "TaintToleration"], 0)
    assert popped(queue, 200) == []
    assert queue.statistics().rejected == {
        ("Fit", "kpolicy"): 1,
        ("TaintToleration", "kpolicy"): 1,
    }
    queue.wake("a", NODE_ADDED, 200 * SECOND)
    assert lanes(queue) == (1, 0, 0, 0), "its back-off ended long ago"
    assert queue.statistics().incoming["active", NODE_ADDED] == 1
    assert popped(queue, 200) == ["a"]
    assert queue.statistics().rejected == {}


def test_an_event_during_the_attempt_is_not_lost() -> None:
    queue = filled(pending("a"))
    popped(queue)
    queue.wake("a", NODE_ADDED, 0)
    queue.parked("a", ["Fit"], 0)
    assert lanes(queue) == (0, 1, 0, 0)
    assert queue.statistics().incoming["backoff", NODE_ADDED] == 1
    assert popped(queue, 5) == ["a"]
    queue.parked("a", ["Fit"], 5 * SECOND)
    assert lanes(queue) == (0, 0, 1, 0), "an event counts for the attempt it came in"


def test_two_that_could_not_have_their_room_do_not_go_on_side_by_side() -> None:
    """Whom the other's claim kept out is tried before the other claims anew."""
    queue = filled(pending("a"), pending("b"))
    assert popped(queue) == ["a", "b"]
    for uid in ("a", "b"):
        queue.parked(uid, ["Fit"], 0, held=True)
    queue.fail_held("a", 15 * SECOND)
    queue.wake("a", NODE_ADDED, 15 * SECOND)  # its own claim is gone: that is no news to it
    queue.wake("b", NODE_ADDED, 15 * SECOND)
    queue.fail_held("b", 15 * SECOND)
    assert popped(queue, 15) == ["b"]
    assert popped(queue, 15.9) == []
    assert popped(queue, 16) == ["a"]


def test_waking_who_is_active_gated_or_unknown_changes_nothing() -> None:
    queue = filled(pending("a"), pending("g", gated=True))
    before = queue.statistics()
    for uid in ("a", "g", "nobody"):
        queue.wake(uid, NODE_ADDED, 0)
    assert queue.statistics() == before


def test_pods_parked_for_five_minutes_are_flushed_and_a_rescue_can_be_told() -> None:
    queue = filled(pending("old"), pending("young"))
    popped(queue)
    queue.parked("old", ["Fit"], 0)
    queue.parked("young", ["Fit"], SECOND)
    assert queue.flush(10, 300 * SECOND - 1) == 0
    assert queue.flush(10, 300 * SECOND) == 1
    statistics = queue.statistics()
    assert statistics.flushed == 1
    assert statistics.incoming["active", PARKED_TIMEOUT] == 1
    (pod,) = queue.pop_batch(10, 300 * SECOND)
    assert (pod.uid, pod.is_flushed) == ("old", True)
    queue.parked("old", ["Fit"], 300 * SECOND)
    queue.wake("old", NODE_ADDED, 400 * SECOND)
    (pod,) = queue.pop_batch(10, 400 * SECOND)
    assert not pod.is_flushed, "this attempt is owed to an event"


def test_a_flush_is_bounded_and_goes_on_where_it_stopped() -> None:
    queue = filled(*(pending(str(number)) for number in range(5)))
    for pod in queue.pop_batch(5, 0):
        queue.parked(pod.uid, ["Fit"], 0)
    assert [queue.flush(2, 400 * SECOND) for _ in range(4)] == [2, 2, 1, 0]


def test_waking_everyone_moves_the_parked_in_slices() -> None:
    queue = filled(*(pending(str(number)) for number in range(5)))
    for pod in queue.pop_batch(5, 0):
        queue.parked(pod.uid, ["Fit"], 0)
    assert [queue.wake_all("PolicyUpdate", 2, 60 * SECOND) for _ in range(4)] == [2, 2, 1, 0]
    assert len(popped(queue, 60)) == 5


# --- gates ---------------------------------------------------------------------------------------


def test_a_gated_pod_is_not_tried_until_its_gates_are_gone() -> None:
    queue = filled(pending("g", gated=True))
    assert popped(queue, 100) == []
    queue.changed(pending("g", gated=True), 100 * SECOND)
    assert lanes(queue) == (0, 0, 0, 1)
    queue.changed(pending("g", gated=False), 200 * SECOND)
    assert queue.statistics().incoming["active", NAMES.gates_gone] == 1
    (pod,) = queue.pop_batch(1, 201 * SECOND)
    assert pod.first_active_ns == 200 * SECOND, "time spent gated is not time spent waiting for us"


def test_gates_that_the_attempt_finds_put_the_pod_aside() -> None:
    queue = filled(pending("g"))
    popped(queue)
    queue.gated("g", SECOND)
    assert lanes(queue) == (0, 0, 0, 1)
    assert popped(queue, 100) == []


# --- coming and going ----------------------------------------------------------------------------


@pytest.mark.parametrize("lane", ["active", "backoff", "error", "parked", "gated", "attempt"])
def test_a_pod_can_leave_from_every_lane(lane: str) -> None:
    queue = filled(pending("a", gated=lane == "gated"))
    if lane not in {"active", "gated"}:
        popped(queue)
    if lane in {"backoff", "parked"}:
        queue.parked("a", ["Fit"], 0)
    if lane == "backoff":
        queue.wake("a", NODE_ADDED, 0)
    if lane == "error":
        queue.failed("a", 0)
    assert queue.gone("a") is not None
    assert queue.gone("a") is None
    assert len(queue) == 0
    assert lanes(queue) == (0, 0, 0, 0)
    assert queue.statistics().rejected == {}
    for call in (queue.failed, queue.gated):
        call("a", 0)  # an answer that comes after the pod left
    queue.parked("a", ["Fit"], 0)
    assert popped(queue, 1000) == []
    assert len(queue) == 0


def test_a_pod_recreated_under_its_name_is_another_pod() -> None:
    queue = filled(pending("uid-1", name="web"))
    popped(queue)
    queue.gone("uid-1")
    queue.changed(pending("uid-2", name="web"), SECOND)
    queue.parked("uid-1", ["Fit"], 2 * SECOND)
    assert popped(queue, 2) == ["uid-2"]


def test_a_pod_under_way_is_not_popped_again_by_an_update_of_it() -> None:
    queue = filled(pending("a"))
    popped(queue)
    queue.changed(pending("a", priority=7), SECOND)
    assert popped(queue, 100) == []
    assert queue.statistics().attempts_under_way == 1


def test_the_queue_is_bounded_and_counts_what_it_refuses() -> None:
    queue = Queue(pods_max=2)
    assert [queue.changed(pending(str(number)), 0) for number in range(4)] == [
        True,
        True,
        False,
        False,
    ]
    assert (len(queue), queue.room, queue.statistics().refused) == (2, 0, 2)
    queue.gone("0")
    assert queue.room == 1
    assert queue.changed(pending("3"), 0)


def test_pods_of_profiles_no_longer_served_are_named_unless_under_way() -> None:
    queue = filled(pending("a"), pending("b", scheduler_name="other"))
    popped(queue, limit=1)
    queue.changed(pending("c"), 0)
    assert queue.unserved(lambda profile: profile == "other") == ["c"]


def test_entering_is_counted_by_lane_and_event() -> None:
    queue = filled(pending("a"), pending("g", gated=True))
    popped(queue)
    queue.parked("a", ["Fit"], 0)
    assert queue.statistics().incoming == {
        ("active", NAMES.pod_added): 1,
        ("gated", NAMES.pod_added): 1,
        ("unschedulable", ATTEMPT_FAILED): 1,
    }


# --- everything at once --------------------------------------------------------------------------

_UIDS = st.sampled_from("abcdef")
_ACTIONS = st.one_of(
    st.tuples(st.just("changed"), _UIDS, st.integers(-2, 2), st.booleans()),
    st.tuples(st.sampled_from(["gone", "wake", "parked", "failed", "gated"]), _UIDS),
    st.tuples(st.just("pop"), st.integers(0, 4)),
    st.tuples(st.just("pass"), st.integers(0, 400)),
    st.tuples(st.just("flush"), st.integers(0, 3)),
)


@settings(max_examples=300)
@given(st.lists(_ACTIONS, max_size=60))
def test_no_pod_is_ever_lost_or_doubled(actions: list[tuple[object, ...]]) -> None:
    """Whatever happens, each pod is in one lane, is popped once at a time, and comes back."""
    queue, now, known, under_way = Queue(), 0, set[str](), set[str]()
    for action in actions:
        match action:
            case ("changed", str(uid), int(priority), bool(gated)):
                queue.changed(pending(uid, priority=priority, gated=gated), now)
                known.add(uid)
            case ("gone", str(uid)):
                queue.gone(uid)
                known.discard(uid)
                under_way.discard(uid)
            case ("wake", str(uid)):
                queue.wake(uid, NODE_ADDED, now)
            case ("parked", str(uid)):
                queue.parked(uid, ["Fit"], now)
                under_way.discard(uid)
            case ("failed", str(uid)):
                queue.failed(uid, now)
                under_way.discard(uid)
            case ("gated", str(uid)):
                queue.gated(uid, now)
                under_way.discard(uid)
            case ("pop", int(limit)):
                batch = [pod.uid for pod in queue.pop_batch(limit, now)]
                assert len(set(batch)) == len(batch) <= limit
                assert not under_way & set(batch)
                under_way |= set(batch)
            case ("pass", int(seconds)):
                now += seconds * SECOND
            case ("flush", int(limit)):
                assert queue.flush(limit, now) <= limit
        statistics = queue.statistics()
        assert len(queue) == len(known)
        assert sum(lanes(queue)) + statistics.attempts_under_way == len(known)
        assert statistics.attempts_under_way == len(under_way)
        assert all(count >= 0 for count in statistics.rejected.values())
    waiting = known - under_way
    now += 1000 * SECOND
    queue.flush(100, now)
    for uid in waiting:
        queue.changed(pending(uid), now)  # gates are gone
    assert set(popped(queue, now / SECOND)) == waiting


def test_leaving_pods_do_not_fill_the_heap() -> None:
    queue = Queue()
    for number in range(20_000):
        queue.changed(pending(str(number)), number)
        if number >= 10:
            queue.gone(str(number - 10))
    held = len(queue._lanes.active._entries)
    assert held < 3_000, held
    assert len(popped(queue, 1)) == 10
