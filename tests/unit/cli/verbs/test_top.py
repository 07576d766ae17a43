"""`kpolicy top` of a running scheduler: one frame as text, and the way from a pod to the part of a
rule on a terminal."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from kpolicy import cli
from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler.delivery.sources import FixedSource
from kpolicy.testing import ControlPlane, node, pod
from tests.unit.scheduler.world import free_port, on_port, running

POLICY = Source(
    "policy.yaml",
    """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: of-a-test}
spec:
  profiles: [{schedulerName: kpolicy}]
  base: none
  predicates:
    - builtin: NodeResourcesFit
    - name: only-ssd
      expression: label(node, 'disk') == 'ssd' && !node.unschedulable
      message: no ssd
""",
)
_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
WAIT_S = 30.0


async def test_one_frame_has_queue_rates_rules_and_the_longest_waits(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(
            node("n1", cpu="4", labels={"disk": "ssd"}), pod("fits", cpu="1"), pod("big", cpu="9")
        )
        async with running(
            control_plane, options=on_port(free_port()), source=FixedSource([POLICY])
        ) as world:
            await world.until(lambda: "fits" in world.placed())
            await world.until(lambda: _parked(world) == 1)
            shown = ["top", "--once", "--scheduler", world.scheduler.url]
            assert await asyncio.to_thread(cli.main, shown) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("kpolicy at http://127.0.0.1:")
    assert lines[2] == "cluster    1 nodes  2 pods  0 assumed"
    assert lines[3].startswith("policy     sha256:")
    assert lines[4] == "queue      active 0  backoff 0  unschedulable 1  gated 0"
    assert lines[5].startswith("decisions  ")
    assert lines[7].split() == ["REJECTED", "BY", "PODS", "ATTEMPTS/S"]
    assert lines[8].split()[:2] == ["NodeResourcesFit", "1"]
    assert lines[10].split() == ["PENDING", "LONGEST", "FOR", "QUEUE", "TRIES", "REJECTED", "BY"]
    assert re.match(r"default/big +\d+s  unschedulable +1  NodeResourcesFit$", lines[11])


def _parked(world: object) -> int:
    statistics = world.scheduler.queue_statistics()  # type: ignore[attr-defined]
    return statistics.parked if statistics is not None else 0


def test_nobody_answers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.main(["top", "--once", "--scheduler", f"http://127.0.0.1:{free_port()}"]) == 2
    assert "does not answer: " in capsys.readouterr().err
    monkeypatch.setattr("kpolicy.cli.verbs.top._DEFAULT_URL", f"http://127.0.0.1:{free_port()}")
    assert cli.main(["top", "--once"]) == 2
    assert "(--scheduler URL says where kpolicy is)" in capsys.readouterr().err
    assert cli.main(["top", "--once", "--scheduler", "localhost"]) == 2
    assert "is no http(s) URL" in capsys.readouterr().err


class _Terminal:
    """A terminal of 40 lines in which the command runs."""

    def __init__(self, *arguments: str, term: str = "xterm") -> None:
        self._descriptor, other = pty.openpty()
        environment = os.environ | {"TERM": term, "COLUMNS": "120", "LINES": "40"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kpolicy", *arguments],
            stdin=other,
            stdout=other,
            stderr=other,
            env=environment,
        )
        os.close(other)
        self._seen = ""

    def press(self, keys: str) -> None:
        self._seen = ""
        os.write(self._descriptor, keys.encode())

    def until(self, true: Callable[[str], bool]) -> str:
        deadline = time.monotonic() + WAIT_S
        while not true(self._seen):
            assert time.monotonic() < deadline, self._seen
            self._seen += _CODES.sub("", os.read(self._descriptor, 65536).decode())
        return self._seen

    def close(self) -> int:
        try:
            return self.process.wait(WAIT_S)
        finally:
            self.process.kill()
            os.close(self._descriptor)


async def test_on_a_terminal_keys_lead_from_a_pod_to_the_parts_of_a_rule() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(node("n1", cpu="4", labels={"disk": "hdd"}), pod("web", cpu="1"))
        async with running(
            control_plane, options=on_port(free_port()), source=FixedSource([POLICY])
        ) as world:
            await world.until(lambda: _parked(world) == 1)
            await asyncio.to_thread(_walk, world.scheduler.url)
            await asyncio.to_thread(_without_screens, world.scheduler.url)


def _without_screens(url: str) -> None:
    """One frame as text, and no key is waited for."""
    terminal = _Terminal("top", "--scheduler", url, term="dumb")
    terminal.until(lambda shown: "PENDING LONGEST" in shown and "default/web" in shown)
    assert terminal.close() == 0


def _walk(url: str) -> None:
    terminal = _Terminal("top", "--scheduler", url)
    terminal.until(lambda shown: "default/web" in shown and "q: quit" in shown)
    terminal.press("\r")
    terminal.until(lambda shown: "default/web: fits none of 1 node" in shown and "no ssd" in shown)
    terminal.press("\r")
    terminal.until(lambda shown: "default/web on n1: rejected" in shown)
    terminal.press("\r")
    shown = terminal.until(lambda shown: "only-ssd for default/web on n1" in shown and "├" in shown)
    assert re.search(r"label\(node, 'disk'\) == 'ssd' +false", shown)
    terminal.press("\x1b[D")
    terminal.until(lambda shown: "default/web on n1: rejected" in shown)
    terminal.press("q")
    assert terminal.close() == 0
