"""The command line: `kpolicy VERB …`, also `kubectl kpolicy VERB …`.

Finds the verb, loads only its module (in `kpolicy.cli.verbs`), and turns what goes
wrong into messages and exit codes.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NoReturn

from kpolicy.cli.flag_check import unknown_flag
from kpolicy.cli.interrupts import INTERRUPTED, PRESSED
from kpolicy.cli.verb import (
    CANNOT_WORK,
    FINDINGS,
    FINE,
    CannotWorkError,
    Help,
    PolicyErrorsError,
    Verb,
)
from kpolicy.version import VERSION

OUR_BUG: Final = 101

# The purpose of each verb, in the order of the overview.
VERBS: Final = {
    "run": "schedule the pods of a cluster",
    "demo": "watch a policy place pods, without a cluster",
    "init": "write a policy, its test, settings, CI and a hook for a folder",
    "policies": "list the policies that come with kpolicy",
    "lint": "check policies, and show the place of every finding",
    "fmt": "format a policy",
    "test": "run the tests of policies",
    "eval": "evaluate an expression",
    "why": "say why a pod is pending and what would place it; why it is where it is",
    "top": "watch a running kpolicy: its queue, its decisions, what it rejects",
    "explain": "explain why a pod is placed, or is not",
    "simulate": "place all pending pods of a snapshot, or simulate days",
    "diff": "compare what two policies decide",
    "plan": "show what a new policy changes over snapshots and journals, for a review",
    "replay": "make the decisions of a journal again, or ask another policy about them",
    "sweep": "simulate days for several policies, seeds and parameters",
    "hash": "print the hash of a policy, which bound pods carry",
    "bench": "measure how fast the engine decides",
    "snapshot": "record a cluster, replace names in snapshots, put them together, show them",
    "convert": "print a kube-scheduler configuration as a policy, or the other way round",
    "schema": "print the JSON Schema of a document",
    "rule": "explain a code, a rule, a fact or a function",
    "explain-field": "explain a field such as spec.priorities.weight",
    "completion": "print completions for a shell",
    "help": "show the help of a verb",
    "version": "show the version",
}
# Verbs that share a module; every other one has a module of its name.
_MODULES: Final = {
    **dict.fromkeys(("explain", "simulate", "diff", "bench"), "decisions"),
    **dict.fromkeys(("help", "version"), "about"),
    **dict.fromkeys(("fmt", "convert", "hash", "schema"), "documents"),
    "explain-field": "explain_field",
}
# What a write to a full disk or beyond a quota fails with.
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_REPORT_TO: Final = "https://github.com/kpolicy/kpolicy/issues"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; the exit code is that of the process."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _run(arguments)
        sys.stdout.flush()  # here, where it can be said that it failed
        return code
    except SystemExit as stop:  # argparse: 0 after help, 2 after bad flags
        return stop.code if isinstance(stop.code, int) else CANNOT_WORK
    except CannotWorkError as failure:
        print(f"{program_name()}: {failure}", file=sys.stderr)
        return CANNOT_WORK
    except PolicyErrorsError:
        return FINDINGS
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _give_up_output()  # the reader left
        return FINE
    except OSError as error:
        if error.errno not in _FULL or error.filename is not None:
            return _our_bug(error)
        _give_up_output()
        print(f"{program_name()}: the output cannot be written: {error.strerror}", file=sys.stderr)
        return CANNOT_WORK
    except Exception as error:
        return INTERRUPTED if PRESSED.is_set() else _our_bug(error)


def _give_up_output() -> None:
    """Python must not complain at exit about output that is still buffered."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def program_name() -> str:
    """`kubectl kpolicy` when called as kubectl's plugin."""
    called = Path(sys.argv[0]).name if sys.argv and sys.argv[0] else ""
    return "kubectl kpolicy" if called.startswith("kubectl-kpolicy") else "kpolicy"


def load_verb(name: str) -> Verb:
    module = import_module(f"kpolicy.cli.verbs.{_MODULES.get(name, name)}")
    verb: Verb = getattr(module, name.upper().replace("-", "_"))
    return verb


def _run(arguments: list[str]) -> int:
    name = next((word for word in arguments if not word.startswith("-")), None)
    if name not in VERBS:
        return _without_verb(arguments, name)
    parser = _Parser(prog=program_name(), formatter_class=Help, allow_abbrev=False)
    _add_version(parser)
    verb = load_verb(name)
    verb.add_to(parser.add_subparsers(required=True, parser_class=_Parser))
    if wrong := unknown_flag(parser, arguments, verb.other_flags):
        _verb_parser(parser, arguments).error(wrong)
    args = parser.parse_args(arguments)
    return int(args.run(args))


def _verb_parser(
    parser: argparse.ArgumentParser, arguments: Sequence[str]
) -> argparse.ArgumentParser:
    """The parser whose help fits: that of the verb."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return next((action.choices[w] for w in arguments if w in action.choices), parser)
    return parser


def _without_verb(arguments: list[str], name: str | None) -> int:
    parser = _Parser(
        prog=program_name(),
        usage="%(prog)s VERB [OPTIONS]",
        description="A policy-driven scheduler for Kubernetes.",
        epilog=_overview(),
        formatter_class=Help,
        allow_abbrev=False,
    )
    _add_version(parser)
    if name is not None:
        from difflib import get_close_matches

        near = get_close_matches(name, VERBS, n=1)
        hint = f"; did you mean `{near[0]}`?" if near else f"; one of {', '.join(VERBS)}"
        parser.error(f"there is no verb `{name}`{hint}")
    parser.parse_args(arguments)
    parser.print_help(sys.stderr)
    return CANNOT_WORK


def _add_version(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--version", action="version", version=f"kpolicy {VERSION}")


def _overview() -> str:
    width = max(map(len, VERBS))
    lines = [f"  {verb:<{width}}  {summary}" for verb, summary in VERBS.items()]
    exits = "exit: 0 fine, 1 findings, 2 could not work, 101 a bug of kpolicy"
    return "\n".join(["verbs:", *lines, "", exits])


class _Parser(argparse.ArgumentParser):
    """Says in one line what is wrong, and names the help."""

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: {message}", file=sys.stderr)
        print(f"`{self.prog} --help` shows the usage", file=sys.stderr)
        self.exit(CANNOT_WORK)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Answers a misspelt choice, or verb below a verb, with the right one."""
        if action.choices is None or value in action.choices:
            return
        from kpolicy.diagnostics import did_you_mean

        known = [str(choice) for choice in action.choices]
        hint = did_you_mean(str(value), known) or f"one of {', '.join(known)}"
        if isinstance(action, argparse._SubParsersAction):
            self.error(f"there is no verb `{value}`; {hint}")
        raise argparse.ArgumentError(action, f"there is no `{value}`; {hint}")


def _our_bug(error: Exception) -> int:
    if os.environ.get("KPOLICY_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
    first = next(iter(str(error).splitlines()), "")
    print(
        f"{program_name()}: this is a bug of kpolicy: {type(error).__name__}: {first}\n"
        f"Please report it at {_REPORT_TO}, with the command and its input.\n"
        "KPOLICY_DEBUG=1 shows where it happened.",
        file=sys.stderr,
    )
    return OUR_BUG
