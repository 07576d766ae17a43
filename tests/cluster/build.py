"""Builds the control plane's one binary, once, and keeps it in the cache by what went into it.

Owns the cache folder's layout, its lock and the atomic publishing.
Assumes that `controlplane/` beside this file is the Go module. Must not know how it is run.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.cluster.errors import ControlPlaneError, ModulesUnavailableError
from tests.cluster.progress import Outcome, Report, run_reporting, to_stderr
from tests.cluster.toolchain import GO_ENVIRONMENT, choose_go, installed

MODULE = Path(__file__).parent / "controlplane"
RECIPE = ("build", "-v", "-trimpath")  # part of the hash, like the linker's flags
BINARY_NAME = "controlplane"
# What `go list` says when the module itself is wrong, and no other source should hide it.
OUR_FAULT = re.compile(r"missing go\.sum entry|updates to go\.mod|checksum mismatch|SECURITY ERROR")


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


def cache_folder() -> Path:
    chosen = os.environ.get("KPOLICY_CACHE")
    if chosen:
        return Path(chosen).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kpolicy"


def binary_path() -> Path:
    """Where the binary is, or will be once it has been built."""
    return _home() / BINARY_NAME


def control_plane_binary(report: Report = to_stderr) -> ControlPlaneBinary:
    """The cached binary; builds it first if it is not there, which takes minutes when cold."""
    home = _home()
    if found := _published(home):
        return found
    with _locked(home.parent, report):
        if found := _published(home):  # by whoever held the lock
            return found
        try:
            return _publish(home, lambda partial: _build_from_modules(partial, report))
        except ModulesUnavailableError as unavailable:
            report(f"{unavailable}")
        from tests.cluster.debian import build_from_debian, debian_key

        fallback = home.with_name(debian_key())
        report("falling back to Debian's source of Kubernetes 1.20")
        return _published(fallback) or _publish(
            fallback, lambda partial: build_from_debian(partial, report)
        )


def _required(module: str) -> str:
    """The version of a module that go.mod asks for."""
    found = re.search(rf"^\s*{re.escape(module)} (v\S+)", (MODULE / "go.mod").read_text(), re.M)
    assert found is not None, module
    return found[1]


def _minimum_go() -> str:
    found = re.search(r"^go (\S+)", (MODULE / "go.mod").read_text(), re.M)
    assert found is not None
    return found[1]


def _linker_flags() -> str:
    kubernetes = _required("k8s.io/kubernetes")
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


def _home() -> Path:
    digest = hashlib.sha256()
    for path in sorted((*MODULE.glob("*.go"), MODULE / "go.mod", MODULE / "go.sum")):
        digest.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    for word in (*RECIPE, _linker_flags(), choose_go(_minimum_go()).version):
        digest.update(f"{word}\0".encode())
    return cache_folder() / "controlplane" / digest.hexdigest()[:16]


def _published(home: Path) -> ControlPlaneBinary | None:
    try:
        harness = Harness(**json.loads((home / "harness.json").read_text()))
    except FileNotFoundError:
        return None
    return ControlPlaneBinary(home / BINARY_NAME, harness)


def _publish(home: Path, build: Callable[[Path], Harness]) -> ControlPlaneBinary:
    """Build into a folder of its own and give it its name only when it is whole."""
    partial = home.with_name(f"{home.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        harness = build(partial / BINARY_NAME)
        (partial / "harness.json").write_text(json.dumps(asdict(harness)))
        partial.rename(home)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return ControlPlaneBinary(home / BINARY_NAME, harness)


@contextmanager
def _locked(folder: Path, report: Report) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("another build is running; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build_from_modules(target: Path, report: Report) -> Harness:
    chosen = choose_go(_minimum_go())
    go = installed(chosen, cache_folder(), report)

    def run_go(*words: str | Path, describe: Callable[[int], str]) -> Outcome:
        return run_reporting(
            [go, *words], describe, report, folder=MODULE, environment=GO_ENVIRONMENT
        )

    kubernetes, etcd = _required("k8s.io/kubernetes"), _required("go.etcd.io/etcd/server/v3")
    report(f"building Kubernetes {kubernetes} and etcd {etcd} with Go {chosen.version}, once;")
    report("about 5 minutes on two cores when nothing is cached")
    listed = run_go("list", "-deps", ".", describe=lambda _: "fetching Go modules")
    if listed.code != 0:
        said = "\n".join(listed.errors)
        failure = ControlPlaneError if OUR_FAULT.search(said) else ModulesUnavailableError
        raise failure(
            f"cannot fetch the Go modules of {MODULE}: is the module proxy reachable "
            f"(go env GOPROXY)?\n{listed.last_errors()}"
        )
    packages = len(listed.output.splitlines())
    built = run_go(
        *RECIPE,
        "-ldflags",
        _linker_flags(),
        "-o",
        target,
        ".",
        describe=lambda compiled: f"{compiled} of at most {packages} packages compiled",
    )
    if built.code != 0:
        raise ControlPlaneError(
            f"the control plane does not build: see `go vet .` in {MODULE}, and that the disk "
            f"has 5 GB free\n{built.last_errors()}"
        )
    report(f"built in {listed.elapsed_s + built.elapsed_s:.0f} s")
    return Harness("Go modules", kubernetes, etcd, chosen.version)
