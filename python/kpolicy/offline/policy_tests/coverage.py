"""Coverage: which rules, and which parts of their expressions, the tests have seen both ways.

A predicate must have been seen passing and rejecting, a hold holding and not, a priority, a score
of devices and the order of the queue giving a number. Operands of `&&` and
`||`, conditions of `?:` and match conditions must have been true and false. Only rules written in
the policies under test count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, Place
from kpolicy.offline.limits import QUOTED_CHARACTERS_MAX
from kpolicy.policy.assembly.rule_places import ExpressionParts, RuleParts
from kpolicy.policy.codes.registry import remark
from kpolicy.quick_dataclass import dataclass

TRUE: Final = "true"
FALSE: Final = "false"
SCORED: Final = "scored"
_BOTH: Final = (TRUE, FALSE)
# Bits as the engine reports them.
_TRUE_BIT, _FALSE_BIT, _ERROR_BIT, _OTHER_BIT = 1, 2, 4, 8


@dataclass(frozen=True, slots=True)
class Item:
    """A rule, or a decision inside one, and the sides of it that were seen."""

    place: Place
    label: str
    is_rule: bool
    wanted: tuple[str, ...] = _BOTH
    seen: frozenset[str] = frozenset()

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(side for side in self.wanted if side not in self.seen)

    def problem(self) -> str:
        """`never true`, or an empty text."""
        if self.missing == _BOTH:
            return "never reached"
        return f"never {self.missing[0]}" if self.missing else ""


@dataclass(frozen=True, slots=True)
class PolicyCoverage:
    """The coverage of one file. `minimum` is a percentage, if the command asks for it."""

    file: str
    items: tuple[Item, ...]
    minimum: float | None = None
    counts_branches: bool = True

    @property
    def rules(self) -> int:
        return sum(1 for item in self.items if item.is_rule)

    @property
    def rules_seen(self) -> int:
        return sum(1 for item in self.items if item.is_rule and not item.missing)

    @property
    def branches(self) -> int:
        return sum(len(item.wanted) for item in self.items)

    @property
    def branches_seen(self) -> int:
        return sum(len(item.wanted) - len(item.missing) for item in self.items)

    @property
    def percentage(self) -> float:
        """The percentage of what counts; 100 if nothing counts."""
        seen, every = (
            (self.branches_seen, self.branches)
            if self.counts_branches
            else (self.rules_seen, self.rules)
        )
        return 100.0 * seen / every if every else 100.0

    @property
    def is_below(self) -> bool:
        return self.minimum is not None and self.percentage < self.minimum

    def uncovered(self) -> Iterator[Item]:
        return (item for item in self.items if item.missing)

    def diagnostics(self) -> Iterator[Diagnostic]:
        """A KP503 for each rule and branch that no test covers."""
        for item in self.uncovered():
            what = "rule" if item.is_rule else "condition"
            message = f"in the tests, the {what} `{item.label}` is {item.problem()}"
            yield remark("KP503", message).at(item.place)


@dataclass(slots=True)
class Tally:
    """The engine's reports on one program, added up."""

    bits: dict[tuple[str, str, str, int], list[int]] = field(default_factory=dict)

    def add(self, scheduler_name: str, seen: Iterable[Mapping[str, Any]]) -> None:
        for rule in seen:
            key = (scheduler_name, rule["side"], rule["rule"])
            self._merge((*key, -1), rule.get("nodes", ()))
            for index, bits in enumerate(rule["match"]):
                self._merge((*key, index), bits)

    def _merge(self, key: tuple[str, str, str, int], bits: Sequence[int]) -> None:
        held = self.bits.setdefault(key, [])
        held.extend([0] * (len(bits) - len(held)))
        for index, value in enumerate(bits):
            held[index] |= value

    def of(self, rule: RuleParts, index: int, node: int) -> int:
        bits = self.bits.get((rule.scheduler_name, rule.side, rule.name, index), ())
        return bits[node] if node < len(bits) else 0


def items(rules: Iterable[RuleParts], tally: Tally) -> Iterator[tuple[str, Item]]:
    """Items with the file each is in; the same item may come several times."""
    for rule in rules:
        for index, condition in enumerate(rule.conditions):
            seen = _sides(tally.of(rule, index, condition.root))
            item = Item(condition.place, _quoted(condition.text), False, _BOTH, seen)
            yield condition.place.file, item
            yield from _decisions(rule, condition, index, tally)
        if rule.expression is None:
            continue
        bits = tally.of(rule, -1, rule.expression.root)
        if rule.is_true_or_false:
            yield rule.file, Item(rule.place, rule.name, True, _BOTH, _sides(bits))
        else:
            is_scored = bits & (_TRUE_BIT | _FALSE_BIT | _OTHER_BIT)
            seen = frozenset({SCORED} if is_scored else ())
            yield rule.file, Item(rule.place, rule.name, True, (SCORED,), seen)
        yield from _decisions(rule, rule.expression, -1, tally)


def _decisions(
    rule: RuleParts, expression: ExpressionParts, index: int, tally: Tally
) -> Iterator[tuple[str, Item]]:
    for part in expression.decisions:
        if part.node != expression.root:
            sides = _sides(tally.of(rule, index, part.node))
            yield part.place.file, Item(part.place, _quoted(part.text), False, _BOTH, sides)


def _sides(bits: int) -> frozenset[str]:
    return frozenset(side for side, bit in ((TRUE, _TRUE_BIT), (FALSE, _FALSE_BIT)) if bits & bit)


def _quoted(text: str) -> str:
    line, most = " ".join(text.split()), QUOTED_CHARACTERS_MAX
    return line if len(line) <= most else line[: most - 1] + "…"


def of_files(
    found: Iterable[tuple[str, Item]], *, minimum: float | None, counts_branches: bool
) -> tuple[PolicyCoverage, ...]:
    by_file: dict[str, dict[tuple[Any, ...], Item]] = {}
    for file, item in found:
        held = by_file.setdefault(file, {})
        key = (item.place, item.is_rule, item.label)
        known = held.get(key)
        held[key] = item if known is None else replace(known, seen=known.seen | item.seen)
    return tuple(
        PolicyCoverage(file, _in_order(held.values()), minimum, counts_branches)
        for file, held in sorted(by_file.items())
    )


def merged(
    found: Iterable[PolicyCoverage], minimum: float | None = None
) -> tuple[PolicyCoverage, ...]:
    """Joins the coverage of files that several documents test. The highest minimum counts, or
    `minimum` instead of all if there is one."""
    by_file: dict[str, list[PolicyCoverage]] = {}
    for policy in found:
        by_file.setdefault(policy.file, []).append(policy)
    united: list[PolicyCoverage] = []
    for file, policies in sorted(by_file.items()):
        minima = [policy.minimum for policy in policies if policy.minimum is not None]
        united += of_files(
            ((file, item) for policy in policies for item in policy.items),
            minimum=max(minima, default=None) if minimum is None else minimum,
            counts_branches=any(policy.counts_branches for policy in policies),
        )
    return tuple(united)


def _in_order(found: Iterable[Item]) -> tuple[Item, ...]:
    return tuple(sorted(found, key=lambda item: (item.place.line, item.place.column, item.label)))
