"""The engine's calls as records: what each call does to the engine, its bytes, and the call again.

Of a call that decides, the answer is recorded too, without the times that it took. Two answers are
the same decisions exactly if their bytes are equal.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from kpolicy.engine import (
    Candidates,
    Decision,
    Engine,
    Filtered,
    JudgedNodes,
    KeptNode,
    RefusedNode,
    RemainingCandidate,
    RemainingCandidates,
    Scheduled,
    ScheduledUnit,
    arguments_json,
    decisions_json,
)


class Effect(Enum):
    """What a call does to an engine, and so to the decisions after it."""

    POLICY = "policy"
    OBJECTS = "objects"
    DECIDES = "decides"
    OUTCOME = "outcome"  # what became of a decision
    TIME = "time"  # only the time that the call has
    MARK = "mark"  # not a call: what the engine held at a moment
    READS = "reads"  # nothing; such a call is not recorded


# By name: the number in the format, which is never given to another call, and the effect.
CALLS: Final[Mapping[str, tuple[int, Effect]]] = {
    "load": (1, Effect.POLICY),
    "keep": (2, Effect.POLICY),
    "list_begin": (3, Effect.OBJECTS),
    "list_page": (4, Effect.OBJECTS),
    "list_end": (5, Effect.OBJECTS),
    "watch": (6, Effect.OBJECTS),
    "wrote": (7, Effect.OBJECTS),
    "load_objects": (8, Effect.OBJECTS),
    "pass_time": (9, Effect.TIME),
    "explain": (10, Effect.TIME),
    "evaluate": (11, Effect.TIME),
    "decide_again": (12, Effect.TIME),
    "schedule": (13, Effect.DECIDES),
    "schedule_unit": (14, Effect.DECIDES),
    "filter": (15, Effect.DECIDES),
    "choose": (16, Effect.DECIDES),
    "candidates": (17, Effect.DECIDES),
    "preempt": (18, Effect.DECIDES),
    "second_opinions": (19, Effect.DECIDES),
    "settle": (20, Effect.OUTCOME),
    "settle_room": (21, Effect.OUTCOME),
    "checkpoint": (22, Effect.MARK),
    "next_pods": (23, Effect.TIME),
    "advise": (24, Effect.TIME),
    **dict.fromkeys(
        (
            "beats",
            "holdings",
            "holds_pods",
            "labelled",
            "located",
            "message",
            "orders_queue",
            "pending",
            "pod_resources",
            "program_hash",
            "requested",
            "resources",
            "stale",
            "statistics",
            "timings",
            "volumes",
        ),
        (0, Effect.READS),
    ),
}
_ANSWERED: Final = frozenset({Effect.POLICY, Effect.DECIDES, Effect.MARK})
_NAMES: Final = {number: name for name, (number, _) in CALLS.items() if number}
# Number, time, length of the arguments and of the answer.
_HEAD: Final = struct.Struct(">BqII")
_DIGEST_BYTES: Final = 16

# The positions of `filter_ns`, `score_ns` and `post_filter_ns` in a decision.
_TIMES: Final = frozenset({9, 10, 11})

# Their arguments have a text for each of many pods, which the engine gave: it writes them faster.
_OF_MANY_PODS: Final = frozenset({"schedule", "settle"})

_dumps = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
Arguments: TypeAlias = tuple[Any, ...]


class BrokenRecordError(ValueError):
    """Bytes that no recorder writes."""


@dataclass(frozen=True, slots=True)
class Record:
    """A call, and the time at which it was answered."""

    name: str
    at_ns: int
    arguments: bytes
    answer: bytes

    @property
    def effect(self) -> Effect:
        return CALLS[self.name][1]


class Call(NamedTuple):
    """The arguments of a record, as the engine takes them."""

    name: str
    arguments: Arguments
    options: Mapping[str, Any] = MappingProxyType({})


def record_parts(call: Call, answer: Any, at_ns: int) -> tuple[bytes, ...]:
    """The parts of the record of a call that is not only a reading one. Those of a watch or a list
    are large, and are not copied."""
    line, payload = _arguments(call)
    answered = answer_bytes(call.name, answer)
    size = len(line) + len(payload)
    return _HEAD.pack(CALLS[call.name][0], at_ns, size, len(answered)), line, payload, answered


def framed(name: str, at_ns: int, arguments: bytes, answer: bytes) -> bytes:
    return _HEAD.pack(CALLS[name][0], at_ns, len(arguments), len(answer)) + arguments + answer


class Frame(NamedTuple):
    """Where a record stands in its piece: its arguments from `start` to `middle`, then its
    answer."""

    name: str
    at_ns: int
    start: int
    middle: int
    end: int

    @property
    def effect(self) -> Effect:
        return CALLS[self.name][1]

    def record(self, chunk: bytes) -> Record:
        arguments, answer = chunk[self.start : self.middle], chunk[self.middle : self.end]
        return Record(self.name, self.at_ns, arguments, answer)


def frames(chunk: bytes) -> Iterator[Frame]:
    """Raises `BrokenRecordError`."""
    at, end = 0, len(chunk)
    while at < end:
        if end - at < _HEAD.size:
            raise BrokenRecordError("the head of a record is cut off")
        number, at_ns, arguments, answer = _HEAD.unpack_from(chunk, at)
        at += _HEAD.size
        name = _NAMES.get(number)
        if name is None or arguments + answer > end - at:
            raise BrokenRecordError("a record is not one of this format")
        yield Frame(name, at_ns, at, at + arguments, at := at + arguments + answer)


def records(chunk: bytes) -> Iterator[Record]:
    """Raises `BrokenRecordError`."""
    return (frame.record(chunk) for frame in frames(chunk))


def argument_bytes(call: Call) -> bytes:
    return b"".join(_arguments(call))


def _arguments(call: Call) -> tuple[bytes, bytes]:
    """A line of JSON, and the bytes among the arguments. At most one argument is bytes."""
    match call.arguments:
        case (str() as resource, bytes() as lines, int() as now_ns) if call.name == "watch":
            # By far the most frequent one, without what the others need.
            return b'["%b",null,%d]\n' % (resource.encode(), now_ns), lines
    if call.name in _OF_MANY_PODS:
        return arguments_json(call.arguments) + b"\n", b""
    if CALLS[call.name][1] is Effect.TIME:
        return _dumps(call.arguments[-1:]).encode() + b"\n", b""
    payload = b""
    plain: list[Any] = []
    for argument in call.arguments:
        if isinstance(argument, bytes):
            payload = argument
            plain.append(None)
        else:
            plain.append(argument)
    # Options are named in the engine's signature, and stand last.
    return _dumps([*plain, *call.options.values()]).encode() + b"\n", payload


def answer_bytes(name: str, answer: Any) -> bytes:
    """What is recorded of an answer: decisions, refusals of a program, and that a call failed."""
    effect = CALLS[name][1]
    if effect is Effect.TIME or not (effect in _ANSWERED or isinstance(answer, Exception)):
        return b""
    match answer:
        case Scheduled(program_hash, resource_version, decisions, recorded):
            return recorded or decisions_json(program_hash, resource_version, decisions)
        case Decision():
            return decisions_json("", "", [answer])
        case ScheduledUnit(program_hash, resource_version, placements, rejection):
            refused = [] if rejection is None else [rejection]
            return decisions_json(program_hash, resource_version, placements or refused)
        case Filtered(token, feasible):
            return _dumps((token, len(feasible), _digest("\n".join(feasible)))).encode()
        case Candidates(token, nodes):
            return _dumps((token, len(nodes), _digest(_dumps(nodes)))).encode()
        case Exception():
            return _dumps({"raised": type(answer).__name__}).encode()
        case list():  # refusals of a program, or opinions
            return _dumps(answer).encode()
        case Held():
            return answer.json()
        case _:
            return b""


@dataclass(frozen=True, slots=True)
class Held:
    """What the engine held at a moment: its own lists, as it gives them."""

    holdings: bytes
    statistics: bytes

    def json(self) -> bytes:
        """How many decisions there were, which pods were assumed on which nodes, and how many had a
        nominated node."""
        _, *pods = map(json.loads, self.holdings.splitlines())
        assumed = [(uid, node) for uid, _, node, is_assumed, _, _ in pods if is_assumed]
        nominated = sum(1 for _, _, node, _, nominated, _ in pods if nominated and not node)
        decisions = json.loads(self.statistics)["decisions"]
        shown = {"decisions": decisions, "assumed": assumed, "nominated": nominated}
        return _dumps(shown).encode()


def decided_fields(answer: bytes) -> list[tuple[Any, ...]]:
    """The fields of each decision in a recorded answer; empty if it has none. Raises
    `BrokenRecordError`."""
    return list(zip(*decided_columns(answer).values(), strict=True))


def decided_columns(answer: bytes) -> dict[str, list[Any]]:
    """By field, its value in each decision of a recorded answer; empty if it has none. Raises
    `BrokenRecordError`."""
    try:
        match json.loads(answer) if answer else None:
            case [str(), str(), int() as count, list() as columns] if count:
                if len(columns) != len(FIELDS):
                    raise BrokenRecordError("decisions have other fields")
                lengths = {len(column) for column in columns}
                # Pods differ in their uids, so that some field has a value for each decision.
                if not lengths <= {1, count} or count not in lengths:
                    raise BrokenRecordError("decisions have holes")
                whole = (column * count if len(column) == 1 else column for column in columns)
                return dict(zip(FIELDS, whole, strict=True))
            case _:
                return {}
    except (ValueError, TypeError, RecursionError, MemoryError) as error:
        raise BrokenRecordError("decisions are not those of this format") from error


# The fields of a recorded decision.
FIELDS: Final = tuple(
    name for position, name in enumerate(Decision._fields) if position not in _TIMES
)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest()


def call_of(record: Record) -> Call:
    """Raises `BrokenRecordError`."""
    head, newline, _ = record.arguments.partition(b"\n")
    if not newline:
        raise BrokenRecordError("a call has no line of arguments")
    try:
        plain = json.loads(head)
        if not isinstance(plain, list):
            raise BrokenRecordError("the arguments of a call are no list")
        if None in plain and record.name in _WITH_BYTES:
            plain[plain.index(None)] = record.arguments[len(head) + 1 :]
        return _SHAPES.get(record.name, _plain)(record.name, plain)
    except (ValueError, TypeError, IndexError, RecursionError) as error:
        raise BrokenRecordError(f"the arguments of {record.name} are not its own") from error


_WITH_BYTES: Final = frozenset({"load", "keep", "list_page", "watch", "wrote", "load_objects"})


def _plain(name: str, plain: list[Any]) -> Call:
    return Call(name, tuple(plain))


def _pairs(name: str, plain: list[Any]) -> Call:
    outcomes, now_ns = plain
    return Call(name, ([(uid, value) for uid, value in outcomes], now_ns))


def _room(name: str, plain: list[Any]) -> Call:
    *arguments, is_made = plain
    return Call(name, tuple(arguments), {"is_made": is_made})


def _judged(plain: Sequence[Any]) -> JudgedNodes:
    token, kept, refused = plain
    return JudgedNodes(
        token, [KeptNode(*node) for node in kept], [RefusedNode(*node) for node in refused]
    )


def _chosen(name: str, plain: list[Any]) -> Call:
    uid, judged, now_ns = plain
    return Call(name, (uid, _judged(judged), now_ns))


def _preempted(name: str, plain: list[Any]) -> Call:
    uid, judged, (token, failure, nodes), now_ns = plain
    rooms = None if nodes is None else [RemainingCandidate(*node) for node in nodes]
    return Call(name, (uid, _judged(judged), RemainingCandidates(token, failure, rooms), now_ns))


_SHAPES: Final = {
    "settle": _pairs,
    "second_opinions": _pairs,
    "settle_room": _room,
    "choose": _chosen,
    "candidates": _chosen,
    "preempt": _preempted,
}


def made_again(engine: Engine, call: Call) -> Any:
    """The engine's answer. Raises what the engine raises."""
    if CALLS[call.name][1] is Effect.TIME:
        return engine.pass_time(*call.arguments)
    return getattr(engine, call.name)(*call.arguments, **call.options)
