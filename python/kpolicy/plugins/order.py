"""Which plugins a profile has at each extension point, and in which order.

Every plugin that is loaded is on, in the order of loading. A profile says what is different.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kpolicy.plugins.loading import METHODS, PluginClass
from kpolicy.plugins.points import Point
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.compile import EVERY_POD
from kpolicy.policy.models.plugin_sets import PluginSets

# `unreserve` goes with `reserve`.
_FIELDS: Final = {
    Point.PRE_ENQUEUE: "pre_enqueue",
    Point.QUEUE_SORT: "queue_sort",
    Point.RESERVE: "reserve",
    Point.PERMIT: "permit",
    Point.PRE_BIND: "pre_bind",
    Point.BIND: "bind",
    Point.POST_BIND: "post_bind",
}
_ALL: Final = "*"


@dataclass(frozen=True, slots=True)
class LoadedPlugin:
    """A plugin that was made."""

    kind: PluginClass
    instance: Any

    @property
    def name(self) -> str:
        return self.kind.name

    def method(self, point: Point) -> Callable[..., Coroutine[Any, Any, Any]]:
        found: Callable[..., Coroutine[Any, Any, Any]] = getattr(self.instance, METHODS[point][0])
        return found


_BEFORE_BINDS: Final = (Point.RESERVE, Point.PERMIT, Point.PRE_BIND)


@dataclass(frozen=True, slots=True)
class ProfilePlugins:
    """The plugins of one profile by point, in their order; and when there are any, which is asked
    for each pod."""

    by_point: dict[Point, tuple[LoadedPlugin, ...]]
    asks_before_the_queue: bool
    asks_before_binds: bool
    asks_after_decisions: bool

    @classmethod
    def of(cls, loaded: Sequence[LoadedPlugin], sets: PluginSets) -> ProfilePlugins:
        points = {point: tuple(_at(loaded, point, sets)) for point in _FIELDS}
        before_binds = any(points[point] for point in _BEFORE_BINDS)
        return cls(
            points,
            bool(points[Point.PRE_ENQUEUE] or points[Point.QUEUE_SORT]),
            before_binds,
            before_binds or bool(points[Point.BIND] or points[Point.POST_BIND]),
        )

    def at(self, point: Point) -> tuple[LoadedPlugin, ...]:
        return self.by_point[point]


def _at(loaded: Sequence[LoadedPlugin], point: Point, sets: PluginSets) -> list[LoadedPlugin]:
    """First those that the point enables, then those of `multiPoint`, then the others that neither
    disables."""
    by_name = {plugin.name: plugin for plugin in loaded if point in plugin.kind.points}
    here, everywhere = getattr(sets, _FIELDS[point]), sets.multi_point
    off_here = {plugin.name for plugin in here.disabled}
    off = off_here | {plugin.name for plugin in everywhere.disabled}
    names = [plugin.name for plugin in here.enabled]
    if _ALL not in off_here:
        names += [p.name for p in everywhere.enabled if p.name not in off_here]
    if _ALL not in off:
        names += [name for name in by_name if name not in off]
    return [by_name[name] for name in dict.fromkeys(names) if name in by_name]


NO_PLUGINS: Final = ProfilePlugins.of((), PluginSets())


class PluginsByProfile:
    """The plugins of each profile of a program."""

    def __init__(self, loaded: Sequence[LoadedPlugin], program: Program) -> None:
        self._by_profile = {
            profile.scheduler_name: ProfilePlugins.of(loaded, profile.plugins or PluginSets())
            for profile in program.profiles
        }

    def of(self, profile: str) -> ProfilePlugins:
        """Those of a pod's scheduler name; none if it is not served."""
        found = self._by_profile.get(profile) or self._by_profile.get(EVERY_POD)
        return found or NO_PLUGINS
