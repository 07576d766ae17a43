"""The input of `kpolicy sweep --trace`: the nodes and pods of a trace of shared GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kpolicy.cli.verb import CannotWorkError

if TYPE_CHECKING:
    from kpolicy.offline.fill.trace import Trace


@dataclass(frozen=True, slots=True)
class TraceInput:
    trace: Trace
    cluster_version: str = ""

    def course(self, values: Mapping[str, str]) -> None:
        if values:
            raise CannotWorkError("a trace has no values that can be set; params.NAME can be")


def load_trace(written: str) -> TraceInput:
    from kpolicy.offline.fill.openb import trace_at
    from kpolicy.offline.snapshots.snapshot_problem import Problem

    found = trace_at(written)
    if isinstance(found, Problem):
        raise CannotWorkError(f"{found.code}: {found}")
    return TraceInput(found)
