"""The queue where the engine tells whose turn it is, and whom a policy holds."""

from __future__ import annotations

from kpolicy.engine import QueueFault
from kpolicy.policy.assembly.queue_periods import WrittenPeriods
from kpolicy.scheduler import limits
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.queued_pod import QueuePeriods
from tests.unit.scheduler.pods import SECOND, pending


def ordered(*, holds_pods: bool = False) -> Queue:
    queue = Queue()
    queue.follow_policy(is_ordered=True, holds_pods=holds_pods)
    return queue


def news(queue: Queue) -> tuple[list[str], list[str]]:
    assert queue.by_policy is not None
    entered, left = queue.by_policy.news()
    return [pod.uid for pod in entered], left


def test_the_engine_is_told_who_came_who_changed_and_who_left() -> None:
    queue = ordered()
    queue.changed(pending("a"), 0)
    queue.changed(pending("b"), SECOND)
    queue.gone("b")
    assert news(queue) == (["a"], ["b"])
    assert news(queue) == ([], [])
    queue.changed(pending("a", priority=7), 2 * SECOND)
    assert news(queue) == (["a"], [])
    assert queue.active == 1


def test_pods_are_tried_as_the_engine_says_and_come_back_as_they_left() -> None:
    queue = ordered()
    for uid in ("a", "b", "c"):
        queue.changed(pending(uid), 0)
    news(queue)
    assert queue.pop_batch(9, 0) == []
    assert [pod.uid for pod in queue.pop_told(["c", "gone", "a"], 0)] == ["c", "a"]
    assert news(queue) == ([], ["gone"])
    queue.parked("c", ["NodeAffinity"], SECOND)
    queue.failed("a", SECOND)
    assert news(queue) == ([], ["c", "a"])
    queue.wake("c", "NodeAdd", 9 * SECOND)
    assert queue.pop_batch(9, 9 * SECOND) == []
    assert news(queue) == (["c", "a"], [])
    assert queue.active == 3


def test_a_pod_that_the_engine_did_not_come_to_is_next_without_asking() -> None:
    queue = ordered()
    queue.changed(pending("a"), 0)
    [attempt] = queue.pop_told(["a"], 0)
    queue.undecided("a")
    assert news(queue) == ([], [])
    assert queue.active == 1
    assert [pod.uid for pod in queue.pop_batch(9, 0)] == ["a"]
    assert queue.is_under_way(attempt)


def test_a_held_pod_waits_as_a_gated_one_until_it_is_handed_out() -> None:
    queue = ordered()
    queue.changed(pending("a"), 0)
    news(queue)
    held = queue.hold_by_policy("a", "quota", 0)
    assert held is not None
    statistics = queue.statistics()
    assert (statistics.active, statistics.gated) == (0, 1)
    assert statistics.rejected == {("quota", "kpolicy"): 1}
    # Nothing but the engine ends the hold, and it has to know of changes.
    queue.wake("a", "NodeAdd", SECOND)
    queue.changed(pending("a", priority=5), SECOND)
    assert news(queue) == (["a"], [])
    assert queue.statistics().gated == 1
    [attempt] = queue.pop_told(["a"], SECOND)
    assert (attempt.attempts, attempt.priority) == (1, 5)
    statistics = queue.statistics()
    assert (statistics.gated, statistics.rejected, statistics.attempts_under_way) == (0, {}, 1)
    assert queue.hold_by_policy("a", "quota", 0) is None
    queue.gone("a")
    assert len(queue) == 0


def test_another_program_is_told_of_all_that_wait_and_none_is_held_without_one() -> None:
    queue = Queue()
    for uid in ("a", "b", "c"):
        queue.changed(pending(uid), 0)
    queue.follow_policy(is_ordered=True, holds_pods=False)
    assert news(queue) == (["a", "b", "c"], [])
    queue.hold_by_policy("b", "quota", 0)
    queue.pop_told(["c"], 0)
    queue.follow_policy(is_ordered=True, holds_pods=False)
    assert sorted(news(queue)[0]) == ["a", "b"]
    assert queue.statistics().gated == 0
    queue.hold_by_policy("a", "quota", 0)
    queue.follow_policy(is_ordered=False, holds_pods=False)
    assert queue.by_policy is None
    assert sorted(pod.uid for pod in queue.pop_batch(9, 0)) == ["a", "b"]


def test_parked_pods_and_those_that_back_off_are_told_where_the_policy_holds_pods() -> None:
    queue = ordered(holds_pods=True)
    order = queue.by_policy
    assert order is not None
    for uid in ("parked", "failed", "preempting", "ready"):
        queue.changed(pending(uid), 0)
    news(queue)
    queue.pop_told(["parked", "failed", "preempting"], 0)
    queue.parked("parked", ["NodeAffinity"], SECOND)
    queue.failed("failed", SECOND)
    queue.parked("preempting", ["NodeResourcesFit"], SECOND, held=True)
    assert [(pod.uid, pod.is_resting) for pod in order.news()[0]] == [
        ("parked", True),
        ("failed", True),
    ]
    queue.release("preempting", SECOND)
    assert [(pod.uid, pod.is_resting) for pod in order.news()[0]] == [("preempting", True)]
    queue.wake("parked", "NodeAdd", 9 * SECOND)
    assert queue.pop_batch(9, 9 * SECOND) == []
    assert [(pod.uid, pod.is_resting) for pod in order.news()[0]] == [
        ("parked", False),
        ("failed", False),
    ]
    queue.follow_policy(is_ordered=True, holds_pods=True)
    assert queue.by_policy is not None
    is_resting = {pod.uid: pod.is_resting for pod in queue.by_policy.news()[0]}
    assert is_resting == {"preempting": True, "ready": False, "parked": False, "failed": False}


def test_a_parked_pod_that_a_hold_begins_to_hold_is_parked_no_longer() -> None:
    queue = ordered(holds_pods=True)
    for uid in ("parked", "failed"):
        queue.changed(pending(uid), 0)
    queue.pop_told(["parked", "failed"], 0)
    queue.parked("parked", ["NodeAffinity"], SECOND)
    queue.failed("failed", SECOND)
    for uid in ("parked", "failed"):
        assert queue.hold_by_policy(uid, "quota", SECOND) is not None
    statistics = queue.statistics()
    assert (statistics.parked, statistics.backoff, statistics.gated) == (0, 0, 2)
    assert statistics.rejected == {("quota", "kpolicy"): 2}
    # No event and no time lets it be tried before the engine says so.
    queue.wake("parked", "NodeAdd", 2 * SECOND)
    assert queue.flush(9, 1_000 * SECOND) == 0
    assert queue.pop_batch(9, 1_000 * SECOND) == []
    assert queue.next_ready_ns() is None
    assert len(queue.pop_told(["parked", "failed"], 1_000 * SECOND)) == 2
    assert queue.statistics().gated == 0


def test_held_pods_are_counted_by_hold_and_leave_nothing_behind() -> None:
    queue = ordered()
    for uid in ("a", "b", "c", "d"):
        queue.changed(pending(uid), 0)
    for uid in ("a", "b", "c"):
        queue.hold_by_policy(uid, "quota", 0)
    assert queue.held_by == {"quota": 3}
    queue.hold_by_policy("a", "window", 0)
    assert queue.held_by == {"quota": 2, "window": 1}
    queue.gone("b")
    queue.pop_told(["a", "d"], 0)
    assert queue.held_by == {"quota": 1}
    queue.follow_policy(is_ordered=True, holds_pods=False)
    assert queue.held_by == {}
    queue.follow_policy(is_ordered=False, holds_pods=False)
    assert queue.held_by == {}


def test_the_last_failures_are_kept_by_rule_and_message() -> None:
    queue = ordered()
    queue.changed(pending("a"), 0)
    order = queue.by_policy
    assert order is not None
    assert order.note(QueueFault("gone", "queue.order", "KR102", "no such key: x"), 0) is None
    for number in range(limits.FAILED_RULES_MAX + 1):
        fault = QueueFault("a", "queue.order", "KR102", f"no such key: {number}")
        assert order.note(fault, 0) is not None
        assert order.note(fault, limits.FAILED_RULE_TOLD_NS - 1) is None
    assert order.note(fault, limits.FAILED_RULE_TOLD_NS) is not None
    assert len(order.failed) == limits.FAILED_RULES_MAX
    assert ("queue.order", "no such key: 0") not in order.failed


def test_periods_of_a_policy_count_before_those_of_the_process_until_it_leaves() -> None:
    queue = Queue(periods=QueuePeriods(SECOND, 10 * SECOND, 60 * SECOND, 30.0))
    queue.follow_policy(
        is_ordered=False, holds_pods=False, periods=WrittenPeriods(2.0, None, 5.0, 0.5)
    )
    periods = QueuePeriods(2 * SECOND, 10 * SECOND, 5 * SECOND, 0.5)
    assert queue.periods == periods
    queue.changed(pending("a"), 0)
    queue.pop_batch(1, 0)
    queue.failed("a", 0)
    assert queue.next_ready_ns() == 2 * SECOND
    # The first back-off is never longer than the longest, whoever says them.
    longer = WrittenPeriods(pod_initial_backoff=20.0)
    queue.follow_policy(is_ordered=False, holds_pods=False, periods=longer)
    assert queue.periods.backoff_ns_max == 20 * SECOND
    queue.follow_policy(is_ordered=False, holds_pods=False)
    assert queue.periods == QueuePeriods(SECOND, 10 * SECOND, 60 * SECOND, 30.0)
