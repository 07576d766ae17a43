"""`python -m benches churn`: checks that the memory of `kpolicy run` stays flat over many rounds.
Needs an optimised engine (`make release`) and the binary of the control plane.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from benches.churn import sample
from benches.churn.population import SMALL_NODES, ZONES, Size
from benches.churn.round import Churn, timed
from benches.churn.sample import Sample
from benches.churn.verdict import WARM_PODS, WARM_S, Verdict, warm_up
from benches.cluster import stage
from tests.cluster.control_plane import ControlPlane
from tests.cluster.errors import ControlPlaneError
from tests.cluster.users import NORMAL
from tests.e2e import volumes
from tests.e2e.rights import VOLUME_RULES
from tests.e2e.scheduler_process import SchedulerProcess

ROUNDS: Final = 50
NODES: Final = 100
PODS: Final = 400
ROUNDS_MIN: Final = 4
_NOT_HELD: Final = 1
_CANNOT: Final = 2
_CONTROLLERS: Final = (*volumes.CONTROLLERS, "namespace-controller")


def parser() -> argparse.ArgumentParser:
    flags = argparse.ArgumentParser(
        prog="python -m benches churn",
        description="Run `kpolicy run` on a real kube-apiserver through rounds in which pods of "
        "many kinds come, are placed and go, nodes are replaced, and the policy changes; look at "
        "its memory after each. docs/internals/bench-endurance.md says how to read the table.",
        epilog="exit: 0 flat, 1 memory grows, 2 could not work",
    )
    flags.add_argument(
        "--rounds",
        type=int,
        default=ROUNDS,
        metavar="N",
        help=f"once it is warm: after {WARM_S / 60:.0f} minutes and {WARM_PODS:,} pods",
    )
    flags.add_argument("--nodes", type=int, default=NODES, metavar="N")
    flags.add_argument(
        "--pods", type=int, default=PODS, metavar="N", help="of mixed kinds, a round"
    )
    flags.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the scheduler's log there")
    flags.add_argument("--json", action="store_true", help="figures for programs")
    return flags


def main(words: Sequence[str]) -> int:
    arguments = parser().parse_args(words)
    if arguments.rounds < ROUNDS_MIN:
        parser().error(f"a slope needs {ROUNDS_MIN} rounds")
    if arguments.nodes < 2 * ZONES or not 0 < arguments.pods <= 20 * arguments.nodes:
        parser().error(f"from {2 * ZONES} nodes on, and at most 20 pods a node")
    try:
        with ExitStack() as stack:
            folder = arguments.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            folder.mkdir(parents=True, exist_ok=True)
            plane = stack.enter_context(stage.control_plane(folder, VOLUME_RULES))
            verdict = _played(arguments, plane, folder)
            _show(verdict, plane, arguments)
    except (ControlPlaneError, OSError) as error:
        _say(str(error))
        return _CANNOT
    for failure in verdict.failures():
        _say(failure)
    return _NOT_HELD if verdict.failures() else 0


def _played(arguments: argparse.Namespace, plane: ControlPlane, folder: Path) -> Verdict:
    plane.start_controller_manager(controllers=_CONTROLLERS)
    churn = Churn(plane, Size(arguments.nodes, arguments.pods))
    process = SchedulerProcess(
        plane.kubeconfig(NORMAL), None, folder / "kpolicy.log", churn.policy.flags
    )
    samples: list[Sample] = []
    with process:
        while (first := warm_up(samples)) is None or len(samples) < first + arguments.rounds:
            turn = len(samples) + 1
            bound, seconds = timed(churn, process, turn)
            samples.append(sample.take_sample(process, turn, seconds, bound))
            shown = samples[-1]
            _say(
                f"round {turn}: {bound:,} pods bound in {seconds:.1f} s, "
                f"{shown.resident_mib:.1f} MiB, {shown.blocks:,} blocks"
            )
    return Verdict(tuple(samples))


def _show(verdict: Verdict, plane: ControlPlane, arguments: argparse.Namespace) -> None:
    about = {
        "kubernetes": plane.harness.version,
        "nodes": arguments.nodes + SMALL_NODES,
        "processors": os.cpu_count(),
        "python": platform.python_version(),
    }
    if arguments.json:
        print(json.dumps({**about, **verdict.line()}))
        return
    print(
        f"{plane.harness.version}; {about['nodes']:,} nodes; at rest after each round nothing is "
        "assumed, in flight or waiting"
    )
    print("\n".join(verdict.table()))


def _say(line: str) -> None:
    print(f"churn: {line}", file=sys.stderr, flush=True)
