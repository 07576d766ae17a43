"""The policies that come with kpolicy.

Owns their names and their text, which is data of the package and read as an import is. Assumes the
package is whole. Must not know what is in them.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from kpolicy.policy.source import Source

DEFAULT: Final = "kube-scheduler-default"


@cache
def shipped_source(name: str) -> Source:
    file = f"{name}.yaml"
    return Source(file, files("kpolicy").joinpath("policies", file).read_text("utf-8"))


def _is_test(name: str) -> bool:
    return name.endswith(".test.yaml")


@cache
def shipped_names() -> tuple[str, ...]:
    folder = files("kpolicy").joinpath("policies")
    files_there = (entry.name for entry in folder.iterdir())
    names = (name for name in files_there if name.endswith(".yaml") and not _is_test(name))
    return tuple(sorted(name.removesuffix(".yaml") for name in names))
