"""Runs the commands of a guide on a real API server, as a user types them in one shell, and renews
what the guide shows: `python -m tests.e2e.guide_on_cluster`.

`kpolicy` and `kubectl` have the rights of an administrator. Some of what they print differs in each
run, and `comparable` leaves it out: times, the name of a run, and how many calls a journal has.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.cluster.control_plane import ControlPlane
from tests.cluster.readiness import free_ports
from tests.spec.guides.console import GUIDES, ON_A_CLUSTER, Run, prepared, replayed_by

# Each with its name in a page that is compared.
VARYING: Final = {
    "TIME": re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"),
    "RUN": re.compile(r"(?<= of )[0-9a-f]{8}\b"),
    "CALLS": re.compile(r"\b[0-9,]+(?= (?:calls|records)\b)"),
}
# By release: what it says where the one before says something else. 1.37 scores volumes.
_SAID_SINCE: Final = {
    37: {
        " no new claims to deallocate,": "",
        "0 on each: DynamicResources, ImageLocality\n": (
            "0 on each: DynamicResources, ImageLocality, VolumeBinding\n"
        ),
    }
}
_LAST_LINE: Final = "the command has ended with "
_ENDS_WITHIN_S: Final = 10


def comparable(page: str) -> str:
    for name, pattern in VARYING.items():
        page = pattern.sub(name, page)
    return page


def said_by(minor: int, page: str) -> str:
    """The page, which shows the default release, as this release says it."""
    for since, texts in _SAID_SINCE.items():
        for before, after in texts.items():
            page = page.replace(before, after) if minor >= since else page
    return page


def replayed_on(plane: ControlPlane, guide: Path, folder: Path) -> tuple[str, int]:
    """The guide with what its commands print, and how many commands there are."""
    environment = prepared(folder)
    kubectl = folder / ".bin" / "kubectl"
    kubectl.write_text(f'#!/bin/sh\nexec "{plane.binary.path}" kubectl "$@"\n', "utf-8")
    kubectl.chmod(0o755)
    (port,) = free_ports(1)
    environment |= {
        "KUBECONFIG": str(plane.kubeconfig()),
        "KPOLICY_BIND_ADDRESS": "127.0.0.1",
        "KPOLICY_PORT": str(port),
    }
    with _shell(folder, environment) as run:
        return replayed_by(guide, run)


@contextmanager
def _shell(folder: Path, environment: dict[str, str]) -> Iterator[Run]:
    """One shell for all commands, so that what runs in the background can be stopped later. What
    then still runs ends with it."""
    shell = subprocess.Popen(
        ["bash"],
        cwd=folder,
        env=environment,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert shell.stdin is not None
    assert shell.stdout is not None
    into, out = shell.stdin, shell.stdout
    typed = folder / ".command"

    def run(command: str) -> str:
        # From a file, so that a command that reads standard input does not read the next one.
        typed.write_text(f"{command}\n", "utf-8")
        into.write(f'. ./.command < /dev/null; echo; echo "{_LAST_LINE}$?"\n')
        into.flush()
        printed = ""
        for line in out:
            if line.startswith(_LAST_LINE):
                code = int(line.removeprefix(_LAST_LINE))
                assert code in (0, 1), (command, code, printed)
                return printed
            printed += line
        raise AssertionError((command, "the shell ended", printed))

    try:
        yield run
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.wait(_ENDS_WITHIN_S)
        into.close()
        out.close()


def main() -> None:
    for guide in (each for each in GUIDES if each.stem in ON_A_CLUSTER):
        with ControlPlane() as plane, tempfile.TemporaryDirectory() as folder:
            text, _ = replayed_on(plane, guide, Path(folder))
        if comparable(text) != comparable(guide.read_text("utf-8")):
            guide.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
