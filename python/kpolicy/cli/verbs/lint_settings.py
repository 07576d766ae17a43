"""What `kpolicy lint` reports, and how severely: flags, and a file beside the policies.

Owns `Settings`: which codes are chosen, which level each has. `kpolicy.toml` (`[lint]`) or
`pyproject.toml` (`[tool.kpolicy.lint]`) of the working directory, or of the nearest above it, is
read first; flags come on top. Must not know findings beyond their code and severity.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from kpolicy.cli.verb import CannotWorkError
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


@dataclass(frozen=True, slots=True)
class Settings:
    """Codes are prefixes; of several levels for one code the longest prefix counts."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    levels: tuple[tuple[str, Severity | None], ...] = ()
    denies_warnings: bool = False

    def is_chosen(self, code: str) -> bool:
        if self.select and not code.startswith(self.select):
            return False
        is_off = any(level is None for level in self._of(code))
        return not is_off and not (self.ignore and code.startswith(self.ignore))

    def levelled(self, diagnostic: Diagnostic) -> Diagnostic:
        """With the level that is wanted; what is an error stays one: there is no program."""
        if diagnostic.severity is Severity.ERROR:
            return diagnostic
        for level in self._of(diagnostic.code):
            if level is not None:
                return replace(diagnostic, severity=level)
        if self.denies_warnings and diagnostic.severity is Severity.WARNING:
            return replace(diagnostic, severity=Severity.ERROR)
        return diagnostic

    def _of(self, code: str) -> tuple[Severity | None, ...]:
        fitting = [one for one in self.levels if code.startswith(one[0])]
        # Of equal prefixes the last one written.
        fitting.sort(key=lambda one: len(one[0]))
        return (fitting[-1][1],) if fitting else ()


def add_flags(parser: argparse.ArgumentParser) -> None:
    for flag, what in (("--select", "report only"), ("--ignore", "do not report")):
        parser.add_argument(
            flag,
            action="append",
            default=[],
            metavar="CODES",
            help=f"{what} these codes, by prefix: KP2,KP401",
        )
    parser.add_argument(
        "--deny",
        action="append",
        default=[],
        metavar="CODES",
        help="take these codes, or `warnings`, for errors",
    )
    parser.add_argument(
        "--level",
        action="append",
        default=[],
        metavar="CODES=LEVEL",
        help="error, warning, info or off for these codes; the longest prefix counts",
    )
    parser.add_argument("--error-on-warning", action="store_true", help="as --deny warnings")
    parser.add_argument(
        "--isolated", action="store_true", help="read no kpolicy.toml and no pyproject.toml"
    )


def settings_of(args: argparse.Namespace) -> Settings:
    """A `--select` or `--ignore` replaces the file's; levels come on top of the file's."""
    base = Settings() if args.isolated else _from_file(Path.cwd())
    levels = list(base.levels)
    denies = base.denies_warnings or args.error_on_warning
    for written in _codes(args.deny):
        if written == "warnings":
            denies = True
        else:
            levels.append((_prefix(written, "--deny"), Severity.ERROR))
    for written in args.level:
        codes, separator, level = written.partition("=")
        if not separator:
            raise CannotWorkError(f"--level {written}: write CODES=LEVEL, such as KP312=error")
        levels += _levels({codes: level}, "--level")
    return Settings(
        _prefixes(args.select, "--select") or base.select,
        _prefixes(args.ignore, "--ignore") or base.ignore,
        tuple(levels),
        denies,
    )


def _codes(written: Iterable[str]) -> list[str]:
    return [code.strip() for codes in written for code in codes.split(",") if code.strip()]


def _prefixes(written: Iterable[str], where: str) -> tuple[str, ...]:
    return tuple(_prefix(code, where) for code in _codes(written))


def _prefix(code: str, where: str) -> str:
    from kpolicy.policy.codes.registry import pages
    from kpolicy.policy.nearest import did_you_mean

    if any(one.startswith(code) for one in pages()):
        return code
    hint = did_you_mean(code, pages())
    raise CannotWorkError(f"{where}: no code begins with `{code}`" + (f"; {hint}" if hint else ""))


def _levels(written: dict[str, Any], where: str) -> list[tuple[str, Severity | None]]:
    found: list[tuple[str, Severity | None]] = []
    for codes, level in written.items():
        if level not in _LEVELS:
            listed = ", ".join(_LEVELS)
            raise CannotWorkError(f"{where}: the level `{level}` is none of {listed}")
        found += ((prefix, _LEVELS[level]) for prefix in _prefixes([codes], where))
    return found


def _from_file(folder: Path) -> Settings:
    """The nearest file that has settings for lint."""
    for one in (folder, *folder.parents):
        for name, keys in _FILES:
            path = one / name
            if path.is_file():
                table = _table(path, keys)
                if table is not None:
                    return _read(table, str(path))
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


def _read(table: dict[str, Any], where: str) -> Settings:
    unknown = sorted(set(table) - _KEYS)
    if unknown:
        raise CannotWorkError(f"{where}: `{unknown[0]}` is none of {', '.join(sorted(_KEYS))}")
    lists: dict[str, list[str]] = {}
    for key in ("select", "ignore", "deny"):
        value = table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise CannotWorkError(f"{where}: `{key}` is a list of codes")
        lists[key] = value
    levels = table.get("levels", {})
    if not isinstance(levels, dict):
        raise CannotWorkError(f"{where}: `levels` is a table of codes and levels")
    denied = [code for code in _codes(lists["deny"]) if code != "warnings"]
    return Settings(
        _prefixes(lists["select"], where),
        _prefixes(lists["ignore"], where),
        (*_levels(levels, where), *((_prefix(code, where), Severity.ERROR) for code in denied)),
        "warnings" in _codes(lists["deny"]),
    )
