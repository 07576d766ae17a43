"""Replays a whole journal, epoch after epoch."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from kpolicy.engine import Engine
from kpolicy.offline.journal_replay.journal_input import JournalInput
from kpolicy.offline.journal_replay.other_policy import Compared, OtherPolicy
from kpolicy.offline.journal_replay.same_decisions import (
    Progress,
    ReplayedEpoch,
    replayed_epoch,
)
from kpolicy.offline.limits import OBJECTS_A_COLLECTION
from kpolicy.policy.assembly.assemble import Program


@dataclass(slots=True)
class Replay:
    """`engine` is as it was after the last call; None if the journal begins after the time."""

    epochs: list[ReplayedEpoch] = field(default_factory=list)
    engine: Engine | None = None

    @property
    def decisions(self) -> int:
        return sum(epoch.decisions for epoch in self.epochs)

    @property
    def different(self) -> int:
        return sum(epoch.different for epoch in self.epochs)

    @property
    def is_whole(self) -> bool:
        """Whether nothing was missing, cut off or damaged."""
        return not any(epoch.problems for epoch in self.epochs)

    def differences(self) -> list[dict[str, Any]]:
        return [epoch.first.line() for epoch in self.epochs if epoch.first is not None]

    def line(self) -> dict[str, Any]:
        return {
            "summary": {"decisions": self.decisions, "different": self.different},
            "epochs": [epoch.line() for epoch in self.epochs],
        }


def replay(
    journal: JournalInput, *, until_ns: int | None = None, progress: Progress | None = None
) -> Replay:
    """Every recorded call again, with the policies and the seed that decided. `until_ns`: only
    calls that were answered by then."""
    made = Replay()
    for epoch in journal.epochs:
        if until_ns is not None and epoch.header.began_ns > until_ns:
            break
        done = made.decisions

        def seen(decisions: int, done: int = done) -> None:
            if progress is not None:
                progress(done + decisions)

        with _collected_seldom():
            found, made.engine = replayed_epoch(epoch, until_ns=until_ns, progress=seen)
        made.epochs.append(found)
    return made


def replay_with(
    journal: JournalInput,
    program: Program,
    *,
    until_ns: int | None = None,
    progress: Progress | None = None,
) -> Compared:
    """What this policy would have decided about each pod, in the cluster as it was then. Raises
    `PolicyRefusedError`."""
    other = OtherPolicy(program, until_ns=until_ns, progress=progress)
    for epoch in journal.epochs:
        if until_ns is None or epoch.header.began_ns <= until_ns:
            with _collected_seldom():
                other.replay(epoch)
    return other.compared


@contextmanager
def _collected_seldom() -> Iterator[None]:
    """Where the caller has turned collections off, they stay off."""
    before = gc.get_threshold()
    gc.set_threshold(before[0] and max(before[0], OBJECTS_A_COLLECTION), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
