"""What is known while a legacy Policy is read: the file, the release meant, what was said.

Owns `Reading` and what predicates and priorities have in common. Assumes a tree of any form. Must
not know a predicate or priority by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from kpolicy.diagnostics import Diagnostic, Severity, Span
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.nearest import did_you_mean
from kpolicy.policy.yaml.nodes import Mapping, Node, Scalar, Sequence, items, mapping, string

NEWEST_MINOR: Final = 22


@dataclass(frozen=True, slots=True)
class Reading:
    """`pinned` is the release 1.x that is meant; without one, names mean what authors meant."""

    root: Mapping
    pinned: int | None
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @property
    def minor(self) -> int:
        return NEWEST_MINOR if self.pinned is None else self.pinned

    @property
    def head(self) -> Span:
        """Where remarks about the whole file stand."""
        return self.root.entries[0].key.span

    def is_pinned(self, first: int, last: int = NEWEST_MINOR) -> bool:
        return self.pinned is not None and first <= self.pinned <= last

    def say(
        self, code: str, message: str, span: Span, hint: str = "", severity: Severity | None = None
    ) -> None:
        self.diagnostics.append(remark(code, message, span, hint=hint, severity=severity))

    def ignore_unknown(self, node: Mapping, known: Iterable[str]) -> None:
        """Releases up to 1.16 ignored unknown keys; they are told here."""
        names = tuple(known)
        for entry in node.entries:
            if entry.key.text not in names:
                self.say(
                    "KP102",
                    f"unknown key `{entry.key.text}`, ignored",
                    entry.key.span,
                    did_you_mean(entry.key.text, names),
                    Severity.WARNING,
                )

    def listed(self, what: str) -> Iterator[tuple[Mapping, str]]:
        """Entries of `predicates` or `priorities` with their names."""
        node = self.root.get(what)
        if node is not None and not isinstance(node, Sequence) and not is_null(node):
            self.say("KP113", f"`{what}` must be a list", node.span)
        for item in items(node):
            name = string(item.get("name")) if isinstance(item, Mapping) else ""
            if isinstance(item, Mapping) and name:
                yield item, name
            else:
                self.say("KP114", "`name` is missing here", item.span)

    def stands_for_default(self, what: str) -> bool:
        """Missing and null lists were none up to 1.9, and the default set since."""
        node = self.root.get(what)
        if node is not None and not is_null(node):
            return False
        if self.minor <= 9:
            self.say("KP602", f"no `{what}`: none, as up to release 1.9", self.head)
            return True
        self.say(
            "KP602",
            f"no `{what}`: the default set of release 1.{self.minor}",
            self.head,
            f"write `{what}: []` for none; releases up to 1.9 took it for that",
        )
        return True


def is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None


def name_span(node: Mapping) -> Span:
    return (node.get("name") or node).span


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


# The built-in that an argument is for, and the field of it that labels go to.
_FIELDS: Final = {
    ("serviceAffinity", False): ("ServiceAffinity", "affinityLabels"),
    ("labelsPresence", True): ("NodeLabel", "presentLabels"),
    ("labelsPresence", False): ("NodeLabel", "absentLabels"),
    ("serviceAntiAffinity", False): ("ServiceAffinity", "antiAffinityLabelsPreference"),
    ("labelPreference", True): ("NodeLabel", "presentLabelsPreference"),
    ("labelPreference", False): ("NodeLabel", "absentLabelsPreference"),
}


@dataclass(frozen=True, slots=True)
class Argument:
    """What an argument stands for: a built-in, and its arguments."""

    builtin: str
    args: Mapping


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
        return None, [
            *said,
            remark(
                "KP603",
                f"exactly one {what} argument is needed, {len(known)} given",
                written.span,
                hint="one of " + ", ".join(f"`{kind}`" for kind in kinds),
            ),
        ]
    kind, body = known[0].key.text, known[0].value
    fields = kinds[kind]
    said += [_unknown(entry.key, fields) for entry in body.entries if entry.key.text not in fields]
    if "shape" in fields:
        return _ratio(body, said)
    return _labels(kind, body, fields, said)


def _unknown(key: Scalar, known: object) -> Diagnostic:
    names = list(known) if isinstance(known, (dict, tuple)) else []
    return remark(
        "KP102",
        f"unknown key `{key.text}`, ignored",
        key.span,
        hint=did_you_mean(key.text, names),
        severity=Severity.WARNING,
    )


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
            return None, [
                *said,
                remark(
                    "KP603",
                    f"`{shown}` is not a label key",
                    one.span,
                    hint="one key an item" if "," in shown else "",
                ),
            ]
    presence = body.get("presence")
    if presence is not None and not (
        isinstance(presence, Scalar) and isinstance(presence.value, bool)
    ):
        return None, [*said, remark("KP113", "`presence` must be true or false", presence.span)]
    is_present = isinstance(presence, Scalar) and presence.value is True
    builtin, wanted = _FIELDS[kind, is_present and "presence" in fields]
    args = mapping(body.span, **{wanted: Sequence(body.span, tuple(written))})
    return Argument(builtin, args), said


def _ratio(body: Mapping, said: list[Diagnostic]) -> tuple[Argument | None, list[Diagnostic]]:
    shape = body.get("shape")
    if not items(shape):
        return None, [
            *said,
            remark(
                "KP603", "at least one point must be specified in `shape`", (shape or body).span
            ),
        ]
    # The points and resources are checked as the arguments of the built-in they become.
    args = mapping(body.span, shape=shape, resources=body.get("resources"))
    return Argument("RequestedToCapacityRatio", args), said
