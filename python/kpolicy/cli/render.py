"""Findings as text: which format is laid out where.

Owns the formats by name, and what a verb says of a policy that it was given; `render_*.py` own the
layouts. Must not know what is found.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from kpolicy.cli.findings import Findings, summary
from kpolicy.diagnostics import Diagnostic
from kpolicy.policy.yaml.source import Source


def say_findings(diagnostics: Iterable[Diagnostic], sources: Sequence[Source]) -> None:
    """On standard error, with their number."""
    findings = Findings.of(diagnostics, sources)
    print(render("full", findings) + summary(findings), file=sys.stderr)


def render(name: str, findings: Findings, *, is_color: bool = False) -> str:
    """The findings in the format `name`."""
    # Formats for machines need modules that take longer to load than a policy to check.
    if name in ("full", "concise", "github"):
        from kpolicy.cli import render_text

        if name == "full":
            return render_text.full(findings, is_color=is_color)
        return render_text.concise(findings) if name == "concise" else render_text.github(findings)
    from kpolicy.cli import render_machine

    match name:
        case "json":
            return render_machine.json_array(findings)
        case "jsonl":
            return render_machine.json_lines(findings)
        case "sarif":
            return render_machine.sarif(findings)
        case "junit":
            return render_machine.junit(findings)
    raise ValueError(f"no format {name}")
