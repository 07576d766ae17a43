"""Builds the charting library of the pages: `python -m build.pages_library` (`make pages-library`).

It bundles `build/echarts/library.js` with the versions of `build/echarts/package-lock.json` into
`python/kpolicy/offline/pages/vendor`, with the licences of what is in it. Needs npm; the result is
committed, so nobody else does. The same lock file gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
SOURCE: Final = ROOT / "build" / "echarts"
VENDOR: Final = ROOT / "python" / "kpolicy" / "offline" / "pages" / "vendor"
LIBRARY: Final = VENDOR / "echarts.js"
# What the library was built from, and its checksum.
BUILT: Final = VENDOR / "built.json"
# Of each package that is in the bundle, the files with its terms.
_LICENCES: Final = {
    "echarts": ("LICENSE", "licenses/LICENSE-d3"),
    "zrender": ("LICENSE",),
    "tslib": ("LICENSE.txt",),
}
_FLAGS: Final = (
    *("--bundle", "--minify", "--format=iife", "--global-name=echarts", "--target=es2020"),
    # The page may have any encoding on its way; the licences are in files of their own.
    *("--charset=ascii", "--legal-comments=none"),
)


def locked_packages() -> dict[str, dict[str, Any]]:
    """The packages of the lock file by name."""
    document = json.loads((SOURCE / "package-lock.json").read_text("utf-8"))
    return {
        path.removeprefix("node_modules/"): package
        for path, package in document["packages"].items()
        if path
    }


def bundled_versions() -> dict[str, str]:
    """Of what is in the library, as the lock file names them."""
    return {name: locked_packages()[name]["version"] for name in _LICENCES}


def banner() -> str:
    versions = bundled_versions()
    packed = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"/* {packed}: see LICENSE and NOTICE. Built by `make pages-library`. */"


def main() -> None:
    VENDOR.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        for file in ("package.json", "package-lock.json", "library.js"):
            shutil.copy(SOURCE / file, work)
        quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        subprocess.run(["npm", "ci", *quiet], cwd=work, check=True)
        installed = work / "node_modules"
        esbuild = installed / ".bin" / "esbuild"
        flags = (*_FLAGS, f"--banner:js={banner()}", "--log-level=warning", f"--outfile={LIBRARY}")
        subprocess.run([esbuild, "library.js", *flags], cwd=work, check=True)
        texts = [
            f"==== {package}: {file} ====\n\n{(installed / package / file).read_text('utf-8')}"
            for package, files in _LICENCES.items()
            for file in files
        ]
        written = "\n\n".join(text.rstrip() for text in texts) + "\n"
        (VENDOR / "LICENSE").write_text(written, "utf-8")
        notice = (installed / "echarts" / "NOTICE").read_text("utf-8").rstrip()
        (VENDOR / "NOTICE").write_text(f"{notice}\n", "utf-8")
    digest = hashlib.sha256(LIBRARY.read_bytes()).hexdigest()
    built = {"versions": bundled_versions(), "sha256": digest}
    BUILT.write_text(json.dumps(built, indent=1) + "\n", "utf-8")
    size = LIBRARY.stat().st_size
    print(f"{LIBRARY.relative_to(ROOT)}: {size:,} bytes, {banner()[3:-3]}")


if __name__ == "__main__":
    main()
