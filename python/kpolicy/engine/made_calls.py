"""What comes of making the calls of a journal again, many at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from kpolicy.engine.named_answers import Labelled, Located
from kpolicy.engine.opinions import Result


class OtherBinds(IntEnum):
    """What a replay does about a pod that is pending in the engine, when a watch shows it on a
    node: another scheduler placed it."""

    APPLIED = 0  # as any other change
    JUDGED = 1
    REPORTED = 2  # before the engine takes that change


class KeptDifferences(NamedTuple):
    """How many differences of policies are kept with their pods, and the labels of pods that name
    their workloads."""

    count_max: int
    named_by: Sequence[str]


class Disagreement(NamedTuple):
    """A recorded decision about which the engine has another opinion. `call` is the position of
    its call, and `node` is empty if the pod was parked."""

    call: int
    at_ns: int
    pod: str
    node: str
    is_extended: bool
    result: Result
    other_node: str


class WorkloadResults(NamedTuple):
    """The differences about the pods of one workload, of which `pod` is one."""

    pod: Labelled
    results: Counter[Result]


class MadeCalls(NamedTuple):
    """What came of making calls of a journal again. `different`: the decisions of the last call, if
    they are not what was recorded. `placed`: the pod that the next change shows on a node. Of all
    `decisions`, `results` counts those that can be judged, among them `binds` of other schedulers.
    `workloads` are counted where differences of policies are kept."""

    calls: int
    decisions: int
    different: bytes | None
    placed: Located | None
    binds: int
    results: Counter[Result]
    disagreements: list[Disagreement]
    workloads: list[WorkloadResults]
