"""`python -m tests.ray_cluster`, with Ray installed: sweeps on a local cluster of two nodes.

A worker and then a node are killed while cells run; all results are there, and are those of
processes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from ray.cluster_utils import Cluster

from kpolicy.offline.sweeps.cell_runner import run_cells
from kpolicy.offline.sweeps.outcomes import SweepError
from tests.ray_cluster.work import Slow
from tests.unit.offline.days.scenarios import NODE, POD, document

_CELLS: Final = 16
_SCENARIO: Final = document(
    duration="2d",
    nodes=[{**NODE, "count": 3}],
    pods=[{**POD, "lifetime": {"exponential": "30m"}}],
    arrivals=[{"pods": "p", "perHour": 8}],
    sampleEvery="1h",
)
# Ray gives its workers what others leave; a machine that is busy leaves nothing.
_NICENESS: Final = "RAY_worker_niceness"


@contextmanager
def cluster() -> Iterator[tuple[str, Any, Cluster]]:
    """Its address, its second node, and the cluster."""
    held = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        # At an address of its own, so that no command connects through the node that is killed.
        second = held.add_node(num_cpus=1, node_ip_address="127.0.0.2")
        held.wait_for_nodes()
        yield held.address, second, held
    finally:
        held.shutdown()


def a_killed_worker_and_a_killed_node_lose_nothing() -> None:
    with cluster() as (address, second, held), tempfile.TemporaryDirectory() as folder:
        killed: list[str] = []

        def progress(done: int, total: int) -> None:
            assert total == _CELLS
            if done == 2:
                begun = _begun(Path(folder))
                killed.append("worker")
                os.kill(int(begun[0].name.rpartition("-")[2]), signal.SIGKILL)
            if done == 6:
                killed.append("node")
                held.remove_node(second, allow_graceful=False)

        found = run_cells(
            Slow(folder, 0.4), range(_CELLS), engine="ray", ray_address=address, progress=progress
        )
        assert killed == ["worker", "node"]
        assert found == [cell * cell for cell in range(_CELLS)]
        # Those that were killed have left their files.
        assert list(Path(folder).iterdir())


def figures_are_those_of_processes() -> None:
    with cluster() as (address, second, held), tempfile.TemporaryDirectory() as folder:
        processes, ray = Path(folder) / "processes.csv", Path(folder) / "ray.csv"
        assert _sweep(folder, "--csv", str(processes)).wait(timeout=300) == 0
        running = _sweep(folder, "--csv", str(ray), "--engine", "ray", "--ray-address", address)
        time.sleep(6)
        held.remove_node(second, allow_graceful=False)
        assert running.wait(timeout=300) == 0
        assert ray.read_bytes() == processes.read_bytes()
        assert ray.read_bytes().count(b"\n") == 5


def ctrl_c_ends_a_sweep() -> None:
    with cluster() as (address, _, _), tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.csv"
        ray = ("--csv", str(table), "--engine", "ray", "--ray-address", address)
        running = _sweep(folder, *ray, "--set", "duration=2000d,2001d,2002d")
        time.sleep(8)
        running.send_signal(signal.SIGINT)
        _, error = running.communicate(timeout=60)
        assert running.returncode == 130, (running.returncode, error)
        assert b"Traceback" not in error, error
        assert not table.exists()


def a_cluster_that_is_not_there_is_named() -> None:
    address = "127.0.0.1:1"
    found = ""
    try:
        run_cells(Slow("", 0.0), range(2), engine="ray", ray_address=address)
    except SweepError as error:
        found = str(error)
    assert found.startswith("NoRayCluster:"), found
    assert address in found


def _begun(folder: Path) -> list[Path]:
    """The marks of cells that run; there is a moment without one between two cells."""
    until = time.monotonic() + 30
    while not (begun := sorted(folder.iterdir())):
        assert time.monotonic() < until, "no cell is under way"
        time.sleep(0.01)
    return begun


def _sweep(folder: str, *more: str) -> subprocess.Popen[bytes]:
    scenario = Path(folder) / "scenario.yaml"
    scenario.write_text(_SCENARIO)
    command = [sys.executable, "-m", "kpolicy", "sweep", "--scenario", str(scenario)]
    command += ["--policy", "bin-packing", "--seeds", "1..4", *more]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def main() -> None:
    os.environ[_NICENESS] = "0"
    for check in (
        a_killed_worker_and_a_killed_node_lose_nothing,
        figures_are_those_of_processes,
        ctrl_c_ends_a_sweep,
        a_cluster_that_is_not_there_is_named,
    ):
        began = time.monotonic()
        check()
        print(f"{check.__name__.replace('_', ' ')}: {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
