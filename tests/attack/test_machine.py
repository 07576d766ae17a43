"""The machine misbehaves: no file descriptors are left, the disk is full, the process stands still.

Pods come all the time. Every pod that fits is bound in the end, and the invariants hold.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.attack.take_over import POLICY
from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.nemeses.load import survive
from tests.e2e.rights import SCENARIO_RULES
from tests.e2e.scenarios.conftest import play
from tests.e2e.scheduler_process import SchedulerProcess
from tests.e2e.stage import Stage
from tests.e2e.supervised import Supervised

pytestmark = pytest.mark.cluster

DESCRIPTORS = 64
DISK_KIB = 512
FILLER = "filler"
RELOADS_WITHIN_S = 3
ENDED_BY_A_LOST_LEASE = 1
# Around each deadline: a lost renewal (5 s), a bind's time limit (5 s), the silence after which the
# lease is not renewed (6 s), the renew deadline (10 s), the lease (15 s), and the silence of a
# watch (75 s).
STANDS_STILL_S = (1.0, 4.5, 5.5, 6.5, 9.5, 10.5, 14.5, 16.0, 80.0)
IN_EVERY_RUN = (10.5,)


@pytest.fixture(scope="module")
def plane(control_plane_binary: object) -> Iterator[ControlPlane]:
    with ControlPlane() as running:
        running.grant(NORMAL, SCENARIO_RULES)
        yield running


def process_of(plane: ControlPlane, log: Path, lease: str, *flags: str) -> SchedulerProcess:
    plane.admin.create_namespace(lease)
    flags = (f"--lease-namespace={lease}", *flags)
    return SchedulerProcess(plane.kubeconfig(NORMAL), POLICY, log, flags)


class Starved(SchedulerProcess):
    """`kpolicy run` after `ulimit -n`."""

    def limit(self, descriptors: int) -> None:
        self._command = ["prlimit", f"--nofile={descriptors}", *self._command]


def burst(stage: Stage, process: SchedulerProcess) -> None:
    """More binds at once than there are descriptors for."""
    with process.frozen():
        stage.admin.create_pods(
            200,
            namespace=stage.namespace,
            prefix="burst",
            cpu="1m",
            memory="1Mi",
            scheduler_name=stage.profile,
        )


@pytest.mark.full
@pytest.mark.timeout(240)
def test_few_file_descriptors_make_it_slow_and_nothing_else(
    plane: ControlPlane, tmp_path: Path
) -> None:
    plane.admin.create_namespace("descriptors")
    flags = ("--lease-namespace=descriptors", "--log-level=debug")
    process = Starved(plane.kubeconfig(NORMAL), POLICY, tmp_path / "log", flags)
    process.limit(DESCRIPTORS)
    with process:
        for stage in play(plane, process, "descriptors"):
            survive(stage, partial(burst, stage, process))
            limit = Path(f"/proc/{process.pid}/limits").read_text()
            assert f"Max open files            {DESCRIPTORS}" in limit
        assert "Too many open files" in process.log(), "there were enough descriptors"
        assert process.terminate() == 0, process.tail()


@contextmanager
def small_disk(at: Path) -> Iterator[Path]:
    at.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_KIB}k", "tmpfs", str(at)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a tmpfs")
    try:
        yield at
    finally:
        subprocess.run(["umount", "--lazy", str(at)], check=True)


def fill_and_reload(process: SchedulerProcess, disk: Path, policy: Path) -> None:
    free = os.statvfs(disk)
    (disk / FILLER).write_bytes(b"x" * free.f_bavail * free.f_bsize)
    policy.write_text(POLICY.read_text() + "# another text\n")
    process.hang_up()
    time.sleep(RELOADS_WITHIN_S)
    assert process.status("/livez")[0] == 200
    with pytest.raises(OSError, match="No space left"):
        (disk / "more").write_bytes(b"x" * 4096)


@pytest.mark.full
@pytest.mark.timeout(240)
def test_a_full_disk_stops_neither_binds_nor_reloads(plane: ControlPlane, tmp_path: Path) -> None:
    """Its log and the copy of its last good policy are on the disk."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY.read_text())
    with small_disk(tmp_path / "disk") as disk:
        flags = (f"--policy-cache={disk}/cache", "--log-level=debug")
        process = process_of(plane, disk / "log", "full-disk", *flags)
        process._command = [
            f"--policy={policy}" if word == f"--policy={POLICY}" else word
            for word in process._command
        ]
        with process:
            for stage in play(plane, process, "full-disk"):
                survive(stage, partial(fill_and_reload, process, disk, policy))
                (disk / FILLER).unlink()
                # What was lost of the log is lost; from now on it is written again.
                os.truncate(disk / "log", 0)
            assert process.terminate() == 0


def stand_still(process: SchedulerProcess, seconds: float) -> None:
    with process.frozen():
        time.sleep(seconds)


@pytest.mark.parametrize(
    "seconds",
    [
        pytest.param(seconds, marks=() if seconds in IN_EVERY_RUN else pytest.mark.full)
        for seconds in STANDS_STILL_S
    ],
)
@pytest.mark.timeout(400)
def test_a_process_that_was_stopped_and_continued_goes_on_or_starts_again(
    plane: ControlPlane, tmp_path: Path, seconds: float
) -> None:
    lease = f"stopped-{str(seconds).replace('.', '-')}"
    with Supervised(process_of(plane, tmp_path / "log", lease)) as supervised:
        process = supervised.process
        for stage in play(plane, process, lease):
            survive(stage, partial(stand_still, process, seconds))
            assert {end.code for end in supervised.ends} <= {ENDED_BY_A_LOST_LEASE}
            if seconds < 7:  # the next renewal was due after two seconds at the latest
                assert supervised.ends == [], "a short stop is not a hang"
            wait_for(
                lambda: process.metric("leader_election_master_status") == 1,
                "it to lead",
                timeout_s=60,
            )
