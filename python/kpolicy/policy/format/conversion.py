"""Converts legacy policies and kube-scheduler configurations to the text of SchedulingPolicies.

Original and text are both compiled, and their programs must be equal except for places. Comments
in the text are above the values they are about.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, Place
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.assembly.releases import legacy_release
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.compile import compile_policy
from kpolicy.policy.document_kinds import Document, find_documents
from kpolicy.policy.format.yaml_layout import ordered
from kpolicy.policy.format.yaml_text import Comments, emitted
from kpolicy.policy.models.builtins import BUILTINS, POSITIONS
from kpolicy.policy.models.scheduling_policy import KIND, Extender, Preemption, in_largest_unit
from kpolicy.policy.yaml.nodes import Path, find, items, plain
from kpolicy.policy.yaml.source import Source, named_sources, placed
from kpolicy.quick_dataclass import dataclass

_ANNOTATIONS: Final = ("kpolicy.dev/converted-from", "kpolicy.dev/legacy-release")
# Findings that become comments, because they say what the conversion chose or left out.
_CODES_IN_COMMENTS: Final = ("KP102", "KP6")

_COMMENT_WIDTH: Final = 96
_SIDES: Final = ("predicates", "priorities")


@dataclass(frozen=True, slots=True)
class Converted:
    """`text` decides as the sources do. It is None if they cannot be read; see the diagnostics."""

    text: str | None
    diagnostics: tuple[Diagnostic, ...]


def convert_policy(
    sources: Sequence[Source | str] | Source | str, *, release: str = ""
) -> Converted:
    """Convert every policy of the sources; `release` pins the legacy release that is meant."""
    named, release = named_sources(sources), legacy_release(release)
    original = compile_policy(named, release=release)
    if original.program is None:
        return Converted(None, original.diagnostics)
    documents = find_documents(named, release).documents
    already = tuple(_already(document) for document in documents if document.kind == KIND)
    if already:
        return Converted(None, already)
    findings = _beside_their_rules(documents, original.diagnostics)
    written = [
        _written(document, release, found)
        for document, found in zip(documents, findings, strict=True)
    ]
    text = _joined([document.without_order() for document in written])
    if not _decides_the_same(original.program, text):
        text = _joined(written)
        assert _decides_the_same(original.program, text), "the conversion decides as the original"
    return Converted(text, original.diagnostics)


def _beside_their_rules(
    documents: Sequence[Document], diagnostics: Sequence[Diagnostic]
) -> list[list[Diagnostic]]:
    """The findings for each document: where its rules are, and in the first what is of none."""
    found: list[list[Diagnostic]] = [[] for _ in documents]
    rules = [[place for _, place in _rule_places(document)] for document in documents]
    for finding in diagnostics:
        place = finding.place
        at = [
            index for index, own in enumerate(rules) if place and any(_holds(p, place) for p in own)
        ]
        for index in at or [0]:
            found[index].append(finding)
    return found


def _already(document: Document) -> Diagnostic:
    message, hint = "this is a SchedulingPolicy already", "`kpolicy fmt` lays it out"
    at = document.root.get("kind") or document.root
    return placed(document.text, remark("KP605", message, at.span, hint=hint))


def _joined(documents: Iterable[_Written]) -> str:
    return "---\n".join(document.text() for document in documents)


def _decides_the_same(original: Program, text: str) -> bool:
    program = compile_policy(Source("converted.yaml", text)).program
    return program is not None and program.hash == original.hash


@dataclass(frozen=True, slots=True)
class _Written:
    """A document as plain data, with its comments by path."""

    data: dict[str, Any]
    comments: Comments

    def without_order(self) -> _Written:
        """Without `predicateOrder`, if the predicates are in the order of kube-scheduler."""
        spec = {key: value for key, value in self.data["spec"].items() if key != "predicateOrder"}
        ranks = [POSITIONS.get(rule.get("builtin"), len(POSITIONS)) for rule in spec["predicates"]]
        return replace(self, data={**self.data, "spec": spec}) if ranks == sorted(ranks) else self

    def text(self) -> str:
        head = "".join(f"# {line}\n" for line in self.comments.get((), ()))
        return head + emitted(self.data, self.comments)


def _written(document: Document, release: str, diagnostics: Sequence[Diagnostic]) -> _Written:
    data: dict[str, Any] = plain(document.root)  # type: ignore[assignment]
    spec = data["spec"]
    converted_from = f"{document.kind}/{document.version}"
    notes = zip(_ANNOTATIONS, (converted_from, release), strict=True)
    data["metadata"]["annotations"] = {key: note for key, note in notes if note}
    for side in _SIDES:
        spec[side] = [_rule(rule, side) for rule in spec.get(side, ())]
    if spec.get("preemption") and Preemption.model_validate(spec["preemption"]) == Preemption():
        del spec["preemption"]
    spec["extenders"] = list(map(_extender, spec.get("extenders") or ()))
    kept = (key for key in ordered(("spec",), spec) if key in _SIDES or spec[key])
    data["spec"] = {key: spec[key] for key in kept}
    read_as = f", read as release {release} did" if release else ""
    origin = f"{document.text.name} ({converted_from}{read_as})"
    return _Written(data, _comments(document, origin, diagnostics))


def _comments(document: Document, origin: str, diagnostics: Sequence[Diagnostic]) -> Comments:
    comments: Comments = {(): wrapped(f"Converted by `kpolicy convert` from {origin}.")}
    places = dict(_rule_places(document))
    for finding in diagnostics:
        if finding.place is None or not finding.code.startswith(_CODES_IN_COMMENTS):
            continue
        path = next((at for at, place in places.items() if _holds(place, finding.place)), ())
        hint = f" ({finding.hint})" if finding.hint and not path else ""
        comments.setdefault(path, []).extend(wrapped(f"{finding.code}: {finding.message}{hint}"))
    return comments


def wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _COMMENT_WIDTH, break_on_hyphens=False)


def _rule_places(document: Document) -> Iterable[tuple[Path, Place]]:
    """The places of rules in the file, without the implied ones: these stand at its first key."""
    head = document.root.entries[0].key.span
    for side in _SIDES:
        for index, node in enumerate(items(find(document.root, ("spec", side)))):
            if node.span.start > head.start or node.span.end > head.end:
                yield ("spec", side, index), document.text.place(node.span)


def _holds(outer: Place, inner: Place) -> bool:
    start, end = (outer.line, outer.column), (outer.end_line, outer.end_column)
    return outer.file == inner.file and start <= (inner.line, inner.column) < end


def _rule(rule: dict[str, Any], side: str) -> dict[str, Any]:
    """The rule with its keys in order, without arguments that equal the defaults."""
    builtin = BUILTINS.get(rule.get("builtin", ""))
    if builtin is not None and "args" in rule:
        model = builtin.args.model_validate(rule["args"])
        args = model.model_dump(by_alias=True, exclude_defaults=True, exclude_none=True)
        rule = {**rule, "args": {key: args[key] for key in rule["args"] if key in args}}
    keys = ordered(("spec", side, "*"), rule)
    return {key: rule[key] for key in keys if builtin is None or key != "args" or rule[key]}


def _extender(written: dict[str, Any]) -> dict[str, Any]:
    model = Extender.model_validate(written)
    needed = model.model_dump(by_alias=True, exclude_defaults=True, exclude_none=True)
    if "httpTimeout" in needed:
        needed["httpTimeout"] = in_largest_unit(model.http_timeout)
    return {key: needed[key] for key in ordered(("spec", "extenders", "*"), needed)}
