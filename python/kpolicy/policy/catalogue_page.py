"""The shape of a page of the catalogue. Owns `Page`; assumes and knows nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kpolicy.diagnostics import Severity

ERROR: Final = Severity.ERROR
WARNING: Final = Severity.WARNING


@dataclass(frozen=True, slots=True)
class Page:
    """What `kpolicy rule CODE` prints. `bad` and `good` are YAML or CEL, never prose."""

    code: str
    severity: Severity
    title: str
    why: str
    bad: str
    good: str
