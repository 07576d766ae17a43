"""Flags that a verb does not have: found before anything else is read, with what was meant."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from kpolicy.diagnostics import nearest


def unknown_flag(
    parser: argparse.ArgumentParser,
    arguments: Sequence[str],
    other_flags: Mapping[str, str] | None = None,
) -> str:
    """What is wrong with the first unknown flag of the arguments; empty if all are known.
    `other_flags`: flags of another program, and what to use instead."""
    takes_value = False
    for word in arguments:
        if word == "--":
            return ""
        if takes_value and not word.startswith("-"):
            takes_value = False
            continue
        takes_value = False
        child = _verbs(parser).get(word)
        if child is not None:
            parser = child
        elif word.startswith("-") and len(word) > 1 and not _is_value(word):
            flags = _flags(parser)
            name = word.partition("=")[0]
            # `-j4` is the flag `-j` with its value; flags without a value may stand together.
            short = word[:2] if not word.startswith("--") else name
            known = flags.get(name) or flags.get(short)
            if known is None:
                others = other_flags or {}
                # Programs in Go take `-v` for `--v`.
                instead = others.get(name) or others.get(f"-{name}", "")
                meant = f"; {instead}" if instead else _meant(name, list(flags))
                return f"there is no flag `{name}`{meant}"
            takes_value = known.nargs != 0 and name in flags and "=" not in word
    return ""


def _verbs(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _flags(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    return {flag: action for action in parser._actions for flag in action.option_strings}


def _is_value(word: str) -> bool:
    """What argparse takes for a value, although it begins like a flag."""
    if " " in word:
        return True
    try:
        float(word)
    except ValueError:
        return False
    return True


def _meant(name: str, flags: list[str]) -> str:
    if name.startswith("--"):
        near = nearest(name, (flag for flag in flags if flag.startswith("--")))
        found = [near] if near else []
    else:
        found = [flag for flag in flags if flag.startswith(f"--{name[1:2]}")]
    if not found:
        return ""
    *first, last = (f"`{flag}`" for flag in found)
    return f"; did you mean {', '.join(first)}{' or ' if first else ''}{last}?"
