"""`kpolicy lint`: what is wrong with policies, and where.

Owns the verb's flags and its exit code. Assumes that compiling gives every finding. Must not know
how findings are made or laid out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from kpolicy.cli.failure import CannotWorkError

_FORMATS: Final = ("full", "concise", "json", "jsonl", "github", "sarif", "junit")
_EPILOG: Final = """\
A folder is checked as one: all its policies together, as `kpolicy run` would load them.
Policies of other arguments can be extended by name. With no argument, stdin is read.

exit: 0 no errors, 1 errors (or warnings, with --error-on-warning), 2 could not work
"""


def add_parser(subparsers: Any) -> None:  # argparse has no public name for this type
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "lint",
        help="check policies",
        description="Check policies and say where each finding is.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("paths", nargs="*", metavar="FILE|DIR|-", default=["-"])
    parser.add_argument(
        "--output", "-o", action="append", metavar="FORMAT[=FILE]", type=_output, default=None,
        help=f"one of {', '.join(_FORMATS)} (default: full); may be repeated",
    )  # fmt: skip
    for flag, what in (("--select", "report only"), ("--ignore", "do not report")):
        parser.add_argument(
            flag, action="append", default=[], metavar="CODES",
            help=f"{what} these codes, by prefix: KP2,KP401",
        )  # fmt: skip
    parser.add_argument("--error-on-warning", action="store_true", help="warnings fail as errors")
    parser.add_argument("--exit-zero", action="store_true", help="exit 0 in spite of findings")
    parser.add_argument(
        "--release", default="", metavar="1.N", help="read legacy files as this release did"
    )


def _output(written: str) -> tuple[str, str]:
    name, _, file = written.partition("=")
    if name not in _FORMATS:
        raise argparse.ArgumentTypeError(f"`{name}` is none of {', '.join(_FORMATS)}")
    return name, file


def main(args: argparse.Namespace) -> int:
    from kpolicy.cli.inputs import policy_sources
    from kpolicy.cli.render import Findings, render, summary
    from kpolicy.diagnostics import Diagnostic, Severity
    from kpolicy.policy.compile import compile_policy

    units = [policy_sources(path) for path in args.paths]
    said: list[Diagnostic] = []
    for unit in units:
        others = [source for other in units if other is not unit for source in other]
        said += compile_policy(unit, release=args.release, library=others).diagnostics
    chosen = _chosen(args)
    findings = Findings.of(
        [one for one in dict.fromkeys(said) if chosen(one.code)],
        [source for unit in units for source in unit],
    )
    outputs = args.output or [("full", "")]
    for name, file in outputs:
        write(render(name, findings, is_color=not file and is_color()), file)
    if any(name in ("full", "concise") for name, _ in outputs):
        print(summary(findings), file=sys.stderr)
    failing = {Severity.ERROR, Severity.WARNING} if args.error_on_warning else {Severity.ERROR}
    has_failed = any(one.severity in failing for one in findings.diagnostics)
    return 1 if has_failed and not args.exit_zero else 0


def _chosen(args: argparse.Namespace) -> Any:
    select, ignore = _prefixes(args.select), _prefixes(args.ignore)

    def is_chosen(code: str) -> bool:
        return (not select or code.startswith(select)) and not (ignore and code.startswith(ignore))

    return is_chosen


def _prefixes(written: Sequence[str]) -> tuple[str, ...]:
    return tuple(code.strip() for codes in written for code in codes.split(",") if code.strip())


def is_color() -> bool:
    import os

    return (
        sys.stdout.isatty()
        and not os.environ.get("NO_COLOR")
        and (os.environ.get("TERM") != "dumb")
    )


def write(text: str, file: str) -> None:
    if not file:
        sys.stdout.write(text)
        return
    try:
        Path(file).write_text(text, "utf-8")
    except OSError as error:
        raise CannotWorkError(f"{file} cannot be written: {error.strerror}") from error
