"""Where a setting of `kpolicy run` comes from: flag, `KPOLICY_*` variable, file or default."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from kpolicy.cli.findings_text import Findings, concise
from kpolicy.cli.flags import params_of
from kpolicy.cli.verb import CannotWorkError
from kpolicy.cli.verbs.run_settings import RunSettings
from kpolicy.diagnostics import has_errors
from kpolicy.policy.yaml.source import Source

PREFIX: Final = "KPOLICY_"
# Variables of ours that are no settings.
_OTHER_VARIABLES: Final = frozenset({"CONFIG", "DEBUG", "PARAM"})
# Kubelet sets such values for every pod of a namespace with a Service that is called `kpolicy`.
_OF_SERVICES: Final = ("tcp://", "udp://", "sctp://")
_FILE_BYTES_MAX: Final = 1 << 20
_PATHS: Final = (
    "kubeconfig",
    "policy_cache",
    "tls_cert_file",
    "tls_private_key_file",
    "auth_token_file",
)
_PATH_LISTS: Final = ("policy", "shadow_policy")
_EXCLUSIVE: Final = (("policy", "policy_configmap"), ("shadow_policy", "shadow_policy_configmap"))
# From the weakest source to the strongest.
_ORIGINS: Final = ("file", "variable", "flag")


def settled(
    flags: Mapping[str, Any], environ: Mapping[str, str], file: Mapping[str, Any]
) -> tuple[RunSettings, dict[str, str]]:
    """The settings, and where each came from. `flags` are None where they were not used."""
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for origin, settings in zip(_ORIGINS, (file, _variables(environ), flags), strict=True):
        for setting in fields(RunSettings):
            value = settings.get(setting.name)
            if value is not None and value not in ([], {}):
                values[setting.name] = tuple(value) if isinstance(value, list) else value
                origins[setting.name] = origin
    for pair in _EXCLUSIVE:
        if origins.keys() >= set(pair):
            _drop_weaker(pair, values, origins)
    return RunSettings(**values), origins


def _drop_weaker(pair: tuple[str, str], values: dict[str, Any], origins: dict[str, str]) -> None:
    """Of two settings that exclude each other, the stronger source wins."""
    weaker, stronger = sorted(pair, key=lambda name: _ORIGINS.index(origins[name]))
    if origins[weaker] == origins[stronger]:
        flags = " and ".join(f"--{name.replace('_', '-')}" for name in pair)
        raise CannotWorkError(f"{flags} are both given: policies come from one of them")
    del values[weaker], origins[weaker]


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Warnings of variables whose names are probably misspelt. Others may use our prefix too."""
    from kpolicy.policy.nearest import is_slip, nearest

    known = {setting.name.upper() for setting in fields(RunSettings)} | _OTHER_VARIABLES
    warnings = []
    for variable in sorted(environ):
        name = variable.removeprefix(PREFIX)
        near = nearest(name, known) if name != variable and name not in known else ""
        if near and is_slip(name, near):
            warnings.append(f"{variable} is no variable of ours; did you mean `{PREFIX}{near}`?")
    return warnings


def _variables(environ: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {"params": params_of(environ.get(f"{PREFIX}PARAM", ""))}
    for setting in fields(RunSettings):
        name = PREFIX + setting.name.upper()
        text = environ.get(name, "")
        if not text or not setting.metadata or text.startswith(_OF_SERVICES):
            continue
        try:
            found[setting.name] = setting.metadata["read"](text)
        except argparse.ArgumentTypeError as error:
            raise CannotWorkError(f"{name}: {error}") from error
        choices = setting.metadata.get("choices")
        if choices and text not in choices:
            raise CannotWorkError(f"{name}: `{text}` is none of {', '.join(choices)}")
    return found


def settings_of_file(path: Path) -> dict[str, Any]:
    """The settings of a SchedulerConfiguration by name. Paths in it are relative to its folder.
    Prints findings as `kpolicy lint` does."""
    from kpolicy.scheduler.options import read_configuration
    from kpolicy.scheduler.problem_codes import CONFIGURATION_INVALID

    try:
        with path.open("rb") as file:
            source = Source(str(path), file.read(_FILE_BYTES_MAX))
    except OSError as error:
        raise CannotWorkError(f"--config: {path} cannot be read: {error.strerror}") from error
    model, findings = read_configuration(source)
    if findings:
        print(concise(Findings.of(findings, ())).rstrip(), file=sys.stderr)
    if model is None or has_errors(tuple(findings)):
        hint = f"`kpolicy lint {path}` shows where"
        raise CannotWorkError(
            f"{CONFIGURATION_INVALID}: the configuration {path} has errors ({hint})"
        )
    settings = model.model_dump(exclude_none=True, exclude={"api_version", "kind"})
    for name in settings.keys() & set(_PATHS):
        settings[name] = path.parent / settings[name]
    for name in settings.keys() & set(_PATH_LISTS):
        settings[name] = [path.parent / policy for policy in settings[name]]
    return settings
