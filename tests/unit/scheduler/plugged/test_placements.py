"""Plugins after decisions, in a scheduler with the real engine over the embedded control plane."""

from __future__ import annotations

import asyncio
import json
import threading
import urllib.request
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from kpolicy.plugins import Handle, Pod, Refuse, Wait
from kpolicy.testing import node, pod
from kpolicy.testing.control_plane import ControlPlane
from tests.unit.scheduler.world import QUIET, World, free_port, on_port, policy, running

BACKING_OFF_BRIEFLY = replace(QUIET, pod_initial_backoff_s=0.1, pod_max_backoff_s=0.1)


class Diary:
    """What plugins of one test have seen, in order."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, what: str, pod: Pod) -> None:
        self.lines.append(f"{what} {pod.name}")

    def of(self, name: str) -> list[str]:
        return [line.split()[0] for line in self.lines if line.endswith(f" {name}")]


def everything(diary: Diary, called: str) -> type:
    """A plugin at each point, that does nothing but note it."""

    class Noting:
        name = called

        def __init__(self, handle: Handle) -> None:
            self.handle = handle

        async def pre_enqueue(self, pod: Pod) -> None:
            diary.note(f"{called}.pre_enqueue", pod)

        async def queue_key(self, pod: Pod) -> float:
            diary.note(f"{called}.queue_key", pod)
            return 0.0

        async def reserve(self, pod: Pod, node: str) -> None:
            diary.note(f"{called}.reserve", pod)

        async def unreserve(self, pod: Pod, node: str) -> None:
            diary.note(f"{called}.unreserve", pod)

        async def permit(self, pod: Pod, node: str) -> None:
            diary.note(f"{called}.permit", pod)

        async def pre_bind(self, pod: Pod, node: str) -> None:
            diary.note(f"{called}.pre_bind", pod)

        async def bind(self, pod: Pod, node: str) -> bool:
            diary.note(f"{called}.bind", pod)
            return False

        async def post_bind(self, pod: Pod, node: str) -> None:
            diary.note(f"{called}.post_bind", pod)

    return Noting


def reserving(diary: Diary, called: str, fails: Callable[[Pod], bool] = lambda _: False) -> type:
    class Reserving:
        name = called

        def __init__(self, handle: Handle) -> None:
            pass

        async def reserve(self, pod: Pod, node: str) -> Refuse | None:
            diary.note(f"{called}.reserve", pod)
            return Refuse(f"{called} is full") if fails(pod) else None

        async def unreserve(self, pod: Pod, node: str) -> None:
            diary.note(f"{called}.unreserve", pod)

    return Reserving


def permitting(called: str, answer: Callable[[Handle, Pod], Any]) -> type:
    class Permitting:
        name = called

        def __init__(self, handle: Handle) -> None:
            self.handle = handle

        async def permit(self, pod: Pod, node: str) -> Any:
            return answer(self.handle, pod)

    return Permitting


def plane(*names: str) -> ControlPlane:
    control_plane = ControlPlane()
    control_plane.add(node("n1", pods=100), *(pod(name) for name in names))
    return control_plane


@asynccontextmanager
async def scheduling(control_plane: ControlPlane, **of_world: Any) -> AsyncIterator[World]:
    async with control_plane, running(control_plane, **of_world) as world:
        yield world


def condition(world: World, name: str) -> tuple[str, str]:
    for found in world.pods()[name].get("status", {}).get("conditions", ()):
        if found["type"] == "PodScheduled" and found["status"] == "False":
            return found["reason"], found["message"]
    return "", ""


async def at_rest(world: World) -> None:
    """No reservation is left in the engine."""

    async def assumed() -> int:
        return int(json.loads(await world.scheduler.engine_statistics())["podsAssumed"])

    left = 1
    while left:
        await world.until(lambda: True)
        left = await assumed()


async def test_every_point_is_reached_in_its_order() -> None:
    diary = Diary()
    async with scheduling(plane("a"), plugins=[everything(diary, "p")]) as world:
        await world.until(lambda: "p.post_bind a" in diary.lines)
        assert world.placed() == {"a": "n1"}
        points = ("pre_enqueue", "queue_key", "reserve", "permit", "pre_bind", "bind")
        assert diary.of("a") == [f"p.{point}" for point in (*points, "post_bind")]
        await at_rest(world)


async def test_a_refused_permit_is_reported_undone_in_reverse_and_tried_again() -> None:
    diary, is_open = Diary(), threading.Event()
    plugins = [
        reserving(diary, "one"),
        reserving(diary, "two"),
        permitting("gate", lambda _, pod: None if is_open.is_set() else Refuse("it is closed")),
    ]
    async with scheduling(plane("a"), plugins=plugins, options=BACKING_OFF_BRIEFLY) as world:
        await world.until(lambda: bool(condition(world, "a")[0]))
        assert condition(world, "a") == (
            "Unschedulable",
            "0/1 nodes are available: 1 it is closed.",
        )
        await world.until(lambda: bool(world.events("FailedScheduling")))
        once = ["one.reserve", "two.reserve", "two.unreserve", "one.unreserve"]
        assert diary.of("a")[:4] == once
        is_open.set()
        world.control_plane.add(node("n2"))  # any event lets the plugin be asked again
        await world.until(lambda: "a" in world.placed())
        await at_rest(world)


async def test_the_first_reserve_that_refuses_ends_the_attempt_and_all_are_told() -> None:
    diary = Diary()
    plugins = [
        reserving(diary, "one"),
        reserving(diary, "two", lambda pod: pod.name == "a"),
        reserving(diary, "three"),
    ]
    async with scheduling(plane("a", "b"), plugins=plugins) as world:
        await world.until(lambda: "b" in world.placed() and bool(condition(world, "a")[0]))
        undone = ["three.unreserve", "two.unreserve", "one.unreserve"]
        assert diary.of("a")[:5] == ["one.reserve", "two.reserve", *undone]
        assert diary.of("b") == ["one.reserve", "two.reserve", "three.reserve"]
        assert condition(world, "a")[1] == "0/1 nodes are available: 1 two is full."


async def test_a_plugin_is_told_although_the_one_before_it_takes_too_long() -> None:
    diary = Diary()

    class Slow:
        def __init__(self, handle: Handle) -> None:
            pass

        async def reserve(self, pod: Pod, node: str) -> Refuse:
            return Refuse("full")

        async def unreserve(self, pod: Pod, node: str) -> None:
            diary.note("slow.unreserve", pod)
            await asyncio.sleep(3600)

    plugins = [reserving(diary, "first"), Slow]
    options = replace(QUIET, plugin_timeout_s=0.2)
    async with scheduling(plane("a"), plugins=plugins, options=options) as world:
        await world.until(lambda: bool(condition(world, "a")[0]))
        assert diary.of("a")[:3] == ["first.reserve", "slow.unreserve", "first.unreserve"]


async def test_a_waiting_pod_goes_on_when_every_plugin_has_allowed_it() -> None:
    handles: list[Handle] = []

    def wait(handle: Handle, pod: Pod) -> Wait:
        handles.append(handle)
        return Wait(600)

    options = on_port(free_port())
    async with plane("a") as control_plane:
        plugins = [permitting("one", wait), permitting("two", wait)]
        async with running(control_plane, plugins=plugins, options=options) as world:
            await world.until(lambda: bool(handles and handles[0].waiting_pods()))
            [waiting] = handles[0].waiting_pods()
            assert (waiting.pod.name, waiting.node) == ("a", "n1")
            shown = json.loads(await asyncio.to_thread(page, world, "/debug/waiting"))
            assert [(p["pod"], p["node"]) for p in shown["pods"]] == [("default/a", "n1")]
            assert [p["name"] for p in shown["pods"][0]["plugins"]] == ["one", "two"]
            metrics = await asyncio.to_thread(page, world, "/metrics")
            assert "kpolicy_pods_waiting_on_permit 1" in metrics
            waiting.allow("one")
            assert waiting.pending_plugins() == ("two",)
            assert world.placed() == {}
            waiting.allow("two")
            await world.until(lambda: "a" in world.placed())
            metrics = await asyncio.to_thread(page, world, "/metrics")
            assert 'permit_wait_duration_seconds_count{result="Success"} 1' in metrics
            assert handles[0].waiting_pods() == ()
            await at_rest(world)


async def test_a_waiting_pod_can_be_rejected_by_another_plugin() -> None:
    diary, handles = Diary(), list[Handle]()

    def wait(handle: Handle, pod: Pod) -> Wait:
        handles.append(handle)
        return Wait(600)

    plugins = [reserving(diary, "r"), permitting("one", wait)]
    async with scheduling(plane("a"), plugins=plugins) as world:
        await world.until(lambda: bool(handles and handles[0].waiting_pods()))
        handles[0].waiting_pods()[0].reject("other", "not today")
        await world.until(lambda: bool(condition(world, "a")[0]))
        assert condition(world, "a")[1] == "0/1 nodes are available: 1 not today."
        assert diary.of("a")[:2] == ["r.reserve", "r.unreserve"]


async def test_the_first_time_that_is_over_rejects_a_waiting_pod() -> None:
    plugins = [
        permitting("patient", lambda *_: Wait(600)),
        permitting("hasty", lambda *_: Wait(0.2)),
    ]
    async with scheduling(plane("a"), plugins=plugins) as world:
        await world.until(lambda: bool(condition(world, "a")[0]))
        reason = "rejected due to timeout after waiting 200ms at plugin hasty"
        assert condition(world, "a") == (
            "Unschedulable",
            f"0/1 nodes are available: 1 {reason}.",
        )


async def test_a_waiting_pod_that_is_deleted_is_undone() -> None:
    diary, handles = Diary(), list[Handle]()

    def wait(handle: Handle, pod: Pod) -> Wait | None:
        handles.append(handle)
        return Wait(600) if pod.name == "a" else None

    plugins = [reserving(diary, "r"), permitting("one", wait)]
    async with scheduling(plane("a"), plugins=plugins) as world:
        await world.until(lambda: bool(handles and handles[0].waiting_pods()))
        path = "/api/v1/namespaces/default/pods/a"
        await asyncio.to_thread(page, world, path, world.control_plane.url, "DELETE")
        await world.until(lambda: "r.unreserve a" in diary.lines)
        assert handles[0].waiting_pods() == ()
        await at_rest(world)


async def test_a_waiting_pod_gives_its_place_to_a_pod_of_higher_priority() -> None:
    diary, handles = Diary(), list[Handle]()

    def wait(handle: Handle, pod: Pod) -> Wait | None:
        handles.append(handle)
        return Wait(600) if pod.name == "low" else None

    plugins = [reserving(diary, "r"), permitting("one", wait)]
    source = policy()
    async with ControlPlane() as control_plane:
        control_plane.add(node("n1", cpu="1"), pod("low", cpu="1"))
        async with running(control_plane, plugins=plugins) as world:
            await world.until(lambda: bool(handles and handles[0].waiting_pods()))
            world.control_plane.add(pod("high", cpu="1", priority=10))
            await world.until(lambda: "high" in world.placed())
            assert diary.of("low")[:2] == ["r.reserve", "r.unreserve"]
            assert "low" in world.pods(), f"it is not evicted under {source.name}"


async def test_pre_bind_that_fails_is_undone_and_the_pod_is_tried_again() -> None:
    diary, tries = Diary(), Counter[str]()

    class PreBinding:
        def __init__(self, handle: Handle) -> None:
            pass

        async def pre_bind(self, pod: Pod, node: str) -> None:
            tries[pod.name] += 1
            if tries[pod.name] == 1:
                raise RuntimeError("the disk is not there")

    plugins = [reserving(diary, "r"), PreBinding]
    async with scheduling(plane("a"), plugins=plugins, options=BACKING_OFF_BRIEFLY) as world:
        await world.until(lambda: "a" in world.placed())
        assert diary.of("a") == ["r.reserve", "r.unreserve", "r.reserve"]
        [event] = world.events("FailedScheduling")
        text = 'running PreBind plugin "PreBinding": the disk is not there'
        assert event["message"] == text


async def test_a_plugin_binds_in_the_place_of_kpolicy_and_its_word_is_checked() -> None:
    bound: list[str] = []

    class Binding:
        def __init__(self, handle: Handle) -> None:
            self.handle = handle

        async def bind(self, pod: Pod, node: str) -> bool:
            bound.append(pod.name)
            if pod.name == "liar":
                return True
            body = {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": pod.name},
                "target": {"kind": "Node", "name": node},
            }
            path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/binding"
            answer = await self.handle.request("POST", path, json.dumps(body).encode())
            return answer.status == 201

    async with scheduling(plane("a", "liar"), plugins=[Binding]) as world:
        await world.until(lambda: "a" in world.placed())
        await world.until(lambda: bool(condition(world, "liar")[0]))
        text = 'plugin "Binding" says it bound the pod; the API server does not'
        assert condition(world, "liar") == ("SchedulerError", text)
        annotations = world.pods()["a"]["metadata"].get("annotations", {})
        assert "kpolicy.dev/decision-id" not in annotations, "kpolicy did not bind it"
        await at_rest(world)


async def test_a_plugin_asks_the_api_server_and_its_mistakes_are_its_own() -> None:
    answers: dict[str, int] = {}

    class Asking:
        def __init__(self, handle: Handle) -> None:
            self.handle = handle

        async def post_bind(self, pod: Pod, node: str) -> None:
            path: Any
            for what, path in (("node", f"/api/v1/nodes/{node}"), ("none", "/api/v1/nodes/no")):
                answers[what] = (await self.handle.request("GET", path)).status
            path = 5
            answers["mistake"] = (await self.handle.request("GET", path)).status

    async with scheduling(plane("a"), plugins=[Asking]) as world:
        await world.until(lambda: len(answers) == 3)
        assert answers == {"node": 200, "none": 404, "mistake": 0}
        assert world.placed() == {"a": "n1"}


async def test_a_plugin_that_blocks_for_ever_costs_its_own_pod_only() -> None:
    over = threading.Event()

    class Blocking:
        def __init__(self, handle: Handle) -> None:
            pass

        async def permit(self, pod: Pod, node: str) -> None:
            if pod.name == "blocked":
                over.wait()

    options = replace(BACKING_OFF_BRIEFLY, plugin_timeout_s=0.2)
    names = [f"p{number}" for number in range(20)]
    try:
        async with scheduling(
            plane("blocked", *names), plugins=[Blocking], options=options
        ) as world:
            await world.until(lambda: set(names) <= set(world.placed()))
            assert "blocked" not in world.placed()
            await world.until(lambda: bool(condition(world, "blocked")[0]))
            assert condition(world, "blocked") == (
                "SchedulerError",
                'running Permit plugin "Blocking": it blocks for longer than 0.2 s',
            )
            world.control_plane.add(pod("late"))
            await world.until(lambda: "late" in world.placed())
    finally:
        over.set()


async def test_a_slow_plugin_is_given_up_and_answers_of_no_kind_are_errors() -> None:
    async def answer(pod: Pod) -> Any:
        if pod.name == "slow":
            await asyncio.sleep(3600)
        if pod.name == "exits":
            raise SystemExit(3)
        return 5

    class Odd:
        def __init__(self, handle: Handle) -> None:
            pass

        async def permit(self, pod: Pod, node: str) -> Any:
            return None if pod.name == "fine" else await answer(pod)

    options = replace(QUIET, plugin_timeout_s=0.2)
    async with scheduling(
        plane("slow", "odd", "exits", "fine"), plugins=[Odd], options=options
    ) as world:
        await world.until(lambda: "fine" in world.placed())
        await world.until(
            lambda: all(condition(world, name)[0] for name in ("slow", "odd", "exits"))
        )
        head = 'running Permit plugin "Odd": '
        assert {name: condition(world, name)[1] for name in ("slow", "odd", "exits")} == {
            "slow": f"{head}no answer within 0.2 s",
            "odd": f"{head}it answered 5, which is not None, a Refuse or a Wait",
            "exits": f"{head}3",
        }


async def test_waiting_pods_are_given_back_when_the_scheduler_stops() -> None:
    diary, handles = Diary(), list[Handle]()

    def wait(handle: Handle, pod: Pod) -> Wait:
        handles.append(handle)
        return Wait(600)

    plugins = [reserving(diary, "r"), permitting("one", wait)]
    async with scheduling(plane("a"), plugins=plugins) as world:
        await world.until(lambda: bool(handles and handles[0].waiting_pods()))
        assert await world.stop() is None
        assert diary.of("a") == ["r.reserve", "r.unreserve"]
        assert condition(world, "a") == ("", ""), "the next leader places it"


async def test_a_plugin_that_cannot_be_made_ends_the_start() -> None:
    class Broken:
        def __init__(self, handle: Handle) -> None:
            raise ValueError("no file of settings")

        async def post_bind(self, pod: Pod, node: str) -> None: ...

    async with scheduling(plane(), plugins=[Broken], ready=False) as world:
        problem = await world.task
        assert problem is not None
        assert problem.code == "KPS208"
        assert "no file of settings" in problem.message


def page(world: World, path: str, server: str = "", method: str = "GET") -> str:
    asked = urllib.request.Request(f"{server or world.scheduler.url}{path}", method=method)
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return str(answer.read().decode())
