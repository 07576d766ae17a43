"""deploy/container: what its stages run, run here, and the result as the image would run it.

There is no container engine in CI, so that the base images are not covered: their Python is, by the
steps being run with a bare one. The wheel is built from what `make release` has compiled.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
CONTAINERFILE = ROOT / "deploy" / "container" / "Containerfile"
NOBODY = 65532  # of distroless images


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("image")
    wheels, site = folder / "wheels", folder / "site"
    beside = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for script, *arguments in (("wheel.sh", wheels), ("site.sh", wheels, site)):
        done = subprocess.run(
            [str(ROOT / "build" / str(script)), *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PATH": beside},
        )
        assert done.returncode == 0, done.stdout + done.stderr
    yield site
    shutil.rmtree(folder)


def in_image(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """As the image does: a bare Python, nothing but the site folder, no home."""
    return subprocess.run(
        [Path(sys.executable).resolve(), "-m", "kpolicy", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd="/",
        env={"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"},
    )


def test_what_the_stages_install_schedules(site: Path) -> None:
    before = files(site)
    assert len(before) > 1_000
    assert in_image(site, "--version").stdout.startswith("kpolicy ")
    demo = in_image(site, "demo")
    assert demo.returncode == 0, demo.stderr
    assert "pods" in demo.stdout
    assert in_image(site, "run", "--help").returncode == 0
    assert files(site) == before, "its file system will be read-only"


def files(site: Path) -> set[Path]:
    return set(site.rglob("*"))


def test_it_is_there_as_bytecode_and_without_tests(site: Path) -> None:
    modules = list(site.glob("kpolicy/**/*.py"))
    assert len(modules) > 200
    compiled = {path.name.split(".")[0] for path in site.glob("kpolicy/**/__pycache__/*.pyc")}
    assert {path.stem for path in modules} == compiled
    assert not list(site.glob("tests"))


def test_it_is_small_and_what_was_left_out_is_missed_by_nothing(site: Path) -> None:
    size = sum(path.stat().st_size for path in files(site) if path.is_file())
    assert size <= 120e6, f"{size / 1e6:.0f} MB"
    left_out = ("client/api", "aio/client/api")
    assert not [name for name in left_out if (site / "kubernetes" / name).exists()]
    described = in_image(site, "rule", "pod.spec.nodeSelector")
    assert described.returncode == 0, described.stderr
    imports = "import kubernetes.aio.client, kubernetes.aio.config, zstandard; print('all')"
    done = subprocess.run(
        [Path(sys.executable).resolve(), "-c", imports],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.stdout == "all\n", done.stderr


def test_the_container_file_copies_what_is_there_and_runs_as_nobody() -> None:
    lines = CONTAINERFILE.read_text().splitlines()
    copied = [line.split()[1:-1] for line in lines if re.match(r"COPY (?!--from)", line)]
    sources = [source for some in copied for source in some]
    assert len(sources) == 4
    assert all((ROOT / source).exists() for source in sources)
    images = dict(re.findall(r"^ARG (\w+_IMAGE)=(\S+)$", CONTAINERFILE.read_text(), re.MULTILINE))
    stages = [line.split()[1] for line in lines if line.startswith("FROM")]
    assert stages == [f"${{{name}}}" for name in images], "every base image can be pinned"
    assert list(images.values())[-1].endswith(":nonroot")
    assert f"USER {NOBODY}:{NOBODY}" in lines
    allowed = (ROOT / ".dockerignore").read_text().splitlines()
    kept = {line[1:] for line in allowed if line.startswith("!")}
    assert len(kept) == 11
    assert all((ROOT / name).exists() for name in kept)
