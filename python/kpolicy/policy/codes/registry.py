"""Finds the page of a diagnostic code, and makes diagnostics of the severity that it has there.

The modules beside this one hold the pages. A code is never used again for another finding.
"""

from __future__ import annotations

from functools import cache

from kpolicy.diagnostics import Diagnostic, Fix, Note, Severity, Span
from kpolicy.policy.codes import Page


@cache
def pages() -> dict[str, Page]:
    """All pages by code, in the order of codes."""
    from kpolicy.policy.codes.document_pages import DOCUMENT_PAGES  # noqa: PLC0415
    from kpolicy.policy.codes.expression_pages import EXPRESSION_PAGES  # noqa: PLC0415
    from kpolicy.policy.codes.meaning_pages import MEANING_PAGES  # noqa: PLC0415

    listed = (*DOCUMENT_PAGES, *EXPRESSION_PAGES, *MEANING_PAGES)
    return {page.code: page for page in sorted(listed, key=lambda page: page.code)}


@cache
def runtime_pages() -> dict[str, Page]:
    """Pages of errors that expressions meet while pods are scheduled, in the order of codes."""
    from kpolicy.policy.codes.expression_pages import RUNTIME_PAGES  # noqa: PLC0415

    return {page.code: page for page in RUNTIME_PAGES}


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
    """A diagnostic with the severity of its page, or with its own."""
    level = severity or pages()[code].severity
    return Diagnostic(code, level, message, hint=hint, span=span, field=field, notes=notes, fix=fix)
