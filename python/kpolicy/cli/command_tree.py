"""What can be typed after `kpolicy`: verbs and flags, as data.

Owns reading them off the argument parsers. Assumes that the parsers say all that a verb takes. Must
not know a shell.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

# Metavars whose values are paths.
_PATH_WORDS: Final = ("FILE", "DIR", "PATH", "OLD", "NEW")


@dataclass(frozen=True, slots=True)
class Flag:
    """`values` are all that it takes; `takes_path` and `takes_value` say what else does."""

    names: tuple[str, ...]
    help: str
    takes_value: bool = False
    takes_path: bool = False
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """`words` lead to it: `("snapshot", "info")`."""

    words: tuple[str, ...]
    help: str
    flags: tuple[Flag, ...] = ()
    commands: tuple[Command, ...] = ()
    takes_path: bool = False
    values: tuple[str, ...] = ()

    def walk(self) -> Iterator[Command]:
        yield self
        for command in self.commands:
            yield from command.walk()


def command_tree() -> Command:
    from kpolicy.cli import VERBS, module_of, offered_verbs

    verbs = []
    for verb in offered_verbs():
        parser = argparse.ArgumentParser(prog="kpolicy", allow_abbrev=False)
        subparsers = parser.add_subparsers(dest="verb")
        module: Any = import_module(f"kpolicy.cli.{module_of(verb)}")
        module.add_parser(subparsers)
        verbs.append(_command(subparsers.choices[verb], (verb,), VERBS[verb]))
    version = Flag(("--version",), "show the version")
    return Command((), "", (_HELP, version), tuple(verbs))


_HELP: Final = Flag(("-h", "--help"), "show the help")


def _command(parser: argparse.ArgumentParser, words: tuple[str, ...], help_: str) -> Command:
    flags, commands = [], []
    takes_path, values = False, _codes() if words == ("rule",) else ()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            told = {choice.dest: choice.help or "" for choice in action._choices_actions}
            commands = [
                _command(child, (*words, name), told.get(name, ""))
                for name, child in action.choices.items()
            ]
        elif action.option_strings:
            flags.append(_flag(action))
        else:
            takes_path |= _is_path(action)
            values += tuple(map(str, action.choices or ()))
    return Command(words, help_, tuple(flags), tuple(commands), takes_path, values)


def _flag(action: argparse.Action) -> Flag:
    help_ = (action.help or "") % {"default": action.default, "prog": "kpolicy"}
    if isinstance(action, argparse._HelpAction):
        return _HELP
    return Flag(
        names=tuple(action.option_strings),
        help=" ".join(help_.split()),
        takes_value=action.nargs != 0,
        takes_path=_is_path(action),
        values=tuple(map(str, action.choices or ())),
    )


def _is_path(action: argparse.Action) -> bool:
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    return bool(set(metavar.replace("=", "|").split("|")) & set(_PATH_WORDS)) and not action.choices


def _codes() -> tuple[str, ...]:
    from kpolicy.policy.codes.registry import pages

    return tuple(pages())
