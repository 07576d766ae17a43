"""Finds the classes of plugins, and says what is wrong with one before anything starts.

Plugins are the entry points of the group `kpolicy.plugins` of installed packages, and the classes
that `--plugin module:Class` names.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from typing import Any, Final

from kpolicy.diagnostics import Coded
from kpolicy.plugins import limits
from kpolicy.plugins.points import Point
from kpolicy.quick_dataclass import dataclass

GROUP: Final = "kpolicy.plugins"

# By point: the method, and how many arguments it is called with.
METHODS: Final = {
    Point.PRE_ENQUEUE: ("pre_enqueue", 1),
    Point.QUEUE_SORT: ("queue_key", 1),
    Point.RESERVE: ("reserve", 2),
    Point.UNRESERVE: ("unreserve", 2),
    Point.PERMIT: ("permit", 2),
    Point.PRE_BIND: ("pre_bind", 2),
    Point.BIND: ("bind", 2),
    Point.POST_BIND: ("post_bind", 2),
}
_ARGUMENTS: Final = {1: "(self, pod)", 2: "(self, pod, node)"}
_WRITE: Final = "write --plugin=MODULE:CLASS"


@dataclass(frozen=True, slots=True)
class PluginProblem(Coded):
    """Why a plugin cannot be used."""


@dataclass(frozen=True, slots=True)
class PluginClass:
    """A class that was found fit. `origin` says where it was named."""

    name: str
    make: Callable[..., Any]
    points: frozenset[Point]
    reads_bound_pods: bool
    origin: str


def load_plugins(
    named: Sequence[str] = (), *, of_packages: bool = True
) -> tuple[PluginClass, ...] | PluginProblem:
    """The plugins of installed packages, in the order of their names, and then those that are
    named; or the first of them that cannot be used."""
    found: list[PluginClass] = []
    entries = entry_points(group=GROUP) if of_packages else ()
    for entry in sorted(entries, key=lambda entry: entry.name):
        origin = f"the entry point {entry.name} = {entry.value}"
        loaded = _loaded(entry.value, origin)
        if isinstance(loaded, PluginProblem):
            return loaded
        found.append(loaded)
    for place in named:
        loaded = _loaded(place, f"--plugin={place}")
        if isinstance(loaded, PluginProblem):
            return loaded
        # It may be that of a package that is installed.
        if all(loaded.make is not other.make for other in found):
            found.append(loaded)
    return _together(found) or tuple(found)


def _together(found: Sequence[PluginClass]) -> PluginProblem | None:
    by_name: dict[str, PluginClass] = {}
    for plugin in found:
        first = by_name.setdefault(plugin.name, plugin)
        if first is not plugin:
            message = f"{plugin.origin}: {first.origin} is called `{plugin.name}` too"
            return PluginProblem("KPS210", message, "give one of them another `name`")
    sorting = [plugin for plugin in found if Point.QUEUE_SORT in plugin.points]
    if len(sorting) > 1:
        names = " and ".join(f"`{plugin.name}`" for plugin in sorting)
        message = f"{sorting[1].origin}: {names} both order the queue"
        return PluginProblem("KPS210", message, "a queue has one order: leave one of them out")
    if len(found) > limits.PLUGINS_MAX:
        message = f"{len(found)} plugins, at most {limits.PLUGINS_MAX} are allowed"
        return PluginProblem("KPS210", message, "leave some of them out")
    return None


def _loaded(place: str, origin: str) -> PluginClass | PluginProblem:
    module_name, colon, class_name = place.partition(":")
    if not (module_name and colon and class_name):
        return PluginProblem("KPS208", f"{origin} names no class", _WRITE)
    try:
        value: Any = importlib.import_module(module_name)
    # Whatever the module does when it is imported is a mistake of the module.
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        message = f"{origin}: {module_name} cannot be imported: {_text(error)}"
        return PluginProblem("KPS208", message, "is its package installed where kpolicy is?")
    for part in class_name.split("."):
        value = getattr(value, part, None)
    if not isinstance(value, type):
        return PluginProblem("KPS208", f"{origin}: {module_name} has no class {class_name}", _WRITE)
    return plugin_class(value, origin)


def plugin_class(kind: type, origin: str = "") -> PluginClass | PluginProblem:
    """The plugin that a class is, or why it is none."""
    origin = origin or f"{kind.__module__}:{kind.__qualname__}"
    name = getattr(kind, "name", kind.__name__)
    if not isinstance(name, str) or not name or name == "*" or len(name) > 63:
        return _unfit(origin, f"`name` is {name!r}, and not a name", "at most 63 characters")
    points = set()
    for point, (method, count) in METHODS.items():
        function = inspect.getattr_static(kind, method, None)
        if function is None:
            continue
        if not inspect.iscoroutinefunction(function):
            return _unfit(origin, f"`{method}` is not an `async def`", "plugins are coroutines")
        try:
            inspect.signature(function).bind(*[None] * (count + 1))
        except TypeError:
            message = f"`{method}` cannot be called with {count} argument{'s' * (count > 1)}"
            return _unfit(origin, message, f"write async def {method}{_ARGUMENTS[count]}")
        points.add(point)
    if not points:
        listed = ", ".join(method for method, _ in METHODS.values())
        return _unfit(origin, "the class has no method of a plugin", f"one or more of {listed}")
    if (Point.RESERVE in points) != (Point.UNRESERVE in points):
        missing = "unreserve" if Point.RESERVE in points else "reserve"
        return _unfit(origin, f"`{missing}` is missing", "`reserve` and `unreserve` go together")
    try:
        inspect.signature(kind).bind(None)
    except (TypeError, ValueError):
        return _unfit(origin, "the class cannot be made", "write def __init__(self, handle)")
    reads = bool(getattr(kind, "reads_bound_pods", False))
    return PluginClass(name, kind, frozenset(points), reads, origin)


def not_made(plugin: PluginClass, why: str) -> PluginProblem:
    """Its constructor failed."""
    message = f"{plugin.origin}: the plugin `{plugin.name}` cannot be made: {why}"
    return PluginProblem("KPS208", message, "it is called with one argument, the handle")


def _unfit(origin: str, message: str, hint: str) -> PluginProblem:
    return PluginProblem("KPS209", f"{origin}: {message}", hint)


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
