"""`kpolicy lint`: what is wrong with policies, and where; and `--fix`, which mends some of it.

Owns the verb's flags, the writing of mended files, and the exit code. Assumes that linting gives
every finding. Must not know how findings are made, mended or laid out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kpolicy.cli.flags import add_outputs_flag, add_param_flag
from kpolicy.cli.outputs import is_color, write
from kpolicy.cli.verb import CannotWorkError
from kpolicy.cli.verbs.lint_settings import Settings, add_flags, settings_of

if TYPE_CHECKING:
    from kpolicy.cli.findings_text import Findings
    from kpolicy.diagnostics import Diagnostic
    from kpolicy.offline.snapshots.snapshot import Snapshot
    from kpolicy.policy.compile import Compiled
    from kpolicy.policy.yaml.source import Source

_FORMATS: Final = ("full", "concise", "json", "jsonl", "github", "sarif", "junit")
_STDIN: Final = "<stdin>"
_EPILOG: Final = """\
A folder is checked as one: all its policies together, as `kpolicy run` would load them.
Policies of other arguments can be extended by name. With no argument, stdin is read.
With a snapshot, rules are also asked about that cluster: names that nothing has, rules and scores
that never differ. A finding is silenced by `# kpolicy: ignore[KP312] why` on its line or above it.

exit: 0 no errors, 1 errors (or what --deny names; or what --diff would change), 2 could not work
"""


def add_parser(subparsers: Any) -> None:  # argparse has no public name for this type
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "lint",
        help="check policies",
        description="Check policies, say where each finding is, and mend what is safe to mend.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("paths", nargs="*", metavar="FILE|DIR|-", default=["-"])
    add_outputs_flag(parser, _FORMATS)
    parser.add_argument(
        "--snapshot",
        "-s",
        action="append",
        default=[],
        metavar="FILE|DIR",
        help="a recorded cluster to ask the rules about; repeatable",
    )
    add_flags(parser)
    add_param_flag(parser)
    parser.add_argument("--fix", action="store_true", help="mend what is safe to mend, in place")
    parser.add_argument(
        "--unsafe-fixes", action="store_true", help="also what may not be what you mean"
    )
    parser.add_argument(
        "--diff", action="store_true", help="show what --fix would change, and change nothing"
    )
    parser.add_argument("--exit-zero", action="store_true", help="exit 0 in spite of findings")
    parser.add_argument(
        "--release", default="", metavar="1.N", help="read legacy files as this release did"
    )


def main(args: argparse.Namespace) -> int:
    from kpolicy.cli.inputs import policy_sources

    settings = settings_of(args)
    if args.unsafe_fixes and not (args.fix or args.diff):
        raise CannotWorkError("--unsafe-fixes goes with --fix or --diff")
    work = _Work(args, settings, [policy_sources(path) for path in args.paths])
    if args.diff:
        return work.show_changes()
    if args.fix:
        work.mend()
    return work.report()


class _Work:
    """The arguments, each a unit that is checked by itself, and what is asked of them."""

    def __init__(
        self, args: argparse.Namespace, settings: Settings, units: Sequence[Sequence[Source]]
    ) -> None:
        self._args = args
        self._settings = settings
        self._units = [tuple(unit) for unit in units]
        self._snapshot: Snapshot | None = None
        if args.snapshot:
            from kpolicy.cli.inputs import load_snapshot

            self._snapshot = load_snapshot(args.snapshot)

    def report(self) -> int:
        """All findings, in every format that is asked for."""
        from kpolicy.cli.findings_text import Findings, summary
        from kpolicy.diagnostics import Severity

        said: list[Diagnostic] = []
        for index, unit in enumerate(self._units):
            said += self._linted(index, unit, self._snapshot)
        chosen = [
            self._settings.levelled(one)
            for one in dict.fromkeys(said)
            if self._settings.is_chosen(one.code)
        ]
        findings = Findings.of(chosen, [source for unit in self._units for source in unit])
        outputs = self._args.output or [("full", "")]
        for name, file in outputs:
            write(render(name, findings, is_color=not file and is_color()), file)
        if any(name in ("full", "concise") for name, _ in outputs):
            print(summary(findings), file=sys.stderr)
        has_failed = any(one.severity is Severity.ERROR for one in chosen)
        return 1 if has_failed and not self._args.exit_zero else 0

    def mend(self) -> None:
        """Writes what is mended, and says what it was."""
        for index, unit in enumerate(self._units):
            if any(source.name == _STDIN for source in unit):
                raise CannotWorkError("--fix changes files; for stdin there is --diff")
            shipped = next((one for one in unit if not Path(one.name).is_file()), None)
            if shipped is not None:
                raise CannotWorkError(f"{shipped.name} comes with kpolicy: copy it, then mend it")
            after, mended = self._mended(index)
            for before, source in zip(unit, after, strict=True):
                if before.text != source.text:
                    _write_back(source)
            self._units[index] = after
            for one in mended:
                print(_told(one), file=sys.stderr)
            if mended:
                count = f"{len(mended)} {'finding' if len(mended) == 1 else 'findings'}"
                print(f"mended {count} in {self._args.paths[index]}", file=sys.stderr)

    def show_changes(self) -> int:
        """The difference that `mend` would make, on stdout."""
        has_changes = False
        for index, unit in enumerate(self._units):
            after, _ = self._mended(index)
            for before, source in zip(unit, after, strict=True):
                shown = _difference(before, source)
                has_changes |= bool(shown)
                sys.stdout.write(shown)
        sys.stdout.flush()
        if not has_changes:
            print("nothing to mend", file=sys.stderr)
        return 1 if has_changes and not self._args.exit_zero else 0

    def _mended(self, index: int) -> tuple[tuple[Source, ...], tuple[Diagnostic, ...]]:
        from kpolicy.policy.format.fixes import fixed

        done = fixed(
            self._units[index],
            lambda sources: self._compiled(index, sources, None),
            is_unsafe=self._args.unsafe_fixes,
            is_chosen=self._settings.is_chosen,
        )
        return done.sources, done.mended

    def _linted(
        self, index: int, sources: Sequence[Source], snapshot: Snapshot | None
    ) -> tuple[Diagnostic, ...]:
        """Policies, tests and configurations. Where there are no policies beside the others, that
        is no lack of any."""
        if not any(b"SchedulerConfiguration" in _bytes(source) for source in sources):
            return self._policies_and_tests(index, sources, snapshot)
        from kpolicy.scheduler.configuration_file import read_configurations

        read = read_configurations(sources)
        if not read.others:
            return read.diagnostics
        return (*read.diagnostics, *self._policies_and_tests(index, read.others, snapshot))

    def _policies_and_tests(
        self, index: int, sources: Sequence[Source], snapshot: Snapshot | None
    ) -> tuple[Diagnostic, ...]:
        if not any(b"PolicyTest" in _bytes(source) for source in sources):
            return self._compiled(index, sources, snapshot).diagnostics
        from kpolicy.offline.policy_tests.session import check_tests

        checked = check_tests(sources, dict(self._args.param))
        if not checked.others:
            return checked.diagnostics
        compiled = self._compiled(index, checked.others, snapshot)
        return (*compiled.diagnostics, *checked.diagnostics)

    def _compiled(
        self, index: int, sources: Sequence[Source], snapshot: Snapshot | None
    ) -> Compiled:
        others = [s for at, other in enumerate(self._units) if at != index for s in other]
        release, params = self._args.release, dict(self._args.param)
        if snapshot is None:
            from kpolicy.policy.compile import compile_policy

            return compile_policy(sources, release=release, library=others, params=params)
        from kpolicy.offline.snapshot_lint.lint_snapshot import lint

        return lint(sources, snapshot, release=release, library=others, params=params)


def _bytes(source: Source) -> bytes:
    text = source.text
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


def _told(one: Diagnostic) -> str:
    from kpolicy.cli.findings_text import place_of

    place = place_of(one)
    return f"{place.file}:{place.line}:{place.column}: mended {one.code}: {one.message}"


def _difference(before: Source, after: Source) -> str:
    import difflib

    if before.text == after.text:
        return ""
    old, new = (_text(source).splitlines(keepends=True) for source in (before, after))
    shown = ""
    for line in difflib.unified_diff(old, new, before.name, after.name):
        shown += line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
    return shown


def _text(source: Source) -> str:
    text = source.text
    return text if isinstance(text, str) else text.decode("utf-8", "replace")


def _write_back(source: Source) -> None:
    text = source.text
    try:
        Path(source.name).write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
    except OSError as error:
        raise CannotWorkError(f"{source.name} cannot be written: {error.strerror}") from error


def render(name: str, findings: Findings, *, is_color: bool) -> str:
    from kpolicy.cli.findings_text import concise, full, github

    match name:
        case "full":
            return full(findings, is_color=is_color)
        case "concise":
            return concise(findings)
        case "github":
            return github(findings)
    # Formats for machines need modules that take longer to load than a policy to check.
    from kpolicy.cli import findings_documents

    documents = {
        "json": findings_documents.json_array,
        "jsonl": findings_documents.json_lines,
        "sarif": findings_documents.sarif,
        "junit": findings_documents.junit,
    }
    return documents[name](findings)
