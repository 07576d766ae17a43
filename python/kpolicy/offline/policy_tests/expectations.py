"""Compares the fields of `expect` with what the engine decided."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, get_args

from kpolicy.object_kinds import OBJECT_KINDS, KindWord
from kpolicy.offline.policy_tests.document_model import (
    ErrorExpectation,
    Expectation,
    NumberRange,
    OneOf,
    Rejection,
    ScoreExpectation,
    TextPattern,
)
from kpolicy.offline.policy_tests.observe import PARK, PLACE, Observation, RuleError
from kpolicy.offline.policy_tests.results import Mismatch, Rewrite
from kpolicy.offline.snapshots.cluster_snapshot import full_key
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.yaml.nodes import Path, Plain, dotted
from kpolicy.quick_dataclass import dataclass
from kpolicy.release_table import RELEASE_NAMES

# Scores are shown, and compared, to this precision.
_DIGITS: Final = 6


def text_fits(expected: str | TextPattern, got: str) -> bool:
    if isinstance(expected, str):
        return got == expected
    if expected.matches is not None:
        return re.fullmatch(expected.matches, got) is not None
    return expected.contains is not None and expected.contains in got


def text_shown(expected: str | TextPattern) -> str:
    if isinstance(expected, str):
        return expected
    if expected.matches is not None:
        return f"matches {expected.matches}"
    return f"contains {expected.contains}"


def text_hint(expected: str | TextPattern, got: str) -> str:
    """Says how far two texts agree, or that a pattern for a part was meant."""
    if isinstance(expected, str):
        same = next(
            (i for i, (a, b) in enumerate(zip(expected, got, strict=False)) if a != b),
            min(len(expected), len(got)),
        )
        return f"they differ from character {same + 1} on" if same else ""
    if expected.matches is not None and re.match(expected.matches, got):
        return "it matches the beginning; a pattern is for the whole text, so add `.*`"
    if expected.matches is not None and re.search(expected.matches, got):
        return "it matches a part; a pattern is for the whole text, so put `.*` around it"
    return ""


def number_fits(expected: float | NumberRange, got: float) -> bool:
    if not isinstance(expected, NumberRange):
        return round(float(expected) - got, _DIGITS) == 0
    low, high = expected.between or (None, None)
    lowest = (bound for bound in (low, expected.at_least) if bound is not None)
    highest = (bound for bound in (high, expected.at_most) if bound is not None)
    return max(lowest, default=got) <= got <= min(highest, default=got)


def number_shown(expected: float | NumberRange) -> str:
    if not isinstance(expected, NumberRange):
        return plain_number(expected)
    bounds = {"at least": expected.at_least, "at most": expected.at_most}
    shown = [
        f"{words} {plain_number(bound)}" for words, bound in bounds.items() if bound is not None
    ]
    if expected.between is not None:
        shown.insert(0, f"between {' and '.join(map(plain_number, expected.between))}")
    return ", ".join(shown)


def plain_number(value: float) -> str:
    """`12` or `12.5`, without needless zeros."""
    return str(int(value)) if float(value).is_integer() else f"{value:.{_DIGITS}g}"


def name_fits(expected: str | OneOf, got: str) -> bool:
    return got == expected if isinstance(expected, str) else got in expected.one_of


def name_shown(expected: str | OneOf) -> str:
    return expected if isinstance(expected, str) else f"one of {', '.join(expected.one_of)}"


def names_shown(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


_BY_WORD: Final[Mapping[str, tuple[str, ...]]] = {
    "node": ("NodeAdd", "NodeUpdate", "NodeDelete"),
    "node.labels": ("NodeUpdateNodeLabel",),
    "node.annotations": ("NodeUpdateNodeAnnotation",),
    "node.taints": ("NodeUpdateNodeTaint",),
    "node.conditions": ("NodeUpdateNodeCondition",),
    "node.allocatable": ("NodeUpdateNodeAllocatable",),
    "node.declaredFeatures": ("NodeUpdateNodeDeclaredFeature",),
    # Room comes from pods that leave or shrink, and from nodes that grow.
    "node.free": (
        "AssignedPodDelete",
        "AssignedPodUpdatePodScaleDown",
        "NodeUpdateNodeAllocatable",
    ),
    "node.pods": ("AssignedPodAdd", "AssignedPodDelete", "AssignedPodUpdatePodLabel"),
    # Also that claims were made for the pod.
    "pod": ("AssignedPodUpdate", "AssignedPodUpdatePodGeneratedResourceClaim"),
    "pod.labels": ("AssignedPodUpdatePodLabel",),
    "pod.requests": ("AssignedPodUpdatePodScaleDown",),
    "pod.tolerations": ("AssignedPodUpdatePodToleration",),
    "pod.schedulingGates": tuple({names.gates_gone for names in RELEASE_NAMES.values()}),
    "time": ("TimePasses",),
}
_ACTIONS: Final = ("Add", "Update", "Delete")
# Pods and nodes have the words above; those of the other kinds are in the order of the table.
_OBJECTS: Final = dict(
    zip(
        get_args(KindWord),
        (
            f"{kind.group}/{kind.name}".removeprefix("/")
            for kind in OBJECT_KINDS
            if kind.name not in ("Pod", "Node")
        ),
        strict=True,
    )
)
EVENTS: Final[Mapping[str, frozenset[str]]] = {
    **{word: frozenset(events) for word, events in _BY_WORD.items()},
    **{
        word: frozenset(f"{kind}{action}" for action in _ACTIONS) for word, kind in _OBJECTS.items()
    },
}


def words(waits_for: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The words for what a pod waits for, as `kpolicy explain` has it."""
    events = {event for rule in waits_for for event in rule["events"]}
    return tuple(word for word, wanted in EVENTS.items() if wanted & events)


_NONE: Final = "none"
_PASSES: Final = "pass"


@dataclass(frozen=True, slots=True)
class RuleNames:
    """`filters` by name with the reason of each, `scores` with the weight. `of_queue`: the holds,
    and the order of the queue if there is one."""

    filters: Mapping[str, str]
    scores: Mapping[str, int]
    audits: frozenset[str]
    holds: frozenset[str] = frozenset()
    of_queue: frozenset[str] = frozenset()

    def reason(self, rule: str) -> str:
        """The reason of a built-in is its name."""
        return self.filters.get(rule, "")

    def weight(self, rule: str) -> int:
        return self.scores.get(rule, 0)


def _of_devices(profile: Mapping[str, Any]) -> dict[str, int]:
    """The score of the rules of `devices.score`: called as the rule, where there is one only."""
    rules = profile.get("devices", ())
    name = rules[0]["name"] if len(rules) == 1 else "devices.score"
    return {name: sum(rule["weight"] for rule in rules)} if rules else {}


def rule_names(program: Program) -> dict[str, RuleNames]:
    """By profile."""
    document = json.loads(program.bytes)
    return {
        profile["schedulerName"]: RuleNames(
            {rule["name"]: rule.get("reason", rule["name"]) for rule in profile["filters"]},
            {rule["name"]: rule["weight"] for rule in profile["scores"]} | _of_devices(profile),
            frozenset(
                rule["name"] for rule in profile["filters"] if rule.get("enforcement") == "audit"
            ),
            frozenset(hold["name"] for hold in profile.get("holds", ())),
            frozenset(
                (
                    *(hold["name"] for hold in profile.get("holds", ())),
                    *({QUEUE_ORDER} if "order" in document.get("queue", {}) else ()),
                )
            ),
        )
        for profile in document["profiles"]
    }


# What the engine calls the order of the queue among rules.
QUEUE_ORDER: Final = "queue.order"


def asserts(expect: Expectation) -> bool:
    """Whether anything at all is expected."""
    scores = (
        score.total is not None or score.raw or score.weighted or score.model_extra
        for score in expect.scores.values()
    )
    others = (getattr(expect, name) for name in type(expect).model_fields if name != "scores")
    return any(value is not None and value != {} for value in others) or any(scores)


def compare(
    expect: Expectation, got: Observation, rules: RuleNames, at: Path
) -> Iterator[Mismatch]:
    """The mismatches; `at` is the path of `expect` in the document."""
    yield from _decision(expect, got, at)
    if expect.held_by is not None and expect.held_by != got.held_by:
        have = got.held_by or f"{_NONE}: the decision is {got.decision}"
        rewrite = got.held_by or None
        yield _mismatch(at, ("heldBy",), expect.held_by, have, rewrite=rewrite)
    if expect.message is not None:
        yield from _text(expect.message, got.message, at, ("message",))
    for name, wanted in expect.filters.items():
        yield from _filter(wanted, name, got, rules, at)
    for name, scores in expect.scores.items():
        yield from _scores(scores, name, got, rules, at)
    yield from _preemption(expect, got, at)
    yield from _errors(expect.errors, got.errors, at)
    yield from _wakes(expect.wakes_on, got, at)
    if expect.audited is not None and sorted(expect.audited) != list(got.audited):
        want, have = names_shown(sorted(expect.audited)), names_shown(got.audited)
        yield _mismatch(at, ("audited",), want, have, rewrite=list(got.audited))


def compare_order(
    wanted: Sequence[str], got: Sequence[str], held: Sequence[str], at: Path
) -> Iterator[Mismatch]:
    """`got`: the pods in the order in which they were tried; `held`: those that were not tried."""
    if [full_key(name) for name in wanted] == list(got):
        return
    short = [key.removeprefix("default/") for key in got]
    not_tried = f"held: {names_shown(key.removeprefix('default/') for key in held)}"
    hint = not_tried if held else ""
    want, have = names_shown(wanted), names_shown(short)
    yield _mismatch(at, ("order",), want, have, hint=hint, rewrite=list(short))


def _mismatch(
    at: Path, field: Path, expected: str, got: str, *, hint: str = "", rewrite: Plain | None = None
) -> Mismatch:
    edit = Rewrite((*at, *field), rewrite) if rewrite is not None else None
    return Mismatch(dotted(field), expected, got, hint, rewrite=edit)


def _decision(expect: Expectation, got: Observation, at: Path) -> Iterator[Mismatch]:
    if expect.decision is not None and expect.decision != got.decision:
        why = got.message if got.decision != PLACE else f"on {got.node}"
        yield _mismatch(
            at, ("decision",), expect.decision, f"{got.decision}: {why}", rewrite=got.decision
        )
    if expect.node is not None and not name_fits(expect.node, got.node):
        rewrite = got.node if isinstance(expect.node, str) and got.node else None
        yield _mismatch(at, ("node",), name_shown(expect.node), got.node or _NONE, rewrite=rewrite)
    best = sorted(got.explained.get("best", ()))
    if expect.best is not None and sorted(expect.best) != best:
        want = names_shown(sorted(expect.best))
        yield _mismatch(at, ("best",), want, names_shown(best), rewrite=list(best))


def _text(expected: str | TextPattern, got: str, at: Path, field: Path) -> Iterator[Mismatch]:
    if not text_fits(expected, got):
        rewrite, hint = got if isinstance(expected, str) else None, text_hint(expected, got)
        yield _mismatch(at, field, text_shown(expected), got or _NONE, hint=hint, rewrite=rewrite)


def _filter(
    wanted: str | Rejection, name: str, got: Observation, rules: RuleNames, at: Path
) -> Iterator[Mismatch]:
    field: Path = ("filters", name)
    node = got.nodes.get(name)
    if node is None:
        yield _mismatch(at, field, "to be looked at", "it was not looked at")
        return
    first = node.get("filter")
    if not isinstance(wanted, Rejection):
        if first is not None:
            rewrite: Plain = {"rejectedBy": first["plugin"]}
            yield _mismatch(at, field, _PASSES, _rejected(node), rewrite=rewrite)
        return
    if first is None:
        rules_wanted = wanted.rejected_by or ""
        names = rules_wanted if isinstance(rules_wanted, str) else names_shown(rules_wanted)
        by = f" by {names}" if names else ""
        yield _mismatch(at, field, f"rejected{by}", "it passes", rewrite=_PASSES)
        return
    yield from _rejected_by(wanted, node, at, field)
    reason = rules.reason(first["plugin"])
    if wanted.reason is not None and wanted.reason != reason:
        yield _mismatch(at, (*field, "reason"), wanted.reason, reason or _NONE, rewrite=reason)
    if wanted.message is not None:
        yield from _text(wanted.message, ", ".join(first["reasons"]), at, (*field, "message"))


def _rejected_by(
    wanted: Rejection, node: Mapping[str, Any], at: Path, field: Path
) -> Iterator[Mismatch]:
    field, by = (*field, "rejectedBy"), wanted.rejected_by
    first = node["filter"]["plugin"]
    every = [status["plugin"] for status in node.get("allFilters", ())] or [first]
    if isinstance(by, str) and by != first:
        hint = "it rejects too, but later" if by in every else ""
        yield _mismatch(at, field, by, _rejected(node), hint=hint, rewrite=first)
    if isinstance(by, list) and sorted(by) != sorted(every):
        want, have = names_shown(sorted(by)), names_shown(sorted(every))
        yield _mismatch(at, field, want, have, rewrite=list(every))


def _rejected(node: Mapping[str, Any]) -> str:
    first = node["filter"]
    return f"{first['plugin']}: {', '.join(first['reasons'])}"


def _scores(
    wanted: ScoreExpectation, name: str, got: Observation, rules: RuleNames, at: Path
) -> Iterator[Mismatch]:
    field: Path = ("scores", name)
    node = got.nodes.get(name)
    if node is None or "total" not in node:
        have = _rejected(node) if node is not None and "filter" in node else "it was not scored"
        yield _mismatch(at, field, "a score", have)
        return
    if wanted.total is not None:
        yield from _number(wanted.total, node["total"], at, (*field, "total"))
    for rule, number in (wanted.model_extra or {}).items():
        weight = rules.weight(rule)
        value = node["weighted"].get(rule)
        normalized = value / weight if value is not None and weight else None
        yield from _number(number, normalized, at, (*field, rule))
    for kind, numbers in (("raw", wanted.raw), ("weighted", wanted.weighted)):
        for rule, number in numbers.items():
            yield from _number(number, node[kind].get(rule), at, (*field, kind, rule))


def _number(
    expected: float | NumberRange, got: float | None, at: Path, field: Path
) -> Iterator[Mismatch]:
    if got is None:
        yield _mismatch(at, field, number_shown(expected), "the rule did not score")
    elif not number_fits(expected, got):
        value = int(got) if float(got).is_integer() else got
        rewrite = value if not isinstance(expected, NumberRange) else None
        yield _mismatch(at, field, number_shown(expected), plain_number(got), rewrite=rewrite)


def _preemption(expect: Expectation, got: Observation, at: Path) -> Iterator[Mismatch]:
    wanted = expect.preemption
    if wanted is None:
        return
    if wanted.node is not None and not name_fits(wanted.node, got.nominated):
        rewrite = got.nominated if isinstance(wanted.node, str) and got.nominated else None
        field: Path = ("preemption", "node")
        yield _mismatch(at, field, name_shown(wanted.node), got.nominated or _NONE, rewrite=rewrite)
    victims = sorted(got.victims)
    if wanted.victims is not None and sorted(map(full_key, wanted.victims)) != victims:
        want = names_shown(sorted(map(full_key, wanted.victims)))
        field = ("preemption", "victims")
        yield _mismatch(at, field, want, names_shown(victims), rewrite=list(victims))


def _wakes(wanted: Sequence[str] | None, got: Observation, at: Path) -> Iterator[Mismatch]:
    """Each listed event must wake the pod; others may too. An empty list means that none may."""
    if wanted is None:
        return
    woken = words(got.explained.get("waitsFor", ()))
    if not set(wanted).issubset(woken) or (not wanted and woken):
        hint = "" if woken or got.decision == PARK else "a pod that is placed waits for nothing"
        want, have = names_shown(wanted), names_shown(woken)
        yield _mismatch(at, ("wakesOn",), want, have, hint=hint, rewrite=list(woken))


def _errors(
    wanted: list[ErrorExpectation] | None, got: tuple[RuleError, ...], at: Path
) -> Iterator[Mismatch]:
    if wanted is None:
        return
    have = "; ".join(map(str, got)) or _NONE
    if not wanted and got:
        yield _mismatch(at, ("errors",), _NONE, have)
    for index, error in enumerate(wanted):
        if not any(_same_error(error, seen) for seen in got):
            parts = {"on": error.node, "with code": error.code, "containing": error.contains}
            more = "".join(f" {word} {value}" for word, value in parts.items() if value)
            yield _mismatch(at, ("errors", index), f"an error of {error.rule}{more}", have)


def _same_error(wanted: ErrorExpectation, error: RuleError) -> bool:
    return (
        wanted.rule == error.rule
        and (wanted.node is None or wanted.node == error.node)
        and (wanted.code is None or wanted.code == error.code)
        and (wanted.contains is None or wanted.contains in error.message)
    )
