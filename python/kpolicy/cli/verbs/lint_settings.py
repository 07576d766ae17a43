"""What `kpolicy lint` reports, and how severely: flags, and a settings file beside the policies.

The settings file is `kpolicy.toml` (`[lint]`) or `pyproject.toml` (`[tool.kpolicy.lint]`) of the
working directory, or the nearest one above it. Flags come on top.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from kpolicy.cli.verb import CannotWorkError, argument, repeatable
from kpolicy.diagnostics import Diagnostic, Severity

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
ARGUMENTS: Final = (
    repeatable("--select", metavar="CODES", help=f"report only {_CODES}"),
    repeatable("--ignore", metavar="CODES", help=f"do not report {_CODES}"),
    repeatable("--deny", metavar="CODES", help="take these codes, or `warnings`, for errors"),
    repeatable(
        "--level",
        metavar="CODES=LEVEL",
        help="error, warning, info or off for these codes; the longest prefix counts",
    ),
    argument("--error-on-warning", action="store_true", help="as --deny warnings"),
    argument("--isolated", action="store_true", help="read no kpolicy.toml and no pyproject.toml"),
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
    from kpolicy.policy.codes.registry import pages
    from kpolicy.policy.nearest import did_you_mean

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
            raise CannotWorkError(f"{where}: the level `{level}` is none of {listed}")
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
        raise CannotWorkError(f"{where}: `{unknown[0]}` is none of {', '.join(sorted(_KEYS))}")
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
