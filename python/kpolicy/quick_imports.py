"""What packages load and compile while they are imported and kpolicy never uses: it is left out, or
put off until it is used. Only a process of kpolicy does so: a program that uses kpolicy as a
library has all modules as they are.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

_PLUGIN_LOADER: Final = "pydantic.plugin._loader"
_compile_now: Final = re.compile
# pydantic compares secret values with `secrets`, which loads OpenSSL. `inspect` reads sources with
# `tokenize`.
_SELDOM_USED: Final = ("secrets", "tokenize")
_is_own_process = False


def skip_unused_imports() -> None:
    """For a process of kpolicy, before anything else is imported."""
    global _is_own_process  # noqa: PLW0603  it says what this process is
    _is_own_process = True
    _find_no_plugins()
    for name in _SELDOM_USED:
        _load_when_used(name)


def _find_no_plugins() -> None:
    """pydantic searches all installed packages for plugins of its own when it builds a model. It
    loads importlib.metadata and `email` even where PYDANTIC_DISABLE_PLUGINS says that it need not
    search. kpolicy has no such plugins; who wants one sets the variable to an empty text."""
    if os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__") == "__all__":
        loader: Any = ModuleType(_PLUGIN_LOADER)
        loader.get_plugins = tuple
        sys.modules[_PLUGIN_LOADER] = loader


def _load_when_used(name: str) -> None:
    """Only for modules that others import as a whole: a name that is asked for loads the module."""
    stub: Any = ModuleType(name)

    def attribute_of_module(attribute: str) -> object:
        if sys.modules.get(name) is stub:
            del sys.modules[name]
        return getattr(import_module(name), attribute)

    stub.__getattr__ = attribute_of_module
    sys.modules[name] = stub


def imported_quickly() -> AbstractContextManager[None]:
    """Around imports of packages that make many classes and patterns. It changes nothing where
    kpolicy is a library."""
    return _quickly() if _is_own_process else nullcontext()


@contextmanager
def _quickly() -> Iterator[None]:
    with classes_made_quickly(), patterns_when_used():
        yield


@contextmanager
def patterns_when_used() -> Iterator[None]:
    """Modules that are imported within compile a regular expression when it is first used. One of
    PyYAML's own reader, which reads no policy, would take longer than the check of a policy."""
    re.compile = _PatternWhenUsed  # type: ignore[assignment]
    try:
        yield
    finally:
        re.compile = _compile_now


class _PatternWhenUsed:
    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._arguments = pattern, flags

    def __getattr__(self, name: str) -> object:
        return getattr(_compile_now(*self._arguments), name)


@contextmanager
def classes_made_quickly() -> Iterator[None]:
    """Modules that are imported within make their dataclasses as kpolicy makes its own. pydantic
    and annotated_types have many."""
    import dataclasses  # noqa: PLC0415  ctrl-C is heard only after this module

    from kpolicy import quick_dataclass  # noqa: PLC0415

    standard = dataclasses.dataclass
    dataclasses.dataclass = quick_dataclass.dataclass
    try:
        yield
    finally:
        dataclasses.dataclass = standard
