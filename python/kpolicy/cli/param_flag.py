"""`--param NAME=JSON`: values for params of policies, on every verb that takes a policy.

Owns the flag and how its argument is read. Must not know which params there are.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from kpolicy.cli.failure import CannotWorkError


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
