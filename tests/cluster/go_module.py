"""A Go module of this repository: the versions in its go.mod, the hash of its sources, and the
calls of Go that build it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.cached import cache_folder
from tests.cluster.errors import ControlPlaneError, ModulesUnavailableError
from tests.cluster.progress import Outcome, Report, run_reporting
from tests.cluster.toolchain import GO_ENVIRONMENT, Go, choose_go, installed

COMPILING = ("build", "-v", "-trimpath")  # part of the hash, like the linker's flags
# The messages of `go list` when the module itself is wrong; no other source must hide these.
OUR_FAULT = re.compile(r"missing go\.sum entry|updates to go\.mod|checksum mismatch|SECURITY ERROR")


@dataclass(frozen=True)
class GoModule:
    """`versions`: the file that takes the place of go.mod, for the same sources with others."""

    folder: Path
    versions: str = "go.mod"

    def required(self, module: str) -> str:
        """The version of a module in go.mod."""
        return self._match(rf"^\s*{re.escape(module)} (v\S+)")

    def chosen_go(self) -> Go:
        return choose_go(self._match(r"^go (\S+)"))

    def digest(self, words: Sequence[str]) -> str:
        """The hash of everything that goes into the binary: sources, build flags, the version of
        Go."""
        digest = hashlib.sha256()
        versions = self.folder / self.versions
        names = (*self.folder.glob("*.go"), versions, versions.with_suffix(".sum"))
        for path in sorted(names):
            digest.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
        for word in (*words, self.chosen_go().version):
            digest.update(f"{word}\0".encode())
        return digest.hexdigest()[:16]

    def build(self, target: Path, recipe: Sequence[str], linker_flags: str, report: Report) -> None:
        """Fetches the dependencies and compiles."""
        go = installed(self.chosen_go(), cache_folder(), report)

        def run_go(verb: str, *words: str | Path, describe: Callable[[int], str]) -> Outcome:
            command = [go, verb, f"-modfile={self.versions}", *words]
            return run_reporting(
                command, describe, report, folder=self.folder, environment=GO_ENVIRONMENT
            )

        listed = run_go("list", "-deps", ".", describe=lambda _: "fetching Go modules")
        if listed.code != 0:
            errors = "\n".join(listed.errors)
            failure = ControlPlaneError if OUR_FAULT.search(errors) else ModulesUnavailableError
            raise failure(
                f"cannot fetch the Go modules of {self.folder}: is the module proxy reachable "
                f"(go env GOPROXY)?\n{listed.last_errors()}"
            )
        packages = len(listed.output.splitlines())
        built = run_go(
            *recipe,
            "-ldflags",
            linker_flags,
            "-o",
            target,
            ".",
            describe=lambda compiled: f"{compiled} of at most {packages} packages compiled",
        )
        if built.code != 0:
            raise ControlPlaneError(
                f"{self.folder.name} does not build: see `go vet .` in {self.folder}, and that "
                f"the disk has 5 GB free\n{built.last_errors()}"
            )
        report(f"built in {listed.elapsed_s + built.elapsed_s:.0f} s")

    def _match(self, pattern: str) -> str:
        found = re.search(pattern, (self.folder / self.versions).read_text(), re.MULTILINE)
        assert found is not None, pattern
        return found[1]
