"""Makes the pictures of the documentation: `python -m build.screenshots` (`make screenshots`).

Each picture is what a command prints on a terminal, drawn by Chromium without a window. Debian's
package is `chromium`; CHROMIUM names another one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT: Final = Path(__file__).resolve().parents[1]
PICTURES: Final = ROOT / "docs" / "pictures"
_COLUMNS: Final = 112
# Of one character of the font, in pixels, and the space around the text.
_WIDTH: Final = 8.5
_HEIGHT: Final = 20
_SPACE: Final = 24
_PAGE: Final = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; padding: {space}px; background: #1b1e24; color: #d9d9d9; }}
pre {{ margin: 0; font: 14px/{height}px "DejaVu Sans Mono", "Liberation Mono", monospace; }}
</style><pre>{code}</pre>"""


@dataclass(frozen=True, slots=True)
class Picture:
    """`before` changes `first.yaml`, a copy of the policy `demo`, before the command runs."""

    name: str
    command: tuple[str, ...]
    before: tuple[tuple[str, str], ...] = ()


SHOWN: Final = (
    Picture(
        "lint",
        ("lint", "first.yaml"),
        (
            ("weight: 2", "wieght: 2"),
            ("label(node, 'disk')", "node.labels['dsik']"),
            ("pod.priority < 1000", "pod.priority < '1000'"),
        ),
    ),
    Picture(
        "explain",
        (
            *("explain", "--policy", "gpu-pools", "--snapshot", "docs/policies/cluster.yaml"),
            *("--pod", "inference", "--top", "3"),
        ),
    ),
    Picture("test", ("test", "docs/examples/gpu.test.yaml", "docs/examples/gpu-wrong.test.yaml")),
    Picture("rule", ("rule", "node.domain.pods.count")),
)


def chromium() -> str:
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if not found:
        sys.exit("there is no Chromium: apt-get install chromium, or set CHROMIUM to its path")
    return found


def printed(picture: Picture, folder: Path) -> str:
    """What the command prints, with the codes of its colours."""
    text = (ROOT / "policies" / "demo.yaml").read_text("utf-8")
    for old, new in picture.before:
        assert old in text, (picture.name, old)
        text = text.replace(old, new)
    (folder / "first.yaml").write_text(text, "utf-8")
    (folder / "docs").symlink_to(ROOT / "docs")
    color = () if picture.command[0] == "schema" else ("--color", "always")
    done = subprocess.run(
        [sys.executable, "-m", "kpolicy", *picture.command, *color],
        cwd=folder,
        env={**os.environ, "COLUMNS": str(_COLUMNS), "PYTHONPATH": str(ROOT / "python")},
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    assert done.returncode in (0, 1), (picture.name, done.stdout)
    return done.stdout


def page(picture: Picture, text: str) -> tuple[str, int, int]:
    """The page with the text of a terminal, its width and its height in pixels."""
    prompt = f"\x1b[1;32m$\x1b[0m kpolicy {' '.join(picture.command)}\n{text.rstrip()}"
    console = Console(record=True, width=_COLUMNS + 8, file=StringIO(), force_terminal=True)
    console.print(Text.from_ansi(prompt))
    code = console.export_html(theme=MONOKAI, inline_styles=True, code_format="{code}")
    lines = prompt.count("\n") + 1
    made = _PAGE.format(space=_SPACE, height=_HEIGHT, code=code)
    return made, int(_COLUMNS * _WIDTH) + 2 * _SPACE, lines * _HEIGHT + 2 * _SPACE


def take(html: Path, width: int, height: int, target: Path) -> None:
    subprocess.run(
        [
            *(chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
            # Nothing of the person's own profile, and no other host is asked.
            *(f"--user-data-dir={html.parent / 'profile'}", "--disable-background-networking"),
            *("--no-first-run", "--force-device-scale-factor=1"),
            *(f"--window-size={width},{height}", f"--screenshot={target}", html.as_uri()),
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    for picture in SHOWN:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            text, width, height = page(picture, printed(picture, folder))
            html = folder / "page.html"
            html.write_text(text, "utf-8")
            target = PICTURES / f"{picture.name}.png"
            take(html, width, height, target)
            print(f"{target.relative_to(ROOT)}: {width} × {height}")


if __name__ == "__main__":
    main()
