"""pydantic without plugins of its own.

Before its first model it looks for some in every installed package, and loads forty modules to do
so, `email` among them: a tenth of the time of `kpolicy lint`. Where plugins of `kpolicy run` may
want them, they are looked for.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any, Final

_LOADER: Final = "pydantic.plugin._loader"


class _NoPlugins(ModuleType):
    """Stands for the module that looks for them. For anything else it makes way."""

    get_plugins = tuple

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # the import system asks whether this is a package
            raise AttributeError(name)
        if sys.modules.get(_LOADER) is self:
            del sys.modules[_LOADER]
        return getattr(import_module(_LOADER), name)


def without_plugins() -> None:
    sys.modules.setdefault(_LOADER, _NoPlugins(_LOADER))
