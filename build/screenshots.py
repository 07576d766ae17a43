"""Makes the pictures of the documentation: `python -m build.screenshots` (`make screenshots`).

A picture is what a command prints on a terminal, or the page that it writes, drawn by Chromium
(`build.chromium`).
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from build.chromium import Browser, chromium, connected, running

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


@dataclass(frozen=True, slots=True)
class Shot:
    """A file to be shown in a window of this size, in pixels, and where the picture goes."""

    html: Path
    target: Path
    width: int
    height: int
    dark: bool = False


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
_CLUSTER: Final = ("--every-pod", "--snapshot", "docs/policies/cluster.yaml")
_PAGE_WIDTH: Final = 1100
# Names, commands, heights, and whether colours are dark.
PAGES: Final = (
    (
        "page-explain",
        ("explain", "--policy", "gpu-pools", *_CLUSTER, "--pod", "inference"),
        1460,
        False,
    ),
    ("page-why", ("why", "shop/search-0", "--snapshot", "docs/guides/shop.kpsnap"), 1070, False),
    ("page-simulate", ("simulate", "--policy", "gpu-pools", *_CLUSTER), 1260, True),
    ("page-diff", ("diff", "kube-scheduler-default", "bin-packing", *_CLUSTER), 1160, False),
)


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


async def take(browser: Browser, shot: Shot) -> None:
    tab = await browser.tab()
    await tab.view(shot.width, shot.height, dark=shot.dark)
    await tab.open(shot.html.as_uri())
    # Charts are drawn when they come into view.
    await tab.settled()
    shot.target.write_bytes(await tab.picture(height_max=shot.height))
    assert tab.complaints == [], (shot.target, tab.complaints)
    print(f"{shot.target.relative_to(ROOT)}: {shot.width} × {shot.height}")


def of_commands(folder: Path) -> Iterator[Shot]:
    """What commands print on a terminal."""
    for picture in SHOWN:
        own = folder / picture.name
        own.mkdir()
        text, width, height = page(picture, printed(picture, own))
        html = own / "page.html"
        html.write_text(text, "utf-8")
        yield Shot(html, PICTURES / f"{picture.name}.png", width, height)


def of_pages(folder: Path) -> Iterator[Shot]:
    """Pages of `--html`."""
    for name, command, height, dark in PAGES:
        html = folder / f"{name}.html"
        done = subprocess.run(
            [sys.executable, "-m", "kpolicy", *command, "--html", html],
            cwd=ROOT,
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode in (0, 1), (name, done.stderr)
        yield Shot(html, PICTURES / f"{name}.png", _PAGE_WIDTH, height, dark)


async def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    binary = chromium()
    if binary is None:
        sys.exit("there is no Chromium: apt-get install chromium, or set CHROMIUM to its path")
    with tempfile.TemporaryDirectory() as name, running(binary) as address:
        async with connected(address) as browser:
            for shot in (*of_commands(Path(name)), *of_pages(Path(name))):
                await take(browser, shot)


if __name__ == "__main__":
    asyncio.run(main())
