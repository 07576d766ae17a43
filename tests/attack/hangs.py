"""Hangs of the leader, each with the time until a replica has taken over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from tests.attack.attack import Attack, Figure
from tests.attack.take_over import TAKE_OVER_S_MAX, HangingReplica, Pair, pair
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.rights import SCENARIO_RULES

# Of `tests.attack.hanging_scheduler`. In all of them the process is otherwise alive.
PARTS: Final = ("loop", "engine-thread", "engine-call", "binder", "watch-reader", "elector")
# Of the whole process, for comparison.
PROCESSES: Final = ("killed", "frozen")


@contextmanager
def scene_of(plane: ControlPlane, folder: Path, hang: str) -> Iterator[Pair]:
    namespace = f"hang-{hang}"
    if hang in PROCESSES:
        with pair(plane, folder, namespace) as scene:
            yield scene
        return
    leader = HangingReplica(plane, folder / f"{namespace}-1.log", namespace, hang)
    with pair(plane, folder, namespace, leader) as scene:
        yield scene


def take_over_s(scene: Pair, hang: str) -> float:
    leader = scene.leader
    if isinstance(leader, HangingReplica):
        return scene.take_over_s(leader.hang)
    with ExitStack() as stack:
        begin = leader.kill if hang == "killed" else partial(stack.enter_context, leader.frozen())
        return scene.take_over_s(begin)


def run(folder: Path) -> list[Figure]:
    figures = []
    with ControlPlane() as plane:
        plane.grant(NORMAL, SCENARIO_RULES)
        for hang in (*PROCESSES, *PARTS):
            with scene_of(plane, folder, hang) as scene:
                figures.append(figure(hang, take_over_s(scene, hang)))
    return figures


def figure(hang: str, took_s: float) -> Figure:
    broken = "" if took_s <= TAKE_OVER_S_MAX else f"{TAKE_OVER_S_MAX:g} s are promised"
    return Figure(f"{hang}: the other replica has bound after", f"{took_s:.1f} s", broken)


ATTACK: Final = Attack("hangs", "one part of the leader hangs; how long until another leads", run)
