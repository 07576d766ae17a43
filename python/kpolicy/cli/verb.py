"""A verb as data: its help texts, its arguments and the function that runs it.

A verb's module declares `VERB`. It imports what is slow to load inside its functions, so that help
and completion start quickly.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

FINE: Final = 0
FINDINGS: Final = 1
CANNOT_WORK: Final = 2


class CannotWorkError(Exception):
    """Bad flags or unreadable input. The message is for the user; the exit code is 2."""


class PolicyErrorsError(Exception):
    """The policy has errors, which have been printed. The exit code is 1."""


@dataclass(frozen=True, slots=True)
class Argument:
    """A call of `add_argument`. Of the arguments of one `group`, only one may be used."""

    names: tuple[str, ...]
    options: dict[str, Any]
    group: str = ""


def argument(*names: str, group: str = "", **options: Any) -> Argument:
    return Argument(names, options, group)


def repeatable(*names: str, **options: Any) -> Argument:
    """A flag whose values are collected in a list, empty by default."""
    return Argument(names, {"action": "append", "default": [], **options})


@dataclass(frozen=True, slots=True)
class Verb:
    """`run` gets the parsed arguments and returns the exit code. A verb with `verbs` has no `run`.
    `summary` is shown in the list of its parent."""

    name: str
    description: str
    run: Callable[[argparse.Namespace], int] | None = None
    arguments: tuple[Argument, ...] = ()
    epilog: str = ""
    summary: str = ""
    verbs: tuple[Verb, ...] = ()

    def add_to(self, subparsers: Any) -> None:  # argparse has no public name for this type
        parser: argparse.ArgumentParser = subparsers.add_parser(
            self.name,
            help=self.summary,
            description=self.description,
            epilog=self.epilog,
            formatter_class=_Help,
            allow_abbrev=False,
        )
        parser.set_defaults(run=self.run)
        groups: dict[str, Any] = {"": parser}
        for one in self.arguments:
            if one.group not in groups:
                groups[one.group] = parser.add_mutually_exclusive_group()
            groups[one.group].add_argument(*one.names, **one.options)
        if self.verbs:
            children = parser.add_subparsers(required=True, metavar="VERB")
            for verb in self.verbs:
                verb.add_to(children)


class _Help(argparse.RawDescriptionHelpFormatter):
    """Wraps texts of one line, and leaves the lines of longer texts as they are written."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" in text:
            return super()._fill_text(text, width, indent)
        return argparse.HelpFormatter._fill_text(self, text, width, indent)
