"""Builds the one binary of the control plane, and keeps it in the cache under the hash of its
sources.

Chooses between Go modules and the source package of Debian. `controlplane/` beside this file is the
Go module, with a file of versions for each release.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.cluster.cached import cache_folder, locked, publishing
from tests.cluster.errors import ControlPlaneError, ModulesUnavailableError
from tests.cluster.go_module import COMPILING, GoModule
from tests.cluster.progress import Report, to_stderr

MODULE = Path(__file__).parent / "controlplane"
# By release of Kubernetes.
VERSIONS = {"1.36": "go.mod", "1.37": "go-1.37.mod"}
DEFAULT_RELEASE = "1.36"
RELEASE = os.environ.get("KUBERNETES", DEFAULT_RELEASE)
BINARY_NAME = "controlplane"
REPORT = to_stderr(BINARY_NAME)
RECIPE = COMPILING


@dataclass(frozen=True)
class Harness:
    """What the binary holds: `version` is for people, `minor` is Kubernetes' (36 for v1.36.2)."""

    source: str
    kubernetes: str
    etcd: str
    go: str

    @property
    def version(self) -> str:
        return f"Kubernetes {self.kubernetes}, etcd {self.etcd} ({self.source}, Go {self.go})"

    @property
    def minor(self) -> int:
        return int(self.kubernetes.removeprefix("v").split(".")[1])


@dataclass(frozen=True)
class ControlPlaneBinary:
    path: Path
    harness: Harness


def binary_path(release: str = RELEASE) -> Path:
    """Where the binary is, or will be once it has been built."""
    return _home(_module(release)) / BINARY_NAME


def control_plane_binary(report: Report = REPORT, release: str = RELEASE) -> ControlPlaneBinary:
    """The cached binary; builds it first if it is not there, which takes minutes when cold.

    Debian's old release stands in for the default only: who asks for another must get that."""
    module = _module(release)
    home = _home(module)
    if found := _published(home):
        return found
    with locked(home.parent, report):
        if found := _published(home):  # by whoever held the lock
            return found
        try:
            return _publish(home, lambda partial: _build_from_modules(module, partial, report))
        except ModulesUnavailableError as unavailable:
            if release != DEFAULT_RELEASE:
                raise
            report(f"{unavailable}")
        from tests.cluster.debian import build_from_debian, debian_key

        fallback = home.with_name(debian_key())
        report("falling back to Debian's source of Kubernetes 1.20")
        return _published(fallback) or _publish(
            fallback, lambda partial: build_from_debian(partial, report)
        )


def _module(release: str) -> GoModule:
    if release not in VERSIONS:
        raise ControlPlaneError(f"no Kubernetes {release} here: there are {', '.join(VERSIONS)}")
    return GoModule(MODULE, VERSIONS[release])


def _linker_flags(module: GoModule) -> str:
    kubernetes = module.required("k8s.io/kubernetes")
    major, minor, _ = kubernetes.removeprefix("v").split(".")
    stamps = {
        "gitVersion": kubernetes,
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "archive",
        "buildDate": "1970-01-01T00:00:00Z",
    }
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    stamped = (f"-X {package}.{key}={stamps[key]}" for package in packages for key in stamps)
    return " ".join(("-s", "-w", *stamped))


def _home(module: GoModule) -> Path:
    digest = module.digest((*RECIPE, _linker_flags(module)))
    return cache_folder() / "controlplane" / digest


def _published(home: Path) -> ControlPlaneBinary | None:
    try:
        harness = Harness(**json.loads((home / "harness.json").read_text()))
    except FileNotFoundError:
        return None
    return ControlPlaneBinary(home / BINARY_NAME, harness)


def _publish(home: Path, build: Callable[[Path], Harness]) -> ControlPlaneBinary:
    with publishing(home) as partial:
        harness = build(partial / BINARY_NAME)
        (partial / "harness.json").write_text(json.dumps(asdict(harness)))
    return ControlPlaneBinary(home / BINARY_NAME, harness)


def _build_from_modules(module: GoModule, target: Path, report: Report) -> Harness:
    go = module.chosen_go().version
    kubernetes = module.required("k8s.io/kubernetes")
    etcd = module.required("go.etcd.io/etcd/server/v3")
    report(f"building Kubernetes {kubernetes} and etcd {etcd} with Go {go}, once;")
    report("about 5 minutes on two cores when nothing is cached")
    module.build(target, RECIPE, _linker_flags(module), report)
    return Harness("Go modules", kubernetes, etcd, go)
