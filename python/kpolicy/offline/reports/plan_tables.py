"""A plan as sentences and tables, from which its text and its Markdown are made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from kpolicy.api_times import api_time
from kpolicy.offline.answers.diff_overview import NO_VALUE
from kpolicy.offline.plan.node_measures import Triple
from kpolicy.offline.plan.plan_model import Cause, Change, InputPlan, Plan, PodChanged
from kpolicy.offline.reports.columns import amount, counted, listed, percent
from kpolicy.quick_dataclass import dataclass

_NAMES_SHOWN: Final = 4


@dataclass(frozen=True, slots=True)
class Table:
    """The first row is the head. Columns from `right` on are numbers. `left_out`: how many further
    rows there are, of `what`."""

    title: str
    rows: tuple[tuple[str, ...], ...]
    right: int = 1
    left_out: int = 0
    what: str = "row"

    @property
    def more(self) -> str:
        return f"and {counted(self.left_out, self.what)} more" if self.left_out else ""


def headline(plan: Plan) -> str:
    """What matters most, in one sentence."""
    counts = plan.counts
    words = {
        Change.PARKED: "parked",
        Change.PLACED: "placed",
        Change.MOVED: "moved",
        Change.EVICTED: "evicted",
    }
    found = [
        f"{counts.count(change):,} {word}" for change, word in words.items() if counts.count(change)
    ]
    of = counted(counts.pods, "pod")
    changed = f"{', '.join(found)}, of {of}" if found else f"no change in {of}"
    if counts.moved_indirectly:
        changed += f"; {counts.moved_indirectly:,} more moved only because others did"
    return changed


def where(plan: Plan) -> str:
    """Over what the plan is."""
    if len(plan.inputs) == 1:
        return input_name(plan.inputs[0])
    journals = sum(each.is_journal for each in plan.inputs)
    snapshots = len(plan.inputs) - journals
    parts = [
        counted(count, what)
        for count, what in ((snapshots, "snapshot"), (journals, "journal"))
        if count
    ]
    return " and ".join(parts)


def input_name(each: InputPlan) -> str:
    if each.from_ns is None:
        return each.name
    times = [api_time(at) for at in dict.fromkeys((each.from_ns, each.to_ns)) if at is not None]
    return f"{each.name} ({' to '.join(times)})"


def rules_line(plan: Plan) -> str:
    """The rules that made changes; empty if none was asked for."""
    rules = [f"{rule} ({count:,})" for rule, count in plan.by_rule]
    return listed(rules, _NAMES_SHOWN) if rules else ""


def outcome(plan: Plan) -> Table:
    counts = plan.counts
    has_snapshot = not all(each.is_journal for each in plan.inputs)
    rows = [
        ("pods", "old", "new"),
        ("placed", f"{counts.old.placed:,}", f"{counts.new.placed:,}"),
        ("parked", f"{counts.old.parked:,}", f"{counts.new.parked:,}"),
    ]
    if has_snapshot:
        rows.append(("evicted for them", f"{counts.old.evicted:,}", f"{counts.new.evicted:,}"))
    return Table("", tuple(rows))


def classes(plan: Plan, shown_max: int) -> Table | None:
    """Classes with changes, the most first."""
    changed = [(of, each) for of, each in plan.classes.items() if each.changes]
    rows = [
        (
            of.workload,
            of.owner_kind or "–",
            f"{of.priority:,}",
            f"{each.pods:,}",
            _pair(each.old.placed, each.new.placed),
            _pair(each.old.parked, each.new.parked),
            f"{each.count(Change.MOVED):,}",
            _pair(each.old.evicted, each.new.evicted),
        )
        for of, each in changed[:shown_max]
    ]
    if not rows:
        return None
    head = ("pods of", "owner", "priority", "pods", "placed", "parked", "moved", "evicted")
    return Table("By class of pods", (head, *rows), 2, len(changed) - len(rows), "group")


def _pair(old: float, new: float) -> str:
    return f"{old:,}" if old == new else f"{old:,} → {new:,}"


def resources(plan: Plan) -> Table | None:
    """Resources that a policy fills, with how fragmented what is left becomes."""
    rows = []
    for name, use in plan.measures.resources.items():
        full, torn = use.fullness, use.fragmentation
        if not any(use.used):
            continue
        has = amount(name, Fraction(use.allocatable).limit_denominator(1000))
        rows.append((name, has, *_percents(full), *_percents(torn)))
    if not rows:
        return None
    head = ("resource", "there is", "full before", "old", "new", "fragmented before", "old", "new")
    return Table("Fullness and fragmentation", (head, *rows))


def _percents(shares: Triple) -> list[str]:
    return [percent(share) for share in shares]


def not_measured(plan: Plan) -> list[str]:
    """What the plan has no figures of because of its journals, and how to get them; nothing
    without journals."""
    journals = [each for each in plan.inputs if each.not_measured]
    if not journals:
        return []
    *names, last = journals[0].not_measured
    why = f"no {', '.join(names)} or {last} of a journal: pods stay where they were"
    days = f"kpolicy simulate --scenario {journals[0].name} --policy POLICY"
    return [why, f"for these, simulate its days: {days}"]


def nodes(plan: Plan) -> Table | None:
    measures = plan.measures
    rows = [("nodes in use", *_numbers(measures.in_use))] if measures.nodes else []
    for name, column in measures.columns.items():
        rows.append((f"{name} of nodes in use", *_numbers(column.total)))
        if any(column.without):
            rows.append((f"nodes in use without {name}", *_numbers(column.without)))
    rows += [
        (f"most minus fewest pods by {label}", *_numbers(skew))
        for label, skew in measures.skew.items()
    ]
    return Table("Nodes", (("", "before", "old", "new"), *rows)) if rows else None


def _numbers(values: Triple) -> list[str]:
    return [f"{value:,.2f}".rstrip("0").rstrip(".") for value in values]


def spreads(plan: Plan, shown_max: int) -> Iterator[Table]:
    """Labels whose pods change, with the values that change most."""
    for label, values in plan.measures.spread.items():
        if all(counts.old == counts.new for counts in values.values()):
            continue
        order = sorted(values.items(), key=lambda item: (-abs(item[1].new - item[1].old), item[0]))
        rows = [
            (f"{label}={value}" if value != NO_VALUE else f"no {label}", *_numbers(counts))
            for value, counts in order[:shown_max]
        ]
        head = ("pods on nodes with", "before", "old", "new")
        yield Table("", (head, *rows), left_out=len(order) - len(rows), what="value")


def changes(plan: Plan, shown_max: int) -> Table | None:
    """Changes by rules first; those that only follow from others last."""
    found = [change for each in plan.inputs for change in each.changes]
    order = sorted(found, key=lambda change: (change.cause is Cause.INDIRECT, *_weight(change)))
    rows = [
        (
            each.pod,
            each.change.value,
            each.old or "–",
            each.new or "–",
            each.rule or ("other pods" if each.cause is Cause.INDIRECT else ""),
            each.message,
        )
        for each in order[:shown_max]
    ]
    if not rows:
        return None
    head = ("pod", "change", "old node", "new node", "because of", "message")
    return Table("Pods", (head, *rows), len(head), len(order) - len(rows), "pod")


def _weight(change: PodChanged) -> tuple[int, str]:
    order = (Change.PARKED, Change.EVICTED, Change.PLACED, Change.MOVED)
    return order.index(change.change), change.pod


def inputs(plan: Plan) -> Table | None:
    """A row for each of several inputs."""
    if len(plan.inputs) < 2:
        return None
    rows = []
    for each in plan.inputs:
        counts = each.counts
        rows.append(
            (
                input_name(each),
                each.kind,
                f"{counts.pods:,}",
                _pair(counts.old.placed, counts.new.placed),
                _pair(counts.old.parked, counts.new.parked),
                f"{counts.count(Change.MOVED):,}",
            )
        )
    head = ("snapshot or journal", "kind", "pods", "placed", "parked", "moved")
    return Table("Snapshots and journals", (head, *rows), 2)


def thresholds(plan: Plan) -> Sequence[str]:
    return [
        f"{'failed' if each.is_true else 'holds'}: {each.expression}" for each in plan.thresholds
    ]
