"""What must hold of any input that is meant to be a policy.

No exception; every place is in the text; every output format can be written; there is a program
exactly if there is no error; the engine loads it; fixes keep the meaning and come to an end.
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
    for finding in compiled.diagnostics:
        _placed(finding, findings)
    for name in FORMATS:
        _readable(name, render(name, findings, is_color=False))
    if len(data) <= MENDED_BYTES_MAX and any(finding.fix for finding in compiled.diagnostics):
        _mends(source, compiled)
    return frozenset(finding.code for finding in compiled.diagnostics)


def _placed(finding: Diagnostic, findings: Findings) -> None:
    place = finding.place
    assert place is not None or finding.code in ("KP101", "KP117"), finding
    if place is None:
        return
    text = findings.texts[place.file]
    assert 1 <= place.line <= place.end_line <= len(text.line_starts), finding
    assert 1 <= place.column <= len(text.line(place.line)) + 2, finding
    assert (place.line, place.column) <= (place.end_line, place.end_column), finding
    for edit in finding.fix.edits if finding.fix is not None else ():
        assert 0 <= edit.span.start <= edit.span.end <= len(text.text), finding


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
            assert after is not None, "the policy must not compile any more"
            if all(found.fix and found.fix.keeps_program for found in done.findings):
                assert after.hash == before.program.hash, "the meaning changed"
        if not is_unsafe:
            again = fixed(done.sources, compile_policy)
            assert again.sources == done.sources, "correcting the findings does not end"
