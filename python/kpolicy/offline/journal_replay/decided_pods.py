"""The decisions that a record has, as far as another engine is asked about them."""

from __future__ import annotations

from typing import Any, Final

from kpolicy.engine import Verdict
from kpolicy.journal.engine_calls import BrokenRecordError, Record, decided_fields
from kpolicy.quick_dataclass import dataclass

_DECIDING: Final = frozenset({"schedule", "schedule_unit", "choose", "preempt"})
_EXTENDED: Final = frozenset({"choose", "preempt"})


@dataclass(frozen=True, slots=True)
class DecidedPod:
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


def decided_pods(record: Record) -> list[DecidedPod]:
    """Those of a record that decides. Raises `BrokenRecordError`."""
    if record.name not in _DECIDING:
        return []
    return [_pod(decision, record.name) for decision in decided_fields(record.answer)]


def _pod(decision: tuple[Any, ...], call: str) -> DecidedPod:
    verdict, uid, namespace, name, node, *_ = decision
    if not isinstance(verdict, int):
        raise BrokenRecordError("a decision has no verdict")
    placed = str(node) if verdict == Verdict.PLACED else ""
    return DecidedPod(str(uid), f"{namespace}/{name}", placed, verdict, call in _EXTENDED)
