"""`--param NAME=JSON`: values for params of policies, on every verb that takes a policy.

Owns the flag and how its argument is read. Must not know which params there are.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from kpolicy.cli.verb import CannotWorkError


def add_param_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="NAME=JSON",
        type=_param,
        help="the value of a param of the policies, before all others; what is no JSON is text; "
        "repeatable",
    )


def params_of(lines: str) -> dict[str, Any]:
    """Of a variable with an argument on each line."""
    try:
        return dict(_param(line) for line in lines.splitlines() if line.strip())
    except argparse.ArgumentTypeError as error:
        raise CannotWorkError(f"KPOLICY_PARAM: {error}, one on a line") from error


def _param(written: str) -> tuple[str, Any]:
    name, equals, value = written.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError("write NAME=JSON")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def add_outputs_flag(parser: argparse.ArgumentParser, formats: Sequence[str]) -> None:
    """The first format is what a verb does without the flag. Gives pairs of format and file, which
    is empty for standard output."""
    named = ", ".join(formats)

    def output(written: str) -> tuple[str, str]:
        name, _, file = written.partition("=")
        if name not in formats:
            raise argparse.ArgumentTypeError(f"`{name}` is none of {named}")
        return name, file

    parser.add_argument(
        "--output",
        "-o",
        action="append",
        metavar="FORMAT[=FILE]",
        type=output,
        default=None,
        help=f"one of {named} (default: {formats[0]}); may be repeated",
    )
