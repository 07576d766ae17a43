"""Texts of policies for tests, and functions that read the results of compiling them."""

from __future__ import annotations

import json
from typing import Any

from kpolicy.diagnostics import Diagnostic, Severity
from kpolicy.policy.compile import Compiled

HEAD = "apiVersion: kpolicy.dev/v1alpha1\nkind: SchedulingPolicy\n"


def policy(spec: str, name: str = "p", *, profile: str = "kpolicy", base: str = "none") -> str:
    """A document whose `spec` has these lines, indented by two.

    It stands on nothing, unless its lines or `base` say so; an empty `base` leaves it out."""
    served = f"  profiles: [{{schedulerName: {profile}}}]\n" if profile else ""
    silenced = "  # kpolicy: ignore[KP325]" if profile and base == "none" else ""
    body = "".join(f"  {line}\n" for line in spec.strip("\n").splitlines())
    stands_on = f"  base: {base}{silenced}\n" if base and "  base: " not in body else ""
    return f"{HEAD}metadata: {{name: {name}}}\nspec:\n{served}{body}{stands_on}"


def document(compiled: Compiled) -> dict[str, Any]:
    """The program; the findings are shown where there is none."""
    assert compiled.program is not None, compiled.diagnostics
    read: dict[str, Any] = json.loads(compiled.program.bytes)
    return read


def profile(compiled: Compiled, name: str = "kpolicy") -> dict[str, Any]:
    return next(p for p in document(compiled)["profiles"] if p["schedulerName"] == name)


def names(entries: list[dict[str, Any]]) -> list[str]:
    return [entry["name"] for entry in entries]


def codes_and_places(diagnostics: tuple[Diagnostic, ...]) -> list[tuple[str, str]]:
    """(code, `line:column`) of each finding."""
    return [
        (finding.code, f"{finding.place.line}:{finding.place.column}" if finding.place else "")
        for finding in diagnostics
    ]


def errors(compiled: Compiled) -> list[Diagnostic]:
    return [finding for finding in compiled.diagnostics if finding.severity is Severity.ERROR]
