"""`python -m benches failover`: measures take-over, reload and shutdown, and compares them with
their limits. Needs an optimised engine (`make release`) and the binary of the control plane.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from benches.failover import reload, stopping, take_over
from benches.failover.figure import Figure, table
from benches.failover.scene import Scene
from tests.cluster.control_plane import ControlPlane
from tests.cluster.errors import ControlPlaneError

ROUNDS: Final = 5
_PARTS: Final[Mapping[str, Callable[[Scene, int], list[Figure]]]] = {
    "take-over": take_over.measure,
    "reload": reload.measure,
    "stop": stopping.measure,
}
_NOT_HELD: Final = 1
_CANNOT: Final = 2


def parser() -> argparse.ArgumentParser:
    flags = argparse.ArgumentParser(
        prog="python -m benches failover",
        description="On a real kube-apiserver, while pods come: SIGKILL the leader of two "
        "replicas, change the policy's ConfigMap, and SIGTERM with a collector that does not "
        "answer. docs/internals/bench-endurance.md says how to read the table.",
        epilog="exit: 0 all held, 1 a bound was not kept, 2 could not work",
    )
    flags.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help="of each")
    flags.add_argument(
        "--only", choices=tuple(_PARTS), action="append", help="only this; repeatable"
    )
    flags.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keep the schedulers' logs there"
    )
    flags.add_argument("--json", action="store_true", help="figures for programs")
    return flags


def main(words: Sequence[str]) -> int:
    arguments = parser().parse_args(words)
    if arguments.rounds < 1:
        parser().error("from one round on")
    figures: list[Figure] = []
    try:
        with ExitStack() as stack:
            folder = arguments.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            folder.mkdir(parents=True, exist_ok=True)
            plane = stack.enter_context(ControlPlane())
            scene = Scene(plane, folder)
            for name in arguments.only or _PARTS:
                _say(f"{name}: {arguments.rounds} rounds")
                figures += _PARTS[name](scene, arguments.rounds)
            _show(figures, plane, is_json=arguments.json)
    except (ControlPlaneError, OSError) as error:
        _say(str(error))
        return _CANNOT
    failures = [figure.failure() for figure in figures if not figure.held]
    for failure in failures:
        _say(failure)
    return _NOT_HELD if failures else 0


def _show(figures: Sequence[Figure], plane: ControlPlane, *, is_json: bool) -> None:
    version, processors = plane.harness.version, os.cpu_count()
    if is_json:
        about = {
            "kubernetes": version,
            "processors": processors,
            "python": platform.python_version(),
        }
        print(json.dumps({**about, "figures": [figure.line() for figure in figures]}))
        return
    print(f"{version}; {processors} processors for everything")
    print("\n".join(table(figures)))


def _say(line: str) -> None:
    print(f"failover: {line}", file=sys.stderr, flush=True)
