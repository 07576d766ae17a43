"""A verb as data: its help texts, its arguments and the function that runs it. Also the arguments
that several verbs share.

A verb's module declares it under its name in capitals. It imports what is slow to load inside its
functions, so that help and completion start quickly.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Final

from kpolicy.quick_dataclass import dataclass
from kpolicy.release_table import RELEASES

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


COLOR: Final = argument(
    "--color",
    choices=("auto", "always", "never"),
    default="auto",
    help="auto: on a terminal, unless NO_COLOR or TERM=dumb is set, or where FORCE_COLOR is set "
    "(default: %(default)s)",
)
# What these verbs print is for programs, or is logged.
_WITHOUT_COLOR: Final = frozenset(("run", "completion", "help", "version", "schema", "hash"))


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
    # Flags that another program has, and what to use here.
    other_flags: Mapping[str, str] = field(default_factory=dict)

    def add_to(self, subparsers: Any) -> None:  # argparse has no public name for this type
        parser: argparse.ArgumentParser = subparsers.add_parser(
            self.name,
            help=self.summary,
            description=self.description,
            epilog=self.epilog,
            formatter_class=Help,
            allow_abbrev=False,
        )
        parser.set_defaults(run=self.run)
        groups: dict[str, Any] = {"": parser}
        for added in self.arguments:
            if added.group not in groups:
                groups[added.group] = parser.add_mutually_exclusive_group()
            groups[added.group].add_argument(*added.names, **added.options)
        if self.run is not None and self.name not in _WITHOUT_COLOR:
            parser.add_argument(*COLOR.names, **COLOR.options)
        if self.verbs:
            names = "|".join(verb.name for verb in self.verbs)
            children = parser.add_subparsers(required=True, metavar=names)
            for verb in self.verbs:
                verb.add_to(children)


def columns_of_terminal(otherwise: int) -> int:
    """What COLUMNS says, or the columns of the terminal, as `shutil` reads them."""
    written = os.environ.get("COLUMNS", "")
    if written.isdecimal() and int(written):
        return int(written)
    try:
        return os.get_terminal_size().columns or otherwise
    except OSError:  # the output is no terminal
        return otherwise


class Help(argparse.RawDescriptionHelpFormatter):
    """Wraps texts of one line, and leaves the lines of longer texts as they are written."""

    def __init__(self, prog: str) -> None:
        # argparse makes one for each argument that is added, and would load `shutil` for the width.
        super().__init__(prog, width=columns_of_terminal(80) - 2)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" in text:
            return super()._fill_text(text, width, indent)
        return argparse.HelpFormatter._fill_text(self, text, width, indent)


SNAPSHOT_HELP: Final = (
    "a recorded cluster (`kpolicy snapshot record`), or the output of `kubectl get … -o json` or "
    "`-o yaml`; files, folders, or - for stdin; may be compressed with gzip"
)


def named_value(written: str) -> tuple[str, Any]:
    """`NAME=JSON`; a value that is not JSON is text."""
    name, equals, value = written.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError("write NAME=JSON")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def params_of(lines: str) -> dict[str, Any]:
    """The params of `KPOLICY_PARAM`, which has one on each line."""
    try:
        return dict(named_value(line) for line in lines.splitlines() if line.strip())
    except argparse.ArgumentTypeError as error:
        raise CannotWorkError(f"KPOLICY_PARAM: {error}, one on a line") from error


def whole_number(low: int, high: int | None = None) -> Callable[[str], int]:
    """Reads a number between two bounds, both included."""
    bounds = f"of at least {low:,}" if high is None else f"from {low:,} to {high:,}"

    def number(text: str) -> int:
        refusal = argparse.ArgumentTypeError(f"`{text}` is not a whole number {bounds}")
        try:
            value = int(text)
        except ValueError:
            raise refusal from None
        if value < low or (high is not None and value > high):
            raise refusal
        return value

    return number


def whole_numbers(low: int, high: int) -> Callable[[str], tuple[int, ...]]:
    """Reads numbers between two bounds, separated by commas."""
    number = whole_number(low, high)

    def numbers(text: str) -> tuple[int, ...]:
        return tuple(number(part) for part in text.split(","))

    return numbers


def every_pod(profile: str) -> Argument:
    """`profile` says whose profile is meant."""
    what = f"use {profile} for all pods, whatever their schedulerName is"
    return argument("--every-pod", action="store_true", help=what)


def formats(*names: str) -> Argument:
    """`--output FORMAT[=FILE]`, which may be repeated. The first name is the default."""
    listed = ", ".join(names)

    def output(written: str) -> tuple[str, str]:
        name, _, file = written.partition("=")
        if name not in names:
            from kpolicy.diagnostics import did_you_mean

            hint = did_you_mean(name, names) or f"one of {listed}"
            raise argparse.ArgumentTypeError(f"there is no format `{name}`; {hint}")
        return name, file

    what = f"one of {listed} (default: {names[0]}); may be repeated"
    metavar = "FORMAT[=FILE]"
    return argument("--output", "-o", action="append", metavar=metavar, type=output, help=what)


def destination(more: str, *, required: bool = False) -> Argument:
    what = f"the file to write, - for standard output; only its owner may read it ({more})"
    return argument("--output", "-o", metavar="FILE", required=required, help=what)


# Of verbs that ask a live cluster: kubectl's flags.
CLUSTER: Final = (
    argument("--kubeconfig", type=Path, metavar="FILE"),
    argument("--context", metavar="NAME"),
)
PATHS: Final = argument("paths", nargs="*", metavar="FILE|DIR|-", default=["-"])
PARAM: Final = repeatable(
    "--param",
    metavar="NAME=JSON",
    type=named_value,
    help="sets a param of the policies, whatever else sets it; a value that is not JSON is text; "
    "repeatable",
)
_RELEASE: Final = r"auto|v?[0-9]{1,3}\.[0-9]{1,3}(\.[0-9]{1,3})?"


def release(written: str) -> str:
    """Reads a release of Kubernetes; empty where none is said."""
    if written and not re.fullmatch(_RELEASE, written):
        followed = f"kpolicy follows {RELEASES[0]} to {RELEASES[-1]}"
        message = f"KP609: `{written}` is neither `auto` nor a release of Kubernetes; {followed}"
        raise argparse.ArgumentTypeError(message)
    return written


RELEASE_HELP: Final = (
    f"decide as this release of Kubernetes, {RELEASES[0]} to {RELEASES[-1]}; `auto` is the release "
    "of the cluster where it is known, otherwise the newest (default: what policies say, or auto)"
)
FEATURE_GATES_HELP: Final = (
    "feature gates of kube-scheduler that are not as the release has them; those that "
    "kpolicy does not honour are refused"
)
RELEASE: Final = argument(
    "--release",
    default="",
    type=release,
    metavar="1.N",
    help=f"{RELEASE_HELP}; an earlier one says how legacy files are read",
)
# Where two policies, or one policy in two releases, are compared.
BOTH_RELEASES: Final = repeatable(
    "--release",
    type=release,
    metavar="1.N",
    help=f"{RELEASE_HELP}; twice: the old one, then the new one",
)


def feature_gates(written: str) -> dict[str, bool]:
    """Reads feature gates as kube-scheduler does."""
    values = dict.fromkeys(("1", "t", "true"), True) | dict.fromkeys(("0", "f", "false"), False)
    gates = {}
    for part in written.split(","):
        name, _, value = part.partition("=")
        if not name.strip() or value.strip().lower() not in values:
            raise argparse.ArgumentTypeError(f"KP610: `{part}` is not NAME=true or NAME=false")
        gates[name.strip()] = values[value.strip().lower()]
    return gates


FEATURE_GATES: Final = argument(
    "--feature-gates",
    type=feature_gates,
    default={},
    metavar="NAME=BOOL,…",
    help=FEATURE_GATES_HELP,
)
# How a verb that decides is told whose decisions it makes.
FOLLOWED: Final = (RELEASE, FEATURE_GATES)


def moment(text: str) -> int:
    """Reads a time in nanoseconds since the epoch."""
    from kpolicy.api_times import time_of

    try:
        return time_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"`{text}` is not a time: {error}") from error


SEED: Final = argument(
    "--seed",
    type=int,
    default=0,
    metavar="N",
    help="seed for the choice among equal scores (default: %(default)s)",
)
_OUTPUT_HELP: Final = (
    "json: one document (`kpolicy schema --kind Output`); jsonl: a line each (default: %(default)s)"
)
OUTPUT: Final = argument(
    "--output", "-o", choices=("table", "json", "jsonl"), default="table", help=_OUTPUT_HELP
)
OUTPUT_TEXT: Final = argument(
    "--output", "-o", choices=("text", "json"), default="text", help="(default: %(default)s)"
)
OUTPUT_LINES: Final = argument(
    "--output", "-o", choices=("text", "json", "jsonl"), default="text", help=_OUTPUT_HELP
)
HTML: Final = argument(
    "--html",
    type=Path,
    metavar="FILE",
    help="also write the answer as a page with charts: one file, which needs no network",
)
SNAPSHOT: Final = argument(
    "--snapshot",
    "-s",
    action="extend",
    nargs="+",
    required=True,
    metavar="FILE|DIR|-",
    help=SNAPSHOT_HELP,
)
SNAPSHOT_FILES: Final = argument("snapshot", nargs="+", metavar="FILE|DIR|-", help=SNAPSHOT_HELP)
NOW: Final = argument(
    "--now",
    type=moment,
    metavar="TIME",
    help="the time that rules read as `now`, as 2026-11-01T22:00:00Z (default: when the snapshot "
    "was recorded)",
)
PLUGINS: Final = repeatable(
    "--plugin",
    metavar="MODULE:CLASS",
    help="ask this plugin in Python about each pod, at PreEnqueue, QueueSort, Reserve and Permit; "
    "repeatable",
)
# The inputs of `explain` and `simulate`: a snapshot, and the policy that decides.
DECISION: Final = (
    SNAPSHOT,
    NOW,
    repeatable(
        "--policy",
        metavar="FILE|DIR|-",
        help="a policy, a kube-scheduler configuration, or a folder of them; repeatable "
        "(default: kube-scheduler-default, for every pending pod)",
    ),
    every_pod("the policy's one profile"),
    SEED,
    PARAM,
    *FOLLOWED,
)
