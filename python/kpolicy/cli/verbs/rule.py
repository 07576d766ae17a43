"""The verb `rule`: explains codes of findings, rules, and what expressions are made of."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from kpolicy.cli.input_output import write_document, write_lines
from kpolicy.cli.verb import FINE, CannotWorkError, Verb, argument

if TYPE_CHECKING:
    from kpolicy.policy.codes import Page
    from kpolicy.policy.reference.entry import Entry

_EPILOG: Final = """\
NAME is a code (KP204), a built-in (NodeAffinity), a name of the legacy Policy (PodFitsResources), a
fact (node.labels), a field of the API (node.status.nodeInfo.kernelVersion), a function (clamp,
math.ceil), a macro (exists) or an operator ('&&'). Where several things have the name, all are
printed.

exit: 0 printed, 2 there is no such name
"""


def _rule(args: argparse.Namespace) -> int:
    pages, entries = _chosen(args.name, is_all=args.all)
    if args.output == "json":
        write_document(
            "rule",
            {
                "codes": [_page_document(page) for page in pages],
                "entries": [entry.document() for entry in entries],
            },
        )
        return FINE
    if args.output == "jsonl":
        write_lines(
            [*map(_page_document, pages), *(entry.document() for entry in entries)],
        )
        return FINE
    from kpolicy.cli import reference_text

    is_markdown = args.output == "markdown"
    of_page: Callable[[Page], str]
    of_page = reference_text.page_markdown if is_markdown else reference_text.page_text
    of_entry: Callable[[Entry], str]
    of_entry = reference_text.entry_markdown if is_markdown else reference_text.entry_text
    text = "\n".join([*map(of_page, pages), *map(of_entry, entries)])
    sys.stdout.write(text.rstrip("\n") + "\n")
    return FINE


def _chosen(name: str | None, *, is_all: bool) -> tuple[Sequence[Page], Sequence[Entry]]:
    if is_all:
        return list(_pages().values()), ()
    if name is None:
        raise CannotWorkError(
            "name a code or a rule, such as `kpolicy rule KP204` or `kpolicy rule NodeAffinity`; "
            "`kpolicy rule --all` explains all codes"
        )
    pages = _pages()
    page = pages.get(name.upper())
    if page is not None:
        return [page], ()
    if _is_code(name):
        raise CannotWorkError(f"there is no code `{name}`; {_hint_of_code(name, pages)}")
    return (), _entries(name)


def _is_code(name: str) -> bool:
    head, digits = name[:2].upper(), name.rstrip("xX")[2:]
    return head in ("KP", "KR") and digits[-1:].isdigit()


def _hint_of_code(name: str, pages: dict[str, Page]) -> str:
    from kpolicy.diagnostics import did_you_mean
    from kpolicy.policy.codes import FAMILIES

    families = ", ".join(f"{prefix}xx {what}" for prefix, what in FAMILIES.items())
    return did_you_mean(name.upper(), pages) or f"codes are {families}"


def _pages() -> dict[str, Page]:
    from kpolicy.policy.codes.registry import pages, runtime_pages

    return {**pages(), **runtime_pages(), **_problem_pages()}


def _problem_pages() -> dict[str, Page]:
    """The codes of connections and of the running scheduler. Each has a title and no example."""
    from kpolicy.cluster import connection_problem
    from kpolicy.policy.codes import ERROR, Page
    from kpolicy.scheduler import problem_codes

    titles = {**connection_problem.CATALOGUE, **problem_codes.CATALOGUE}
    return {code: Page(code, ERROR, title, "", "", "") for code, title in titles.items()}


def _entries(name: str) -> Sequence[Entry]:
    from kpolicy.cli.api_entry import api_entry
    from kpolicy.policy.models.foreign_plugins import foreign_plugin
    from kpolicy.policy.reference.finding import found, hint
    from kpolicy.policy.reference.language_entries import language_entries
    from kpolicy.policy.reference.rule_entries import rule_entries

    wakes = fact_wakes()
    entries = [*rule_entries(), *language_entries(wakes)]
    matching = found(entries, name)
    if matching:
        return matching
    of_api = api_entry(name, wakes)
    if of_api is not None:
        return [of_api]
    foreign = foreign_plugin(name)
    if foreign is not None:
        raise CannotWorkError(f"{foreign.message}; {foreign.hint}")
    near = hint(entries, name)
    raise CannotWorkError(
        f"there is no code, rule, fact or function `{name}`"
        + (f"; {near}" if near else "; docs/reference lists all of them")
    )


def fact_wakes() -> dict[str, list[str]]:
    """By the name of a fact: what tries a pod again that was rejected by it."""
    from kpolicy.engine import expression_facts

    return {name: wakes for name, _, _, _, wakes, _ in expression_facts()}


def _page_document(page: Page) -> dict[str, Any]:
    fields = {
        "code": page.code,
        "level": page.severity.value,
        "title": page.title,
        "why": page.why,
        "bad": page.bad,
        "good": page.good,
    }
    return {name: text for name, text in fields.items() if text}


RULE: Final = Verb(
    "rule",
    "Explain the code of a finding, a rule, or what expressions are made of, with an example.",
    _rule,
    (
        argument("name", nargs="?", metavar="NAME", help="for example KP204 or node.labels"),
        argument("--all", action="store_true", help="explain all codes"),
        argument(
            "--output",
            "-o",
            choices=("text", "markdown", "json", "jsonl"),
            default="text",
            help="default: text",
        ),
    ),
    _EPILOG,
)
