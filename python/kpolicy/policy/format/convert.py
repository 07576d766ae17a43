"""Legacy policies and kube-scheduler configurations as SchedulingPolicy text.

Owns what the text says and leaves out, and the proof that it decides the same: both are compiled,
and their programs must agree in all but places. Assumes that reading such a document gives the tree
of a SchedulingPolicy. Must not know what legacy names mean.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, Place
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.compile import Compiled, compile_policy
from kpolicy.policy.document_kinds import Document, find_documents
from kpolicy.policy.format.emit import emitted
from kpolicy.policy.format.key_order import ordered
from kpolicy.policy.models.builtins import BUILTINS, POSITIONS
from kpolicy.policy.models.scheduling_policy import KIND, Extender, Preemption, in_largest_unit
from kpolicy.policy.yaml.nodes import Node, find, items, plain
from kpolicy.policy.yaml.source import Source, SourceText

_ANNOTATIONS: Final = ("kpolicy.dev/converted-from", "kpolicy.dev/legacy-release")
# What was chosen, or left out, in reading the file.
_TOLD: Final = ("KP102", "KP6")
_COMMENT_WIDTH: Final = 96
_RULES: Final = ("predicates", "priorities")

Comments = dict[tuple[str | int, ...], list[str]]


@dataclass(frozen=True, slots=True)
class Converted:
    """`text` decides as the sources do; None where they cannot be read, and diagnostics say why."""

    text: str | None
    diagnostics: tuple[Diagnostic, ...]


def convert_policy(
    sources: Sequence[Source | str] | Source | str, *, release: str = ""
) -> Converted:
    """Convert every policy of the sources; `release` pins the legacy release that is meant."""
    listed = [sources] if isinstance(sources, (Source, str)) else list(sources)
    named = [
        one if isinstance(one, Source) else Source(f"policy-{index}.yaml", one)
        for index, one in enumerate(listed, start=1)
    ]
    original = compile_policy(named, release=release)
    if original.program is None:
        return Converted(None, original.diagnostics)
    documents = find_documents(named, release).documents
    already = tuple(_already(one) for one in documents if one.kind == KIND)
    if already:
        return Converted(None, already)
    written = [_Written(one, release, original.diagnostics) for one in documents]
    text = _joined(written)
    shorter = _joined([one.in_usual_order() for one in written])
    if _agree(original, shorter):
        text = shorter
    assert _agree(original, text), "what is written is what was read"
    return Converted(text, original.diagnostics)


def _already(document: Document) -> Diagnostic:
    at = document.root.get("kind") or document.root
    said = remark("KP605", "this is a SchedulingPolicy already", hint="`kpolicy fmt` lays it out")
    return said.at(document.text.place(at.span))


def _joined(written: Iterable[_Written]) -> str:
    return "---\n".join(one.text() for one in written)


def _agree(original: Compiled, text: str) -> bool:
    made = compile_policy(Source("converted.yaml", text)).program
    assert original.program is not None
    return made is not None and made.hash == original.program.hash


class _Written:
    """One document as data, and the comments that go with it."""

    def __init__(self, document: Document, release: str, diagnostics: Sequence[Diagnostic]) -> None:
        self._data: dict[str, Any] = plain(document.root)  # type: ignore[assignment]
        self._comments: Comments = {}
        spec = self._data["spec"]
        converted_from = f"{document.kind}/{document.version}"
        notes = dict(zip(_ANNOTATIONS, (converted_from, release), strict=True))
        self._data["metadata"]["annotations"] = {key: one for key, one in notes.items() if one}
        self._comment_on(document, converted_from, release, diagnostics)
        for side in _RULES:
            spec[side] = [_rule(rule, side) for rule in spec.get(side, ())]
        if spec.get("preemption") and Preemption.model_validate(spec["preemption"]) == Preemption():
            del spec["preemption"]
        if not spec.get("evaluateAll"):
            spec.pop("evaluateAll", None)
        spec["extenders"] = list(map(_extender, spec.get("extenders") or ()))
        kept = [key for key in ordered(("spec",), spec) if key in _RULES or spec[key]]
        self._data["spec"] = {key: spec[key] for key in kept}

    def in_usual_order(self) -> _Written:
        """The same without `predicateOrder`, its predicates in the order that is then meant."""
        other: _Written = object.__new__(_Written)
        spec = {k: v for k, v in self._data["spec"].items() if k != "predicateOrder"}
        other._data = {**self._data, "spec": spec}
        other._comments = self._comments
        ranks = [POSITIONS.get(one.get("builtin"), len(POSITIONS)) for one in spec["predicates"]]
        return other if ranks == sorted(ranks) else self

    def text(self) -> str:
        head = "".join(f"# {line}\n" for line in self._comments.get((), ()))
        return head + emitted(self._data, self._comments)

    def _comment_on(
        self, document: Document, converted_from: str, release: str, said: Sequence[Diagnostic]
    ) -> None:
        read_as = f", read as release {release} did" if release else ""
        origin = f"{document.text.name} ({converted_from}{read_as})"
        self._say((), f"Converted by `kpolicy convert` from {origin}.")
        places = dict(_rule_places(document))
        for one in said:
            if not one.code.startswith(_TOLD) or one.place is None:
                continue
            path = next((at for at, place in places.items() if _holds(place, one.place)), ())
            hint = f" ({one.hint})" if one.hint and not path else ""
            self._say(path, f"{one.code}: {one.message}{hint}")

    def _say(self, path: tuple[str | int, ...], text: str) -> None:
        self._comments.setdefault(path, []).extend(
            textwrap.wrap(text, _COMMENT_WIDTH, break_on_hyphens=False)
        )


def _rule_places(document: Document) -> Iterable[tuple[tuple[str | int, ...], Place]]:
    """Rules that stand in the file; those it implies have the place of its first key."""
    head = document.root.entries[0].key.span
    for side in _RULES:
        for index, node in enumerate(items(find(document.root, ("spec", side)))):
            if node.span.start > head.start or node.span.end > head.end:
                yield ("spec", side, index), _place(document.text, node)


def _place(text: SourceText, node: Node) -> Place:
    return text.place(node.span)


def _holds(outer: Place, inner: Place) -> bool:
    start, end = (outer.line, outer.column), (outer.end_line, outer.end_column)
    return outer.file == inner.file and start <= (inner.line, inner.column) < end


def _rule(rule: dict[str, Any], side: str) -> dict[str, Any]:
    """The rule with its keys in order and without arguments that say what is meant anyway."""
    builtin = BUILTINS.get(rule.get("builtin", ""))
    rule = dict(rule)
    if builtin is not None and "args" in rule:
        model = builtin.args.model_validate(rule["args"])
        args = model.model_dump(by_alias=True, exclude_defaults=True, exclude_none=True)
        rule["args"] = {key: args[key] for key in rule["args"] if key in args}
        if not rule["args"]:
            del rule["args"]
    return {key: rule[key] for key in ordered(("spec", side, "*"), rule)}


def _extender(written: dict[str, Any]) -> dict[str, Any]:
    model = Extender.model_validate(written)
    needed = model.model_dump(by_alias=True, exclude_defaults=True, exclude_none=True)
    if "httpTimeout" in needed:
        needed["httpTimeout"] = in_largest_unit(model.http_timeout)
    return {key: needed[key] for key in ordered(("spec", "extenders", "*"), needed)}
