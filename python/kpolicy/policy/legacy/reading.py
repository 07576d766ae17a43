"""Reads entries of a legacy Policy (scheduler.json): their names and their arguments.

`Reading` holds the file, the release that is meant, and the findings. The tree may have any form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping as Table
from dataclasses import dataclass, field
from typing import Final

from kpolicy.diagnostics import Diagnostic, Severity, Span, did_you_mean
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.yaml.nodes import Mapping, Node, Scalar, Sequence, items, mapping, string

NEWEST_MINOR: Final = 22

_LABEL_KEY: Final = re.compile(
    r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?\Z"
)
# The kinds of argument, each with its fields.
PREDICATE_ARGUMENTS: Final = {
    "serviceAffinity": ("labels",),
    "labelsPresence": ("labels", "presence"),
}
PRIORITY_ARGUMENTS: Final = {
    "serviceAntiAffinity": ("label",),
    "labelPreference": ("label", "presence"),
    "requestedToCapacityRatioArguments": ("shape", "resources"),
}
# By kind of argument and `presence`: the built-in, and its argument that takes the labels.
_LABEL_ARGUMENTS: Final = {
    ("serviceAffinity", False): ("ServiceAffinity", "affinityLabels"),
    ("labelsPresence", True): ("NodeLabel", "presentLabels"),
    ("labelsPresence", False): ("NodeLabel", "absentLabels"),
    ("serviceAntiAffinity", False): ("ServiceAffinity", "antiAffinityLabelsPreference"),
    ("labelPreference", True): ("NodeLabel", "presentLabelsPreference"),
    ("labelPreference", False): ("NodeLabel", "absentLabelsPreference"),
}


@dataclass(frozen=True, slots=True)
class Reading:
    """`pinned`: the release 1.x that is meant; None: names mean what their authors meant."""

    root: Mapping
    pinned: int | None
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @property
    def minor(self) -> int:
        return NEWEST_MINOR if self.pinned is None else self.pinned

    @property
    def head(self) -> Span:
        """The place of findings about the whole file."""
        return self.root.entries[0].key.span

    def is_pinned(self, first: int, last: int = NEWEST_MINOR) -> bool:
        return self.pinned is not None and first <= self.pinned <= last

    def report(
        self, code: str, message: str, span: Span, hint: str = "", severity: Severity | None = None
    ) -> None:
        self.diagnostics.append(remark(code, message, span, hint=hint, severity=severity))

    def report_unknown(self, key: Scalar, known: Iterable[str]) -> None:
        """Reports an unknown key as a warning, because releases up to 1.16 ignored such keys."""
        self.report(
            "KP102",
            f"unknown key `{key.text}`, ignored",
            key.span,
            did_you_mean(key.text, known),
            Severity.WARNING,
        )

    def known_keys(self, node: Mapping, known: Iterable[str]) -> None:
        names = tuple(known)
        for entry in node.entries:
            if entry.key.text not in names:
                self.report_unknown(entry.key, names)

    def listed(self, side: str) -> Iterator[tuple[Mapping, str]]:
        """The entries of `predicates` or `priorities`, with their names."""
        node = self.root.get(side)
        if node is not None and not isinstance(node, Sequence) and not is_null(node):
            self.report("KP113", f"`{side}` must be a list", node.span)
        for item in items(node):
            name = string(item.get("name")) if isinstance(item, Mapping) else ""
            if isinstance(item, Mapping) and name:
                yield item, name
            else:
                self.report("KP114", "`name` is missing here", item.span)

    def stands_for_default(self, side: str) -> bool:
        """Whether the list is missing or null: that meant no rules up to 1.9, and the default set
        since."""
        node = self.root.get(side)
        if node is not None and not is_null(node):
            return False
        message, hint = f"no `{side}`: none, as up to release 1.9", ""
        if self.minor > 9:
            message = f"no `{side}`: the default set of release 1.{self.minor}"
            hint = f"write `{side}: []` for none; releases up to 1.9 took it for that"
        self.report("KP602", message, self.head, hint)
        return True


def is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None


def name_span(node: Mapping) -> Span:
    return (node.get("name") or node).span


@dataclass(frozen=True, slots=True)
class Argument:
    """The built-in that an argument stands for, with the arguments of that built-in."""

    builtin: str
    args: Mapping


@dataclass(frozen=True, slots=True)
class InvalidArgument:
    """An argument that cannot be read; the finding is reported."""


def read_argument(
    reading: Reading, node: Mapping, side: str, kinds: Table[str, tuple[str, ...]]
) -> Argument | InvalidArgument | None:
    """The argument of an entry; None if it has none. `side` is `predicate` or `priority`."""
    written = node.get("argument")
    if written is None or is_null(written):
        return None
    members = written.entries if isinstance(written, Mapping) else ()
    for member in members:
        if member.key.text not in kinds:
            reading.report_unknown(member.key, kinds)
    known = [member for member in members if member.key.text in kinds]
    if len(known) != 1 or not isinstance(known[0].value, Mapping):
        reading.report(
            "KP603",
            f"exactly one {side} argument is needed, {len(known)} given",
            written.span,
            "one of " + ", ".join(f"`{kind}`" for kind in kinds),
        )
        return InvalidArgument()
    kind, body = known[0].key.text, known[0].value
    reading.known_keys(body, kinds[kind])
    if "shape" not in kinds[kind]:
        return _labels(reading, kind, body, kinds[kind])
    shape = body.get("shape")
    if not items(shape):
        reading.report(
            "KP603", "at least one point must be specified in `shape`", (shape or body).span
        )
        return InvalidArgument()
    # Points and resources are validated as the arguments of the built-in.
    return Argument(
        "RequestedToCapacityRatio", mapping(body.span, shape=shape, resources=body.get("resources"))
    )


def _labels(
    reading: Reading, kind: str, body: Mapping, fields: tuple[str, ...]
) -> Argument | InvalidArgument:
    node = body.get(fields[0])
    labels = items(node) if fields[0] == "labels" else (node,) if node is not None else ()
    wrong = next((label for label in labels if not _LABEL_KEY.match(string(label))), None)
    presence = body.get("presence")
    value = presence.value if isinstance(presence, Scalar) else None
    if not labels:
        reading.report("KP603", f"`{kind}` needs `{fields[0]}`", body.span)
        return InvalidArgument()
    if wrong is not None:
        shown = wrong.text if isinstance(wrong, Scalar) else "this"
        hint = "one key an item" if "," in shown else ""
        reading.report("KP603", f"`{shown}` is not a label key", wrong.span, hint)
        return InvalidArgument()
    if presence is not None and not isinstance(value, bool):
        reading.report("KP113", "`presence` must be true or false", presence.span)
        return InvalidArgument()
    builtin, argument = _LABEL_ARGUMENTS[kind, value is True and "presence" in fields]
    return Argument(builtin, mapping(body.span, **{argument: Sequence(body.span, tuple(labels))}))
