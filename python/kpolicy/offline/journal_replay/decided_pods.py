"""The decisions that a record has, as far as another engine is asked about them."""

from __future__ import annotations

from typing import Final, NamedTuple

from kpolicy.engine import Verdict
from kpolicy.journal.engine_calls import BrokenRecordError, Record, decided_columns

# Calls whose answers have decisions, and those of them in which extenders had a say.
DECIDING: Final = frozenset({"schedule", "schedule_unit", "choose", "preempt"})
EXTENDED: Final = frozenset({"choose", "preempt"})
_READ: Final = ("verdict", "uid", "namespace", "name", "node")


class DecidedPod(NamedTuple):
    """`node` is empty unless it was placed. `is_extended`: extenders had a say."""

    uid: str
    key: str
    node: str
    verdict: int
    is_extended: bool

    @property
    def is_placed(self) -> bool:
        return self.verdict == Verdict.PLACED

    @property
    def is_parked(self) -> bool:
        return self.verdict == Verdict.PARKED


def decided_pods(record: Record) -> tuple[DecidedPod, ...]:
    """Those of a record that decides. Raises `BrokenRecordError`."""
    columns = decided_columns(record.answer) if record.name in DECIDING else {}
    if not columns:
        return ()
    if not all(isinstance(verdict, int) for verdict in columns["verdict"]):
        raise BrokenRecordError("a decision has no verdict")
    placed, is_extended = Verdict.PLACED.value, record.name in EXTENDED
    rows = zip(*map(columns.__getitem__, _READ), strict=True)
    return tuple(
        DecidedPod(
            str(uid),
            f"{namespace}/{name}",
            str(node) if verdict == placed else "",
            verdict,
            is_extended,
        )
        for verdict, uid, namespace, name, node in rows
    )
