"""The plugin for krew: a manifest that krew accepts, and an archive whose command starts."""

from __future__ import annotations

import hashlib
import re
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import yaml

from build.krew import LAUNCHER, archive, manifest, pack
from kpolicy.version import VERSION

CLI = """\
import sys

def main():
    print(sys.argv)
    return 3
"""
# Of krew's `validation.ValidatePlugin`, and of what its index asks for.
_NAME = re.compile(r"[\w-]+")
_SEMVER = re.compile(r"v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?")
_SHA256 = re.compile(r"[0-9a-f]{64}")
SHORT_DESCRIPTION_CHARACTERS_MAX = 50


def problems(plugin: dict[str, Any]) -> list[str]:
    """Why krew would refuse the manifest."""
    spec = plugin["spec"]
    checks = {
        "apiVersion": plugin["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2",
        "kind": plugin["kind"] == "Plugin",
        "name": bool(_NAME.fullmatch(plugin["metadata"]["name"])),
        "version": bool(_SEMVER.fullmatch(spec["version"])),
        "shortDescription": 0 < len(spec["shortDescription"]) <= SHORT_DESCRIPTION_CHARACTERS_MAX
        and not spec["shortDescription"].endswith("."),
        "description": bool(spec["description"].strip()),
        "homepage": spec["homepage"].startswith("https://"),
        "platforms": bool(spec["platforms"]),
        "fields": set(spec)
        <= {
            "version",
            "shortDescription",
            "description",
            "caveats",
            "homepage",
            "platforms",
        },
    }
    for position, each in enumerate(spec["platforms"]):
        labels = each["selector"]["matchLabels"]
        checks |= {
            f"{position}: selector": labels.keys() == {"os", "arch"},
            f"{position}: uri": each["uri"].startswith("https://")
            and each["uri"].endswith((".tar.gz", ".zip")),
            f"{position}: sha256": bool(_SHA256.fullmatch(each["sha256"])),
            f"{position}: bin": bool(each["bin"]) and ".." not in each["bin"],
            f"{position}: files": all({"from", "to"} == set(file) for file in each["files"]),
        }
    return [what for what, is_right in checks.items() if not is_right]


def test_krew_accepts_the_manifest() -> None:
    made = manifest(VERSION, {"amd64": "0" * 64, "arm64": "1" * 64})
    assert problems(made) == []
    assert [each["selector"]["matchLabels"]["arch"] for each in made["spec"]["platforms"]] == [
        "amd64",
        "arm64",
    ]
    assert made["metadata"]["name"] == LAUNCHER.removeprefix("kubectl-")
    broken = manifest("1", {"amd64": "0"})
    assert problems(broken) == ["version", "0: sha256"]


def site(folder: Path) -> Path:
    package = folder / "kpolicy"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "cli.py").write_text(CLI)
    return folder


def test_the_archive_starts_as_the_plugin_and_its_checksum_is_in_the_manifest(
    tmp_path: Path,
) -> None:
    packed = pack(site(tmp_path / "site"), tmp_path / "out", "1.2.3")
    made = yaml.safe_load((tmp_path / "out" / "kpolicy.yaml").read_text())
    [platform] = made["spec"]["platforms"]
    assert problems(made) == []
    assert platform["sha256"] == hashlib.sha256(packed.read_bytes()).hexdigest()
    assert platform["uri"].endswith(f"/v1.2.3/{packed.name}")
    with tarfile.open(packed) as tar:
        tar.extractall(tmp_path / "store", filter="data")
    # krew links the command into a folder of its own.
    command = tmp_path / LAUNCHER
    command.symlink_to(tmp_path / "store" / platform["bin"])
    started = subprocess.run([command, "why", "web"], capture_output=True, text=True, check=False)
    assert started.returncode == 3, started.stderr
    assert started.stdout == f"['{command}', 'why', 'web']\n"


def test_another_python_is_refused_and_the_same_packages_give_the_same_bytes(
    tmp_path: Path,
) -> None:
    packages = site(tmp_path / "site")
    content = archive(packages, "3.1")
    assert content == archive(packages, "3.1")
    (tmp_path / "a.tar.gz").write_bytes(content)
    with tarfile.open(tmp_path / "a.tar.gz") as tar:
        tar.extractall(tmp_path / "store", filter="data")
    started = subprocess.run(
        [tmp_path / "store" / LAUNCHER], capture_output=True, text=True, check=False
    )
    assert started.returncode == 1
    assert "needs Python 3.1 as python3, and this is " in started.stderr
