"""The queue with plugins: pods that are asked about, held, refused and ordered."""

from __future__ import annotations

from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.queued_pod import Attempt
from tests.unit.scheduler.pods import SECOND, pending


class Asked:
    """Plugins that are asked about the pods of the profile `kpolicy`."""

    orders = True

    def __init__(self) -> None:
        self.pods: list[Attempt] = []

    def asks(self, profile: str) -> bool:
        return profile == "kpolicy"

    def ask(self, pod: Attempt) -> None:
        self.pods.append(pod)

    def asked_now(self) -> list[str]:
        uids, self.pods = [pod.uid for pod in self.pods], []
        return uids


def popped(queue: Queue, now_ns: int) -> list[str]:
    return [pod.uid for pod in queue.pop_batch(10, now_ns)]


def test_a_pod_is_asked_about_before_it_can_be_tried_and_again_at_each_return() -> None:
    asked = Asked()
    queue = Queue(admission=asked)
    queue.changed(pending("a"), 0)
    queue.changed(pending("other", scheduler_name="other"), 0)
    assert popped(queue, 0) == ["other"]
    assert asked.asked_now() == ["a"]
    assert queue.statistics().gated == 1
    queue.changed(pending("a"), 0)
    assert asked.asked_now() == [], "it is being asked about"
    queue.admit("a", None, 0)
    assert popped(queue, 0) == ["a"]
    queue.undecided("a")
    assert popped(queue, 0) == ["a"], "nothing has happened since it was admitted"
    queue.failed("a", 0)
    assert popped(queue, 2 * SECOND) == []
    assert asked.asked_now() == ["a"]


def test_a_pod_with_scheduling_gates_is_asked_about_when_they_are_gone() -> None:
    asked = Asked()
    queue = Queue(admission=asked)
    queue.changed(pending("a", gated=True), 0)
    assert asked.asked_now() == []
    queue.changed(pending("a"), 0)
    assert asked.asked_now() == ["a"]
    queue.gone("a")
    queue.admit("a", None, 0)
    assert len(queue) == 0


def test_a_refused_pod_is_woken_by_any_event_and_waits_its_back_off_out() -> None:
    asked = Asked()
    queue = Queue(admission=asked)
    for uid in ("held", "refused"):
        queue.changed(pending(uid), 0)
        queue.admit(uid, None, 0)
    assert popped(queue, 0) == ["held", "refused"]
    asked.asked_now()
    queue.refuse("refused", "gate", 0)
    queue.failed("held", 0)
    assert popped(queue, SECOND) == []
    assert asked.asked_now() == ["held"]
    queue.hold("held", "quota", SECOND)
    statistics = queue.statistics()
    assert (statistics.parked, statistics.gated) == (1, 1)
    assert statistics.rejected == {("gate", "kpolicy"): 1, ("quota", "kpolicy"): 1}
    assert queue.wake_refused("NodeAdd", SECOND) == 2
    assert queue.wake_refused("NodeAdd", SECOND) == 0
    assert asked.asked_now() == ["refused"], "the back-off of the other is not over"
    assert popped(queue, SECOND) == [], "although nothing else is there to be tried"
    assert queue.next_ready_ns() == 2 * SECOND
    assert popped(queue, 2 * SECOND) == []
    assert asked.asked_now() == ["held"]
    queue.gone("held")
    queue.gone("refused")
    assert queue.statistics().rejected == {}


def test_news_that_come_while_a_plugin_is_asked_are_not_lost() -> None:
    asked = Asked()
    queue = Queue(admission=asked)
    queue.changed(pending("a"), 0)
    queue.wake_refused("NodeAdd", 0)
    queue.hold("a", "quota", 0)
    assert (queue.statistics().gated, queue.statistics().backoff) == (0, 1)
    popped(queue, SECOND)
    assert asked.asked_now() == ["a", "a"]
    queue.admit("a", None, SECOND)
    assert popped(queue, SECOND) == ["a"]
    queue.wake_refused("NodeAdd", SECOND)
    queue.refuse("a", "gate", SECOND)
    assert (queue.statistics().parked, queue.statistics().backoff) == (0, 1)


def test_a_pod_that_changes_while_plugins_are_asked_is_asked_about_again() -> None:
    asked = Asked()
    queue = Queue(admission=asked)
    queue.changed(pending("a"), 0)
    queue.changed(pending("a"), 0)
    queue.hold("a", "quota", 0)
    assert (queue.statistics().gated, queue.statistics().backoff) == (0, 1)
    popped(queue, SECOND)
    queue.hold("a", "quota", SECOND)
    assert queue.statistics().gated == 1, "now nothing has changed"


def test_a_held_pod_is_asked_about_again_after_a_long_time_without_events() -> None:
    asked = Asked()
    queue = Queue(admission=asked)
    queue.changed(pending("a"), 0)
    queue.hold("a", "quota", 0)
    assert asked.asked_now() == ["a"]
    assert queue.flush(10, queue.periods.parked_ns_max - 1) == 0
    assert queue.flush(10, queue.periods.parked_ns_max) == 1
    assert asked.asked_now() == ["a"]


def test_keys_of_a_plugin_come_before_priority_and_pods_without_a_key_come_last() -> None:
    queue = Queue(admission=Asked())
    keys = {"b": (2.0,), "none": None, "a": (1.0, 5.0), "first": (1.0,), "none-low": None}
    for uid, key in keys.items():
        queue.changed(pending(uid, priority=9 if uid == "none" else 0), 0)
        queue.admit(uid, key, 0)
    assert popped(queue, 0) == ["first", "a", "b", "none", "none-low"]
