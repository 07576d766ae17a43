"""Findings to be shown: diagnostics with the texts they are about, and how they are counted.

Owns `Findings`. Assumes diagnostics that are placed. Must not know where they come from, nor how
they are laid out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kpolicy.diagnostics import Diagnostic, Place, Severity
from kpolicy.policy.yaml.source import Source, SourceText

_NOWHERE: Final = Place("", 1, 1, 1, 1)


@dataclass(frozen=True, slots=True)
class Findings:
    """Diagnostics in the order of places, and the texts they are about."""

    diagnostics: tuple[Diagnostic, ...]
    texts: Mapping[str, SourceText]

    @staticmethod
    def of(diagnostics: Iterable[Diagnostic], sources: Sequence[Source]) -> Findings:
        texts = {}
        for source in sources:
            text = source.text
            shown = text if isinstance(text, str) else text.decode("utf-8", "replace")
            texts[source.name] = SourceText(source.name, shown)
        return Findings(tuple(diagnostics), texts)

    def count(self, severity: Severity) -> int:
        return sum(1 for one in self.diagnostics if one.severity is severity)


def place_of(diagnostic: Diagnostic) -> Place:
    return diagnostic.place or _NOWHERE


def summary(findings: Findings) -> str:
    if not findings.diagnostics:
        files = len(findings.texts)
        return f"no findings in {files} {'file' if files == 1 else 'files'}"
    words = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
    counts = [(findings.count(severity), word) for severity, word in words.items()]
    listed = ", ".join(f"{n} {word}{'' if n == 1 else 's'}" for n, word in counts if n)
    total = len(findings.diagnostics)
    return f"{total} {'finding' if total == 1 else 'findings'}: {listed}{_fixable(findings)}"


def _fixable(findings: Findings) -> str:
    fixes = [one.fix for one in findings.diagnostics if one.fix is not None]
    unsafe = sum(not fix.is_safe for fix in fixes)
    if not fixes:
        return ""
    aside = f" ({unsafe} unsafe)" if unsafe else ""
    return f"; {len(fixes)} fixable{aside} with --fix"


def fix_word(diagnostic: Diagnostic) -> str:
    """What may be done about a finding, in one word."""
    if diagnostic.fix is None:
        return ""
    return "fixable" if diagnostic.fix.is_safe else "fixable, unsafe"
