"""What `kpolicy lint` reports, how severely, and which limits of the scheduler it knows.

The settings file is `kpolicy.toml` (`[lint]`) or `pyproject.toml` (`[tool.kpolicy.lint]`) of the
working directory, or the nearest one above it. Flags come on top.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from kpolicy.cli.input_output import load_plugins
from kpolicy.cli.policy_authority import authority_of
from kpolicy.cli.verb import CannotWorkError, argument, repeatable
from kpolicy.cli.verbs.setting_values import hosts, names, whole
from kpolicy.diagnostics import Diagnostic, Severity
from kpolicy.policy.authority import UNLIMITED, Authority
from kpolicy.policy.limits import TENANT_WEIGHT_DEFAULT
from kpolicy.quick_dataclass import dataclass

_LEVELS: Final = {
    "error": Severity.ERROR,
    "warning": Severity.WARNING,
    "info": Severity.INFO,
    "off": None,
}
_AUTHORITY_KEYS: Final = (
    "scheduler-names",
    "extender-hosts",
    "certificate-folder",
    "tenant-label",
)
_KEYS: Final = frozenset({"select", "ignore", "deny", "levels", *_AUTHORITY_KEYS})
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
    authority: Authority = UNLIMITED

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
    argument(
        "--scheduler-names",
        metavar="NAME,…",
        type=names,
        default=(),
        help="report policies that serve pods of other schedulerNames, as `kpolicy run` does",
    ),
    argument(
        "--extender-hosts",
        metavar="HOST:PORT,…",
        type=hosts,
        default=(),
        help="report extenders at other addresses; or `none`, or `any`",
    ),
    argument(
        "--certificate-folder",
        metavar="DIR",
        type=Path,
        help="report certificate files that are not in this folder",
    ),
    repeatable(
        "--plugin",
        metavar="MODULE:CLASS",
        help="report plugins in Python other than this, which `kpolicy run` will have; repeatable",
    ),
    argument(
        "--tenant-label",
        metavar="KEY",
        default="",
        help="report policies for which a tenant is not a value of this label of namespaces",
    ),
    argument(
        "--tenant-of",
        metavar="FILE|DIR",
        help="check the policies as a tenant's, whose rules are added to this policy",
    ),
    argument(
        "--tenant-weight",
        metavar="N",
        type=whole,
        default=TENANT_WEIGHT_DEFAULT,
        help="what the priorities of a tenant may weigh together, as `kpolicy run` grants it",
    ),
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
    authority = authority_of(
        args.scheduler_names,
        args.extender_hosts,
        args.certificate_folder,
        tenant_label=args.tenant_label,
        unset=base.authority,
    )
    if args.plugin:
        authority = replace(authority, plugins=frozenset(p.name for p in load_plugins(args)))
    return Settings(
        _prefixes(args.select, "--select") or base.select,
        _prefixes(args.ignore, "--ignore") or base.ignore,
        tuple(levels),
        base.denies_warnings or denies_warnings or args.error_on_warning,
        authority,
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
    import tomllib  # a command without a settings file does without

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
    authority = _authority_of_table(table, where)
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
        authority,
    )


def _authority_of_table(table: dict[str, Any], where: str) -> Authority:
    """A relative folder is one of the folder of the file."""
    lists = []
    for key in ("scheduler-names", "extender-hosts"):
        value = table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise CannotWorkError(f"{where}: `{key}` is a list of texts")
        if key in table and not value:
            raise CannotWorkError(f"{where}: `{key}` is empty")
        lists.append(value)
    folder = table.get("certificate-folder")
    if folder is not None and not (isinstance(folder, str) and folder):
        raise CannotWorkError(f"{where}: `certificate-folder` is the path of a folder")
    path = Path(where).parent / folder if folder is not None else None
    label = table.get("tenant-label", "")
    if not isinstance(label, str) or ("tenant-label" in table and not label):
        raise CannotWorkError(f"{where}: `tenant-label` is the key of a label")
    try:
        return authority_of(lists[0], lists[1], path, tenant_label=label)
    except ValueError as error:
        raise CannotWorkError(f"{where}: {error}") from error
