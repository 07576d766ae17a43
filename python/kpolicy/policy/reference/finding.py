"""Finds an entry by what a person writes for its name, or the names that are near."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kpolicy.diagnostics import did_you_mean
from kpolicy.policy.reference.entry import Entry

_ARGUMENTS = re.compile(r"\([^()]*\)|\[[^\]]*\]")


def found(entries: Iterable[Entry], written: str) -> list[Entry]:
    """Entries of this name, in any case; `node.domain('zone').pods.count(s)` is
    `node.domain.pods.count`, and `x.sortBy` or `taints` end the name of what they mean."""
    listed = list(entries)
    name = _plain(written)
    exact = [entry for entry in listed if entry.name.lower() in (written.lower(), name)]
    return exact or [entry for entry in listed if _ends(entry.name.lower(), name)]


def hint(entries: Iterable[Entry], written: str) -> str:
    names = {entry.name.lower(): entry.name for entry in entries}
    lowered = did_you_mean(_plain(written), names)
    return re.sub(r"`([^`]+)`", lambda near: f"`{names.get(near[1], near[1])}`", lowered)


def without_arguments(written: str) -> str:
    """`node.domain('zone').free('cpu')` as `node.domain.free`."""
    count = 1
    while count:
        written, count = _ARGUMENTS.subn("", written)
    return written


def _plain(written: str) -> str:
    return without_arguments(written).lower()


def _ends(name: str, written: str) -> bool:
    return bool(written) and name.endswith(f".{written}")
