"""`--config FILE`: the settings of `kpolicy run` that a file gives.

Owns reading it, and that paths in it are relative to it. Must not know what comes before it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kpolicy.cli.failure import CannotWorkError

if TYPE_CHECKING:
    from kpolicy.scheduler.configuration_file import SchedulerConfiguration

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
    from kpolicy.cli.findings import Findings
    from kpolicy.cli.render import render
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
        print(render("concise", Findings.of(said, ())).rstrip(), file=sys.stderr)
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
