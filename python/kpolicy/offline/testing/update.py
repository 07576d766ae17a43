"""`--update`: what was got, written in the place of what was expected.

Owns how a value is written. Changes nothing but these values, so that comments and layout stay.
Pure. Must not know files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final

from kpolicy.offline.testing.results import Rewrite, SuiteResult
from kpolicy.policy.yaml.nodes import Plain
from kpolicy.policy.yaml.tree_reader import resolve, trap

# What needs no quotes wherever it stands, also between brackets and braces.
_PLAIN: Final = re.compile(r"[A-Za-z_/](?:[-A-Za-z0-9_./]*[A-Za-z0-9_])?\Z")


def rewrites(suites: Iterable[SuiteResult]) -> dict[str, list[Rewrite]]:
    """What can be written, by file."""
    found: dict[str, list[Rewrite]] = {}
    for suite in suites:
        for test in suite.tests:
            for one in test.mismatches:
                if one.rewrite is not None and one.rewrite.span is not None:
                    found.setdefault(suite.file, []).append(one.rewrite)
    return found


def updated(text: str, listed: Iterable[Rewrite]) -> tuple[str, int]:
    """The text with these values, and how many were written. Of values that lie in each other, the
    outer one is written."""
    spans = [(one.span, one.value) for one in listed if one.span is not None]
    written = 0
    begin = len(text) + 1
    for span, value in sorted(spans, key=lambda item: (-item[0].end, item[0].start)):
        if span.end > begin:
            continue
        end = span.start + len(text[span.start : span.end].rstrip())
        text = text[: span.start] + flow(value) + text[end:]
        begin = span.start
        written += 1
    return text, written


def flow(value: Plain) -> str:
    """One line of YAML, in flow style."""
    match value:
        case dict():
            return "{" + ", ".join(f"{flow(k)}: {flow(v)}" for k, v in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(flow, value)) + "]"
        case str() if _PLAIN.match(value) and resolve(value) == value and not trap(value):
            return value
    return json.dumps(value, ensure_ascii=False)
