"""What packages load and compile while they are imported, and kpolicy never uses: left out here, or
put off until it is used. It was a fourth of the time of `kpolicy lint`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

_PLUGIN_LOADER: Final = "pydantic.plugin._loader"


def skip_unused_imports() -> None:
    """For a process of kpolicy, before pydantic is imported. A program that uses kpolicy as a
    library has all modules as they are."""
    _find_no_plugins()
    _load_when_used("secrets")


def _find_no_plugins() -> None:
    """pydantic searches all installed packages for plugins of its own when it builds a model. It
    loads importlib.metadata and `email` even where PYDANTIC_DISABLE_PLUGINS says that it need not
    search. kpolicy has no such plugins; who wants one sets the variable to an empty text."""
    if os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__") == "__all__":
        loader: Any = ModuleType(_PLUGIN_LOADER)
        loader.get_plugins = tuple
        sys.modules[_PLUGIN_LOADER] = loader


def _load_when_used(name: str) -> None:
    """pydantic compares secret values with `secrets`, which loads OpenSSL. No model has any."""
    stub: Any = ModuleType(name)

    def attribute_of_module(attribute: str) -> object:
        if sys.modules.get(name) is stub:
            del sys.modules[name]
        return getattr(import_module(name), attribute)

    stub.__getattr__ = attribute_of_module
    sys.modules[name] = stub


@contextmanager
def patterns_when_used() -> Iterator[None]:
    """Regular expressions that are made within are compiled when they are first used. PyYAML's own
    reader, which kpolicy does not use for policies, has one that takes longer than a policy."""
    compile_now = re.compile
    re.compile = _PatternWhenUsed  # type: ignore[assignment]
    try:
        yield
    finally:
        re.compile = compile_now


class _PatternWhenUsed:
    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._arguments = pattern, flags

    def __getattr__(self, name: str) -> object:
        return getattr(re.compile(*self._arguments), name)
