"""The codes of diagnostics: what `kpolicy rule CODE` prints, a page a code.

Pages are data. `registry` finds them by code and makes diagnostics of them.
"""

from __future__ import annotations

from typing import Final

from kpolicy.diagnostics import Severity
from kpolicy.quick_dataclass import dataclass

ERROR: Final = Severity.ERROR
WARNING: Final = Severity.WARNING


@dataclass(frozen=True, slots=True)
class Page:
    """The explanation of a code (`kpolicy rule CODE`). `bad` and `good` are YAML or CEL."""

    code: str
    severity: Severity
    title: str
    why: str
    bad: str
    good: str


FAMILIES: Final = {
    "KP1": "the document",
    "KP2": "types",
    "KP3": "meaning",
    "KP4": "cost",
    "KP5": "tests, snapshots and scenarios",
    "KP6": "legacy import",
    "KR1": "errors of expressions while scheduling",
    "KPC": "connections to an API server",
    "KPS": "the running scheduler",
}
