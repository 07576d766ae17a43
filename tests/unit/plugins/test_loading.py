"""What may be a plugin, and what is said of what may not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from kpolicy.plugins import loading
from kpolicy.plugins.loading import PluginProblem, load_plugins
from kpolicy.plugins.points import Point

MODULE = """
class Fit:
    def __init__(self, handle): ...
    async def permit(self, pod, node): ...

class Sorts:
    name = "sorts"
    def __init__(self, handle): ...
    async def queue_key(self, pod): return 0

class SortsToo(Sorts):
    name = "sorts-too"

class Namesake:
    name = "Fit"
    def __init__(self, handle): ...
    async def permit(self, pod, node): ...

class Nothing:
    def __init__(self, handle): ...
    async def permitt(self, pod, node): ...

class Blocking:
    def __init__(self, handle): ...
    def permit(self, pod, node): ...

class Narrow:
    def __init__(self, handle): ...
    async def permit(self, pod): ...

class Half:
    def __init__(self, handle): ...
    async def reserve(self, pod, node): ...

class NoHandle:
    async def permit(self, pod, node): ...

class Nameless:
    name = 7
    async def permit(self, pod, node): ...

value = 5
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "plugins_of_a_test.py").write_text(MODULE)
    (tmp_path / "plugins_that_end.py").write_text("raise SystemExit(1)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    for name in ("plugins_of_a_test", "plugins_that_end"):
        sys.modules.pop(name, None)


def test_a_class_is_loaded_by_its_place_and_its_points_are_known() -> None:
    loaded = load_plugins(["plugins_of_a_test:Fit", "plugins_of_a_test:Sorts"])
    assert not isinstance(loaded, PluginProblem)
    assert [plugin.name for plugin in loaded] == ["Fit", "sorts"]
    assert [set(p.points) for p in loaded] == [{Point.PERMIT}, {Point.QUEUE_SORT}]


def test_entry_points_of_packages_are_loaded_and_may_be_named_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entry = EntryPoint("fit", "plugins_of_a_test:Fit", loading.GROUP)
    monkeypatch.setattr(loading, "entry_points", lambda group: [entry] if group else [])
    loaded = load_plugins(["plugins_of_a_test:Fit"])
    assert not isinstance(loaded, PluginProblem)
    assert [plugin.name for plugin in loaded] == ["Fit"]
    entry = EntryPoint("bad", "plugins_of_a_test:Half", loading.GROUP)
    problem = load_plugins()
    assert isinstance(problem, PluginProblem)
    assert "the entry point bad" in problem.message


@pytest.mark.parametrize(
    ("named", "code", "part"),
    [
        (["nowhere_at_all:Fit"], "KPS208", "ModuleNotFoundError"),
        (["plugins_that_end:Fit"], "KPS208", "SystemExit"),
        (["plugins_of_a_test"], "KPS208", "names no class"),
        (["plugins_of_a_test:Missing"], "KPS208", "has no class Missing"),
        (["plugins_of_a_test:value"], "KPS208", "has no class value"),
        (["plugins_of_a_test:Nothing"], "KPS209", "no method of a plugin"),
        (["plugins_of_a_test:Blocking"], "KPS209", "`permit` is not an `async def`"),
        (["plugins_of_a_test:Narrow"], "KPS209", "cannot be called with 2 arguments"),
        (["plugins_of_a_test:Half"], "KPS209", "`unreserve` is missing"),
        (["plugins_of_a_test:NoHandle"], "KPS209", "cannot be made"),
        (["plugins_of_a_test:Nameless"], "KPS209", "not a name"),
        (["plugins_of_a_test:Fit", "plugins_of_a_test:Namesake"], "KPS210", "`Fit` too"),
        (["plugins_of_a_test:Sorts", "plugins_of_a_test:SortsToo"], "KPS210", "order the queue"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_code_and_place(
    named: list[str], code: str, part: str
) -> None:
    problem = load_plugins(named)
    assert isinstance(problem, PluginProblem)
    assert problem.code == code
    assert part in problem.message
    assert problem.message.startswith(f"--plugin={named[-1]}")
    assert problem.hint
