"""`--output FORMAT[=FILE]`, once for each place where results are to go.

Owns the flag. Must not know what is written in a format.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence


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
