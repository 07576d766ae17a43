"""Hangs of the leader, each with the time until a replica has taken over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final

from tests.attack.attack import Attack, Figure
from tests.attack.take_over import TAKE_OVER_S_MAX, Pair, pair
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.rights import SCENARIO_RULES


def _killed(scene: Pair, _: ExitStack) -> None:
    scene.leader.kill()


def _frozen(scene: Pair, stack: ExitStack) -> None:
    stack.enter_context(scene.leader.frozen())


HANGS: Final[Mapping[str, Callable[[Pair, ExitStack], None]]] = {
    "process-killed": _killed,
    "process-frozen": _frozen,
}


def run(folder: Path) -> list[Figure]:
    figures = []
    with ControlPlane() as plane:
        plane.grant(NORMAL, SCENARIO_RULES)
        for name, hang in HANGS.items():
            with pair(plane, folder, name) as scene, ExitStack() as stack:
                took_s = scene.take_over_s(partial(hang, scene, stack))
            figures.append(figure(name, took_s))
    return figures


def figure(name: str, took_s: float) -> Figure:
    broken = "" if took_s <= TAKE_OVER_S_MAX else f"{TAKE_OVER_S_MAX:g} s are promised"
    return Figure(f"{name}: the other replica has bound after", f"{took_s:.1f} s", broken)


ATTACK: Final = Attack("hangs", "one part of the leader hangs; how long until another leads", run)
