"""All attacks of this package: a new one is a module with an `ATTACK`, and a name here."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from tests.attack.attack import Attack

MODULES: Final[tuple[str, ...]] = ("hangs", "http_server")


def attacks() -> dict[str, Attack]:
    """Returns them by name, in the order in which `python -m tests.attack` runs them."""
    found: list[Attack] = [import_module(f"tests.attack.{name}").ATTACK for name in MODULES]
    return {attack.name: attack for attack in found}
