"""Attacks on the address that serves health and metrics, by clients on the same machine."""

from __future__ import annotations

import asyncio
import json
import resource
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kpolicy.testing import node
from kpolicy.testing.control_plane import ControlPlane
from tests.attack.attack import Attack, Figure
from tests.attack.http_load import HEAD, Load, attack, probing
from tests.e2e.scheduler_process import SchedulerProcess

FILES_MAX: Final = 128  # of the scheduler
GAP_S_MAX: Final = 1.0
LOG_BYTES_MAX: Final = 64 * 1024  # of all attacks together
SECONDS: Final = 8.0
MEBIBYTE: Final = 1024 * 1024
POLICY: Final = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: attacked}
spec: {base: kube-scheduler-default, profiles: [{schedulerName: kpolicy}]}
"""
METRICS: Final = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"

LOADS: Final[Mapping[str, Load]] = {
    "900 half-open requests": Load(900, HEAD),
    "900 requests, a header every half second": Load(900, HEAD, drip=b"X-More: 1\r\n"),
    "10,000 connections": Load(10_000, b"", reopens=False),
    "headers of 1 MB": Load(20, HEAD + b"X-Long: " + MEBIBYTE * b"a" + b"\r\n\r\n"),
    "bodies without an end": Load(
        100, HEAD + b"Transfer-Encoding: chunked\r\n\r\n", drip=b"1000\r\n" + 4096 * b"b" + b"\r\n"
    ),
    "pipelining": Load(50, 10_000 * (HEAD + b"\r\n"), drip=HEAD + b"\r\n"),
    "scrapes that are not read": Load(50, 100 * METRICS, drip=METRICS, reads=False),
    "no HTTP at all": Load(100, bytes(range(256)) * 8),
}


def run(folder: Path) -> list[Figure]:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    figures = []
    log = folder / "kpolicy.log"
    with served_control_plane() as url:
        (folder / "kubeconfig").write_text(kubeconfig(url))
        (folder / "policy.yaml").write_text(POLICY)
        flags = ("--no-leader-elect",)
        with SchedulerProcess(
            folder / "kubeconfig", folder / "policy.yaml", log, flags
        ) as scheduler:
            resource.prlimit(scheduler.pid, resource.RLIMIT_NOFILE, (FILES_MAX, FILES_MAX))
            before = log.stat().st_size
            for name, load in LOADS.items():
                figures += _attacked(name, load, scheduler)
            written = log.stat().st_size - before
    broken = "" if written <= LOG_BYTES_MAX else f"{LOG_BYTES_MAX} B are promised"
    return [*figures, Figure("log of all of them together", f"{written} B", broken)]


def _attacked(name: str, load: Load, scheduler: SchedulerProcess) -> list[Figure]:
    port = int(scheduler.address.rpartition(":")[2])
    Path(f"/proc/{scheduler.pid}/clear_refs").write_text("5")  # the peak begins anew
    with probing(port) as probed:
        opened = asyncio.run(attack(load, port, SECONDS))
    broken = "" if probed.gap_s <= GAP_S_MAX else f"{GAP_S_MAX:g} s are promised"
    return [
        Figure(f"{name}: connections opened", f"{opened:,}"),
        Figure(f"{name}: answers of /livez", str(probed.answers)),
        Figure(f"{name}: longest gap of /livez", f"{probed.gap_s:.2f} s", broken),
        Figure(f"{name}: peak memory", f"{peak_mebibytes(scheduler.pid):.0f} MiB"),
    ]


def peak_mebibytes(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmHWM")


@contextmanager
def served_control_plane() -> Iterator[str]:
    """The embedded control plane with a few nodes, in a thread."""
    loop, ready = asyncio.new_event_loop(), threading.Event()
    control_plane, stop = ControlPlane(), asyncio.Event()

    async def serve() -> None:
        async with control_plane:
            control_plane.add(*(node(f"node-{index}") for index in range(5)))
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    try:
        assert ready.wait(30)
        yield control_plane.url
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


def kubeconfig(url: str) -> str:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": url}}],
            "users": [{"name": "c", "user": {"token": "t"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        }
    )


ATTACK: Final = Attack("http", "clients that misuse the health server, with few files", run)
