"""Pending pods as the queue reads them, for tests."""

from __future__ import annotations

from typing import NamedTuple

SECOND = 1_000_000_000


class Pending(NamedTuple):
    uid: str
    namespace: str = "default"
    name: str = ""
    priority: int = 0
    scheduler_name: str = "kpolicy"
    gated: bool = False
    created_ns: int = 0
