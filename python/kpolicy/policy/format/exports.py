"""What the files that are written for other programs share: a head that says where they come from,
and findings (KP608) that name what the other program cannot have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kpolicy.diagnostics import Diagnostic, Place, Severity
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.compile import compile_policy
from kpolicy.policy.format.conversion import wrapped
from kpolicy.policy.yaml.source import Source


def left_out(message: str, place: Place | None, hint: str = "") -> Diagnostic:
    found = remark("KP608", f"left out: {message}", hint=hint, severity=Severity.WARNING)
    return replace(found, place=place)


def head(to: str, sources: Sequence[Source], findings: Iterable[Diagnostic]) -> str:
    """The comment above what `kpolicy convert --to` wrote."""
    origin = ", ".join(source.name for source in sources)
    lines = wrapped(f"Written by `kpolicy convert --to {to}` from {origin}.")
    for finding in findings:
        lines += wrapped(f"{finding.code}: {finding.message}")
    return "".join(f"# {line}\n" for line in lines)


def read_again(text: str) -> Program:
    """The program of a configuration that was written."""
    program = compile_policy(Source("written.yaml", text)).program
    assert program is not None, "the written configuration compiles"
    return program
