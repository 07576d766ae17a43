"""The command line: `kpolicy VERB …`, also `kubectl kpolicy VERB …`.

Owns the frame: finding the verb, loading only its module, exit codes, what is said when we fail.
Assumes that a verb's module has `add_parser(subparsers)` and `main(args) -> int`. Must not know
what a verb does.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NoReturn

from kpolicy.cli.verb import CannotWorkError
from kpolicy.version import VERSION

FINE: Final = 0
FINDINGS: Final = 1
CANNOT_WORK: Final = 2
OUR_BUG: Final = 101
INTERRUPTED: Final = 130

# What each verb is for, in the order of the overview. A verb is offered when its module is there.
VERBS: Final = {
    "run": "schedule the pods of a cluster",
    "demo": "watch a policy place pods, without a cluster",
    "lint": "check policies, with the place of every finding",
    "fmt": "write a policy in the usual form",
    "test": "run the tests of policies",
    "eval": "evaluate an expression",
    "explain": "say why a pod is, or is not, placed",
    "simulate": "place all pending pods of a snapshot",
    "diff": "compare what two policies decide",
    "hash": "print the hash that bound pods carry of a policy",
    "bench": "measure how fast the engine decides",
    "snapshot": "record a cluster, redact a snapshot, say what one holds",
    "convert": "print a kube-scheduler configuration as a policy",
    "schema": "print the JSON Schema of a document",
    "rule": "explain a code such as KP204",
    "completion": "print completions for a shell",
}
_REPORT_TO: Final = "https://github.com/kpolicy/kpolicy/issues"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; the exit code is that of the process."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(arguments)
    except SystemExit as stop:  # argparse: 0 after help, 2 after bad flags
        return stop.code if isinstance(stop.code, int) else CANNOT_WORK
    except CannotWorkError as failure:
        print(f"{program_name()}: {failure}", file=sys.stderr)
        return CANNOT_WORK
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader left; what is still buffered must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    except Exception as error:
        return _our_bug(error)


def program_name() -> str:
    """`kubectl kpolicy` when called as kubectl's plugin."""
    called = Path(sys.argv[0]).name if sys.argv and sys.argv[0] else ""
    return "kubectl kpolicy" if called.startswith("kubectl-kpolicy") else "kpolicy"


def offered_verbs() -> dict[str, str]:
    return {
        verb: summary for verb, summary in VERBS.items() if find_spec(module_of(verb)) is not None
    }


def module_of(verb: str) -> str:
    return f"kpolicy.cli.verbs.{verb}"


def _run(arguments: list[str]) -> int:
    verb = next((one for one in arguments if not one.startswith("-")), None)
    if verb not in VERBS or find_spec(module_of(verb)) is None:
        return _without_verb(arguments, verb)
    module: Any = import_module(module_of(verb))
    parser = _Parser(prog=program_name(), allow_abbrev=False)
    _common(parser)
    module.add_parser(parser.add_subparsers(dest="verb", required=True, parser_class=_Parser))
    return int(module.main(parser.parse_args(arguments)))


def _without_verb(arguments: list[str], verb: str | None) -> int:
    verbs = offered_verbs()
    parser = _Parser(
        prog=program_name(),
        usage="%(prog)s VERB [OPTIONS]",
        description="A policy-driven scheduler for Kubernetes.",
        epilog=_overview(verbs),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _common(parser)
    if verb is not None:
        near = get_close_matches(verb, verbs, n=1)
        hint = f"; did you mean `{near[0]}`?" if near else f"; one of {', '.join(verbs)}"
        parser.error(f"there is no verb `{verb}`{hint}")
    parser.parse_args(arguments)
    parser.print_help(sys.stderr)
    return CANNOT_WORK


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--version", action="version", version=f"kpolicy {VERSION}")


def _overview(verbs: dict[str, str]) -> str:
    width = max(map(len, verbs), default=0)
    lines = [f"  {verb:<{width}}  {summary}" for verb, summary in verbs.items()]
    exits = "exit: 0 fine, 1 findings, 2 could not work, 101 our bug"
    return "\n".join(["verbs:", *lines, "", exits])


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, and where the help is."""

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: {message}", file=sys.stderr)
        print(f"`{self.prog} --help` shows how it is used", file=sys.stderr)
        self.exit(CANNOT_WORK)


def _our_bug(error: Exception) -> int:
    if os.environ.get("KPOLICY_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
    first = next(iter(str(error).splitlines()), "")
    print(
        f"{program_name()}: this is our bug, not yours: {type(error).__name__}: {first}\n"
        f"Please report it at {_REPORT_TO}, with the command and its input.\n"
        "KPOLICY_DEBUG=1 shows where it happened.",
        file=sys.stderr,
    )
    return OUR_BUG
