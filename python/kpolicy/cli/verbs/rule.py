"""`kpolicy rule`: prints the page of a diagnostic code."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from typing import TYPE_CHECKING, Final

from kpolicy.cli.verb import CannotWorkError, Verb, argument

if TYPE_CHECKING:
    from kpolicy.policy.codes import Page


def _main(args: argparse.Namespace) -> int:
    from kpolicy.policy.codes.registry import pages, runtime_pages

    known = {**pages(), **runtime_pages()}
    chosen = list(known.values()) if args.all else [_page(args.code, known)]
    if args.output == "json":
        documents = [_document(page) for page in chosen]
        text = json.dumps(documents if args.all else documents[0], indent=2)
    else:
        lay_out = _markdown if args.output == "markdown" else _text
        text = "\n".join(map(lay_out, chosen))
    sys.stdout.write(text.rstrip("\n") + "\n")
    return 0


def _page(code: str | None, known: dict[str, Page]) -> Page:
    from kpolicy.policy.codes import FAMILIES
    from kpolicy.policy.nearest import did_you_mean

    if code is None:
        raise CannotWorkError("which code? `kpolicy rule KP204`, or `kpolicy rule --all`")
    page = known.get(code.upper())
    if page is None:
        families = ", ".join(f"{prefix}xx {what}" for prefix, what in FAMILIES.items())
        hint = did_you_mean(code.upper(), known) or f"codes are {families}"
        raise CannotWorkError(f"there is no code `{code}`; {hint}")
    return page


def _document(page: Page) -> dict[str, str]:
    return {
        "code": page.code,
        "level": page.severity.value,
        "title": page.title,
        "why": page.why,
        "bad": page.bad,
        "good": page.good,
    }


def _text(page: Page) -> str:
    bad, good = textwrap.indent(page.bad, "    "), textwrap.indent(page.good, "    ")
    return (
        f"{page.code} ({page.severity.value}): {page.title}\n\n{textwrap.fill(page.why, 80)}\n\n"
        f"bad:\n{bad}\n\ngood:\n{good}\n"
    )


def _markdown(page: Page) -> str:
    return (
        f"## {page.code}: {page.title}\n\nLevel: {page.severity.value}\n\n{page.why}\n\n"
        f"Bad:\n\n```yaml\n{page.bad}\n```\n\nGood:\n\n```yaml\n{page.good}\n```\n"
    )


VERB: Final = Verb(
    "rule",
    "Explain a code of a finding: what it means, why it matters, bad and good.",
    _main,
    (
        argument("code", nargs="?", metavar="CODE", help="for example KP204"),
        argument("--all", action="store_true", help="all codes"),
        argument(
            "--output",
            "-o",
            choices=("text", "markdown", "json"),
            default="text",
            help="default: text",
        ),
    ),
)
