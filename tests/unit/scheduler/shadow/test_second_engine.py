"""The shadow policy: which differences count, and that nothing waits for it."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kpolicy.clock import SystemClock
from kpolicy.engine import Applied, Engine, Opinion, Refusal, Verdict
from kpolicy.engine.opinions import Result
from kpolicy.policy.compile import compile_policy
from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler import limits
from kpolicy.scheduler.delivery.sources import FixedSource
from kpolicy.scheduler.shadow.second_engine import Shadow, Unasked, without_extenders
from kpolicy.scheduler.shadow.shadow_policy import ShadowFeed
from kpolicy.testing import node, pod
from kpolicy.testing.control_plane import ControlPlane
from tests.unit.scheduler.faulty_engine import applied, decided
from tests.unit.scheduler.world import connection, free_port, on_port

WAIT_S = 30.0
POLICY = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {{name: mine}}
spec:
  profiles: [{{schedulerName: kpolicy}}]
  base: none
  predicates:
    - builtin: NodeResourcesFit
    - {{name: allowed, expression: "{predicate}"}}
  priorities:
    - {{name: liked, weight: 1, expression: "{priority}"}}
"""


def program(predicate: str = "true", priority: str = "0") -> bytes:
    text = POLICY.format(predicate=predicate, priority=priority)
    compiled = compile_policy(Source("p.yaml", text))
    assert compiled.program is not None, compiled.diagnostics
    return compiled.program.bytes


def until(true: Callable[[], bool]) -> None:
    ends = time.monotonic() + WAIT_S
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.002)


PLACED, PARKED, FAILED, GONE = Verdict.PLACED, Verdict.PARKED, Verdict.FAILED, Verdict.GONE


# --- with the real engine ------------------------------------------------------------------------


class Pair:
    """The engine in force and its shadow, fed with a list of nodes and one of pods."""

    def __init__(
        self, in_force: bytes, shadow: bytes, pods: int = 6, unasked: Unasked | None = None
    ) -> None:
        self.engine = Engine(1)
        assert self.engine.load(in_force) == []
        self.shadow = Shadow(lambda: Engine(99), SystemClock(), lambda: None)
        self.shadow.start()
        assert self.shadow.load(shadow, unasked or Unasked()).result(WAIT_S).refusals == ()
        self.witness = ShadowFeed(self.shadow)
        self.feed("nodes", "Node", [node("a", pods=4), node("b", pods=4)])
        self.compared = 0
        self.uids = [f"p{number}" for number in range(pods)]
        self.feed("pods", "Pod", [self._pod(uid) for uid in self.uids])

    def feed(self, resource: str, kind: str, items: Sequence[dict[str, Any]]) -> None:
        listed = {"kind": f"{kind}List", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}}
        page = json.dumps(listed | {"items": list(items)}).encode()
        self.call(self.engine.list_begin, resource)
        self.call(self.engine.list_page, resource, page, 0)
        self.call(self.engine.list_end, resource, 0)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """As `EngineThread` does."""
        answer = function(*arguments)
        self.witness(function.__name__, arguments, {}, answer)
        return answer

    def decide(self) -> dict[Result, int]:
        scheduled = self.call(self.engine.schedule, self.uids, 0)
        compared = [
            decision for decision in scheduled.decisions if decision.verdict in (PLACED, PARKED)
        ]
        self.compared += len(compared)
        until(lambda: sum(self.shadow.statistics().results.values()) >= self.compared)
        return self.shadow.statistics().results

    @staticmethod
    def _pod(name: str) -> dict[str, Any]:
        made = dict(pod(name))
        made["metadata"] = {**made["metadata"], "uid": name, "namespace": "default"}
        return made


@pytest.fixture(autouse=True)
def _stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Shadow, "_log_difference", lambda *_: None)


def test_the_same_policy_never_differs_whatever_the_ties() -> None:
    """Every node is as good as any other, and the two engines draw by different seeds."""
    pair = Pair(program(), program())
    assert pair.decide() == {Result.SAME: 6}
    pair.shadow.stop()


def test_choices_are_taken_on_so_that_one_difference_is_not_the_cause_of_the_next() -> None:
    """All go to a; the shadow would put each on b, also after the first four filled a."""
    pair = Pair(
        program(priority="node.name == 'a' ? 100 : 0"), program(priority="node.name == 'b' ? 1 : 0")
    )
    # Four on a, which the shadow likes less; then a is full for both.
    assert pair.decide() == {Result.DIFFERENT_NODE: 4, Result.SAME: 2}
    pair.shadow.stop()


def test_a_node_that_the_shadow_rejects_is_reported_and_taken_on_all_the_same() -> None:
    pair = Pair(program("node.name == 'a'"), program("node.name == 'b'"))
    # Four come to a, which is full then: two are parked, which the shadow would place on b.
    assert pair.decide() == {Result.WOULD_REJECT: 4, Result.WOULD_PLACE: 2}
    pair.shadow.stop()


def test_a_reservation_that_ends_ends_for_the_shadow_too() -> None:
    pair = Pair(program("node.name == 'a'"), program("node.name == 'a'"), pods=4)
    assert pair.decide() == {Result.SAME: 4}
    pair.call(pair.engine.settle, [(uid, 1) for uid in pair.uids], 0)
    assert pair.decide() == {Result.SAME: 8}, "the binds failed, so the pods are decided again"
    pair.shadow.stop()


# --- extenders of the shadow ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdict", "compared", "result"),
    [
        (PLACED, Result.SAME, Result.EXTENDERS_NOT_ASKED),
        (PLACED, Result.DIFFERENT_NODE, Result.EXTENDERS_NOT_ASKED),
        (PLACED, Result.WOULD_PLACE, Result.EXTENDERS_NOT_ASKED),
        (PLACED, Result.WOULD_REJECT, Result.WOULD_REJECT),
        (PARKED, Result.WOULD_REJECT, Result.WOULD_REJECT),
        (PARKED, Result.SAME, Result.SAME),
        (FAILED, Result.FAILED, Result.FAILED),
        (GONE, Result.NOT_JUDGED, Result.NOT_JUDGED),
    ],
)
def test_what_extenders_can_only_confirm_is_compared(
    verdict: Verdict, compared: Result, result: Result
) -> None:
    assert without_extenders(Opinion(verdict, "u", "", False, compared)) is result


EXTENDERS = """\
  extenders:
    - {urlPrefix: "http://x", filterVerb: filter, managedResources: [{name: example.com/a}]}
    - {urlPrefix: "http://y", bindVerb: bind}
"""


def test_whom_they_would_be_asked_about() -> None:
    text = POLICY.format(predicate="true", priority="0")
    compiled = compile_policy(Source("p.yaml", text + EXTENDERS))
    assert compiled.program is not None, compiled.diagnostics
    unasked = Unasked.of(compiled.program)
    assert unasked.managed == ["example.com/a"], "an extender that only binds changes no choice"
    assert unasked.concern("kpolicy", frozenset({"example.com/a"}))
    assert not unasked.concern("kpolicy", frozenset())
    assert not unasked.concern("another", frozenset({"example.com/a"}))
    (remark,) = unasked.remarks()
    assert (remark.code, remark.message) == (
        "KPS106",
        "extenders of the shadow policy are not asked (profiles: kpolicy)",
    )
    plain = compile_policy(Source("p.yaml", text)).program
    assert plain is not None
    assert Unasked.of(plain).remarks() == ()


def test_decisions_that_extenders_could_change_are_counted_as_such() -> None:
    every_pod = Unasked({"kpolicy": (frozenset(),)})
    pair = Pair(program("node.name == 'a'"), program("node.name == 'a'"), unasked=every_pod)
    # Two of six find no room: more extenders make no more of it.
    assert pair.decide() == {Result.EXTENDERS_NOT_ASKED: 4, Result.SAME: 2}
    pair.shadow.stop()
    some = Unasked({"kpolicy": (frozenset({"example.com/a"}),)})
    pair = Pair(program(), program(), unasked=some)
    assert pair.decide() == {Result.SAME: 6}, "none of the pods requests the resource"
    pair.shadow.stop()


async def test_a_shadow_with_extenders_says_that_it_asks_nobody() -> None:
    from kpolicy.scheduler.shadow.shadow_policy import ShadowPolicy

    text = POLICY.format(predicate="true", priority="0") + EXTENDERS
    shadow = ShadowPolicy(compile_policy, SystemClock())
    await shadow.start(FixedSource([Source("b.yaml", text)]))
    shown = shadow.shown()
    assert (shown["problem"], shown["diagnostics"][-1]["code"]) == (None, "KPS106")
    shadow.stop()


# --- it never holds anything up ------------------------------------------------------------------


class StuckEngine(Engine):
    """Takes for ever, until it is let go."""

    def __init__(self) -> None:
        super().__init__(0)
        self.gate = threading.Event()

    def load(self, program: bytes) -> list[Refusal]:
        return []

    def resources(self) -> list[str]:
        return ["pods", "nodes"]

    def stale(self) -> list[str]:
        return []

    def list_end(self, resource: str, now_ns: int) -> Applied:
        return applied()

    def watch(self, resource: str, lines: bytes, now_ns: int) -> Applied:
        self.gate.wait(WAIT_S)
        return applied()

    def requested(self, uids: Sequence[str], resources: Sequence[str]) -> list[list[str]]:
        return [[] for _ in uids]

    def second_opinions(self, acted: Sequence[tuple[str, str]], now_ns: int) -> list[Opinion]:
        return [Opinion(PLACED, uid, name, True, Result.SAME) for uid, name in acted]


def test_what_does_not_fit_is_dropped_and_counted_and_a_gap_asks_for_new_lists() -> None:
    behind = threading.Event()
    engines = [StuckEngine(), StuckEngine()]
    made = iter(engines)
    shadow = Shadow(lambda: next(made), SystemClock(), behind.set)
    shadow.start()
    shadow.load(b"p", Unasked()).result(WAIT_S)
    decision = (decided(PLACED, "u", node="n"), "kpolicy")
    shadow.saw("list_end", "pods", 0)
    shadow.saw("list_end", "nodes", 0)
    shadow.saw("watch", "pods", b"", 0)  # it is stuck from here on
    until(lambda: shadow.statistics().backlog == 0)
    for _ in range(limits.SHADOW_BACKLOG_MAX // 2):
        shadow.saw("watch", "pods", b"", 0)
    shadow.decided([decision, decision])
    assert shadow.statistics().dropped == 2, "deltas come first"
    assert not behind.is_set()
    for _ in range(limits.SHADOW_BACKLOG_MAX // 2 + 1):
        shadow.saw("watch", "pods", b"", 0)
    assert behind.is_set()
    statistics = shadow.statistics()
    assert (statistics.backlog, statistics.is_behind) == (0, True)
    shadow.decided([decision])
    assert shadow.statistics().dropped == 3
    engines[0].gate.set()
    engines[1].gate.set()
    shadow.begin_anew()
    shadow.decided([decision])
    until(lambda: shadow.statistics().dropped == 4)  # its lists are not whole yet
    shadow.saw("list_end", "pods", 0)
    shadow.saw("list_end", "nodes", 0)
    shadow.decided([decision])
    until(lambda: shadow.statistics().results == {Result.SAME: 1})
    assert shadow.statistics().resyncs == 1
    shadow.stop()


def test_bytes_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SHADOW_BACKLOG_BYTES_MAX", 100)
    behind = threading.Event()
    shadow = Shadow(StuckEngine, SystemClock(), behind.set)  # never started: nothing is taken
    shadow.saw("watch", "pods", b"x" * 60, 0)
    assert not behind.is_set()
    shadow.saw("watch", "pods", b"x" * 60, 0)
    assert behind.is_set()


# --- a whole scheduler ---------------------------------------------------------------------------


async def test_a_scheduler_acts_on_one_and_counts_what_the_other_would_do() -> None:
    import aiohttp

    from kpolicy.scheduler.delivery.policy_delivery import Policies
    from kpolicy.scheduler.process import Scheduler

    port = free_port()
    in_force = Source("a.yaml", POLICY.format(predicate="node.name == 'a'", priority="0"))
    shadow = Source("b.yaml", POLICY.format(predicate="node.name == 'b'", priority="0"))
    async with ControlPlane() as control_plane:
        control_plane.add(node("a"), node("b"), *(pod(f"p{number}") for number in range(5)))
        scheduler = Scheduler(
            connection(control_plane.url),
            Policies(FixedSource([in_force]), shadow=FixedSource([shadow])),
            on_port(port),
        )
        task = asyncio.create_task(scheduler.run())
        async with asyncio.timeout(WAIT_S), aiohttp.ClientSession() as session:
            while True:
                placed = [pod["spec"].get("nodeName") for pod in control_plane.objects("Pod")]
                if scheduler.ready and placed == ["a"] * 5:
                    text = await (await session.get(f"http://127.0.0.1:{port}/metrics")).text()
                    if 'kpolicy_shadow_decisions_total{result="would_reject"} 5' in text:
                        break
                assert not task.done(), task.result()
                await asyncio.sleep(0.02)
            configuration = await (await session.get(f"http://127.0.0.1:{port}/configz")).json()
        assert configuration["shadow"]["decisions"]["would_reject"] == 5
        assert configuration["shadow"]["hash"] != configuration["policy"]["hash"]
        assert "kpolicy_shadow_policy_valid 1" in text
        scheduler.stop()
        assert await task is None


async def test_a_shadow_policy_that_is_wrong_changes_nothing() -> None:
    from kpolicy.scheduler.delivery.policy_delivery import Policies
    from kpolicy.scheduler.process import Scheduler
    from tests.unit.scheduler.world import QUIET

    async with ControlPlane() as control_plane:
        control_plane.add(node("a"), pod("p"))
        scheduler = Scheduler(
            connection(control_plane.url),
            Policies(FixedSource(), shadow=FixedSource([Source("b.yaml", "kind: nonsense")])),
            QUIET,
        )
        task = asyncio.create_task(scheduler.run())
        async with asyncio.timeout(WAIT_S):
            while not any(pod["spec"].get("nodeName") for pod in control_plane.objects("Pod")):
                assert not task.done(), task.result()
                await asyncio.sleep(0.02)
        scheduler.stop()
        assert await task is None
