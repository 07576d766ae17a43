"""Runs the commands of the guides in a shell, and compares or renews their output: `python -m
tests.spec.guides.console`.

The `$ ` lines of ```` ```console ```` blocks run one after the other in one folder, in which
`kpolicy`, `python/` and `docs/` are those of this tree. A file is written as in a shell: after
`cat > FILE <<'END'`, its lines have `> ` in front. Guides that need a cluster are run by
`tests.e2e.guide_on_cluster`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[3]
GUIDES: Final = sorted((ROOT / "docs" / "guides").glob("*.md"))
# Runs the lines of a command, and returns what it prints.
Run = Callable[[str], str]
ON_A_CLUSTER: Final = frozenset({"from-a-decision-to-a-fix"})
# Durations are never equal.
_DURATION: Final = re.compile(r" +[0-9][0-9.,]* ms$", re.MULTILINE)
_BLOCK: Final = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def replayed(guide: Path, folder: Path) -> tuple[str, int]:
    """The guide with what its commands print in `folder`, and how many commands there are."""
    environment = prepared(folder)
    return replayed_by(guide, lambda command: _printed(command, folder, environment))


def replayed_by(guide: Path, run: Run) -> tuple[str, int]:
    """The guide with what its commands print, and how many commands there are."""
    count = 0

    def block(found: re.Match[str]) -> str:
        nonlocal count
        shown = ""
        for command in _commands(found[1]):
            count += 1
            typed = "\n> ".join(command).replace("\n> \n", "\n>\n")
            shown += f"$ {typed}\n{shown_lines(run(chr(10).join(command)))}"
        return f"```console\n{shown}```"

    return _BLOCK.sub(block, guide.read_text("utf-8")), count


def _commands(block: str) -> Iterator[list[str]]:
    """The lines of each command. A text after `<<` is on lines with `> ` in front."""
    command: list[str] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            if command:
                yield command
            command = [line.removeprefix("$ ")]
        elif line.startswith(">") and command and _is_open(command):
            command.append(line.removeprefix(">").removeprefix(" "))
    if command:
        yield command


def _is_open(command: list[str]) -> bool:
    """Whether the text after `<<` has not ended."""
    found = re.search(r"<<'?(\w+)'?", command[0])
    return found is not None and command[-1] != found[1]


def prepared(folder: Path) -> dict[str, str]:
    """Makes the folder ready; returns the environment of the commands."""
    binaries = folder / ".bin"
    binaries.mkdir()
    command = binaries / "kpolicy"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kpolicy "$@"\n', "utf-8")
    command.chmod(0o755)
    for name in ("python", "docs"):
        (folder / name).symlink_to(ROOT / name)
    return {
        "PATH": f"{binaries}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "python"),
        "COLUMNS": "120",
        "NO_COLOR": "1",
        "LC_ALL": "C.UTF-8",
        "HOME": str(folder),
    }


def _printed(command: str, folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        check=False,
        text=True,
        timeout=100,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode in (0, 1), (command, done.returncode, done.stdout)
    return done.stdout


def shown_lines(printed: str) -> str:
    """What a command printed, as a page shows it."""
    shown = _DURATION.sub("  - ms", printed)
    lines = [line.rstrip() for line in shown.rstrip().splitlines()]
    return "".join(f"{line}\n" for line in lines)


def main() -> None:
    for guide in (each for each in GUIDES if each.stem not in ON_A_CLUSTER):
        with tempfile.TemporaryDirectory() as folder:
            text, _ = replayed(guide, Path(folder))
        guide.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
