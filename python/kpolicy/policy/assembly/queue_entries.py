"""The order of the queue and the holds of a profile, as entries of the program.

There is one queue, so there is one order: two policies that order it otherwise are a mistake, also
if one stands on the other. Holds add up; one of the same name replaces that of a base.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, Note
from kpolicy.policy.assembly.expressions import ExpressionSets
from kpolicy.policy.assembly.read_policy import Policy, condition_paths
from kpolicy.policy.assembly.resolve import Served
from kpolicy.policy.models.scheduling_policy import Hold, Order
from kpolicy.policy.yaml.nodes import Path
from kpolicy.quick_dataclass import dataclass

HOLDS: Final = ("spec", "queue", "holds")
ORDER: Final = ("spec", "queue", "order")
_LABEL: Final = ("spec", "queue", "tenantLabel")


@dataclass(frozen=True, slots=True)
class _WrittenHold:
    """`heir`: the policy of the profile, whose params count."""

    policy: Policy
    path: Path
    hold: Hold
    heir: str


def hold_entries(
    served: Sequence[Served], policies: Sequence[str], expressions: ExpressionSets
) -> list[dict[str, Any]]:
    """The holds of one profile. Equal names of several policies are told apart."""
    entries: list[dict[str, Any]] = []
    seen: set[tuple[str, Path, int]] = set()
    for written in chain.from_iterable(map(_holds, served)):
        own = expressions.of(written.heir, written.policy.name)
        # Two policies of the profile may stand on one that holds pods.
        if (key := (written.policy.name, written.path, id(own))) in seen:
            continue
        seen.add(key)
        entry = _entry(written, expressions)
        entry["policy"] = policies.index(written.policy.name)
        if any(entry["name"] == other["name"] for other in entries):
            entry["name"] = f"{written.heir}/{entry['name']}"
        entries.append(entry)
    return entries


def _holds(served: Served) -> Iterator[_WrittenHold]:
    """Of a policy and its bases, those of the bases first."""
    found: dict[str, _WrittenHold] = {}
    lineage = served.effective.lineage
    for policy in reversed(lineage):
        queue = policy.model.spec.queue
        if queue is None or policy.model.spec.shadow:
            continue
        for index, hold in enumerate(queue.holds):
            found.pop(hold.name, None)
            if hold.when is not None:
                path = (*HOLDS, index)
                found[hold.name] = _WrittenHold(policy, path, hold, lineage[0].name)
    yield from found.values()


def _entry(written: _WrittenHold, expressions: ExpressionSets) -> dict[str, Any]:
    policy, path, hold = written.policy, written.path, written.hold
    own = expressions.of(written.heir, policy.name)
    spec = policy.model.spec
    conditions = [*condition_paths(("spec",), spec), *condition_paths(path, hold)]
    entry: dict[str, Any] = {
        "name": hold.name,
        "when": own.ir((*path, "when")),
        "match": list(map(own.ir, conditions)),
        "failurePolicy": spec.failure_policy,
        "message": " ".join((hold.message or f"held by {hold.name}").split()),
        "reason": hold.reason or "Held",
        "place": str(policy.place((*path, "when"))),
    }
    if hold.message_expression is not None:
        entry["messageExpression"] = own.ir((*path, "messageExpression"))
    return entry


def queue_entry(
    profiles: Sequence[Sequence[Served]],
    expressions: ExpressionSets,
    process_label: str,
    findings: list[Diagnostic],
) -> dict[str, Any]:
    """What the program says of the queue; empty if no policy says anything of it. `process_label`:
    the label whose values are the tenants, where the process says it."""
    entry: dict[str, Any] = {}
    stated = list(_orders(profiles))
    if stated:
        heir, policy, order = stated[0]
        own = expressions.of(heir, policy.name)
        entry["order"] = {
            "expression": own.ir((*ORDER, "expression")),
            "maxOvertakes": order.max_overtakes,
            "place": str(policy.place((*ORDER, "expression"))),
        }
        for _, other, _ in stated[1:]:
            if other is not policy:
                note = Note("ordered here", place=policy.place(ORDER))
                message = f"`{policy.name}` orders the queue already, and there is one queue"
                hint = "leave one of the two orders out"
                findings.append(other.remark("KP116", message, ORDER, hint=hint, notes=(note,)))
    label = _label(profiles, process_label, findings)
    if label:
        entry["tenantLabel"] = label
    return entry


def _lineages(profiles: Sequence[Sequence[Served]]) -> Iterator[tuple[str, Policy]]:
    """Every policy that serves a profile and every base, bases first, with the policy that stands
    on it."""
    seen: set[tuple[str, str]] = set()
    for served in chain.from_iterable(profiles):
        lineage = served.effective.lineage
        for policy in reversed(lineage):
            if (key := (lineage[0].name, policy.name)) not in seen:
                seen.add(key)
                yield lineage[0].name, policy


def _orders(profiles: Sequence[Sequence[Served]]) -> Iterator[tuple[str, Policy, Order]]:
    for heir, policy in _lineages(profiles):
        queue = policy.model.spec.queue
        if queue is not None and queue.order is not None and not policy.model.spec.shadow:
            yield heir, policy, queue.order


def _label(
    profiles: Sequence[Sequence[Served]], process_label: str, findings: list[Diagnostic]
) -> str:
    """One label says what a tenant is: that of the process, or else that of the policies."""
    chosen: tuple[str, str] | None = None
    is_read = False
    for _, policy in _lineages(profiles):
        queue = policy.model.spec.queue
        if queue is not None and not policy.model.spec.shadow:
            is_read |= queue.order is not None or bool(queue.holds)
        label = queue.tenant_label if queue is not None else None
        if label is None:
            continue
        if process_label and label != process_label:
            message = f"for this process tenants are the values of `{process_label}`"
            hint = f"leave it out, or write `{process_label}`; --tenant-label says it"
            findings.append(policy.remark("KP139", message, _LABEL, hint=hint))
        elif chosen is not None and label != chosen[0]:
            message = f"in `{chosen[1]}` tenants are the values of `{chosen[0]}`"
            findings.append(policy.remark("KP116", message, _LABEL))
        else:
            chosen = label, policy.name
    if process_label:
        return process_label if is_read else ""
    return chosen[0] if chosen is not None else ""
