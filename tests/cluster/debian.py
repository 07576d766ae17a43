"""Builds Kubernetes 1.20 from the source package of Debian bookworm, where no Go module proxy can
be reached.

Everything is below the cache folder: apt gets its own lists and source list there, and packages are
unpacked, not installed. Needs apt, dpkg and Debian's keyring.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.cluster.build import MODULE, Harness
from tests.cluster.cached import cache_folder
from tests.cluster.errors import ControlPlaneError
from tests.cluster.progress import Outcome, Report, run_reporting

RELEASE = "bookworm"
MIRROR = "http://deb.debian.org/debian"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
GO_VERSION = "1.19"
KUBERNETES = "v1.20.2"
ETCD = "v3.4.13"  # vendored by it
SOURCES = (MODULE / "debian" / "main.go", MODULE / "lifeline.go", MODULE / "pki.go")
OPENAPI = "pkg/generated/openapi"
# Where the API types are in the tree, and which of them this API server does not have.
API_FOLDERS = ("staging/src/k8s.io", "pkg", "cmd")
NOT_API = ("code-generator", "sample-apiserver", "sample-controller")
# The second is the version in the API server's /version, the first that of everything else.
STAMPED = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
STAMPS = {"gitVersion": KUBERNETES, "gitMajor": "1", "gitMinor": "20"}
LINKER_FLAGS = "-s -w " + " ".join(
    f"-X k8s.io/kubernetes/vendor/{package}.{key}={STAMPS[key]}"
    for package in STAMPED
    for key in STAMPS
)


def debian_key() -> str:
    """The name of the folder in the cache for the build on this machine."""
    digest = hashlib.sha256(f"{LINKER_FLAGS}{GO_VERSION}".encode())
    for path in SOURCES:
        digest.update(path.read_bytes())
    return f"debian-{digest.hexdigest()[:16]}"


def build_from_debian(target: Path, report: Report) -> Harness:
    """Fetches, unpacks, generates the files that the source package lacks, and compiles."""
    if shutil.which("apt-get") is None or not Path(KEYRING).exists():
        raise ControlPlaneError(
            "neither Go modules nor Debian packages can be had here: make the Go module proxy "
            "reachable (go env GOPROXY), or run on Debian or Ubuntu with debian-archive-keyring"
        )
    work = cache_folder() / "debian"
    shutil.rmtree(work, ignore_errors=True)
    try:
        go_root = _unpack(work, report)
        tree = work / "gopath" / "src" / "k8s.io" / "kubernetes"
        go = _Go(go_root, work, report)
        _generate_openapi(go, tree)
        command = tree / "cmd" / "controlplane"
        command.mkdir()
        copied = [Path(shutil.copy(path, command)).name for path in SOURCES]
        go.run(
            ["build", "-v", "-trimpath", "-ldflags", LINKER_FLAGS, "-o", target, *copied],
            command,
            "packages compiled",
        )
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return Harness(f"Debian {RELEASE} source package", KUBERNETES, ETCD, GO_VERSION)


class _Go:
    """Debian's Go, in GOPATH mode, with every cache below the work folder."""

    def __init__(self, root: Path, work: Path, report: Report) -> None:
        self._command = root / "bin" / "go"
        self._environment = {
            "GOROOT": str(root),
            "GOPATH": str(work / "gopath"),
            "GOCACHE": str(work / "go-build"),
            "GO111MODULE": "off",
            "GOFLAGS": "",
            "CGO_ENABLED": "0",
        }
        self._report = report

    def run(self, words: Sequence[str | Path], folder: Path, doing: str) -> None:
        self.run_beside([self._command, *words], folder, doing)

    def run_beside(self, command: Sequence[str | Path], folder: Path, doing: str) -> None:
        """A program that looks for Go and its GOPATH itself."""
        path = f"{self._command.parent}:{os.environ.get('PATH', '')}"
        environment = {**self._environment, "PATH": path, "PWD": str(folder)}
        _run(command, doing, self._report, folder=folder, environment=environment)


def _unpack(work: Path, report: Report) -> Path:
    """The source at its place in a GOPATH; the folder of Go is returned."""
    for name in ("lists/partial", "archives/partial", "gopath/src/k8s.io", "go"):
        (work / name).mkdir(parents=True)
    sources = work / "sources.list"
    sources.write_text(
        "".join(
            f"{kind} [signed-by={KEYRING}] {MIRROR} {RELEASE} main\n" for kind in ("deb", "deb-src")
        )
    )
    settings = {
        "Dir::Etc::SourceList": sources,
        "Dir::Etc::SourceParts": "-",
        "Dir::State::Lists": work / "lists",
        "Dir::Cache": work,
        "APT::Sandbox::User": "root",
    }
    apt = ["apt-get", "-q", *(f"-o{key}={value}" for key, value in settings.items())]
    _run([*apt, "update"], "fetching Debian's lists", report, folder=work)
    _run(
        [*apt, "source", "--download-only", "kubernetes"],
        "fetching Kubernetes' source",
        report,
        folder=work,
    )
    packages = [f"golang-{GO_VERSION}-{part}" for part in ("go", "src")]
    _run([*apt, "download", *packages], "fetching Go", report, folder=work)
    description = next(work.glob("kubernetes_*.dsc"))  # apt has checked its hash and signature
    tree = work / "gopath" / "src" / "k8s.io" / "kubernetes"
    unpack: list[str | Path] = ["dpkg-source", "--no-check", "-x", description, tree]
    _run(unpack, "unpacking Kubernetes' source", report, folder=work)
    for package in work.glob("golang-*.deb"):
        _run(["dpkg", "-x", package, work / "go"], "unpacking Go", report, folder=work)
    return work / "go" / "usr" / "lib" / f"go-{GO_VERSION}"


def _generate_openapi(go: _Go, tree: Path) -> None:
    """The one generated file that the source package lacks and the API server needs."""
    folders = {
        path.parent
        for below in API_FOLDERS
        for path in (tree / below).rglob("*.go")
        if not set(NOT_API) & set(path.parts)
        and re.search(r"^// ?\+k8s:openapi-gen=", path.read_text("utf-8"), re.M)
    }
    packages = sorted(_package_of(folder.relative_to(tree)) for folder in folders)
    generator = tree.parent / "openapi-gen"
    source = "k8s.io/kubernetes/vendor/k8s.io/kube-openapi/cmd/openapi-gen"
    go.run(["build", "-o", generator, source], tree, "compiling openapi-gen")
    generate: list[str | Path] = [
        generator,
        f"--input-dirs={','.join(packages)}",
        f"--output-package=k8s.io/kubernetes/{OPENAPI}",
        "--output-file-base=zz_generated.openapi",
        f"--output-base={tree.parents[1]}",
        f"--go-header-file={tree / 'vendor/k8s.io/code-generator/hack/boilerplate.go.txt'}",
        f"--report-filename={tree / 'violations.report'}",
    ]
    go.run_beside(generate, tree, "generating OpenAPI")
    if not (tree / OPENAPI / "zz_generated.openapi.go").exists():
        raise ControlPlaneError("openapi-gen wrote nothing: Debian's source package has changed")


def _package_of(folder: Path) -> str:
    staged = Path("staging/src")
    if folder.is_relative_to(staged):
        return f"k8s.io/kubernetes/vendor/{folder.relative_to(staged)}"
    return f"k8s.io/kubernetes/{folder}"


def _run(
    command: Sequence[str | Path],
    doing: str,
    report: Report,
    *,
    folder: Path,
    environment: Mapping[str, str] | None = None,
) -> Outcome:
    outcome = run_reporting(
        command,
        lambda lines: f"{lines} {doing}" if doing == "packages compiled" else doing,
        report,
        folder=folder,
        environment=environment,
    )
    if outcome.code != 0:
        raise ControlPlaneError(
            f"the fallback failed while {doing} ({Path(command[0]).name}); make the Go module "
            f"proxy reachable instead (go env GOPROXY)\n{outcome.last_errors()}"
        )
    return outcome
