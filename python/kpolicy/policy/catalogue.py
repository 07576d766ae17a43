"""The catalogue of diagnostic codes: title, level, why, a bad and a good example.

Owns which codes exist and how severe each is; `catalogue_*.py` hold the pages. Assumes that a code
is never reused. Must not know where a diagnostic was found or how it is shown.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from kpolicy.diagnostics import Diagnostic, Fix, Note, Severity, Span
from kpolicy.policy.catalogue_page import Page


@cache
def pages() -> dict[str, Page]:
    """All pages by code, in the order of codes."""
    from kpolicy.policy.catalogue_document import DOCUMENT_PAGES  # noqa: PLC0415
    from kpolicy.policy.catalogue_expression import EXPRESSION_PAGES  # noqa: PLC0415
    from kpolicy.policy.catalogue_meaning import MEANING_PAGES  # noqa: PLC0415

    listed = (*DOCUMENT_PAGES, *EXPRESSION_PAGES, *MEANING_PAGES)
    return {page.code: page for page in sorted(listed, key=lambda page: page.code)}


@cache
def runtime_pages() -> dict[str, Page]:
    """Pages of errors that expressions meet while pods are scheduled, in the order of codes."""
    from kpolicy.policy.catalogue_runtime import RUNTIME_PAGES  # noqa: PLC0415

    return {page.code: page for page in RUNTIME_PAGES}


FAMILIES: Final = {
    "KP1": "the document",
    "KP2": "types",
    "KP3": "meaning",
    "KP4": "cost",
    "KP5": "tests and snapshots",
    "KP6": "legacy import",
    "KR1": "errors of expressions while scheduling",
}


def remark(
    code: str,
    message: str,
    span: Span | None = None,
    *,
    hint: str = "",
    field: str = "",
    notes: tuple[Note, ...] = (),
    severity: Severity | None = None,
    fix: Fix | None = None,
) -> Diagnostic:
    """A diagnostic of the catalogue's level, unless the finding has one of its own."""
    level = severity or pages()[code].severity
    return Diagnostic(code, level, message, hint=hint, span=span, field=field, notes=notes, fix=fix)
