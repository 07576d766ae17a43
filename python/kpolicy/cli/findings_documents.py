"""Findings for programs: JSON, SARIF 2.1.0 and JUnit."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

from kpolicy.cli.findings_text import Findings, place_of
from kpolicy.diagnostics import Diagnostic, Place, Severity
from kpolicy.policy.codes.registry import pages
from kpolicy.version import DOCUMENT_VERSION, VERSION

_SARIF_LEVELS: Final = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "note",
}
_SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_HELP: Final = "https://kpolicy.dev/rules/{}"


def json_document(findings: Findings) -> str:
    document = {
        "version": DOCUMENT_VERSION,
        "kind": "lint",
        "findings": [_finding(finding, findings) for finding in findings.diagnostics],
    }
    return json.dumps(document, indent=2) + "\n"


def json_lines(findings: Findings) -> str:
    return "".join(
        json.dumps(_finding(finding, findings)) + "\n" for finding in findings.diagnostics
    )


def _finding(finding: Diagnostic, findings: Findings) -> dict[str, Any]:
    place = place_of(finding)
    return {
        "code": finding.code,
        "level": finding.severity.value,
        "message": finding.message,
        "hint": finding.hint,
        **place.document(),
        "field": finding.field,
        "fix": _fix(finding, findings),
    }


def _fix(finding: Diagnostic, findings: Findings) -> dict[str, Any] | None:
    text = findings.texts.get(place_of(finding).file)
    if finding.fix is None or text is None:
        return None
    edits = [{**text.place(edit.span).extent(), "text": edit.text} for edit in finding.fix.edits]
    return {"safe": finding.fix.is_safe, "edits": edits}


def sarif(findings: Findings) -> str:
    used = sorted({finding.code for finding in findings.diagnostics})
    run = {
        "tool": {
            "driver": {
                "name": "kpolicy",
                "version": VERSION,
                "rules": [_sarif_rule(code) for code in used],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(finding, used, findings) for finding in findings.diagnostics],
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


def _sarif_result(finding: Diagnostic, used: list[str], findings: Findings) -> dict[str, Any]:
    place = place_of(finding)
    text = findings.texts.get(place.file)
    line = text.line(place.line).strip() if text is not None else ""
    # GitHub tells findings apart by this, so that moving a line does not make a new one.
    fingerprint = sha256(f"{finding.code}:{place.file}:{line}".encode()).hexdigest()[:16]
    artifact = {"uri": place.file.replace("\\", "/")}
    location = {"artifactLocation": artifact, "region": _region(place)}
    fixes: dict[str, Any] = {}
    if finding.fix is not None and text is not None and finding.fix.is_safe:
        replacements = [
            {
                "deletedRegion": _region(text.place(edit.span)),
                "insertedContent": {"text": edit.text},
            }
            for edit in finding.fix.edits
        ]
        change = {"artifactLocation": artifact, "replacements": replacements}
        fixes = {"fixes": [{"artifactChanges": [change]}]}
    return {
        "ruleId": finding.code,
        "ruleIndex": used.index(finding.code),
        "level": _SARIF_LEVELS[finding.severity],
        "message": {"text": finding.message + (f"\nhint: {finding.hint}" if finding.hint else "")},
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
    files = sorted({*findings.texts, *(place_of(finding).file for finding in findings.diagnostics)})
    failed = 0
    cases = []
    for file in files:
        own = [finding for finding in findings.diagnostics if place_of(finding).file == file]
        errors = [finding for finding in own if finding.severity is Severity.ERROR]
        others = [finding for finding in own if finding.severity is not Severity.ERROR]
        failed += bool(errors)
        output = f"<system-out>{escape(_lines(others))}</system-out>" if others else ""
        body = _failure(errors) + output
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


def _lines(listed: list[Diagnostic]) -> str:
    return "\n".join(
        f"{place.line}:{place.column}: {finding.severity}[{finding.code}] {finding.message}"
        for finding, place in zip(listed, map(place_of, listed), strict=True)
    )


# By the name of the format.
DOCUMENTS: Final = {"json": json_document, "jsonl": json_lines, "sarif": sarif, "junit": junit}
