"""Arguments of legacy predicates and priorities.

Owns their forms and what is wrong with them. Assumes a tree of any form. Must not know which names
carry them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from kpolicy.diagnostics import Diagnostic, Severity, Span
from kpolicy.policy.catalogue import remark
from kpolicy.policy.nearest import did_you_mean
from kpolicy.policy.tree import Mapping, Node, Scalar, Sequence, items, mapping, string

_LABEL_KEY: Final = re.compile(
    r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?\Z"
)
_PREDICATE_KINDS: Final = {
    "serviceAffinity": ("labels",),
    "labelsPresence": ("labels", "presence"),
}
_PRIORITY_KINDS: Final = {
    "serviceAntiAffinity": ("label",),
    "labelPreference": ("label", "presence"),
    "requestedToCapacityRatioArguments": ("shape", "resources"),
}


@dataclass(frozen=True, slots=True)
class Argument:
    kind: str
    span: Span
    labels: tuple[str, ...] = ()
    labels_node: Node | None = None
    presence: bool = False
    # Arguments of the built-in it becomes, where it becomes one.
    args: Mapping | None = None


def predicate_argument(node: Mapping) -> tuple[Argument | None, list[Diagnostic]]:
    return _argument(node, "predicate", _PREDICATE_KINDS)


def priority_argument(node: Mapping) -> tuple[Argument | None, list[Diagnostic]]:
    return _argument(node, "priority", _PRIORITY_KINDS)


def _argument(
    node: Mapping, what: str, kinds: dict[str, tuple[str, ...]]
) -> tuple[Argument | None, list[Diagnostic]]:
    written = node.get("argument")
    if written is None or (isinstance(written, Scalar) and written.value is None):
        return None, []
    members = written.entries if isinstance(written, Mapping) else ()
    known = [member for member in members if member.key.text in kinds]
    said = [_unknown(member.key, kinds) for member in members if member.key.text not in kinds]
    if len(known) != 1 or not isinstance(known[0].value, Mapping):
        message = f"exactly one {what} argument is needed, {len(known)} given"
        hint = "one of " + ", ".join(f"`{kind}`" for kind in kinds)
        return None, [*said, remark("KP603", message, written.span, hint=hint)]
    kind, body = known[0].key.text, known[0].value
    fields = kinds[kind]
    said += [_unknown(entry.key, fields) for entry in body.entries if entry.key.text not in fields]
    if "shape" in fields:
        return _ratio(kind, body, said)
    return _labels(kind, body, fields, said)


def _unknown(key: Scalar, known: object) -> Diagnostic:
    names = list(known) if isinstance(known, (dict, tuple)) else []
    hint = did_you_mean(key.text, names)
    message = f"unknown key `{key.text}`, ignored"
    return remark("KP102", message, key.span, hint=hint, severity=Severity.WARNING)


def _labels(
    kind: str, body: Mapping, fields: tuple[str, ...], said: list[Diagnostic]
) -> tuple[Argument | None, list[Diagnostic]]:
    field = fields[0]
    node = body.get(field)
    written = items(node) if field == "labels" else (node,) if node is not None else ()
    if not written:
        return None, [*said, remark("KP603", f"`{kind}` needs `{field}`", body.span)]
    for one in written:
        if not _LABEL_KEY.match(string(one)):
            shown = one.text if isinstance(one, Scalar) else "this"
            message = f"`{shown}` is not a label key"
            hint = "one key an item" if "," in shown else ""
            return None, [*said, remark("KP603", message, one.span, hint=hint)]
    presence = body.get("presence")
    if presence is not None and not (
        isinstance(presence, Scalar) and isinstance(presence.value, bool)
    ):
        return None, [*said, remark("KP113", "`presence` must be true or false", presence.span)]
    labels_node = Sequence(body.span, tuple(written))
    args = mapping(body.span, antiAffinityLabelsPreference=labels_node)
    is_present = isinstance(presence, Scalar) and presence.value is True
    labels = tuple(string(one) for one in written)
    return Argument(kind, body.span, labels, labels_node, is_present, args), said


def _ratio(
    kind: str, body: Mapping, said: list[Diagnostic]
) -> tuple[Argument | None, list[Diagnostic]]:
    shape = body.get("shape")
    if not items(shape):
        message = "at least one point must be specified in `shape`"
        return None, [*said, remark("KP603", message, (shape or body).span)]
    # The points and resources are checked as the arguments of the built-in they become.
    args = mapping(body.span, shape=shape, resources=body.get("resources"))
    return Argument(kind, body.span, args=args), said
