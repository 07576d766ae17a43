"""The Go program of the peer is built once, with the versions of the tests' control plane."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from benches.peer import build
from tests.cluster.build import MODULE as CONTROL_PLANE
from tests.cluster.errors import ControlPlaneError
from tests.cluster.go_module import GoModule
from tests.cluster.progress import Report
from tests.cluster.toolchain import Go


@pytest.fixture(autouse=True)
def no_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KPOLICY_CACHE", str(tmp_path))
    monkeypatch.setattr(GoModule, "chosen_go", lambda _: Go("1.26.0", None))


def test_it_is_built_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Path] = []

    def compiled(
        module: GoModule, target: Path, _recipe: Sequence[str], _flags: str, _report: Report
    ) -> None:
        built.append(module.folder)
        target.write_text("binary")

    monkeypatch.setattr(GoModule, "build", compiled)
    first, second = build.kube_scheduler(), build.kube_scheduler()
    assert first == second
    assert built == [build.MODULE.folder]
    assert first.path.read_text() == "binary"
    assert first.path.is_relative_to(tmp_path / "peer")
    monkeypatch.setattr(build, "LINKER_FLAGS", "-s")
    assert build.kube_scheduler().path != first.path
    assert len(built) == 2


def test_a_build_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_module: GoModule, target: Path, *_: object) -> None:
        target.write_text("half a binary")
        raise ControlPlaneError("it does not build")

    monkeypatch.setattr(GoModule, "build", fails)
    with pytest.raises(ControlPlaneError, match="it does not build"):
        build.kube_scheduler()
    assert [path.name for path in (tmp_path / "peer").iterdir()] == ["lock"]


def test_both_go_modules_ask_for_the_same_versions() -> None:
    ours, theirs = versions(build.MODULE.folder), versions(CONTROL_PLANE)
    assert len(ours) > 50
    assert {name: version for name, version in ours.items() if theirs[name] != version} == {}
    assert build.MODULE.required("k8s.io/kubernetes") == ours["k8s.io/kubernetes"]


def versions(module: Path) -> dict[str, str]:
    required = re.findall(r"^\t([^\s=]+) (v\S+)", (module / "go.mod").read_text(), re.MULTILINE)
    return dict(required)
