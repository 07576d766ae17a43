"""`kpolicy help` and `kpolicy version`."""

from __future__ import annotations

import argparse
from typing import Final

from kpolicy.cli.input_output import write, write_document
from kpolicy.cli.verb import FINE, OUTPUT_TEXT, Verb, argument
from kpolicy.version import VERSION as OUR_VERSION


def _help(args: argparse.Namespace) -> int:
    from kpolicy.cli import main

    return main([*args.words, "--help"])


def _version(args: argparse.Namespace) -> int:
    if args.output == "json":
        write_document("version", {"kpolicy": OUR_VERSION})
    else:
        write(f"kpolicy {OUR_VERSION}\n", "")
    return FINE


HELP: Final = Verb(
    "help",
    "Show the help of a verb, or the list of verbs.",
    _help,
    (argument("words", nargs="*", metavar="VERB"),),
)
VERSION: Final = Verb("version", "Show the version.", _version, (OUTPUT_TEXT,))
