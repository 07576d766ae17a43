"""Where settings of `kpolicy run` come from: flags, `KPOLICY_*` variables, a file, or nowhere.

Owns which source comes first, and what of them is refused. Assumes an argument parser that left out
what was not given, and a file that was read. Must not know what a setting means.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kpolicy.cli.flags import params_of
from kpolicy.cli.verb import CannotWorkError
from kpolicy.cli.verbs.run_settings import RunSettings

if TYPE_CHECKING:
    from kpolicy.scheduler.configuration_file import SchedulerConfiguration

PREFIX: Final = "KPOLICY_"
# Of ours, and no settings.
_OTHER_VARIABLES: Final = frozenset({"CONFIG", "DEBUG", "PARAM"})
# A Service called `kpolicy` makes kubelet set these for every pod of its namespace.
_OF_SERVICES: Final = ("tcp://", "udp://", "sctp://")


def settled(
    flags: Mapping[str, Any], environ: Mapping[str, str], file: Mapping[str, Any]
) -> tuple[RunSettings, dict[str, str]]:
    """Flags before variables before the file before defaults; and where each came from."""
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for origin, given in (("file", file), ("variable", _variables(environ)), ("flag", flags)):
        for one in fields(RunSettings):
            value = given.get(one.name)
            if value is None or value in ([], {}):
                continue
            values[one.name] = tuple(value) if isinstance(value, list) else value
            origins[one.name] = origin
    _only_one(values, origins)
    return RunSettings(**values), origins


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """What is probably a slip, in words; others may have variables of this prefix too."""
    from kpolicy.policy.nearest import is_slip, nearest

    known = {one.name.upper() for one in fields(RunSettings)} | _OTHER_VARIABLES
    said = []
    for name in sorted(environ):
        written = name.removeprefix(PREFIX)
        if written == name or written in known:
            continue
        near = nearest(written, known)
        if near and is_slip(written, near):
            said.append(f"{name} is no variable of ours; did you mean `{PREFIX}{near}`?")
    return said


def _variables(environ: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in fields(RunSettings):
        name = PREFIX + one.name.upper()
        text = environ.get(name, "")
        if not text or not one.metadata or text.startswith(_OF_SERVICES):
            continue
        try:
            found[one.name] = one.metadata["read"](text)
        except argparse.ArgumentTypeError as error:
            raise CannotWorkError(f"{name}: {error}") from error
        choices = one.metadata.get("choices")
        if choices and text not in choices:
            raise CannotWorkError(f"{name}: `{text}` is none of {', '.join(choices)}")
    found["params"] = params_of(environ.get(f"{PREFIX}PARAM", ""))
    return found


def _only_one(values: dict[str, Any], origins: dict[str, str]) -> None:
    """Of two that exclude each other, the one that comes first; from one place it is a slip."""
    order = ("file", "variable", "flag")
    for one, other in (
        ("policy", "policy_configmap"),
        ("shadow_policy", "shadow_policy_configmap"),
    ):
        if one not in values or other not in values:
            continue
        ranks = order.index(origins[one]), order.index(origins[other])
        if ranks[0] == ranks[1]:
            flags = " and ".join(f"--{name.replace('_', '-')}" for name in (one, other))
            raise CannotWorkError(f"{flags} are both given: policies come from one of them")
        weaker = other if ranks[0] > ranks[1] else one
        del values[weaker], origins[weaker]


_BYTES_MAX: Final = 1 << 20
_PATHS: Final = (
    "kubeconfig",
    "policy_cache",
    "tls_cert_file",
    "tls_private_key_file",
    "auth_token_file",
)
_PATH_LISTS: Final = ("policy", "shadow_policy")


def settings_of_file(path: Path) -> dict[str, Any]:
    """By name of the setting; findings are printed as `kpolicy lint` prints them."""
    from kpolicy.cli.findings_text import Findings, concise
    from kpolicy.diagnostics import has_errors
    from kpolicy.policy.yaml.source import Source
    from kpolicy.scheduler.configuration_file import read_configuration
    from kpolicy.scheduler.problem_codes import CONFIGURATION_INVALID

    try:
        with path.open("rb") as file:
            source = Source(str(path), file.read(_BYTES_MAX))
    except OSError as error:
        raise CannotWorkError(f"--config: {path} cannot be read: {error.strerror}") from error
    model, said = read_configuration(source)
    if said:
        print(concise(Findings.of(said, ())).rstrip(), file=sys.stderr)
    if model is None or has_errors(tuple(said)):
        hint = f"`kpolicy lint {path}` shows where"
        raise CannotWorkError(
            f"{CONFIGURATION_INVALID}: the configuration {path} has errors ({hint})"
        )
    return _settings(model, path.parent)


def _settings(model: SchedulerConfiguration, folder: Path) -> dict[str, Any]:
    given = model.model_dump(exclude_none=True, exclude={"api_version", "kind"})
    for name in _PATHS:
        if name in given:
            given[name] = folder / given[name]
    for name in _PATH_LISTS:
        if name in given:
            given[name] = [folder / one for one in given[name]]
    return given
