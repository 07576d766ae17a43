"""Lays out a policy file in the usual form (`kpolicy fmt`).

Documents of kpolicy's own kinds in block style are laid out, also those that a ConfigMap carries;
everything else is left as it is. Values, comments and the compiled program must be the same before
and after, otherwise the file is left alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import dropwhile
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, Severity, Span, has_errors
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.compile import compile_policy
from kpolicy.policy.document_kinds import carried, rewritten_block
from kpolicy.policy.format.yaml_layout import Gap, Layout, ordered
from kpolicy.policy.yaml.nodes import (
    Mapping,
    Node,
    Scalar,
    first_character,
    mappings,
    plain,
    scalars,
    string,
)
from kpolicy.policy.yaml.scalar_map import ScalarMap
from kpolicy.policy.yaml.source import BYTE_ORDER_MARK, Source, SourceText, placed
from kpolicy.policy.yaml.tree_reader import Documents, read_documents, read_text

_OURS: Final = "kpolicy.dev/"
_COMMENT: Final = re.compile(r"(?m)(?:^|(?<=[ \t]))#[^\n]*")
_MARKER: Final = re.compile(r"(?m)^(?:---|\.\.\.)(?=\s|$)[^\n]*\n?")


@dataclass(frozen=True, slots=True)
class Reformatted:
    """`text` is the file in the usual form, possibly unchanged. It is None where the file cannot be
    read, or not be laid out without changing its meaning. Diagnostics say what was left as it is.
    """

    text: str | None
    diagnostics: tuple[Diagnostic, ...] = ()


def reformat(source: Source | str) -> Reformatted:
    named = source if isinstance(source, Source) else Source("policy.yaml", source)
    read = read_documents(named)
    if has_errors(read.diagnostics):
        return Reformatted(None, _errors(read))
    manifest = _with_carried(read)
    if isinstance(manifest, Reformatted):
        return manifest
    text, notes = manifest
    notes += [_as_it_is(read.text, root) for root in read.roots if _is_left(read.text, root)]
    laid_out = _usual_form(text) if any(map(_is_ours, read.roots)) else text
    is_changed = laid_out != read.text.text
    if laid_out is None or (is_changed and not _means_the_same(named.name, read, laid_out)):
        return _refused(read.text)
    return Reformatted(laid_out, tuple(notes))


def _errors(read: Documents) -> tuple[Diagnostic, ...]:
    return tuple(placed(read.text, found) for found in read.diagnostics if has_errors((found,)))


def _usual_form(text: str) -> str | None:
    """A file that has documents of kpolicy's kinds, laid out; None if that is not possible."""
    text = text.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n").replace("\r", "\n")
    text = text if text.endswith("\n") else f"{text}\n"
    roots = read_documents(Source("", text)).roots
    return _laid_out(text, [root for root in roots if not _is_empty(root)])


def _with_carried(read: Documents) -> tuple[str, list[Diagnostic]] | Reformatted:
    """The text with the policies in ConfigMaps laid out in place, and notes on those left alone."""
    text, notes = read.text.text, list[Diagnostic]()
    found = [scalar for root in read.roots for _, scalar in carried(root)]
    for scalar in reversed(found):
        inner = _read_carried(read.text, scalar)
        if has_errors(inner.diagnostics):
            return Reformatted(None, _errors(inner))
        if not any(map(_is_ours, inner.roots)):
            continue
        # Only a literal block shows each line as it is, so that the text can be replaced.
        is_writable = scalar.style == "|"
        if not is_writable or any(_is_left(inner.text, root) for root in inner.roots):
            notes.append(_as_it_is(read.text, scalar))
        laid_out = _usual_form(inner.text.text) if is_writable else ""
        if laid_out is None:
            return _refused(inner.text)
        text = rewritten_block(text, scalar, laid_out) if laid_out else text
    return text, notes


def _read_carried(within: SourceText, scalar: Scalar) -> Documents:
    to_file = ScalarMap(within.text, scalar).span
    return read_text(SourceText(within.name, scalar.text, (within, to_file)))


def _refused(text: SourceText) -> Reformatted:
    return Reformatted(
        None,
        (
            remark(
                "KP119",
                "this file cannot be formatted without changing its meaning",
                hint="it is left as it is; simpler YAML (no tags, no `?` keys) can be formatted",
            ).at(text.place(Span(0, 1))),
        ),
    )


def _is_left(text: SourceText, root: Node) -> bool:
    return _is_ours(root) and text.text[root.span.start : root.span.start + 1] == "{"


def _as_it_is(text: SourceText, node: Node) -> Diagnostic:
    finding = remark(
        "KP119",
        "JSON, and text in quotes, is left as it is",
        severity=Severity.INFO,
        hint="write it as YAML (in a ConfigMap: under `|`) to have it formatted",
    )
    return finding.at(text.place(first_character(node.span)))


def _is_empty(root: Node) -> bool:
    return isinstance(root, Scalar) and root.value is None


def _is_ours(root: Node) -> bool:
    return isinstance(root, Mapping) and string(root.get("apiVersion")).startswith(_OURS)


def _laid_out(text: str, roots: Sequence[Node]) -> str | None:
    """The whole file, document by document, with the comments between them."""
    layout = Layout(text, ordered)
    lines: list[str] = []
    position = 0
    for index, root in enumerate(roots):
        start = text.rfind("\n", 0, root.span.start) + 1
        if text[start : root.span.start].strip() or text[position:start].lstrip().startswith("%"):
            return None
        lines += _before(layout, text, position, start, is_first=index == 0)
        following = roots[index + 1].span.start if index + 1 < len(roots) else len(text)
        end = layout.end(root)
        marker = _MARKER.search(text, end, following)
        position = marker.start() if marker else following
        tail = layout.gap(end, position)
        if _is_ours(root) and isinstance(root, Mapping) and not layout.is_flow(root):
            lines += layout.root(root, tail)
        else:
            rest = text[end : _line_end(text, end)]
            lines += [*(text[start:end] + rest).rstrip().split("\n"), *tail.written(0)]
        while not lines[-1]:
            lines.pop()
    return "\n".join(lines) + "\n"


def _before(layout: Layout, text: str, start: int, end: int, *, is_first: bool) -> list[str]:
    """Comments above a document, and the `---` that begins it."""
    marker = _MARKER.search(text, start, end)
    above = Gap(_comment_lines(text[: marker.start()]) if marker and is_first else [])
    comment = marker.group().strip()[3:].strip() if marker else ""
    opening = [] if marker is None and is_first else ["---", *([comment] if comment else [])]
    below = _comment_lines(text[marker.end() if marker else start : end])
    below = list(dropwhile(lambda line: line is None, below))
    return [*above.written(0), *opening, *Gap(below).written(0)]


def _comment_lines(between: str) -> list[tuple[int, str] | None]:
    bare = (line.strip() for line in between.split("\n")[:-1])
    comments = (line.removeprefix("---").strip() if "#" in line else line for line in bare)
    return [(0, c) if c else None for c in comments if not c or c.startswith("#")]


def _line_end(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end


# The comparison of before and after.


def _means_the_same(name: str, before: Documents, text: str) -> bool:
    after = read_documents(Source(name, text))
    return (
        not has_errors(after.diagnostics)
        and _values(before) == _values(after)
        and _comments(before) == _comments(after)
        and _meaning(name, before.text.text) == _meaning(name, text)
    )


def _values(read: Documents) -> list[str]:
    """The values of every document as JSON with sorted keys, so that `true` differs from 1. A
    policy in a ConfigMap is compared by its own values, not as text."""
    found = []
    for root in read.roots:
        if _is_empty(root):
            continue
        value = plain(root)
        for path, scalar in carried(root):
            inner = _read_carried(read.text, scalar)
            if any(map(_is_ours, inner.roots)):
                holder: Any = value
                for part in path[:-1]:
                    holder = holder[part]
                holder[path[-1]] = [json.dumps(plain(root), sort_keys=True) for root in inner.roots]
        found.append(json.dumps(value, sort_keys=True))
    return found


def _comments(read: Documents) -> list[str]:
    quoted = [_read_carried(read.text, s) for root in read.roots for _, s in carried(root)]
    return sorted(comment for text in (read, *quoted) for comment in comments_of(text))


def comments_of(read: Documents) -> list[str]:
    """Every comment of a text, in order: `#` inside of keys and values begins none."""
    text = list(read.text.text)
    for root in read.roots:
        keys = [entry.key for node in mappings(root) for entry in node.entries]
        for scalar in (*scalars(root), *keys):
            start, end = scalar.span.start, scalar.span.end
            text[start:end] = ["\n" if c == "\n" else "x" for c in text[start:end]]
    return [match.group().rstrip() for match in _COMMENT.finditer("".join(text))]


def _meaning(name: str, text: str) -> Any:
    """The hash of its program, or the codes of its findings."""
    compiled = compile_policy(Source(name, text))
    if compiled.program is not None:
        return compiled.program.hash
    return sorted(finding.code for finding in compiled.diagnostics)
