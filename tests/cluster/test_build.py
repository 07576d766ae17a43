"""The cache of binaries, with a build that takes no time: once, whole or not at all."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cluster import build, debian
from tests.cluster.build import Harness
from tests.cluster.errors import ControlPlaneError, ModulesUnavailableError
from tests.cluster.go_module import GoModule
from tests.cluster.progress import Report, run_reporting

HARNESS = Harness("test", "v1.36.2", "v3.6.8", "1.26.8")


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KPOLICY_CACHE", str(tmp_path))
    return tmp_path


def silent(_line: str) -> None:
    """Progress is not shown."""


def test_builders_at_the_same_time_build_once(monkeypatch: pytest.MonkeyPatch) -> None:
    builds: list[int] = []
    output: list[str] = []

    def slowly(_module: GoModule, target: Path, _report: Report) -> Harness:
        builds.append(threading.get_ident())
        time.sleep(0.2)
        target.write_text("binary")
        return HARNESS

    monkeypatch.setattr(build, "_build_from_modules", slowly)
    with ThreadPoolExecutor(4) as threads:
        calls = [threads.submit(build.control_plane_binary, output.append) for _ in range(4)]
        paths = {call.result().path for call in calls}
    assert paths == {build.binary_path()}
    assert len(builds) == 1
    assert output.count("another build is running; waiting for it") == 3
    assert build.control_plane_binary(silent).harness == HARNESS


def test_a_build_that_fails_leaves_nothing(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_module: GoModule, target: Path, _report: Report) -> Harness:
        target.write_text("half a binary")
        raise ControlPlaneError("it does not build")

    monkeypatch.setattr(build, "_build_from_modules", fails)
    with pytest.raises(ControlPlaneError, match="it does not build"):
        build.control_plane_binary(silent)
    assert [path.name for path in (cache_folder / "controlplane").iterdir()] == ["lock"]


def test_debians_source_is_for_when_the_modules_cannot_be_had(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unavailable(_module: GoModule, _target: Path, _report: Report) -> Harness:
        raise ModulesUnavailableError("the proxy is down")

    def from_debian(target: Path, _report: Report) -> Harness:
        target.write_text("binary")
        return Harness("Debian", "v1.20.2", "v3.4.13", "1.19")

    monkeypatch.setattr(build, "_build_from_modules", unavailable)
    monkeypatch.setattr(debian, "build_from_debian", from_debian)
    output: list[str] = []
    built = build.control_plane_binary(output.append)
    assert built.harness.minor == 20
    assert "Debian" in built.harness.version
    assert built.path != build.binary_path()
    assert "the proxy is down" in output
    with pytest.raises(ModulesUnavailableError, match="the proxy is down"):
        build.control_plane_binary(output.append, "1.37")


def test_each_release_is_built_from_versions_of_its_own() -> None:
    binaries = {build.binary_path(release) for release in build.VERSIONS}
    assert len(binaries) == len(build.VERSIONS) == 2
    for release, versions in build.VERSIONS.items():
        kubernetes = GoModule(build.MODULE, versions).required("k8s.io/kubernetes")
        assert kubernetes.startswith(f"v{release}.")


def test_what_went_in_names_the_binary(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = build.binary_path()
    assert path.is_relative_to(cache_folder / "controlplane")
    monkeypatch.setattr(build, "RECIPE", (*build.RECIPE, "-race"))
    assert build.binary_path() != path


def test_a_long_command_says_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.cluster.progress.REPORT_EVERY_S", 0.05)
    output: list[str] = []
    script = "echo one >&2; echo two >&2; echo out; sleep 0.4; exit 3"
    outcome = run_reporting(
        ["sh", "-c", script], lambda lines: f"{lines} done", output.append, folder=tmp_path
    )
    assert (outcome.code, outcome.output, outcome.errors) == (3, "out\n", ("one", "two"))
    assert len(output) >= 2
    assert output[-1].endswith("2 done")
