"""The wheel that `make wheel` builds runs in a Debian that has nothing but Python and pip, and an
image has little beside it.

Needs root, and Debian's package debootstrap, which it installs.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

pytestmark = [pytest.mark.full, pytest.mark.timeout(3600)]

ROOT: Final = Path(__file__).parents[2]
MB: Final = 1_000_000
# glibc 2.28 is that of Debian 10 and RHEL 8.
PLATFORM: Final = "manylinux_2_28_x86_64"


def run(*words: str | Path, cwd: Path = ROOT) -> str:
    done = subprocess.run(list(words), capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The root of a Debian 12 with Python and pip."""
    if shutil.which("debootstrap") is None:
        run("apt-get", "update", "-qq")
        run("apt-get", "install", "-y", "-qq", "debootstrap")
    root = tmp_path_factory.mktemp("bare") / "root"
    include = "--include=python3,python3-pip"
    run("debootstrap", "--variant=minbase", include, "bookworm", root)
    yield root
    shutil.rmtree(root)


@pytest.fixture(scope="module")
def wheel() -> Path:
    (built,) = (ROOT / line for line in run("make", "-s", "wheel").splitlines()[-1:])
    assert PLATFORM in built.name
    return built


def test_the_environment_at_run_time_is_small(wheel: Path, tmp_path: Path) -> None:
    """As the Containerfile makes it."""
    run("build/site.sh", wheel.parent, tmp_path / "site")
    size = sum(file.lstat().st_size for file in (tmp_path / "site").rglob("*") if file.is_file())
    assert 20 * MB < size <= 120 * MB


def test_it_is_installed_and_schedules(bare: Path, wheel: Path) -> None:
    wheels = bare / "wheels"
    packages = ("--only-binary", ":all:", "--require-hashes", "-r", "requirements-run.lock")
    run(sys.executable, "-m", "pip", "download", "-q", *packages, "-d", wheels)
    shutil.copy(wheel, wheels)
    offline = ("--no-index", "--find-links", "/wheels", "--break-system-packages")
    run("chroot", bare, "python3", "-m", "pip", "install", "-q", *offline, "kpolicy")
    assert run("chroot", bare, "kpolicy", "version").startswith("kpolicy ")
    assert "decisions a second" in run("chroot", bare, "kpolicy", "demo")
