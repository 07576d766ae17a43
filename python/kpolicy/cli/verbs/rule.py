"""`kpolicy rule`: the page of a diagnostic code.

Owns the verb's flags and the layout of a page. Assumes the catalogue. Must not know where codes are
used.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from kpolicy.cli.verb import CannotWorkError

if TYPE_CHECKING:
    from kpolicy.policy.codes import Page


def add_parser(subparsers: Any) -> None:  # argparse has no public name for this type
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "rule",
        help="explain a code",
        description="Explain a code of a finding: what it means, why it matters, bad and good.",
        allow_abbrev=False,
    )
    parser.add_argument("code", nargs="?", metavar="CODE", help="for example KP204")
    parser.add_argument("--all", action="store_true", help="all codes")
    parser.add_argument(
        "--output",
        "-o",
        choices=("text", "markdown", "json"),
        default="text",
        help="default: text",
    )


def main(args: argparse.Namespace) -> int:
    chosen = list(_pages().values()) if args.all else [_page(args.code)]
    if args.output == "json":
        documents = [_document(page) for page in chosen]
        text = json.dumps(documents if args.all else documents[0], indent=2)
    else:
        lay_out = _markdown if args.output == "markdown" else _text
        text = "\n".join(lay_out(page) for page in chosen)
    sys.stdout.write(text.rstrip("\n") + "\n")
    return 0


def _pages() -> dict[str, Page]:
    from kpolicy.policy.codes.registry import pages, runtime_pages

    return {**pages(), **runtime_pages()}


def _page(code: str | None) -> Page:
    from kpolicy.policy.codes import FAMILIES
    from kpolicy.policy.nearest import did_you_mean

    if code is None:
        raise CannotWorkError("which code? `kpolicy rule KP204`, or `kpolicy rule --all`")
    page = _pages().get(code.upper())
    if page is None:
        families = ", ".join(f"{prefix}xx {what}" for prefix, what in FAMILIES.items())
        hint = did_you_mean(code.upper(), _pages()) or f"codes are {families}"
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
    import textwrap

    return "\n".join(
        (
            f"{page.code} ({page.severity.value}): {page.title}",
            "",
            textwrap.fill(page.why, 80),
            "",
            "bad:",
            textwrap.indent(page.bad, "    "),
            "",
            "good:",
            textwrap.indent(page.good, "    "),
            "",
        )
    )


def _markdown(page: Page) -> str:
    return "\n".join(
        (
            f"## {page.code}: {page.title}",
            "",
            f"Level: {page.severity.value}",
            "",
            page.why,
            "",
            "Bad:",
            "",
            f"```yaml\n{page.bad}\n```",
            "",
            "Good:",
            "",
            f"```yaml\n{page.good}\n```",
            "",
        )
    )
