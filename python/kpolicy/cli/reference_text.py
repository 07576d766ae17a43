"""Codes and entries of the reference as text for a terminal, and as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kpolicy.policy.codes import Page
    from kpolicy.policy.reference.entry import Entry
    from kpolicy.policy.reference.fields import Field

WIDTH: Final = 80


def page_text(page: Page) -> str:
    if not page.why:
        return f"{page.code} ({page.severity.value}): {page.title}\n"
    bad, good = textwrap.indent(page.bad, "    "), textwrap.indent(page.good, "    ")
    return (
        f"{page.code} ({page.severity.value}): {page.title}\n\n{textwrap.fill(page.why, WIDTH)}\n\n"
        f"bad:\n{bad}\n\ngood:\n{good}\n"
    )


def page_markdown(page: Page) -> str:
    if not page.why:
        return f"## {page.code}: {page.title}\n"
    return (
        f"## {page.code}: {page.title}\n\nLevel: {page.severity.value}\n\n{page.why}\n\n"
        f"Bad:\n\n```yaml\n{page.bad}\n```\n\nGood:\n\n```yaml\n{page.good}\n```\n"
    )


def entry_text(entry: Entry) -> str:
    lines = [f"{entry.name} ({entry.kind})", "", *textwrap.wrap(entry.meaning, WIDTH)]
    if entry.forms:
        lines += ["", *(f"    {form}" for form in entry.forms)]
    lines += ["", "example:", textwrap.indent(entry.example, "    ")]
    lines += ["", *(_row(label, text) for label, text in _details(entry))]
    if entry.wakes:
        lines += ["", "a pod that it rejected is tried again when", *_list(entry.wakes)]
    if entry.arguments:
        lines += ["", "arguments:", *field_lines(entry.arguments)]
    while lines[-1] == "":
        lines.pop()
    return "\n".join(lines) + "\n"


def entry_markdown(entry: Entry) -> str:
    parts = [f"## {entry.name}", entry.meaning]
    parts += [f"`{form}`" for form in entry.forms]
    parts.append(f"```\n{entry.example}\n```")
    details = [*_details(entry), *(("wakes", "; ".join(entry.wakes)),) * bool(entry.wakes)]
    parts += ["\n".join(f"- {label}: {text}" for label, text in details)] if details else []
    parts += ["\n".join(f"- `{path}`: {field.meaning}" for path, field in entry.arguments)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _details(entry: Entry) -> Iterator[tuple[str, str]]:
    if entry.cost is not None:
        yield "cost", f"{entry.cost} units at most on a node, for the example"
    if entry.charged:
        yield "grows with", entry.charged
    if entry.known:
        yield "known", entry.known
    if entry.releases:
        yield "releases", entry.releases
    if entry.weight:
        yield "weight", f"{entry.weight} in the default profile"


def _row(label: str, text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=f"{label:<12}", subsequent_indent=" " * 12)


def _list(texts: tuple[str, ...]) -> list[str]:
    return [f"    {text}" for text in texts]


def field_lines(fields: tuple[tuple[str, Field], ...]) -> Iterator[str]:
    """Each field with its type and default, and below it what it means."""
    from kpolicy.policy.reference.fields import default_text

    for path, field in fields:
        default = "" if field.default is None else f"; default {default_text(field.default)}"
        yield f"  {path}: {field.type}{default}"
        yield from textwrap.wrap(
            field.meaning, WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6
        )
