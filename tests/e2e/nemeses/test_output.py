"""The log cannot be written: the disk is full, or the reader of the pipe is gone."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.nemeses.conftest import POLICY
from tests.e2e.nemeses.load import survive
from tests.e2e.scheduler_process import SchedulerProcess
from tests.e2e.stage import Stage

pytestmark = pytest.mark.cluster

_numbers = itertools.count(1)
Output: TypeAlias = Callable[[], AbstractContextManager[int]]


@contextmanager
def full_disk() -> Iterator[int]:
    """Every write fails: ENOSPC."""
    descriptor = os.open("/dev/full", os.O_WRONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def closed_pipe() -> Iterator[int]:
    """Every write fails: EPIPE."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        yield writing
    finally:
        os.close(writing)


@contextmanager
def full_pipe() -> Iterator[int]:
    """Writes wait for ever: somebody has it open, and does not read."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    try:
        while os.write(writing, b"\n" * 4096):
            pass
    except BlockingIOError:
        os.set_blocking(writing, True)
    try:
        yield writing
    finally:
        os.close(writing)
        os.close(reading)


@pytest.mark.parametrize(
    "output", [full_disk, closed_pipe, full_pipe], ids=["full-disk", "closed-pipe", "full-pipe"]
)
@pytest.mark.timeout(240)
def test_n_a_log_without_a_reader_delays_nothing(
    plane: ControlPlane, tmp_path: Path, lease: str, output: Output
) -> None:
    """Judged by the audit log alone: the queue's own dump goes where nobody takes it."""
    flags = (lease, "--log-level=debug", "--log-format=json")
    with output() as descriptor:
        process = SchedulerProcess(
            plane.kubeconfig(NORMAL),
            POLICY,
            tmp_path / "log",
            flags,
            environment={"PYTHONUNBUFFERED": ""},
            output=descriptor,
        )
        with process:
            stage = Stage(plane, process, f"unheard-{next(_numbers)}")
            try:
                survive(stage, lambda: None)
                assert stage.check() > 0
            finally:
                stage.remove()
            assert process.terminate() == 0
