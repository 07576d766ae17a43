"""Packs the plugin of kubectl for krew: `python -m build.krew SITE FOLDER`.

SITE is what `build/site.sh` installs. Writes the archive for this machine's platform, and the
manifest with its address and checksum. The same SITE gives the same bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import platform
import sys
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).parents[1]
SOURCE: Final = ROOT / "deploy" / "krew"
LAUNCHER: Final = "kubectl-kpolicy"
RELEASES: Final = "https://github.com/kpolicy/kpolicy/releases/download"
# The names that krew has for what Python calls machines.
ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


def archive_name(version: str, architecture: str) -> str:
    return f"{LAUNCHER}_v{version}_linux_{architecture}.tar.gz"


def archive(site: Path, python: str) -> bytes:
    """The launcher, the licence, the packages and the version of Python that they are for."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as tar,
    ):
        for name, content, mode in _members(site, python):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), mode
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def _members(site: Path, python: str) -> Iterator[tuple[str, bytes, int]]:
    yield LAUNCHER, (SOURCE / LAUNCHER).read_bytes(), 0o755
    yield "LICENSE", (ROOT / "LICENSE").read_bytes(), 0o644
    yield "python-version", f"{python}\n".encode(), 0o644
    for path in sorted(site.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield f"site/{path.relative_to(site)}", path.read_bytes(), 0o644


def manifest(version: str, checksums: Mapping[str, str]) -> dict[str, Any]:
    """`checksums` by architecture."""
    made: dict[str, Any] = yaml.safe_load((SOURCE / "kpolicy.yaml").read_text("utf-8"))
    made["spec"] |= {
        "version": f"v{version}",
        "platforms": [
            {
                "selector": {"matchLabels": {"os": "linux", "arch": architecture}},
                "uri": f"{RELEASES}/v{version}/{archive_name(version, architecture)}",
                "sha256": checksum,
                "bin": LAUNCHER,
                "files": [{"from": "*", "to": "."}],
            }
            for architecture, checksum in sorted(checksums.items())
        ],
    }
    return made


def pack(site: Path, folder: Path, version: str) -> Path:
    """Writes both files, and returns the path of the archive."""
    architecture = ARCHITECTURES[platform.machine()]
    content = archive(site, f"{sys.version_info.major}.{sys.version_info.minor}")
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / archive_name(version, architecture)
    target.write_bytes(content)
    checksums = {architecture: hashlib.sha256(content).hexdigest()}
    text = yaml.safe_dump(manifest(version, checksums), sort_keys=False)
    (folder / "kpolicy.yaml").write_text(text, "utf-8")
    return target


if __name__ == "__main__":
    from kpolicy.version import VERSION

    print(pack(Path(sys.argv[1]), Path(sys.argv[2]), VERSION))
