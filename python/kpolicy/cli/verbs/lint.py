"""`kpolicy lint`: says what is wrong with policies, and where; `--fix` corrects some of it.

Flags and a settings file say what is reported, and how severely. The settings file is
`kpolicy.toml` (`[lint]`) or `pyproject.toml` (`[tool.kpolicy.lint]`) of the working directory, or
the nearest one above it. Flags come on top.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kpolicy.cli.findings_text import Findings, concise, full, github, place_of, summary
from kpolicy.cli.input_output import (
    difference,
    is_color,
    load_snapshot,
    policy_sources,
    write,
    write_back,
)
from kpolicy.cli.verb import (
    FINDINGS,
    FINE,
    PARAM,
    PATHS,
    RELEASE,
    CannotWorkError,
    Verb,
    argument,
    formats,
    repeatable,
)
from kpolicy.diagnostics import Diagnostic, Severity

if TYPE_CHECKING:
    from kpolicy.diagnostics import Diagnostic
    from kpolicy.offline.snapshots.cluster_snapshot import Snapshot
    from kpolicy.policy.compile import Compiled
    from kpolicy.policy.format.fixes import Fixed
    from kpolicy.policy.yaml.source import Source

_LEVELS: Final = {
    "error": Severity.ERROR,
    "warning": Severity.WARNING,
    "info": Severity.INFO,
    "off": None,
}
_KEYS: Final = frozenset({"select", "ignore", "deny", "levels"})
_FILES: Final = (("kpolicy.toml", ("lint",)), ("pyproject.toml", ("tool", "kpolicy", "lint")))
_FILE_BYTES_MAX: Final = 1 << 20
# A prefix of codes, and the level of these codes; None is off.
_Level: TypeAlias = tuple[str, Severity | None]


@dataclass(frozen=True, slots=True)
class Settings:
    """Codes are prefixes; of several levels for one code the longest prefix counts."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    levels: tuple[_Level, ...] = ()
    denies_warnings: bool = False

    def is_chosen(self, code: str) -> bool:
        is_selected = not self.select or code.startswith(self.select)
        is_ignored = bool(self.ignore) and code.startswith(self.ignore)
        return is_selected and not is_ignored and None not in self._level(code)

    def levelled(self, diagnostic: Diagnostic) -> Diagnostic:
        """The finding with its configured level. An error stays one: there is no program."""
        if diagnostic.severity is Severity.ERROR:
            return diagnostic
        for level in self._level(diagnostic.code):
            if level is not None:
                return replace(diagnostic, severity=level)
        if self.denies_warnings and diagnostic.severity is Severity.WARNING:
            return replace(diagnostic, severity=Severity.ERROR)
        return diagnostic

    def _level(self, code: str) -> tuple[Severity | None, ...]:
        """Empty if no level is configured. Of equal prefixes the last one counts."""
        fitting = [(len(codes), level) for codes, level in self.levels if code.startswith(codes)]
        longest = max((length for length, _ in fitting), default=0)
        return tuple(level for length, level in fitting if length == longest)[-1:]


_CODES: Final = "these codes, by prefix: KP2,KP401"
SETTINGS_ARGUMENTS: Final = (
    repeatable("--select", metavar="CODES", help=f"report only {_CODES}"),
    repeatable("--ignore", metavar="CODES", help=f"do not report {_CODES}"),
    repeatable("--deny", metavar="CODES", help="report these codes, or all `warnings`, as errors"),
    repeatable(
        "--level",
        metavar="CODES=LEVEL",
        help="the level of these codes: error, warning, info or off; the longest prefix counts",
    ),
    argument("--error-on-warning", action="store_true", help="the same as --deny warnings"),
    argument("--isolated", action="store_true", help="do not read kpolicy.toml and pyproject.toml"),
)


def settings_of(args: argparse.Namespace) -> Settings:
    """A `--select` or `--ignore` replaces that of the file; levels are added to the file's."""
    base = Settings() if args.isolated else _from_files(Path.cwd())
    denied, denies_warnings = _denied(args.deny, "--deny")
    levels = [*base.levels, *denied]
    for written in args.level:
        codes, separator, level = written.partition("=")
        if not separator:
            raise CannotWorkError(f"--level {written}: write CODES=LEVEL, such as KP312=error")
        levels += _levels({codes: level}, "--level")
    return Settings(
        _prefixes(args.select, "--select") or base.select,
        _prefixes(args.ignore, "--ignore") or base.ignore,
        tuple(levels),
        base.denies_warnings or denies_warnings or args.error_on_warning,
    )


def _codes(written: Iterable[str]) -> list[str]:
    return [code.strip() for codes in written for code in codes.split(",") if code.strip()]


def _prefixes(written: Iterable[str], where: str) -> tuple[str, ...]:
    from kpolicy.diagnostics import did_you_mean
    from kpolicy.policy.codes.registry import pages

    prefixes = tuple(_codes(written))
    for prefix in prefixes:
        if not any(code.startswith(prefix) for code in pages()):
            hint = did_you_mean(prefix, pages())
            message = f"{where}: no code begins with `{prefix}`" + (f"; {hint}" if hint else "")
            raise CannotWorkError(message)
    return prefixes


def _denied(written: Iterable[str], where: str) -> tuple[list[_Level], bool]:
    """Codes that are errors, and whether all warnings are."""
    codes = _codes(written)
    prefixes = _prefixes([code for code in codes if code != "warnings"], where)
    return [(prefix, Severity.ERROR) for prefix in prefixes], "warnings" in codes


def _levels(written: dict[str, Any], where: str) -> list[_Level]:
    found: list[_Level] = []
    for codes, level in written.items():
        if level not in _LEVELS:
            listed = ", ".join(_LEVELS)
            raise CannotWorkError(f"{where}: the level `{level}` is not one of {listed}")
        found += ((prefix, _LEVELS[level]) for prefix in _prefixes([codes], where))
    return found


def _from_files(folder: Path) -> Settings:
    """The settings of the nearest file that has some for lint."""
    for parent in (folder, *folder.parents):
        for name, keys in _FILES:
            path = parent / name
            table = _table(path, keys) if path.is_file() else None
            if table is not None:
                return _from_table(table, str(path))
    return Settings()


def _table(path: Path, keys: Sequence[str]) -> dict[str, Any] | None:
    try:
        with path.open("rb") as file:
            here: Any = tomllib.loads(file.read(_FILE_BYTES_MAX).decode("utf-8"))
    except (OSError, ValueError) as error:
        raise CannotWorkError(f"{path} cannot be read: {error}") from error
    for key in keys:
        here = here.get(key) if isinstance(here, dict) else None
    if here is not None and not isinstance(here, dict):
        raise CannotWorkError(f"{path}: `{'.'.join(keys)}` is no table")
    return here


def _from_table(table: dict[str, Any], where: str) -> Settings:
    unknown = sorted(set(table) - _KEYS)
    if unknown:
        raise CannotWorkError(f"{where}: `{unknown[0]}` is not one of {', '.join(sorted(_KEYS))}")
    for key in ("select", "ignore", "deny"):
        value = table.setdefault(key, [])
        if not isinstance(value, list) or not all(isinstance(code, str) for code in value):
            raise CannotWorkError(f"{where}: `{key}` is a list of codes")
    levels = table.get("levels", {})
    if not isinstance(levels, dict):
        raise CannotWorkError(f"{where}: `levels` is a table of codes and levels")
    denied, denies_warnings = _denied(table["deny"], where)
    return Settings(
        _prefixes(table["select"], where),
        _prefixes(table["ignore"], where),
        (*_levels(levels, where), *denied),
        denies_warnings,
    )


_STDIN: Final = "<stdin>"
_EPILOG: Final = """\
The policies of a folder are checked together, as `kpolicy run` would load them. A policy can name
one of another argument as its base. Without an argument, stdin is read.

With --snapshot, the rules are also checked against the recorded cluster. lint then reports names
that nothing in the cluster has, and rules and scores that are the same on all nodes.

`# kpolicy: ignore[KP312] reason` silences a finding, on its line or on the line above.

exit: 0 no errors, 1 errors (or a code of --deny, or a change that --diff shows), 2 could not work
"""


def _main(args: argparse.Namespace) -> int:
    if args.unsafe_fixes and not (args.fix or args.diff):
        raise CannotWorkError("--unsafe-fixes goes with --fix or --diff")
    work = _Lint(args)
    if args.diff:
        return work.show_changes()
    if args.fix:
        work.fix()
    return work.report()


class _Lint:
    """The arguments as units: the sources of one argument are checked together."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self._settings = settings_of(args)
        self._params = dict(args.param)
        self._units = [tuple(policy_sources(path)) for path in args.paths]
        self._snapshot = load_snapshot(args.snapshot) if args.snapshot else None

    def report(self) -> int:
        """Prints all findings in every format that is asked for."""
        found = [finding for index in range(len(self._units)) for finding in self._findings(index)]
        chosen = [
            self._settings.levelled(finding)
            for finding in dict.fromkeys(found)
            if self._settings.is_chosen(finding.code)
        ]
        findings = Findings.of(chosen, [source for unit in self._units for source in unit])
        outputs = self._args.output or [("full", "")]
        for name, file in outputs:
            write(render(name, findings, is_color=not file and is_color()), file)
        if any(name in ("full", "concise") for name, _ in outputs):
            print(summary(findings), file=sys.stderr)
        has_failed = findings.count(Severity.ERROR) and not self._args.exit_zero
        return FINDINGS if has_failed else FINE

    def fix(self) -> None:
        """Writes the corrected files, and says what was corrected."""
        for index, unit in enumerate(self._units):
            if any(source.name == _STDIN for source in unit):
                raise CannotWorkError("--fix changes files; for stdin there is --diff")
            shipped = next((source for source in unit if not Path(source.name).is_file()), None)
            if shipped is not None:
                raise CannotWorkError(
                    f"{shipped.name} comes with kpolicy: copy it, then correct the copy"
                )
            fixed = self._fixed(index)
            for before, source in zip(unit, fixed.sources, strict=True):
                if before.text != source.text:
                    write_back(Path(source.name), source.encoded)
            self._units[index] = fixed.sources
            for finding in fixed.findings:
                where = place_of(finding)
                print(f"{where}: fixed {finding.code}: {finding.message}", file=sys.stderr)
            if fixed.findings:
                count = len(fixed.findings)
                findings = f"{count} {'finding' if count == 1 else 'findings'}"
                print(f"fixed {findings} in {self._args.paths[index]}", file=sys.stderr)

    def show_changes(self) -> int:
        """Prints the changes that `fix` would make."""
        changes = "".join(
            difference(before.decoded, after.decoded, before.name, after.name)
            for index, unit in enumerate(self._units)
            for before, after in zip(unit, self._fixed(index).sources, strict=True)
        )
        write(changes, "")
        if not changes:
            print("nothing to mend", file=sys.stderr)
        return FINDINGS if changes and not self._args.exit_zero else FINE

    def _fixed(self, index: int) -> Fixed:
        from kpolicy.policy.format.fixes import fixed

        return fixed(
            self._units[index],
            lambda sources: self._compiled(index, sources, None),
            is_unsafe=self._args.unsafe_fixes,
            is_chosen=self._settings.is_chosen,
        )

    def _findings(self, index: int) -> tuple[Diagnostic, ...]:
        """Findings of policies, tests and configurations. Sources without any policy are no
        finding if they hold tests or configurations."""
        sources: Sequence[Source] = self._units[index]
        found: tuple[Diagnostic, ...] = ()
        if any(b"SchedulerConfiguration" in source.encoded for source in sources):
            from kpolicy.scheduler.options import read_configurations

            read = read_configurations(sources)
            found, sources = read.diagnostics, read.others
        of_tests: tuple[Diagnostic, ...] = ()
        if any(b"PolicyTest" in source.encoded for source in sources):
            from kpolicy.offline.policy_tests.session import check_tests

            checked = check_tests(sources, self._params)
            of_tests, sources = checked.diagnostics, checked.others
        if sources:
            found = (*found, *self._compiled(index, sources, self._snapshot).diagnostics)
        return (*found, *of_tests)

    def _compiled(
        self, index: int, sources: Sequence[Source], snapshot: Snapshot | None
    ) -> Compiled:
        others = [s for at, unit in enumerate(self._units) if at != index for s in unit]
        release = self._args.release
        if snapshot is None:
            from kpolicy.policy.compile import compile_policy

            return compile_policy(sources, release=release, library=others, params=self._params)
        from kpolicy.offline.snapshot_lint.lint_snapshot import lint

        return lint(sources, snapshot, release=release, library=others, params=self._params)


def render(name: str, findings: Findings, *, is_color: bool) -> str:
    """The findings in the format `name`."""
    texts = {"concise": concise, "github": github}
    if name == "full":
        return full(findings, is_color=is_color)
    if name in texts:
        return texts[name](findings)
    # Formats for machines need modules that take longer to load than a policy to check.
    from kpolicy.cli.findings_documents import DOCUMENTS

    return DOCUMENTS[name](findings)


LINT: Final = Verb(
    "lint",
    "Check policies, show the place of each finding, and correct what is safe to correct.",
    _main,
    (
        PATHS,
        formats("full", "concise", "json", "jsonl", "github", "sarif", "junit"),
        repeatable(
            "--snapshot",
            "-s",
            metavar="FILE|DIR",
            help="check the rules against this recorded cluster too; repeatable",
        ),
        *SETTINGS_ARGUMENTS,
        PARAM,
        argument(
            "--fix", action="store_true", help="correct what is safe to correct, in the files"
        ),
        argument(
            "--unsafe-fixes",
            action="store_true",
            help="also apply fixes that may not be what you mean",
        ),
        argument(
            "--diff", action="store_true", help="show what --fix would change, and change nothing"
        ),
        argument("--exit-zero", action="store_true", help="exit with 0 even if there are findings"),
        RELEASE,
    ),
    _EPILOG,
)
