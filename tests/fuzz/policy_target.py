"""What must hold of any input that is meant to be a policy.

Owns the promises: no exception, every place is in the text, every format can be written, a program
exactly where there is no error, the engine loads it, mending keeps the meaning and ends. Must not
know where inputs come from.
"""

from __future__ import annotations

import json
from typing import Final
from xml.etree import ElementTree

from kpolicy.cli.findings_text import Findings
from kpolicy.cli.verbs.lint import render
from kpolicy.diagnostics import Diagnostic, has_errors
from kpolicy.engine import Engine
from kpolicy.policy.compile import Compiled, compile_policy
from kpolicy.policy.format.fixes import fixed
from kpolicy.policy.yaml.source import Source

FORMATS: Final = ("full", "concise", "json", "jsonl", "github", "sarif", "junit")
# Mending compiles many times; what is larger is only linted.
MENDED_BYTES_MAX: Final = 8 * 1024


def check(data: bytes) -> frozenset[str]:
    """Raises where a promise is broken; gives what was found, to tell inputs apart."""
    source = Source("input.yaml", data)
    compiled = compile_policy([source])
    assert (compiled.program is None) == has_errors(compiled.diagnostics)
    if compiled.program is not None:
        refusals = Engine(0).load(compiled.program.bytes)
        assert not refusals, refusals
    findings = Findings.of(compiled.diagnostics, [source])
    for one in compiled.diagnostics:
        _placed(one, findings)
    for name in FORMATS:
        _readable(name, render(name, findings, is_color=False))
    if len(data) <= MENDED_BYTES_MAX and any(one.fix for one in compiled.diagnostics):
        _mends(source, compiled)
    return frozenset(one.code for one in compiled.diagnostics)


def _placed(one: Diagnostic, findings: Findings) -> None:
    place = one.place
    assert place is not None or one.code in ("KP101", "KP117"), one
    if place is None:
        return
    text = findings.texts[place.file]
    assert 1 <= place.line <= place.end_line <= len(text.line_starts), one
    assert 1 <= place.column <= len(text.line(place.line)) + 2, one
    assert (place.line, place.column) <= (place.end_line, place.end_column), one
    for edit in one.fix.edits if one.fix is not None else ():
        assert 0 <= edit.span.start <= edit.span.end <= len(text.text), one


def _readable(name: str, text: str) -> None:
    if name in ("json", "sarif"):
        json.loads(text)
    elif name == "jsonl":
        for line in text.splitlines():
            json.loads(line)
    elif name == "junit":
        ElementTree.fromstring(text)


def _mends(source: Source, before: Compiled) -> None:
    for is_unsafe in (False, True):
        done = fixed([source], compile_policy, is_unsafe=is_unsafe)
        if before.program is not None:
            after = done.compiled.program
            assert after is not None, "it compiles no more"
            assert after.hash == before.program.hash, "the meaning changed"
        if not is_unsafe:
            again = fixed(done.sources, compile_policy)
            assert again.sources == done.sources, "mending does not end"
