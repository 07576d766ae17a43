"""Finds the commands on pages, and runs them to compare or renew their output: `python -m
tests.docs`.

In a block ```` ```console ````, a line with `$ kpolicy ` is a command; the lines after it are its
standard output. Such commands need no cluster. Durations are shown as `- ms`, because they always
differ.
"""

from __future__ import annotations

import io
import os
import re
import shlex
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from kpolicy import cli
from tests.tree.sources import ROOT

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_PROMPT = "$ kpolicy "
_DURATION = re.compile(r" +[0-9][0-9.,]* ms(?=$|  )", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Shown:
    page: Path
    command: str
    output: str


def pages() -> list[Path]:
    return [
        *sorted((ROOT / "docs" / "policies").glob("*.md")),
        ROOT / "docs" / "reference" / "README.md",
        ROOT / "docs" / "testing-policies.md",
        ROOT / "docs" / "kube-scheduler-files.md",
        ROOT / "docs" / "guides" / "autoscalers.md",
        ROOT / "docs" / "guides" / "snapshots.md",
        ROOT / "docs" / "guides" / "siblings.md",
        ROOT / "docs" / "guides" / "tenants.md",
        ROOT / "docs" / "guides" / "time-windows.md",
        ROOT / "docs" / "guides" / "comparing-policies.md",
    ]


def commands(page: Path) -> Iterator[Shown]:
    for block in _BLOCK.finditer(page.read_text("utf-8")):
        for part in re.split(r"(?m)^(?=\$ )", block.group(1)):
            if part.startswith(_PROMPT):
                command, _, output = part.partition("\n")
                yield Shown(page, command.removeprefix(_PROMPT), output)


def printed(command: str) -> str:
    """What `kpolicy COMMAND` prints, from the root of the repository."""
    out = io.StringIO()
    quiet = {key: value for key, value in os.environ.items() if key != "FORCE_COLOR"}
    with (
        chdir(ROOT),
        patch.dict(os.environ, {**quiet, "COLUMNS": "120", "NO_COLOR": "1"}, clear=True),
        redirect_stdout(out),
        redirect_stderr(io.StringIO()),
    ):
        cli.main(shlex.split(command))
    text = _DURATION.sub("  - ms", out.getvalue())
    return "".join(f"{line.rstrip()}\n" for line in text.rstrip().splitlines())


def rewritten(page: Path) -> str:
    """The page with what its commands print now."""

    def block(match: re.Match[str]) -> str:
        parts = re.split(r"(?m)^(?=\$ )", match.group(1))
        return f"```console\n{''.join(map(part, parts))}```"

    def part(text: str) -> str:
        if not text.startswith(_PROMPT):
            return text
        command, _, _ = text.partition("\n")
        return f"{command}\n{printed(command.removeprefix(_PROMPT))}"

    return _BLOCK.sub(block, page.read_text("utf-8"))
