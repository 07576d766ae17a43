"""An attack by name, and the figures that it measures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the report. `broken` says which promise did not hold; empty if all held."""

    what: str
    value: str
    broken: str = ""


# Gets a folder for its files, and returns its figures in the order of the report.
Run: TypeAlias = Callable[[Path], list[Figure]]


@dataclass(frozen=True, slots=True)
class Attack:
    """A module of this package defines one as `ATTACK`, and `attacks` lists it."""

    name: str
    about: str
    run: Run
