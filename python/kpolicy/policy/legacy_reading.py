"""What is known while a legacy Policy is read: the file, the release meant, what was said.

Owns `Reading` and what predicates and priorities have in common. Assumes a tree of any form. Must
not know a predicate or priority by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from kpolicy.diagnostics import Diagnostic, Severity, Span
from kpolicy.policy.catalogue import remark
from kpolicy.policy.nearest import did_you_mean
from kpolicy.policy.tree import Mapping, Node, Scalar, Sequence, items, string

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
                message = f"unknown key `{entry.key.text}`, ignored"
                hint = did_you_mean(entry.key.text, names)
                self.say("KP102", message, entry.key.span, hint, Severity.WARNING)

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
        message = f"no `{what}`: the default set of release 1.{self.minor}"
        hint = f"write `{what}: []` for none; releases up to 1.9 took it for that"
        self.say("KP602", message, self.head, hint)
        return True


def is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None


def name_span(node: Mapping) -> Span:
    return (node.get("name") or node).span
