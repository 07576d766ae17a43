"""Findings for programs: JSON, SARIF 2.1.0 and JUnit.

Owns these documents. Assumes placed diagnostics. Must not know how people see them.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

from kpolicy.cli.findings_text import Findings, place_of
from kpolicy.diagnostics import Diagnostic, Place, Severity
from kpolicy.policy.codes.registry import pages
from kpolicy.version import VERSION

_SARIF_LEVELS: Final = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "note",
}
_SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_HELP: Final = "https://kpolicy.dev/rules/{}"


def json_array(findings: Findings) -> str:
    return json.dumps([_finding(one, findings) for one in findings.diagnostics], indent=2) + "\n"


def json_lines(findings: Findings) -> str:
    return "".join(json.dumps(_finding(one, findings)) + "\n" for one in findings.diagnostics)


def _finding(one: Diagnostic, findings: Findings) -> dict[str, Any]:
    place = place_of(one)
    return {
        "code": one.code,
        "level": one.severity.value,
        "message": one.message,
        "hint": one.hint,
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
        "field": one.field,
        "fix": _fix(one, findings),
    }


def _fix(one: Diagnostic, findings: Findings) -> dict[str, Any] | None:
    text = findings.texts.get(place_of(one).file)
    if one.fix is None or text is None:
        return None
    edits = [{**_lines_of(text.place(edit.span)), "text": edit.text} for edit in one.fix.edits]
    return {"safe": one.fix.is_safe, "edits": edits}


def _lines_of(place: Place) -> dict[str, Any]:
    return {
        "line": place.line,
        "column": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }


def sarif(findings: Findings) -> str:
    used = sorted({one.code for one in findings.diagnostics})
    run = {
        "tool": {
            "driver": {
                "name": "kpolicy",
                "version": VERSION,
                "rules": [_sarif_rule(code) for code in used],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(one, used, findings) for one in findings.diagnostics],
    }
    return (
        json.dumps({"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"
    )


def _sarif_rule(code: str) -> dict[str, Any]:
    page = pages()[code]
    return {
        "id": code,
        "shortDescription": {"text": page.title},
        "fullDescription": {"text": page.why},
        "helpUri": _HELP.format(code),
        "defaultConfiguration": {"level": _SARIF_LEVELS[page.severity]},
    }


def _sarif_result(one: Diagnostic, used: list[str], findings: Findings) -> dict[str, Any]:
    place = place_of(one)
    text = findings.texts.get(place.file)
    line = text.line(place.line).strip() if text is not None else ""
    # GitHub tells findings apart by this, so that moving a line does not make a new one.
    fingerprint = sha256(f"{one.code}:{place.file}:{line}".encode()).hexdigest()[:16]
    artifact = {"uri": place.file.replace("\\", "/")}
    location = {"artifactLocation": artifact, "region": _region(place)}
    fixes: dict[str, Any] = {}
    if one.fix is not None and text is not None and one.fix.is_safe:
        replacements = [
            {
                "deletedRegion": _region(text.place(edit.span)),
                "insertedContent": {"text": edit.text},
            }
            for edit in one.fix.edits
        ]
        change = {"artifactLocation": artifact, "replacements": replacements}
        fixes = {"fixes": [{"artifactChanges": [change]}]}
    return {
        "ruleId": one.code,
        "ruleIndex": used.index(one.code),
        "level": _SARIF_LEVELS[one.severity],
        "message": {"text": one.message + (f"\nhint: {one.hint}" if one.hint else "")},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"primaryLocationLineHash": f"{fingerprint}:1"},
        **fixes,
    }


def _region(place: Place) -> dict[str, int]:
    return {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }


def junit(findings: Findings) -> str:
    """A case per file; it fails on errors, and tells warnings as output."""
    files = sorted({*findings.texts, *(place_of(one).file for one in findings.diagnostics)})
    failed = 0
    cases = []
    for file in files:
        own = [one for one in findings.diagnostics if place_of(one).file == file]
        errors = [one for one in own if one.severity is Severity.ERROR]
        others = [one for one in own if one.severity is not Severity.ERROR]
        failed += bool(errors)
        body = _failure(errors) + _output(others)
        cases.append(
            f'  <testcase classname="kpolicy.lint" name={quoteattr(file)}>{body}</testcase>'
        )
    head = f'<testsuite name="kpolicy lint" tests="{len(files)}" failures="{failed}" errors="0">'
    document = ['<?xml version="1.0" encoding="UTF-8"?>', head, *cases, "</testsuite>"]
    return "\n".join(document) + "\n"


def _failure(errors: list[Diagnostic]) -> str:
    if not errors:
        return ""
    first = quoteattr(f"{errors[0].code}: {errors[0].message}")
    return f"<failure message={first}>{escape(_lines(errors))}</failure>"


def _output(others: list[Diagnostic]) -> str:
    return f"<system-out>{escape(_lines(others))}</system-out>" if others else ""


def _lines(listed: list[Diagnostic]) -> str:
    return "\n".join(
        f"{place_of(one).line}:{place_of(one).column}: {one.severity}[{one.code}] {one.message}"
        for one in listed
    )


# By the name of the format.
DOCUMENTS: Final = {"json": json_array, "jsonl": json_lines, "sarif": sarif, "junit": junit}
